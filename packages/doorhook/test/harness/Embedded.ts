/**
 * doorhook inside the test's own process, as a host has it.
 */
import { assert, it } from "@effect/vitest"
import { createDoorhook, DoorhookError } from "doorhook"
import type { Doorhook, HostDirectory } from "doorhook"
import { Effect } from "effect"
import type { Scope } from "effect"
import { once } from "node:events"
import { createServer } from "node:http"
import { logIn } from "./ThirdParty.ts"

export const directory: HostDirectory = {
  client: (id) =>
    id === "c1" ? { id, name: "Acme", secret: "s1", redirect_uris: ["https://client.example/cb"] } : null,
  authenticate: async (login, password) => (password === "right" ? { id: login } : null),
  administers: (user, building) => user === "admin" && building === 1,
  isTenant: () => false
}

export const live = (name: string, body: Effect.Effect<void, unknown, Scope.Scope>) =>
  it.live(name, () => Effect.scoped(body))

export const start = (options: Partial<Parameters<typeof createDoorhook>[0]> = {}) =>
  Effect.acquireRelease(
    Effect.promise(() => createDoorhook({ database: "memory", directory, allowTargets: ["127.0.0.0/8"], ...options })),
    (doorhook) => Effect.promise(() => doorhook.close())
  )

/** The host's own server, with doorhook mounted on it. */
export const mount = (doorhook: Doorhook) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const server = createServer(doorhook.node).listen(0, "127.0.0.1")
      await once(server, "listening")
      const address = server.address()
      return { server, url: `http://127.0.0.1:${address !== null && typeof address === "object" ? address.port : 0}` }
    }),
    ({ server }) =>
      Effect.promise(async () => {
        server.closeAllConnections()
        server.close()
        await once(server, "close")
      })
  )

const redirectUri = "https://client.example/cb"
export const event = { resource_type: "access_log", action: "create", building_id: 1, data: { id: 1 } } as const

/** Logs the administrator in over HTTP and takes an access token. */
export const tokenFrom = (url: string) =>
  Effect.promise(async () => {
    const query = new URLSearchParams({ response_type: "code", client_id: "c1", redirect_uri: redirectUri })
    const answer = await logIn(new URL(`${url}/oauth/authorize?${query.toString()}`), "admin", "right")
    const code = new URL(answer.headers.get("location") ?? "").searchParams.get("code") ?? ""
    const body = new URLSearchParams({
      grant_type: "authorization_code",
      code,
      client_id: "c1",
      client_secret: "s1",
      redirect_uri: redirectUri
    })
    const token: unknown = await (await fetch(`${url}/oauth/token`, { method: "POST", body })).json()
    assert.hasAllKeys(token, ["access_token", "token_type", "expires_in", "refresh_token", "scope", "created_at"])
    return typeof token === "object" && token !== null && "access_token" in token ? String(token.access_token) : ""
  })

export const codeOf = (promise: Promise<unknown>) =>
  Effect.promise(async () => {
    const error: unknown = await promise.then(() => null).catch((thrown: unknown) => thrown)
    assert.instanceOf(error, DoorhookError)
    return error instanceof DoorhookError ? { code: error.code, message: error.message } : { code: "", message: "" }
  })
