/**
 * Proof that the form was filled in where it was shown (RFC 6749 section 10.12), and for whom: it carries a signature over
 * a cookie that no script can read and over the user that the page named. Without the service's secret nobody can make
 * one, not even for a cookie of their own choice. A form that the browser itself attributes to another page is refused.
 */
import type { Parameters, UserId } from "@doorhook/core"
import { constantTimeEquals, Crypto } from "@doorhook/core"
import { Effect } from "effect"
import { Base64Url } from "effect/encoding"
import { HttpServerRequest } from "effect/http"
import { PageSecret } from "../http/PageSecret.ts"
import { PublicUrl } from "../http/PublicUrl.ts"

/** The form field. */
export const fieldName = "csrf_token"

const encoder = new TextEncoder()

const isCookieValue = (value: string | undefined): value is string =>
  value !== undefined && /^[A-Za-z0-9_-]{43}$/.test(value)

/** The token of a form for a user that the host knows; null for a form that asks for login and password. */
const tokenOf = Effect.fnUntraced(function* (cookie: string, user: UserId | null) {
  const { sign } = yield* PageSecret
  return yield* sign("authorize form", `${cookie} ${user ?? ""}`)
})

/**
 * The cookie's name. The `__Host-` prefix keeps other hosts of the domain from setting it; browsers take it over https
 * only.
 */
const cookieName = Effect.map(PublicUrl, ({ url }) =>
  url.startsWith("https:") ? "__Host-doorhook_login" : "doorhook_login"
)

/** What a form needs to be shown. */
interface FormToken {
  readonly token: string
  /** The `Set-Cookie` header that goes with it; null when the browser has the cookie. */
  readonly setCookie: string | null
}

/** The token for a form shown to this browser. Several forms may be open at once: they share the cookie. */
export const forForm = Effect.fnUntraced(function* (user: UserId | null) {
  const request = yield* HttpServerRequest.HttpServerRequest
  const name = yield* cookieName
  const existing = request.cookies[name]
  if (isCookieValue(existing)) return { token: yield* tokenOf(existing, user), setCookie: null } satisfies FormToken
  const crypto = yield* Crypto
  const cookie = Base64Url.encode(yield* crypto.randomBytes(32))
  const secure = name.startsWith("__Host-") ? "; Secure" : ""
  return {
    token: yield* tokenOf(cookie, user),
    setCookie: `${name}=${cookie}; Path=/; HttpOnly; SameSite=Lax${secure}`
  } satisfies FormToken
})

/** Whether a submitted form was shown to the browser that sends it, and to the user who is logged in there. */
export const isGenuine = Effect.fnUntraced(function* (form: Parameters.Parameters, user: UserId | null) {
  const request = yield* HttpServerRequest.HttpServerRequest
  // Sent by all browsers of today, over https. No script can set it.
  if ((request.headers["sec-fetch-site"] ?? "same-origin") !== "same-origin") return false
  const cookie = request.cookies[yield* cookieName]
  const given = form.values.get(fieldName)
  if (!isCookieValue(cookie) || given === undefined) return false
  return constantTimeEquals(encoder.encode(given), encoder.encode(yield* tokenOf(cookie, user)))
})
