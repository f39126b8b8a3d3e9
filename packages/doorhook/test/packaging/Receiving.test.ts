/**
 * Tests the code in the guide for receivers.
 */
import { afterEach, assert, beforeEach, describe, it, vi } from "@effect/vitest"
import { Crypto, Signature } from "@doorhook/core"
import { Effect, Redacted, Schema } from "effect"
import { readFileSync } from "node:fs"

const page = readFileSync(new URL("../../../../docs/receiving.md", import.meta.url), "utf8")
const [, code = ""] = /^```js\n([^]*?)^```$/m.exec(page) ?? []

const Shown = Schema.Struct({
  isGenuine: Schema.declare(
    (value): value is (...args: ReadonlyArray<unknown>) => unknown => typeof value === "function"
  )
})
const { isGenuine } = Schema.decodeUnknownSync(Shown)({
  ...(await import(/* @vite-ignore */ `data:text/javascript,${encodeURIComponent(code)}`))
})

const now = 1_800_000_000
const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
const other = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
const body = '{"event":{"resource_type":"call","action":"create","data":{"id":7,"name":"\u00e9"}}}'

const headersOf = async (timestamp: number, ...secrets: ReadonlyArray<string>) => ({
  "webhook-id": "evt_1",
  "webhook-timestamp": String(timestamp),
  "webhook-signature": await Effect.runPromise(
    Signature.sign(
      secrets.map((each) => Redacted.make(each)),
      { id: "evt_1", timestamp, body }
    ).pipe(Effect.provide(Crypto.layerWebCrypto))
  )
})

describe("a receiver that verifies signatures itself", () => {
  beforeEach(() => void vi.useFakeTimers({ now: now * 1_000, toFake: ["Date"] }))
  afterEach(() => void vi.useRealTimers())

  it("accepts doorhook's signatures, over text and bytes, and during a rotation", async () => {
    assert.isTrue(isGenuine(secret, await headersOf(now, secret), body))
    assert.isTrue(isGenuine(secret, await headersOf(now, other, secret), Buffer.from(body)))
  })

  it("refuses another secret, another body, and missing headers", async () => {
    const headers = await headersOf(now, secret)
    assert.isFalse(isGenuine(other, headers, body))
    assert.isFalse(isGenuine(secret, headers, `${body} `))
    assert.isFalse(isGenuine(secret, { ...headers, "webhook-id": "evt_2" }, body))
    for (const name of Object.keys(headers)) {
      assert.isFalse(isGenuine(secret, { ...headers, [name]: undefined }, body))
    }
  })

  it.each([
    [-300, true],
    [300, true],
    [-301, false],
    [301, false]
  ])("has a window of five minutes: signed %i seconds from now", async (seconds, genuine) => {
    assert.strictEqual(isGenuine(secret, await headersOf(now + seconds, secret), body), genuine)
  })
})
