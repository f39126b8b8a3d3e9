/**
 * Credentials in the `Authorization` header: bearer tokens (RFC 6750) and the keys of operators.
 */
import { constantTimeEquals, Crypto } from "@doorhook/core"
import { Effect, Redacted } from "effect"
import type { Incoming } from "./Exchange.ts"
import type { RequestFailure } from "./Failures.ts"
import { failure } from "./Failures.ts"

/** What a request presents. */
export type BearerToken =
  /** Nothing, a scheme without a token, or credentials of another scheme. */
  | { readonly _tag: "Absent" }
  /** Something that can't be an access token. */
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

const refusal = (detail: string, challenge: string): RequestFailure =>
  failure(401, { code: "unauthorized", title: "Unauthorized", detail }, { "www-authenticate": challenge })

/** `error` is there only when a token was sent: a client that sent none has made no mistake that a new one would mend. */
const withoutToken = refusal("Send an access token: `Authorization: Bearer <token>`.", 'Bearer realm="doorhook"')
const withWrongToken = refusal(
  "The access token is not valid or has expired. Get a new one with the refresh token; if that is refused, send the user through /oauth/authorize again.",
  'Bearer realm="doorhook", error="invalid_token", error_description="The access token is not valid or has expired"'
)

/** The refusal of a request without a usable access token (RFC 6750 section 3.1). */
export const unauthorized = ({ _tag }: BearerToken): RequestFailure =>
  _tag === "Absent" ? withoutToken : withWrongToken

/** The refusal of a request whose token lacks a scope (RFC 6750 section 3.1). */
export const insufficientScope = (scope: string): RequestFailure =>
  failure(
    403,
    {
      code: "insufficient_scope",
      title: "Insufficient scope",
      detail: `The access token lacks the scope \`${scope}\`. Ask the user for it: send \`scope\` in the authorize step.`
    },
    {
      "www-authenticate": `Bearer realm="doorhook", error="insufficient_scope", error_description="The access token lacks a scope", scope="${scope}"`
    }
  )

/** Several credentials in one text. A comma alone is no sign: parameters of other schemes have some between them. */
const several = /^(?:basic|bearer)\s[^,]*,\s*[\w-]+\s|,\s*(?:basic|bearer)\s/i

/**
 * Whether a request has several `Authorization` headers. Servers differ in which of them a program sees, so a proxy that
 * judged another one would be got round.
 */
export const isRepeated = ({ authorizations, header }: Pick<Incoming, "authorizations" | "header">): boolean => {
  const value = header("authorization")
  return value !== undefined && (several.test(value) || authorizations().length > 1)
}

/** RFC 6749 section 5.2, RFC 6750 section 3.1. */
export const repeatedAuthorization = failure(400, {
  code: "invalid_request",
  title: "Several Authorization headers",
  detail: "The Authorization header came more than once. Send it once.",
  source: { header: "Authorization" }
})

const encoder = new TextEncoder()

/**
 * Compares what requests present with a key. Hashes of one length are compared, so that the time says nothing of either. An
 * empty text is never the key, even where the key is empty.
 */
export const makeKeyCheck = Effect.fnUntraced(function* (key: Redacted.Redacted) {
  const crypto = yield* Crypto
  const expected = yield* crypto.sha256(encoder.encode(Redacted.value(key)))
  return Effect.fnUntraced(function* (presented: string) {
    return presented.trim() !== "" && constantTimeEquals(yield* crypto.sha256(encoder.encode(presented)), expected)
  })
})
