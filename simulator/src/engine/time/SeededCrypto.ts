/**
 * The `Crypto` port of a simulation: synchronous and drawn from the seed. Nobody here has secrets, so its digests only
 * have to differ where their inputs differ.
 */
import { Crypto } from "@doorhook/core"
import { Effect, Layer } from "effect"
import { Base64, Base64Url } from "effect/encoding"
import type { Rng } from "../../random/Substream.ts"

const encoder = new TextEncoder()

/** Both the hash and, with the key first, the HMAC of simulations. */
export const digest = (...inputs: ReadonlyArray<Uint8Array>): Uint8Array => {
  const words = new Uint32Array(8)
  for (const input of inputs) {
    for (let i = 0; i <= input.length; i++) {
      const lane = i & 7
      words[lane] = Math.imul((words[lane] ?? 0) ^ ((input[i] ?? 256) + 1), 0x0100_0193) ^ (words[(lane + 7) & 7] ?? 0)
    }
  }
  return new Uint8Array(words.buffer)
}

export const seededCrypto = (rng: Rng): Layer.Layer<Crypto> =>
  Layer.succeed(Crypto, {
    sha256: (bytes) => Effect.sync(() => digest(bytes)),
    sha256Text: (text) => Effect.sync(() => Base64Url.encode(digest(encoder.encode(text)))),
    hmacSha256: (key, text) => Effect.sync(() => Base64.encode(digest(key, encoder.encode(text)))),
    randomBytes: (length) => Effect.sync(() => Uint8Array.from({ length }, () => rng.below(256)))
  })
