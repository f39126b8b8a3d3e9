/**
 * The cryptography that doorhook needs. The default is WebCrypto. On Node.js, `@doorhook/node` provides the synchronous
 * `node:crypto`, which is several times faster per signature. A synchronous implementation computes during the call and
 * returns an `Exit`, which needs no fiber. Callers must run the effect of each call only once.
 */
import { Context, Effect, Layer, Result } from "effect"
import { Base64, Base64Url } from "effect/encoding"

const encoder = new TextEncoder()

export class Crypto extends Context.Service<
  Crypto,
  {
    /** SHA-256 (FIPS 180-4). */
    readonly sha256: (bytes: Uint8Array) => Effect.Effect<Uint8Array>
    /** SHA-256 of a text in UTF-8, as base64url: the stored form of tokens. */
    readonly sha256Text: (text: string) => Effect.Effect<string>
    /** HMAC-SHA-256 (RFC 2104) of a text in UTF-8, as base64, the form that signatures need. */
    readonly hmacSha256: (key: Uint8Array, text: string) => Effect.Effect<string>
    /** The Ed25519 public key (RFC 8032 section 5.1.5) of a 32-byte private key. */
    readonly ed25519PublicKey: (privateKey: Uint8Array) => Effect.Effect<Uint8Array>
    /** The Ed25519 signature (RFC 8032 section 5.1.6) of a text in UTF-8, as base64. */
    readonly ed25519Sign: (privateKey: Uint8Array, text: string) => Effect.Effect<string>
    /** Bytes from a cryptographically secure generator. */
    readonly randomBytes: (length: number) => Uint8Array
  }
>()("@doorhook/core/ports/Crypto") {
  static readonly layerWebCrypto: Layer.Layer<Crypto> = Layer.sync(Crypto, () => {
    const { subtle } = globalThis.crypto
    const digest = async (bytes: Uint8Array<ArrayBuffer>) => new Uint8Array(await subtle.digest("SHA-256", bytes))
    const importEd25519 = (privateKey: Uint8Array) =>
      subtle.importKey("pkcs8", ed25519Pkcs8(privateKey), "Ed25519", true, ["sign"])
    return Crypto.of({
      sha256: (bytes) => Effect.promise(() => digest(own(bytes))),
      sha256Text: (text) => Effect.promise(async () => Base64Url.encode(await digest(encoder.encode(text)))),
      hmacSha256: (key, text) =>
        Effect.promise(async () => {
          const imported = await subtle.importKey("raw", own(key), { name: "HMAC", hash: "SHA-256" }, false, ["sign"])
          return Base64.encode(new Uint8Array(await subtle.sign("HMAC", imported, encoder.encode(text))))
        }),
      ed25519PublicKey: (privateKey) =>
        Effect.promise(async () => {
          const { x } = await subtle.exportKey("jwk", await importEd25519(privateKey))
          return Result.getOrThrow(Base64Url.decode(x ?? ""))
        }),
      ed25519Sign: (privateKey, text) =>
        Effect.promise(async () => {
          const key = await importEd25519(privateKey)
          return Base64.encode(new Uint8Array(await subtle.sign("Ed25519", key, encoder.encode(text))))
        }),
      randomBytes: (length) => globalThis.crypto.getRandomValues(new Uint8Array(length))
    })
  })
}

/** Copies bytes, because WebCrypto does not accept views of shared memory. */
const own = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => new Uint8Array(bytes)

/** The PKCS #8 header before the 32 bytes of an Ed25519 private key (RFC 8410 section 7). */
const pkcs8Prefix = [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20]

/** A 32-byte Ed25519 private key as PKCS #8 in DER, the import format of cryptographic libraries. */
export const ed25519Pkcs8 = (privateKey: Uint8Array): Uint8Array<ArrayBuffer> =>
  Uint8Array.from([...pkcs8Prefix, ...privateKey])

/** Whether two byte strings are equal. The time that this takes depends only on their lengths. */
export const constantTimeEquals = (a: Uint8Array, b: Uint8Array): boolean => {
  let difference = a.length ^ b.length
  for (let i = 0; i < Math.min(a.length, b.length); i++) difference |= (a[i] ?? 0) ^ (b[i] ?? 0)
  return difference === 0
}

/** Like `constantTimeEquals`, for texts. */
export const constantTimeEqualTexts = (a: string, b: string): boolean => {
  let difference = a.length ^ b.length
  for (let i = 0; i < Math.min(a.length, b.length); i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i)
  return difference === 0
}
