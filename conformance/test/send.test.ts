/**
 * `conformance send`: one event by hand, and `--listen`.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { conformance, spawnConformance } from "./support/command.ts"
import { acknowledge, answer, receiver } from "./support/receiver.ts"
import { secret } from "./support/setting.ts"

describe("one event", () => {
  it.live("is sent as doorhook sends it, and its request and answer are shown", () =>
    Effect.gen(function* () {
      const target = yield* receiver(acknowledge)
      const { exitCode, output } = yield* conformance(
        "send",
        "call",
        "--url",
        target.url,
        "--signed",
        Redacted.value(secret)
      )
      assert.strictEqual(exitCode, 0, output)
      const [one] = target.received
      assert.strictEqual(target.received.length, 1)
      assert.match(one?.body ?? "", /^\{"event":\{"resource_type":"call","action":"create","data":\{"id":/)
      for (const name of ["webhook-id", "webhook-timestamp", "webhook-signature", "doorhook-attempt"]) {
        assert.include(output, `${name}: ${String(one?.headers[name])}`)
      }
      assert.match(output, /-> 200 after .*\n {2}ok\nacknowledged/)
    })
  )

  it.live("that is not acknowledged ends with exit code 1", () =>
    Effect.gen(function* () {
      const target = yield* receiver((_, response) => answer(response, 500, "out of order"))
      const { exitCode, output } = yield* conformance("send", "--url", target.url)
      assert.strictEqual(exitCode, 1)
      assert.match(output, /-> 500 after .*\n {2}out of order\nnot acknowledged: .* status 200 within 5s/)
      assert.include(target.received[0]?.body ?? "", '"resource_type":"access_log"')
    })
  )

  it.live("that is refused because it is not signed is followed by advice", () =>
    Effect.gen(function* () {
      const target = yield* receiver((_, response) => answer(response, 401, ""))
      const unsigned = yield* conformance("send", "--url", target.url)
      assert.include(unsigned.output, "give its secret with --signed")
      const signed = yield* conformance("send", "--url", target.url, "--signed", Redacted.value(secret))
      assert.notInclude(signed.output, "--signed")
    })
  )

  it.live.each([
    [["send"], /--url is missing/],
    [["send", "--listen", "65536"], /--listen 65536: expected a port from 0 to 65535/],
    [["send", "--listen", "0", "--url", "http://127.0.0.1:9/hook"], /--url and --listen can't be used together/],
    [["send", "--url", "https://93.184.216.34/hook"], /--i-own-this-target/],
    [["send", "--url", "http://127.0.0.1:9/hook", "--signed", "whsec_!"], /--signed must be a Standard Webhooks secret/]
  ] as const)("is not sent with wrong flags: %s", ([args, message]) =>
    Effect.gen(function* () {
      const result = yield* conformance(...args)
      assert.strictEqual(result.exitCode, 3)
      assert.match(result.message, message)
    })
  )
})

describe("--listen", () => {
  it.live("shows what arrives, and whether its signature is right", () =>
    Effect.gen(function* () {
      const { child } = yield* spawnConformance("send", "--listen", "0", "--signed", Redacted.value(secret))
      let output = ""
      child.stdout?.on("data", (chunk) => (output += String(chunk)))
      const shown = (pattern: RegExp) =>
        Effect.sync(() => pattern.exec(output)).pipe(
          Effect.repeat({ until: (found) => found !== null }),
          Effect.map((found) => found?.[1] ?? "")
        )
      const soon = <A>(effect: Effect.Effect<A>) => Effect.delay(effect, 20)
      const url = yield* soon(Effect.suspend(() => shown(/(http:\/\/127\.0\.0\.1:\d+\/)/)))
      const signed = yield* conformance("send", "call", "--url", url, "--signed", Redacted.value(secret))
      assert.strictEqual(signed.exitCode, 0, signed.output)
      yield* shown(/(the signature is right)/)
      yield* conformance("send", "call", "--url", url)
      yield* shown(/(the signature is wrong: missing header)/)
      assert.match(output, /POST \/\n[^]*webhook-id: evt_[^]*"resource_type": "call"/)
    }).pipe(Effect.scoped)
  )
})
