/**
 * The `Crypto` port of a simulation: synchronous, and determined by the seed. Simulations have no real secrets, so
 * digests only need to differ where their inputs differ. Every attempt needs a digest, so digests have to be cheap.
 */
import { Crypto } from "@doorhook/core"
import { Effect, Layer } from "effect"
import { Base64Url } from "effect/encoding"
import type { Rng } from "../random/Substream.ts"

const decoder = new TextDecoder("latin1")

const offsetBasis = 0x811c_9dc5

/** Cache of the last text and its hash, because the same text is signed, checked, and sent to several receivers. */
let lastText = ""
let lastHash = offsetBasis

/** Returns the 32-bit FNV-1a hash of a text, with one multiplication per character. */
const hashOf = (text: string): number => {
  if (text === lastText) return lastHash
  let hash = offsetBasis
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x0100_0193)
  lastText = text
  lastHash = hash
  return hash
}

/** Returns a digest of a key and a text, 32 bytes long. Simulations use it as HMAC and, with an empty key, as hash. */
const digest = (key: Uint8Array, text: string): Uint8Array => {
  let keyed = offsetBasis
  for (const byte of key) keyed = Math.imul(keyed ^ byte, 0x0100_0193)
  let hash = hashOf(text) ^ keyed
  const words = new Uint32Array(8)
  for (let at = 0; at < words.length; at++) {
    hash = Math.imul(hash ^ (hash >>> 15) ^ keyed ^ text.length, 0x85eb_ca6b)
    words[at] = hash
  }
  return new Uint8Array(words.buffer)
}

/** Returns the digest in base64. Uses Node's encoder, which is three times faster than others. */
export const signatureOf = (key: Uint8Array, text: string): string =>
  Buffer.from(digest(key, text).buffer).toString("base64")

const noKey = new Uint8Array()

export const seededCrypto = (rng: Rng): Layer.Layer<Crypto> =>
  Layer.succeed(Crypto, {
    sha256: (bytes) => Effect.sync(() => digest(noKey, decoder.decode(bytes))),
    sha256Text: (text) => Effect.sync(() => Base64Url.encode(digest(noKey, text))),
    hmacSha256: (key, text) => Effect.sync(() => signatureOf(key, text)),
    ed25519PublicKey: (privateKey) => Effect.sync(() => digest(privateKey, "public key")),
    ed25519Sign: (privateKey, text) => Effect.sync(() => signatureOf(privateKey, text)),
    randomBytes: (length) => {
      const bytes = new Uint8Array(length)
      for (let at = 0; at < length; at++) bytes[at] = rng.below(256)
      return bytes
    }
  })
