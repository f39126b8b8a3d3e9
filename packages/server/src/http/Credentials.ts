/**
 * Credentials in the `Authorization` header: bearer tokens (RFC 6750), the operator key and the metrics key.
 */
import { constantTimeEquals, Crypto } from "@doorhook/core"
import { Effect, Redacted } from "effect"
import type { Incoming } from "./Exchange.ts"
import type { RequestFailure } from "./Failures.ts"
import { failure } from "./Failures.ts"

/** The bearer token of a request. */
export type BearerToken =
  /** No header, a scheme without a token, or another scheme. */
  | { readonly _tag: "Absent" }
  /** The token has characters that no access token contains. */
  | { readonly _tag: "Malformed"; readonly token: string }
  | { readonly _tag: "Token"; readonly token: string }

const absent: BearerToken = { _tag: "Absent" }

/** Reads an `Authorization` header. The scheme is case-insensitive (RFC 9110 section 11.1). */
export const readBearer = (header: string | undefined): BearerToken => {
  if (header === undefined) return absent
  const token = /^bearer +(.+)$/i.exec(header.trim())?.[1]
  if (token === undefined) return absent
  return /^[A-Za-z0-9\-._~+/]+=*$/.test(token) ? { _tag: "Token", token } : { _tag: "Malformed", token }
}

/**
 * Makes a challenge. It has the URL of the resource's metadata, by which a client finds the authorization server (RFC
 * 9728 section 5.1).
 */
const challenge = (metadata: string, parameters: string): { readonly "www-authenticate": string } => ({
  "www-authenticate": `Bearer realm="doorhook", ${parameters}resource_metadata="${metadata}"`
})

/**
 * Makes the refusal of a request without a usable access token (RFC 6750 section 3.1). `metadata` is the URL of the
 * resource's metadata, `scope` the scope to ask for. Without a token, the challenge has no `error`, as the RFC recommends.
 */
export const unauthorized = ({ _tag }: BearerToken, metadata: string, scope?: string): RequestFailure => {
  const known = { code: "unauthorized", title: "Unauthorized" }
  const wanted = scope === undefined ? "" : `scope="${scope}", `
  if (_tag === "Absent") {
    const detail = "Send an access token: `Authorization: Bearer <token>`."
    return failure(401, { ...known, detail }, challenge(metadata, wanted))
  }
  const error =
    'error="invalid_token", error_description="The access token is not valid, has expired, or is for another API", '
  const detail =
    "The access token is not valid, has expired, or is for another API. Get a new one with the refresh token; if that is refused, send the user through /oauth/authorize again."
  return failure(401, { ...known, detail }, challenge(metadata, error + wanted))
}

/**
 * Makes the refusal of a request whose token lacks a scope (RFC 6750 section 3.1). `metadata` is the URL of the
 * resource's metadata, `asked` the scopes that the client should ask for.
 */
export const insufficientScope = (scope: string, metadata: string, asked = scope): RequestFailure =>
  failure(
    403,
    {
      code: "insufficient_scope",
      title: "Insufficient scope",
      detail: `The access token lacks the scope \`${scope}\`. Ask the user for it: send \`scope\` in the authorize step.`
    },
    challenge(
      metadata,
      `error="insufficient_scope", error_description="The access token lacks a scope", scope="${asked}", `
    )
  )

/**
 * Matches several credentials in one header. The pattern looks for schemes, because a single credential may also
 * contain commas.
 */
const several = /^(?:basic|bearer)\s[^,]*,\s*[\w-]+\s|,\s*(?:basic|bearer)\s/i

/**
 * Whether a request has several `Authorization` headers. Such requests are refused, because a proxy in front of
 * doorhook might have checked a different header.
 */
export const isRepeated = (incoming: Pick<Incoming, "authorizations" | "header">): boolean => {
  const value = incoming.header("authorization")
  return value !== undefined && (several.test(value) || incoming.authorizations().length > 1)
}

/** The refusal of several `Authorization` headers (RFC 6749 section 5.2, RFC 6750 section 3.1). */
export const repeatedAuthorization = failure(400, {
  code: "invalid_request",
  title: "Several Authorization headers",
  detail: "The request has more than one Authorization header. Send only one.",
  source: { header: "Authorization" }
})

const encoder = new TextEncoder()

/**
 * Makes a function that returns whether a text equals the key. The function compares hashes of equal length, so that
 * timing reveals nothing about the key. An empty text never matches, even if the key is empty.
 */
export const makeKeyCheck = Effect.fnUntraced(function* (key: Redacted.Redacted) {
  const crypto = yield* Crypto
  const expected = yield* crypto.sha256(encoder.encode(Redacted.value(key)))
  return Effect.fnUntraced(function* (presented: string) {
    return presented.trim() !== "" && constantTimeEquals(yield* crypto.sha256(encoder.encode(presented)), expected)
  })
})
