/**
 * doorhook embedded in the test's process.
 */
import { assert, it } from "@effect/vitest"
import { createDoorhook, DoorhookError } from "doorhook"
import type { Doorhook, HostDirectory } from "doorhook"
import { Effect, Schema } from "effect"
import type { Scope } from "effect"
import { createServer } from "node:http"
import { listening } from "@doorhook/testkit/ListeningServer"
import { startReceiver } from "@doorhook/testkit/Receiver"
import type { Client } from "./CodeGrant.ts"
import { authorizeUrl, codeIn, exchange } from "./CodeGrant.ts"
import { logIn } from "./LoginForm.ts"
import { eventually } from "./Eventually.ts"
import { createIntegration } from "./ThirdParty.ts"

/** The client in the directory. */
export const client = { client_id: "c1", client_secret: "s1", redirect_uri: "https://client.example/cb" } as const

export const directory: HostDirectory = {
  client: (id) =>
    id === client.client_id
      ? { id, name: "Acme", secret: client.client_secret, redirect_uris: [client.redirect_uri] }
      : null,
  authenticate: async (login, password) => (password === "right" ? { id: login } : null),
  administers: (user, building) => user === "admin" && building === 1,
  isTenant: () => false
}

/** Declares a test that uses the real clock. `timeout` is in milliseconds, for slow tests. */
export const live = (name: string, body: () => Effect.fn.Return<void, unknown, Scope.Scope>, timeout?: number) =>
  it.live(name, () => Effect.gen(body), timeout)

export const start = (options: Partial<Parameters<typeof createDoorhook>[0]> = {}) =>
  Effect.acquireRelease(
    Effect.promise(() => createDoorhook({ database: "memory", directory, allowTargets: ["127.0.0.0/8"], ...options })),
    (doorhook) => Effect.promise(() => doorhook.close())
  )

/** Starts the host's server, with doorhook mounted on it. */
export const mount = (doorhook: Doorhook) => listening(createServer(doorhook.node))

export const event = { resource_type: "access_log", action: "create", building_id: 1, data: { id: 1 } } as const

const decodeTokens = Schema.decodeUnknownSync(
  Schema.Struct({ access_token: Schema.String, refresh_token: Schema.String, scope: Schema.String })
)

/** Logs the administrator in over HTTP and returns tokens for the given scopes or the default ones. */
export const tokensFrom = (url: string, scope?: string, by: Client = client) =>
  Effect.promise(async () => {
    const answer = await logIn(authorizeUrl(url, by, scope === undefined ? {} : { scope }), "admin", "right")
    return decodeTokens(await (await exchange(url, by, codeIn(answer))).json())
  })

/** Logs the administrator in over HTTP and returns an access token. */
export const tokenFrom = (url: string) => Effect.map(tokensFrom(url), ({ access_token }) => access_token)

/** Creates an integration as the administrator, over HTTP. */
export const integrate = (url: string, receiver: string) =>
  Effect.flatMap(tokenFrom(url), (token) => Effect.promise(() => createIntegration(url, token, receiver)))

/** Starts a mounted doorhook, a receiver, and the receiver's integration for building 1. */
export const startIntegrated = Effect.fnUntraced(function* (
  options: Parameters<typeof start>[0] = {},
  answer?: Parameters<typeof startReceiver>[0]
) {
  const doorhook = yield* start(options)
  const { url } = yield* mount(doorhook)
  const receiver = yield* startReceiver(answer)
  return { doorhook, url, receiver, integration: yield* integrate(url, receiver.url) }
})

/** Waits until this many deliveries are in a state, and returns the id of the first. */
export const untilInState = (doorhook: Doorhook, state: string, count = 1) =>
  eventually(
    `${count} are ${state}`,
    Effect.promise(() => doorhook.deliveries.list({ state })),
    ({ deliveries }) => deliveries.length === count
  ).pipe(Effect.map(({ deliveries }) => deliveries[0]?.id ?? ""))

/** Waits until all deliveries of an event, or of all events, have ended. Returns the deliveries. */
export const untilEnded = (doorhook: Doorhook, event_id?: string) =>
  eventually(
    "all have ended",
    Effect.promise(() => doorhook.deliveries.list({ event_id })),
    ({ deliveries }) => deliveries.every(({ state }) => ["delivered", "exhausted", "expired"].includes(state))
  ).pipe(Effect.map(({ deliveries }) => deliveries))

/** Returns the code, message and status of the error with which a promise rejects. */
export const codeOf = (promise: Promise<unknown>) =>
  Effect.promise(async () => {
    const error: unknown = await promise.then(() => null).catch((thrown: unknown) => thrown)
    assert.instanceOf(error, DoorhookError)
    if (!(error instanceof DoorhookError)) return { code: "", message: "", status: 0 }
    return { code: error.code, message: error.message, status: error.status }
  })
