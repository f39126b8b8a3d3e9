/**
 * Starts a service for client programs that only have its address.
 */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { serveHere } from "../harness/InProcess.ts"
import { logIn } from "../harness/LoginForm.ts"

export const redirectUri = "https://client.example/cb"
export const appRedirectUri = "http://127.0.0.1:41234/cb"
const admin = { login: "admin@example.com", password: "correct horse" } as const

/** A secret that must be percent-encoded in HTTP Basic (RFC 6749 section 2.3.1). */
export const oddSecret = "s:2 /+%é&="

/** A secret of ASCII characters that must be percent-encoded, for libraries that accept only ASCII. */
export const oddAsciiSecret = "s:2 /+%&=?"

/** Redirect URIs with and without a query, because some libraries drop the query. */
export const oddRedirectUris = ["https://other.example/cb?tenant=1", "https://other.example/cb"] as const

const directory = {
  clients: [
    { id: "c1", secret: "s1", name: "Acme", redirect_uris: [redirectUri, "urn:ietf:wg:oauth:2.0:oob"] },
    { id: "c3", secret: oddAsciiSecret, name: "Less odd", redirect_uris: [redirectUri] },
    { id: "c+2 ö", secret: oddSecret, name: "Odd", redirect_uris: oddRedirectUris },
    { id: "p1", name: "Pocket app", redirect_uris: ["http://127.0.0.1/cb"] }
  ],
  users: [
    { ...admin, buildings: [1] },
    { login: "tenant@example.com", password: "battery staple", tenants: [101] }
  ],
  buildings: [{ id: 1, name: "North Tower", time_zone: "Europe/Berlin", access_points: [] }],
  tenants: [{ id: 101, building_id: 1, unit: { id: 7, label: "4B" } }]
}

/** Runs `doorhook serve`. `database` is `memory`, or the name of a file that is deleted afterwards. */
export const serve = Effect.fnUntraced(function* (settings: object = {}, database = "memory") {
  const folder = yield* temporaryFolder
  const file = (name: string) => join(folder, name)
  yield* Effect.promise(() => writeFile(file("directory.json"), JSON.stringify(directory)))
  yield* Effect.promise(() => writeFile(file("doorhook.json"), JSON.stringify(settings)))
  const stored = database === "memory" ? database : file(database)
  const args = ["--config", file("doorhook.json"), "--directory", file("directory.json"), "--database", stored]
  return yield* serveHere(args)
})

/** Logs a user in at the client's authorize URL. Returns the redirect. */
export const visit = async (authorizeUrl: URL | string): Promise<URL> => {
  const answer = await logIn(new URL(authorizeUrl), admin.login, admin.password)
  return new URL(answer.headers.get("location") ?? assert.fail(`${answer.status} ${await answer.text()}`))
}

/** Returns the status of an API call with an access token. */
export const apiStatus = async (url: string, token: unknown): Promise<number> => {
  const response = await fetch(`${url}/v4/buildings/1/integrations`, {
    headers: { authorization: `Bearer ${String(token)}` }
  })
  await response.arrayBuffer()
  return response.status
}

/** Returns the error with which a promise rejects. */
export const rejection = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => assert.fail("it was not refused"),
    (error: unknown) => error
  )
