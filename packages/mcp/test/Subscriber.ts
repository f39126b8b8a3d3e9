/**
 * A client that calls the methods of the events extension without a library, and what its receiver gets.
 */
import { Crypto, Signature } from "@doorhook/core"
import { assert } from "@effect/vitest"
import type { HostDirectory } from "doorhook"
import type { TestDoorhookOptions } from "doorhook/testing"
import { createTestDoorhook } from "doorhook/testing"
import { Effect, Redacted, Schema } from "effect"
import { client, directory as common, mount } from "../../doorhook/test/harness/Embedded.ts"
import { mcp } from "../src/index.ts"
import { logIn } from "../../doorhook/test/harness/LoginForm.ts"
import { authorizeUrl, codeIn, exchange } from "../../doorhook/test/harness/CodeGrant.ts"

/** A secret of the client, made of `length` bytes. */
export const secretOf = (fill: number, length = 24): string =>
  `whsec_${Buffer.from(new Uint8Array(length).fill(fill)).toString("base64")}`

const decodeTokens = Schema.decodeUnknownSync(
  Schema.Struct({ access_token: Schema.String, refresh_token: Schema.String })
)

/** Logs a user in over HTTP and returns tokens, by default for the endpoint. */
export const tokensOf = (
  url: string,
  login = "ada",
  more: Readonly<Record<string, string>> = { resource: `${url}/mcp` }
) =>
  Effect.promise(async () => {
    const answer = await logIn(authorizeUrl(url, client, more), login, "right")
    return decodeTokens(await (await exchange(url, client, codeIn(answer))).json())
  })

const decodeAnswer = Schema.decodeUnknownSync(
  Schema.Struct({
    jsonrpc: Schema.Literal("2.0"),
    id: Schema.Unknown,
    result: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
    error: Schema.optionalKey(
      Schema.Struct({ code: Schema.Int, message: Schema.String, data: Schema.optionalKey(Schema.Unknown) })
    )
  })
)

/** Makes a function that calls methods with a token. */
export const callerOf =
  (url: string, token: string) =>
  (method: string, params: object = {}) =>
    Effect.promise(async () => {
      const answer = await fetch(`${url}/mcp`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${token}`,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          "mcp-protocol-version": "2026-07-28",
          "mcp-method": method
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })
      })
      assert.strictEqual(answer.status, 200, await answer.clone().text())
      return decodeAnswer(await answer.json())
    })
export type Caller = ReturnType<typeof callerOf>

/** The result of a call that must succeed. */
export const resultOf = ({ error, result }: ReturnType<typeof decodeAnswer>): Readonly<Record<string, unknown>> =>
  result ?? assert.fail(JSON.stringify(error))

export const url = "https://receiver.example/hook?key=1"

/** The parameters of a subscription to the access logs of building 1. */
export const wanted = (more: object = {}) => ({
  name: "access_log.create",
  arguments: { building: 1 },
  delivery: { mode: "webhook", url, secret: secretOf(1) },
  ...more
})

const decodeChallenge = Schema.decodeUnknownSync(
  Schema.fromJsonString(Schema.Struct({ type: Schema.String, challenge: Schema.String }))
)

/** Returns the answer of a receiver that expects events. */
export const acceptance = (body: string): { readonly status: number; readonly excerpt: string } => {
  if (!body.startsWith('{"type":"verification"')) return { status: 204, excerpt: "" }
  return { status: 200, excerpt: JSON.stringify({ challenge: decodeChallenge(body).challenge }) }
}

/** Whether a secret signed a message. */
export const isSignedBy = (
  secret: string,
  { body, headers }: { readonly headers: Readonly<Record<string, string>>; readonly body: string },
  now: number
) =>
  Signature.verify(Redacted.make(secret), headers, body, now).pipe(
    Effect.provide(Crypto.layerWebCrypto),
    Effect.map((failure) => failure === null)
  )

/** Whether `ada` administers building 1 and those from 101 on. `ben` administers building 2. */
export const rights = { ada: true }

export const directory: HostDirectory = {
  ...common,
  administers: (user, building) =>
    user === "ada" ? rights.ada && (building === 1 || building > 100) : user === "ben" && building === 2
}

/** Starts a service whose time moves, and logs `ada` in. */
export const start = Effect.fnUntraced(function* (options: TestDoorhookOptions = {}) {
  rights.ada = true
  const doorhook = yield* Effect.acquireRelease(
    Effect.promise(() => createTestDoorhook({ directory, mcp: mcp(), ...options })),
    (one) => Effect.promise(() => one.close())
  )
  doorhook.reply(({ body }) => acceptance(body))
  const service = yield* mount(doorhook)
  const { access_token, refresh_token } = yield* tokensOf(service.url)
  const advance = (duration: string) => Effect.promise(() => doorhook.advance(duration))
  let number = 0
  const publish = () =>
    Effect.promise(() =>
      doorhook.publish({ resource_type: "access_log", action: "create", building_id: 1, data: { id: ++number } })
    )
  /** Returns what the receiver got since the last call. */
  let seen = 0
  const news = () => doorhook.requests.slice(seen, (seen = doorhook.requests.length))
  const stored = Effect.promise(() => doorhook.integrations.list())
  const idle = Effect.promise(() => doorhook.idle())
  return {
    advance,
    idle,
    call: callerOf(service.url, access_token),
    doorhook,
    news,
    publish,
    refresh_token,
    stored,
    url: service.url
  }
})
