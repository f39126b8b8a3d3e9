/**
 * Proof that the login form was filled in where it was shown (RFC 6749 section 10.12): the form carries a digest of a
 * cookie that only this origin can set and nobody's script can read.
 */
import type { Parameters } from "@doorhook/core"
import { constantTimeEquals, Crypto } from "@doorhook/core"
import { Effect } from "effect"
import { Base64Url } from "effect/encoding"
import { HttpServerRequest } from "effect/http"
import { PublicUrl } from "../http/PublicUrl.ts"

/** The form field. */
export const fieldName = "csrf_token"

const encoder = new TextEncoder()

const isCookieValue = (value: string | undefined): value is string =>
  value !== undefined && /^[A-Za-z0-9_-]{43}$/.test(value)

const tokenOf = Effect.fnUntraced(function* (cookie: string) {
  const crypto = yield* Crypto
  return Base64Url.encode(yield* crypto.sha256(encoder.encode(`${fieldName} ${cookie}`)))
})

/**
 * The cookie's name. The `__Host-` prefix keeps other hosts of the domain from setting it; browsers take it over https
 * only.
 */
const cookieName = Effect.map(PublicUrl, ({ url }) =>
  url.startsWith("https:") ? "__Host-doorhook_login" : "doorhook_login"
)

/** What a form needs to be shown. */
export interface FormToken {
  readonly token: string
  /** The `Set-Cookie` header that goes with it; null when the browser has the cookie. */
  readonly setCookie: string | null
}

/** The token for a form shown to this browser. Several forms may be open at once: they share the cookie. */
export const forForm = Effect.gen(function* () {
  const request = yield* HttpServerRequest.HttpServerRequest
  const name = yield* cookieName
  const existing = request.cookies[name]
  if (isCookieValue(existing)) return { token: yield* tokenOf(existing), setCookie: null } satisfies FormToken
  const crypto = yield* Crypto
  const cookie = Base64Url.encode(yield* crypto.randomBytes(32))
  const secure = name.startsWith("__Host-") ? "; Secure" : ""
  return {
    token: yield* tokenOf(cookie),
    setCookie: `${name}=${cookie}; Path=/; HttpOnly; SameSite=Lax${secure}`
  } satisfies FormToken
})

/** Whether a submitted form was shown to the browser that sends it. */
export const isGenuine = Effect.fnUntraced(function* (form: Parameters.Parameters) {
  const request = yield* HttpServerRequest.HttpServerRequest
  const cookie = request.cookies[yield* cookieName]
  const given = form.values.get(fieldName)
  if (!isCookieValue(cookie) || given === undefined) return false
  return constantTimeEquals(encoder.encode(given), encoder.encode(yield* tokenOf(cookie)))
})
