import { assert, describe, it } from "@effect/vitest"
import { Crypto, Signature } from "@doorhook/core"
import { Effect, Redacted } from "effect"
import fc from "fast-check"
import { createPublicKey, verify as verifySignature } from "node:crypto"
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

  describe("of a private key", () => {
    /** The private key of RFC 8032 section 7.1, test 1, and its public key. */
    const seed = Buffer.from("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60", "hex")
    const publicBytes = Buffer.from("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "hex")
    const privateKey = Redacted.make(`whsk_${seed.toString("base64")}`)

    const verified = (signature: string): boolean => {
      const jwk = { kty: "OKP", crv: "Ed25519", x: publicBytes.toString("base64url") }
      const key = createPublicKey({ key: jwk, format: "jwk" })
      const [version, bytes = ""] = signature.split(",")
      const content = Buffer.from(`${vector.id}.${vector.timestamp}.${vector.body}`)
      return version === "v1a" && verifySignature(null, content, key, Buffer.from(bytes, "base64"))
    }

    it("is verified with its public key, which is derived from it", async () => {
      assert.isTrue(verified(await run(Signature.sign([privateKey], vector))))
      assert.strictEqual(await run(Signature.publicKeyOf(privateKey)), `whpk_${publicBytes.toString("base64")}`)
      assert.isNull(await run(Signature.publicKeyOf(secret)))
      assert.isNull(await run(Signature.publicKeyOf(Redacted.make("whsk_!"))))
    })

    it("is the same if the public key is appended to the private key", async () => {
      const both = Redacted.make(`whsk_${Buffer.concat([seed, publicBytes]).toString("base64")}`)
      assert.deepStrictEqual(Signature.keyOf(both), Signature.keyOf(privateKey))
      assert.strictEqual(await run(Signature.sign([both], vector)), await run(Signature.sign([privateKey], vector)))
    })

    it("does not exist if the key has another length", () => {
      for (const length of [1, 31, 33, 63, 65]) {
        assert.isNull(Signature.keyOf(Redacted.make(`whsk_${Buffer.alloc(length, 1).toString("base64")}`)), `${length}`)
      }
    })

    it("follows the signature of a secret when both sign", async () => {
      const [first, second = ""] = (await run(Signature.sign([secret, privateKey], vector))).split(" ")
      assert.strictEqual(first, vectorSignature)
      assert.isTrue(verified(second))
    })

    it("is made with generated keys of 32 bytes, which differ", async () => {
      const generated = [await run(Signature.generatePrivateKey), await run(Signature.generatePrivateKey)]
      for (const key of generated) {
        assert.match(Redacted.value(key), /^whsk_/)
        assert.lengthOf(Signature.keyOf(key) ?? [], 32)
      }
      assert.strictEqual(new Set(generated.map(Redacted.value)).size, 2)
    })
  })
})
