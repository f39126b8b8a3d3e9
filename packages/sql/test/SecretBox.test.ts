/**
 * Secrets are sealed with a key and can be opened only with the same key.
 */
import { SecretBox } from "@doorhook/sql"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import * as fc from "fast-check"

const secret = Redacted.make("whsec_c2VjcmV0")
const boxOf = (key: string) => SecretBox.make(Redacted.make(key))

describe("SecretBox", () => {
  it("opens what it sealed, with keys of any length", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.string({ unit: "grapheme" }), (key, text) => {
        const sealed = boxOf(key).seal(Redacted.make(text))
        assert.strictEqual(Redacted.value(Effect.runSync(boxOf(key).open(sealed))), text)
      })
    )
  })

  it("marks sealed secrets, hides the secret, and seals it differently each time", () => {
    const box = boxOf("key")
    const sealed = box.seal(secret)
    assert.isTrue(sealed.startsWith(SecretBox.sealedPrefix))
    assert.notInclude(sealed, Redacted.value(secret))
    assert.notInclude(Buffer.from(sealed.slice(SecretBox.sealedPrefix.length), "base64url").toString("latin1"), "whsec")
    assert.notStrictEqual(sealed, box.seal(secret))
  })

  it.effect("does not open a secret that was sealed with another key or changed", () =>
    Effect.gen(function* () {
      const sealed = boxOf("key").seal(secret)
      const error = yield* Effect.flip(boxOf("another key").open(sealed))
      assert.strictEqual(error.why, "wrong_key")
      assert.include(error.message, "Set the key that they were encrypted with")
      const bytes = Buffer.from(sealed.slice(SecretBox.sealedPrefix.length), "base64url")
      for (let at = 0; at < bytes.length; at++) {
        const damaged = Buffer.from(bytes)
        damaged.writeUInt8(damaged.readUInt8(at) ^ 1, at)
        const text = SecretBox.sealedPrefix + damaged.toString("base64url")
        assert.strictEqual((yield* Effect.flip(boxOf("key").open(text))).why, "wrong_key")
      }
      for (const cut of ["", "AAAA", sealed.slice(SecretBox.sealedPrefix.length, -2)]) {
        const text = SecretBox.sealedPrefix + cut
        assert.strictEqual((yield* Effect.flip(boxOf("key").open(text))).why, "wrong_key")
      }
    })
  )

  it.effect("without a key stores secrets in clear, and refuses sealed ones", () =>
    Effect.gen(function* () {
      const box = SecretBox.make(undefined)
      assert.strictEqual(box.seal(secret), Redacted.value(secret))
      assert.strictEqual(Redacted.value(yield* box.open(Redacted.value(secret))), Redacted.value(secret))
      const error = yield* Effect.flip(box.open(boxOf("key").seal(secret)))
      assert.strictEqual(error.why, "no_key")
    })
  )

  it.effect("with a key still reads secrets stored in clear", () =>
    Effect.gen(function* () {
      assert.strictEqual(Redacted.value(yield* boxOf("key").open("whsec_plain")), "whsec_plain")
    })
  )
})
