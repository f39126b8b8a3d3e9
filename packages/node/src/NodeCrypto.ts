/**
 * The `Crypto` port on `node:crypto`: synchronous, several times faster per signature than WebCrypto.
 */
import { Crypto } from "@doorhook/core"
import { Effect, Layer } from "effect"
import { createHash, createHmac, randomBytes } from "node:crypto"

export const layer: Layer.Layer<Crypto> = Layer.succeed(Crypto, {
  sha256: (bytes) => Effect.sync(() => createHash("sha256").update(bytes).digest()),
  hmacSha256: (key, message) => Effect.sync(() => createHmac("sha256", key).update(message).digest()),
  randomBytes: (length) => Effect.sync(() => randomBytes(length))
})
