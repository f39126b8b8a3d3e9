/**
 * The receiver's verifier gives the same verdicts as core's, and accepts the signatures that core makes.
 */
import { Crypto, Signature } from "@doorhook/core"
import { InvalidOption, signatureVerifier } from "@doorhook/receiver"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import * as fc from "fast-check"
import { eventBody, now, secret, signedHeaders } from "./support.ts"

const other = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

const run = <A>(effect: Effect.Effect<A, never, Crypto>): Promise<A> =>
  Effect.runPromise(effect.pipe(Effect.provide(Crypto.layerWebCrypto)))

describe("signatureVerifier", () => {
  it("gives the same verdict as core for every faulty message", async () => {
    const anything = fc.record({
      header: fc.constantFrom("webhook-id", "webhook-timestamp", "webhook-signature", "none"),
      value: fc.oneof(fc.constantFrom("", "v1,", "v1", "1e9", "-1"), fc.string({ maxLength: 20 })),
      off: fc.constantFrom(0, 299, 300, 301, -299, -300, -301, 86_400),
      text: fc.string({ maxLength: 40 }),
      first: fc.constantFrom("", "v1,AAAA ", "v2,x ")
    })
    const verdicts = new Set<string | null>()
    await fc.assert(
      fc.asyncProperty(anything, async ({ first, header, off, text, value }) => {
        const at = now + off * 1_000
        const content = { id: "evt_1", timestamp: Math.floor(at / 1_000), body: text }
        const signature = await run(Signature.sign([Redacted.make(secret)], content))
        const headers: Record<string, string> = {
          ...signedHeaders(text, at),
          "webhook-signature": first + signature
        }
        if (header !== "none") headers[header] = value
        const expected = await run(Signature.verify(Redacted.make(secret), headers, text, now))
        verdicts.add(expected)
        assert.strictEqual(signatureVerifier([secret])(headers, Buffer.from(text), now), expected)
      }),
      { numRuns: 300 }
    )
    assert.strictEqual(verdicts.size, 6, "each way to fail came up, and success")
  })

  it("accepts either secret during a rotation, and neither after both are removed", () => {
    const headers = signedHeaders(eventBody)
    const judge = (...secrets: ReadonlyArray<string>) =>
      signatureVerifier(secrets)(headers, Buffer.from(eventBody), now)
    assert.isNull(judge(other, secret))
    assert.isNull(judge(secret))
    assert.strictEqual(judge(other), "no_matching_signature")
  })

  it("checks only the signatures of a service's key with its public key", async () => {
    const privateKey = await run(Signature.generatePrivateKey)
    const publicKey = (await run(Signature.publicKeyOf(privateKey))) ?? ""
    const content = { id: "evt_1", timestamp: now / 1_000, body: eventBody }
    const [asymmetric = "", both = ""] = await Promise.all(
      [[privateKey], [Redacted.make(secret), privateKey]].map((keys) => run(Signature.sign(keys, content)))
    )
    const judge = (key: string, signature: string, body = eventBody) =>
      signatureVerifier([key])(
        { ...signedHeaders(eventBody), "webhook-id": "evt_1", "webhook-signature": signature },
        Buffer.from(body),
        now
      )
    assert.match(asymmetric, /^v1a,/)
    assert.isNull(judge(publicKey, asymmetric))
    assert.isNull(judge(publicKey, both))
    assert.isNull(judge(secret, both))
    const another = (await run(Effect.flatMap(Signature.generatePrivateKey, Signature.publicKeyOf))) ?? ""
    const [hmac = ""] = both.split(" ")
    const forged = [
      judge(another, asymmetric),
      judge(publicKey, asymmetric, `${eventBody} `),
      judge(publicKey, asymmetric.replace("v1a,", "v1,")),
      judge(publicKey, hmac),
      judge(publicKey, hmac.replace("v1,", "v1a,")),
      judge(publicKey, "v1a,"),
      judge(publicKey, `${asymmetric}AAAA`),
      judge(secret, asymmetric)
    ]
    assert.deepStrictEqual(
      forged,
      forged.map(() => "no_matching_signature")
    )
  })

  it.each(["whpk_", "whpk_AAAA", "whpk_not base64"])("refuses the public key «%s»", (wrong) => {
    assert.throws(() => signatureVerifier([wrong]), InvalidOption, /^secrets: .*webhook_keys`$/)
  })

  it("verifies bytes, not text", () => {
    const bytes = Buffer.from([0xff, 0xfe])
    assert.strictEqual(
      signatureVerifier([secret])(signedHeaders(bytes.toString()), bytes, now),
      "no_matching_signature"
    )
  })

  it("accepts another tolerance", () => {
    const headers = signedHeaders(eventBody, now - 60_000)
    const judge = (tolerance: number) => signatureVerifier([secret], tolerance)(headers, Buffer.from(eventBody), now)
    assert.isNull(judge(60))
    assert.strictEqual(judge(59), "timestamp_too_old")
  })

  it.each(["", "whsec_", "whsec_not base64", "whsec_abc"])("refuses the secret «%s»", (wrong) => {
    assert.throws(() => signatureVerifier([wrong]), InvalidOption, /^secrets: .*rotate it$/)
  })
})
