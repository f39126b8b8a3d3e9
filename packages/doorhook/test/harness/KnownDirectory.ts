/**
 * The users and the client in `directory.json`.
 */
import { fileURLToPath } from "node:url"
import type { Client } from "./CodeGrant.ts"
import { discover, takeTokens } from "./ThirdParty.ts"

export const directory = fileURLToPath(new URL("directory.json", import.meta.url))

/** Administers building 1. */
export const admin = { login: "admin@example.com", password: "correct horse" } as const
/** The user who rents flat 101 in building 1. */
export const tenant = { login: "tenant@example.com", password: "battery staple" } as const

export const acme = {
  client_id: "c1",
  client_secret: "s1",
  redirect_uri: "https://client.example/cb"
} as const satisfies Client

/** Gets tokens for the client and a user, with the client's OAuth library. */
export const tokensOf = async (url: string, { login, password }: { login: string; password: string } = admin) =>
  takeTokens(await discover(url, acme.client_id, acme.client_secret), acme.redirect_uri, login, password)
