/**
 * The `Crypto` port on `node:crypto`. It computes synchronously and returns an `Exit`, which is several times faster
 * than WebCrypto.
 */
import { Crypto, ed25519Pkcs8 } from "@doorhook/core"
import { Effect, Layer } from "effect"
import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  hash,
  randomBytes,
  randomFillSync,
  sign
} from "node:crypto"
import type { KeyObject } from "node:crypto"

/**
 * Makes a cache of prepared keys, because preparing a key takes as long as four signatures. Forgets a key when its
 * bytes are no longer in use.
 */
const makeKeyring = (prepare: (key: Uint8Array) => KeyObject): ((key: Uint8Array) => KeyObject) => {
  const prepared = new WeakMap<Uint8Array, KeyObject>()
  return (key) => {
    const known = prepared.get(key)
    if (known !== undefined) return known
    const made = prepare(key)
    prepared.set(key, made)
    return made
  }
}

/** Makes a source of random bytes, which are read from the system in larger blocks. Never returns a byte twice. */
const makeRandom = (): ((length: number) => Uint8Array) => {
  const pool = Buffer.alloc(4_096)
  let used = pool.length
  return (length) => {
    if (length > pool.length / 8) return randomBytes(length)
    if (used + length > pool.length) {
      randomFillSync(pool)
      used = 0
    }
    const bytes = Uint8Array.prototype.slice.call(pool, used, used + length)
    // Erases the returned bytes from the pool.
    pool.fill(0, used, used + length)
    used += length
    return bytes
  }
}

export const layer: Layer.Layer<Crypto> = Layer.sync(Crypto, () => {
  const keyOf = makeKeyring((key) => createSecretKey(key))
  const ed25519KeyOf = makeKeyring((key) =>
    createPrivateKey({ key: Buffer.from(ed25519Pkcs8(key)), format: "der", type: "pkcs8" })
  )
  const random = makeRandom()
  return Crypto.of({
    sha256: (bytes) => Effect.succeed(hash("sha256", bytes, "buffer")),
    sha256Text: (text) => Effect.succeed(hash("sha256", text, "base64url")),
    hmacSha256: (key, text) => Effect.succeed(createHmac("sha256", keyOf(key)).update(text).digest("base64")),
    ed25519PublicKey: (privateKey) =>
      // The last 32 bytes of the DER form are the key (RFC 8410 section 4).
      Effect.sync(() =>
        createPublicKey(ed25519KeyOf(privateKey)).export({ format: "der", type: "spki" }).subarray(-32)
      ),
    ed25519Sign: (privateKey, text) =>
      Effect.succeed(sign(null, Buffer.from(text), ed25519KeyOf(privateKey)).toString("base64")),
    randomBytes: random
  })
})
