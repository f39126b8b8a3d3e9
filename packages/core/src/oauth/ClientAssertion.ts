/**
 * Client authentication with a signed assertion, `private_key_jwt` (RFC 7523 section 2.2): the client signs a short-lived
 * JWT with its private key, of which the directory has the public one.
 *
 * The audience is the issuer and nothing else, so that an assertion for another server or endpoint is of no use here.
 */
import { Effect, Predicate, Result, Schema } from "effect"
import { Base64Url } from "effect/encoding"
import type { PublicKey } from "../model/Client.ts"

/** The value of `client_assertion_type` (RFC 7523 section 2.2). */
export const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

const rsa = { kty: "RSA", hash: "SHA-256" } as const
const algorithms = {
  RS256: { ...rsa, name: "RSASSA-PKCS1-v1_5" },
  PS256: { ...rsa, name: "RSA-PSS", saltLength: 32 },
  ES256: { kty: "EC", name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" },
  EdDSA: { kty: "OKP", name: "Ed25519" },
  Ed25519: { kty: "OKP", name: "Ed25519" }
} as const

/** The accepted signature algorithms (RFC 7518 section 3.1, RFC 8037, RFC 9864). `none` is not among them. */
export const assertionAlgorithms: ReadonlyArray<string> = Object.keys(algorithms)
const isAlgorithm = (name: string): name is keyof typeof algorithms => Object.hasOwn(algorithms, name)

/** How far the client's clock may be off, in seconds. */
const clockSkew = 60

/** The longest lifetime of an assertion, in seconds. Its id is remembered until it expires. */
const maxLifetime = 600

/** The shortest modulus of an RSA key, in bytes (RFC 7518 section 3.3). */
const minModulus = 256

const Header = Schema.Struct({
  alg: Schema.String,
  kid: Schema.optionalKey(Schema.String),
  typ: Schema.optionalKey(Schema.String),
  crit: Schema.optionalKey(Schema.Unknown)
})

const Claims = Schema.Struct({
  iss: Schema.String,
  sub: Schema.String,
  aud: Schema.Union([Schema.String, Schema.Array(Schema.String)]),
  jti: Schema.NonEmptyString.check(Schema.isMaxLength(255)),
  exp: Schema.Finite,
  iat: Schema.optionalKey(Schema.Finite),
  nbf: Schema.optionalKey(Schema.Finite)
})
type Claims = typeof Claims.Type

/** An assertion whose signature is not verified yet. */
export interface Assertion {
  readonly header: typeof Header.Type
  readonly claims: Claims
  /** The signed part. */
  readonly signed: string
  readonly signature: Uint8Array
}

const decoded = <A>(schema: Schema.Codec<A, unknown>, part: string): A | null => {
  const text = Result.getOrNull(Base64Url.decodeString(part))
  if (text === null) return null
  try {
    return Result.getOrNull(Schema.decodeUnknownResult(schema)(JSON.parse(text)))
  } catch {
    return null
  }
}

/** Reads a JWT in compact form (RFC 7515 section 7.1); null if it is malformed or lacks a claim. */
export const readAssertion = (text: string): Assertion | null => {
  const [head = "", body = "", end = "", ...more] = text.split(".")
  const header = decoded(Header, head)
  const claims = decoded(Claims, body)
  const signature = Result.getOrNull(Base64Url.decode(end))
  return header === null || claims === null || signature === null || more.length > 0
    ? null
    : { header, claims, signed: `${head}.${body}`, signature }
}

/** Returns why the claims are not acceptable (RFC 7523 section 3); null if they are. `now` is in seconds. */
export const claimsFlaw = ({ claims, header }: Assertion, issuer: string, now: number): string | null => {
  const { aud, exp, iat, iss, nbf, sub } = claims
  if (!isAlgorithm(header.alg)) return `The alg of the assertion must be one of ${assertionAlgorithms.join(", ")}.`
  if (header.crit !== undefined) return "The assertion has critical extensions, of which none is known here."
  if (header.typ !== undefined && !/^(?:application\/)?(?:client-authentication\+)?jwt$/i.test(header.typ))
    return "The typ of the assertion must be JWT or client-authentication+jwt."
  if (iss !== sub) return "The claims iss and sub of the assertion must both be the client_id."
  const [only, ...others] = Predicate.isString(aud) ? [aud] : aud
  if (only !== issuer || others.length > 0) return `The claim aud of the assertion must be ${issuer} and nothing else.`
  if (exp <= now - clockSkew) return "The assertion has expired. Make a new one for each request."
  if (exp > now + maxLifetime + clockSkew) return `The assertion must expire within ${maxLifetime} seconds.`
  if (nbf !== undefined && nbf > now + clockSkew)
    return "The assertion is not valid yet. Check the clock of the client."
  if (iat !== undefined && iat > now + clockSkew)
    return "The assertion is from the future. Check the clock of the client."
  if (iat !== undefined && iat <= now - maxLifetime - clockSkew)
    return "The assertion is too old. Make a new one for each request."
  return null
}

/** When the id of an assertion may be forgotten, in milliseconds since the epoch. */
export const forgottenAt = ({ claims }: Assertion): number => Math.ceil((claims.exp + clockSkew) * 1_000)

/** Whether a key can have made signatures with an algorithm. */
const fits = ({ alg, crv, kid, kty, n, use }: PublicKey, header: Assertion["header"]): boolean => {
  if (!isAlgorithm(header.alg)) return false
  const wanted = algorithms[header.alg]
  return (
    kty === wanted.kty &&
    (header.kid === undefined || kid === header.kid) &&
    (alg === undefined || alg === header.alg) &&
    (use === undefined || use === "sig") &&
    (kty !== "RSA" || Math.floor(((n ?? "").length * 3) / 4) >= minModulus) &&
    (kty !== "EC" || crv === "P-256") &&
    (kty !== "OKP" || crv === "Ed25519")
  )
}

/** Whether one of the client's keys signed the assertion. WebCrypto verifies, which every platform has. */
export const isSignedBy = (
  { header, signature, signed }: Assertion,
  keys: ReadonlyArray<PublicKey>
): Effect.Effect<boolean> =>
  Effect.promise(async () => {
    const { subtle } = globalThis.crypto
    if (!isAlgorithm(header.alg)) return false
    const algorithm = algorithms[header.alg]
    for (const { crv, e, kty, n, x, y } of keys.filter((key) => fits(key, header))) {
      const jwk = { kty, ...(n !== undefined && { n, e }), ...(crv !== undefined && { crv, x, y }) }
      try {
        const key = await subtle.importKey("jwk", jwk, algorithm, false, ["verify"])
        if (await subtle.verify(algorithm, key, new Uint8Array(signature), new TextEncoder().encode(signed)))
          return true
      } catch {
        // A key that is no valid key has signed nothing.
      }
    }
    return false
  })
