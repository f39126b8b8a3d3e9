/**
 * Requests that the suite gives up: what of them reaches a receiver.
 */
import { listening } from "@doorhook/testkit/Listening"
import { makeAuthority } from "@doorhook/testkit/hostile/Certificates"
import { serve } from "@doorhook/testkit/hostile/RawReceiver"
import { stopsInHandshake } from "@doorhook/testkit/hostile/Tls"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { createServer } from "node:https"
import { getCACertificates, setDefaultCACertificates } from "node:tls"
import { plainForm, sendAs } from "../src/executor/Wire.ts"
import type { HttpRequest } from "../src/observed/HttpRequest.ts"

const request: HttpRequest = { method: "POST", headers: { "x-name": "here" }, body: "{}", encoding: "utf8" }
const beforeTheBody = { ...plainForm, cut: { bytes: 0, stalls: false } }

/** An authority that this process trusts meanwhile. */
const trusted = Effect.acquireRelease(
  Effect.sync(() => {
    const before = getCACertificates("default")
    const authority = makeAuthority()
    setDefaultCACertificates([...before, authority.cert])
    return { authority, before }
  }),
  ({ before }) => Effect.sync(() => setDefaultCACertificates(before))
)

describe("a request that is broken off before its body", () => {
  it.live("is not given up while its connection does not stand, however long that takes", () =>
    Effect.gen(function* () {
      const { url } = yield* serve(stopsInHandshake, { scheme: "https" })
      const exchange = yield* sendAs(new URL(url), request, beforeTheBody, 300)
      assert.deepInclude(exchange, { _tag: "Failed", outcome: "timeout", connected: false })
    }).pipe(Effect.scoped)
  )

  it.live("reaches a receiver behind TLS, and is given up there", () =>
    Effect.gen(function* () {
      const { authority } = yield* trusted
      const name = yield* Deferred.make<unknown>()
      const { port } = yield* listening(
        createServer(authority.issue("127.0.0.1"), ({ headers }) => {
          Deferred.doneUnsafe(name, Effect.succeed(headers["x-name"]))
        })
      )
      const exchange = yield* sendAs(new URL(`https://127.0.0.1:${port}/hook`), request, beforeTheBody, 10_000)
      assert.deepInclude(exchange, { _tag: "Failed", detail: "given up by the suite", connected: true })
      assert.strictEqual(yield* Deferred.await(name), "here")
    }).pipe(Effect.scoped)
  )

  it.live("is told apart from one whose certificate nobody trusts: that one never came", () =>
    Effect.gen(function* () {
      const { port } = yield* listening(createServer(makeAuthority().issue("127.0.0.1")))
      const exchange = yield* sendAs(new URL(`https://127.0.0.1:${port}/hook`), request, plainForm, 10_000)
      assert.deepInclude(exchange, { _tag: "Failed", outcome: "tls", connected: false })
    }).pipe(Effect.scoped)
  )
})
