import { assert, describe, it } from "@effect/vitest"
import { Crypto, Signature } from "@doorhook/core"
import { Effect, Redacted } from "effect"
import fc from "fast-check"
import { Webhook } from "standardwebhooks"

const run = <A>(effect: Effect.Effect<A, never, Crypto>) =>
  Effect.runPromise(effect.pipe(Effect.provide(Crypto.layerWebCrypto)))

const secret = Redacted.make("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
const vector = { id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: 1_614_265_330, body: '{"test": 2432232314}' }
const vectorSignature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="

describe("Signature", () => {
  it("returns the signature of the published test vector", async () => {
    assert.strictEqual(await run(Signature.sign([secret], vector)), vectorSignature)
  })

  it("makes secrets and signatures that the reference library accepts, whatever the body", async () => {
    const fresh = await run(Signature.generateSecret)
    await fc.assert(
      fc.asyncProperty(fc.json(), fc.stringMatching(/^evt_[a-z0-9]{20}$/), async (body, id) => {
        const timestamp = Math.floor(Date.now() / 1_000)
        const signature = await run(Signature.sign([fresh], { id, timestamp, body }))
        const received = { "webhook-id": id, "webhook-timestamp": String(timestamp), "webhook-signature": signature }
        assert.doesNotThrow(() => new Webhook(Redacted.value(fresh)).verify(body, received))
      }),
      { numRuns: 50 }
    )
  })

  const headers = {
    "webhook-id": vector.id,
    "webhook-timestamp": String(vector.timestamp),
    "webhook-signature": vectorSignature
  }
  const verify = (
    changed: Partial<Record<string, string | undefined>>,
    seconds = vector.timestamp,
    body = vector.body
  ) => run(Signature.verify(secret, { ...headers, ...changed }, body, seconds * 1_000))

  it("accepts a genuine message up to five minutes early or late, and not a second more", async () => {
    assert.isNull(await verify({}))
    assert.isNull(await verify({}, vector.timestamp + 300))
    assert.isNull(await verify({}, vector.timestamp - 300))
    assert.strictEqual(await verify({}, vector.timestamp + 301), "timestamp_too_old")
    assert.strictEqual(await verify({}, vector.timestamp - 301), "timestamp_too_new")
  })

  it("accepts a message if one of several signatures is valid", async () => {
    assert.isNull(await verify({ "webhook-signature": `v1,AAAA ${vectorSignature}` }))
  })

  it.each([
    [{ "webhook-id": undefined }, "missing_header"],
    [{ "webhook-signature": "" }, "missing_header"],
    [{ "webhook-timestamp": "soon" }, "invalid_timestamp"],
    [{ "webhook-timestamp": `+${vector.timestamp}` }, "invalid_timestamp"],
    [{ "webhook-timestamp": `${vector.timestamp}.0` }, "invalid_timestamp"],
    [{ "webhook-timestamp": `000${vector.timestamp}` }, "invalid_timestamp"],
    [{ "webhook-id": "msg_other" }, "no_matching_signature"],
    [{ "webhook-timestamp": String(vector.timestamp + 1) }, "no_matching_signature"],
    [{ "webhook-signature": "v1," }, "no_matching_signature"],
    [{ "webhook-signature": vectorSignature.slice(0, -2) }, "no_matching_signature"],
    [{ "webhook-signature": vectorSignature.replace("v1,", "v2,") }, "no_matching_signature"]
  ] as const)("refuses %j as %s", async (changed, expected) => {
    assert.strictEqual(await verify(changed), expected)
  })

  it("refuses another body", async () => {
    assert.strictEqual(await verify({}, vector.timestamp, `${vector.body} `), "no_matching_signature")
  })

  const unreadable = ["whsec_", "whsec_!", "not base64!"].map((text) => Redacted.make(text))

  it("accepts a secret with or without its prefix, but none without a key", async () => {
    const bare = Redacted.make("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    assert.strictEqual(await run(Signature.sign([bare], vector)), vectorSignature)
    for (const one of unreadable) {
      assert.isNull(Signature.keyOf(one))
      assert.strictEqual(
        await run(Signature.verify(one, headers, vector.body, vector.timestamp * 1_000)),
        "no_matching_signature"
      )
    }
  })

  it("signs with the valid secrets, and returns nothing like a signature if there is none", async () => {
    assert.strictEqual(await run(Signature.sign([...unreadable, secret], vector)), vectorSignature)
    assert.strictEqual(await run(Signature.sign(unreadable, vector)), "")
  })

  it("returns the same key object for a secret each time, so that it is prepared once, and caches at most 10,000", () => {
    const key = Signature.keyOf(secret)
    Signature.keyOf(Redacted.make("whsec_c2Vjb25k"))
    assert.strictEqual(Signature.keyOf(Redacted.make(Redacted.value(secret))), key)
    for (let n = 0; n <= 10_000; n++) Signature.keyOf(Redacted.make(`whsec_${n.toString().padStart(8, "0")}`))
    assert.notStrictEqual(Signature.keyOf(secret), key)
    assert.deepStrictEqual(Signature.keyOf(secret), key)
  })

  it("signs with every secret during a rotation", async () => {
    const other = Redacted.make("whsec_c2Vjb25k")
    const both = await run(Signature.sign([secret, other], vector))
    assert.deepStrictEqual(both.split(" "), [vectorSignature, await run(Signature.sign([other], vector))])
  })
})
