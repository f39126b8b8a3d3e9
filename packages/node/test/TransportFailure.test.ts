/**
 * Failures that a healthy machine can't produce: shortages, dead networks, sockets that close between two steps.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Socket } from "node:net"
import * as GuardedConnector from "../src/GuardedConnector.ts"
import { ofConnecting, ofError, ofProxy } from "../src/TransportFailure.ts"
import { answers, ok, serve } from "@doorhook/testkit/hostile/RawReceiver"
import { loopback } from "./Posting.ts"

const withCode = (code: string, syscall = "connect") =>
  Object.assign(new Error(`${syscall} ${code}`), { code, syscall })

describe("TransportFailure", () => {
  it.each(["EMFILE", "ENFILE", "ENOBUFS", "ENOMEM"])("reports %s as the sender's own shortage", (code) => {
    const failure = ofConnecting(["192.0.2.1:80"], withCode(code))
    assert.strictEqual(failure._tag, "EgressFailure")
    assert.strictEqual(failure.message, `this process can open no more connections (${code})`)
  })

  it.each([
    ["ECONNREFUSED", "connection_refused"],
    ["EHOSTUNREACH", "connection_refused"],
    ["ENETUNREACH", "connection_refused"],
    ["EADDRNOTAVAIL", "connection_refused"],
    ["EACCES", "connection_refused"],
    ["EPERM", "connection_refused"],
    ["ETIMEDOUT", "timeout"],
    ["ECONNRESET", "connection_reset"]
  ])("reports %s while connecting as %s", (code, outcome) => {
    assert.propertyVal(ofConnecting(["192.0.2.1:80"], withCode(code)), "outcome", outcome)
  })

  it("names the codes of all addresses, and the first few addresses", () => {
    const error = new AggregateError([withCode("ENETUNREACH"), withCode("ECONNREFUSED"), withCode("ENETUNREACH")])
    const places = ["[2001:db8::1]:80", "192.0.2.1:80", "192.0.2.2:80", "192.0.2.3:80", "192.0.2.4:80"]
    assert.strictEqual(
      ofConnecting(places, error).message,
      "could not connect to [2001:db8::1]:80, 192.0.2.1:80, 192.0.2.2:80, 192.0.2.3:80 (ENETUNREACH, ECONNREFUSED)"
    )
  })

  it.each([
    ["ETIMEDOUT", "timeout"],
    ["ECONNRESET", "connection_reset"],
    ["EPIPE", "connection_reset"],
    ["EHOSTUNREACH", "connection_reset"]
  ])("reports %s on an open connection as %s", (code, outcome) => {
    assert.propertyVal(ofError(withCode(code, "read")), "outcome", outcome)
  })

  it("reports an unknown error or value as an invalid response", () => {
    assert.propertyVal(ofError(new Error("assert(currentParser === null)")), "outcome", "invalid_response")
    assert.propertyVal(ofError("nonsense"), "outcome", "invalid_response")
  })

  it("keeps the detail on one short line", () => {
    for (const failure of [
      ofError(new Error(`(a\r\nb\u2028${"c".repeat(1_000)})`)),
      ofProxy("p:1", new Error("a\nb"))
    ]) {
      assert.notMatch(failure.message, /[\u0000-\u001f\u2028]/)
      assert.isAtMost(failure.message.length, 600)
    }
  })
})

describe("GuardedConnector", () => {
  it.live("never returns a socket that has closed in the meantime", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { port } = yield* serve(answers(ok))
        const ways: GuardedConnector.Ways = {
          ...GuardedConnector.makeWays(async () => [], null, []),
          secure: (_, callback) => callback(null, new Socket().destroy())
        }
        const to = { protocol: "https:", hostname: "127.0.0.1", port: String(port) }
        const failure = yield* Effect.flip(
          GuardedConnector.open(ways, { allow: loopback, deadline: 5_000, client: "client" }, to, () => undefined)
        )
        assert.strictEqual(failure.message, "the connection was closed immediately")
      })
    )
  )
})
