/**
 * Sessions of visitors: operators, owners who are logged in to doorhook or to the host, and holders of a link to one
 * integration. This file also makes form tokens, which prove that a form was shown to the browser that submits it.
 *
 * Sessions are signed cookies and not stored on the server. A session ends after twelve hours or when the page secret
 * is replaced. An operator's session also ends when the operator key changes. No cookie contains the key itself.
 */
import type { AuthorizationServer, IntegrationId, StoreError } from "@doorhook/core"
import { constantTimeEquals, Crypto, DirectoryError, storeTime, UserId } from "@doorhook/core"
import { Effect, Option, Redacted, Result, Schema } from "effect"
import { Base64Url } from "effect/encoding"
import { Cookies } from "effect/http"
import type { Exchange } from "../http/Exchange.ts"
import { prefixOf } from "../http/OwnPaths.ts"
import { PageSecret } from "../http/PageSecret.ts"
import { PublicUrl } from "../http/PublicUrl.ts"
import { isZone } from "./Texts.ts"
import { OperatorKey } from "../operator/OperatorKey.ts"

/** How long a session lasts, in milliseconds. */
const sessionLifetime = 12 * 3_600_000

/** Tolerated difference between the clocks of two processes, in milliseconds. */
const clockTolerance = 60_000

const encoder = new TextEncoder()
const areEqual = (given: string, genuine: string): boolean =>
  constantTimeEquals(encoder.encode(given), encoder.encode(genuine))

/** Returns the value of a cookie in a request; undefined if the cookie is missing. */
const cookieOf = (x: Exchange, name: string): string | undefined => Cookies.parseHeader(x.header("cookie") ?? "")[name]

/** Returns the time zone that the script has set in this browser; null if it is missing or unknown here. */
export const zoneOf = (x: Exchange): string | null => {
  const name = cookieOf(x, "doorhook_zone") ?? ""
  return /^[\w+/-]{1,64}$/.test(name) && isZone(name) ? name : null
}

/** Over https, adds the `__Host-` prefix, which keeps other hosts of the domain from setting the cookie. */
const hostCookie = (publicUrl: string, name: string): string =>
  publicUrl.startsWith("https:") ? `__Host-${name}` : name

const setCookie = (
  publicUrl: string,
  {
    name,
    path,
    sameSite,
    seconds,
    value
  }: Readonly<Record<"name" | "path" | "sameSite" | "value", string>> & {
    /** Lifetime in seconds; null for a cookie that ends with the browser's session. */
    readonly seconds: number | null
  }
): string =>
  `${name}=${value}; Path=${path}${seconds === null ? "" : `; Max-Age=${seconds}`}; HttpOnly; SameSite=${sameSite}${publicUrl.startsWith("https:") ? "; Secure" : ""}`

/** Name of the form field with the form token. */
export const formTokenField = "csrf_token"

/** The token for a form, and its cookie. */
interface FormToken {
  readonly token: string
  /** The `Set-Cookie` header to send with the form; null if the browser already has the cookie. */
  readonly setCookie: string | null
}

const isCookieValue = (value: string | undefined): value is string =>
  value !== undefined && /^[A-Za-z0-9_-]{43}$/.test(value)

/**
 * Makes form tokens for one purpose. They protect forms against cross-site request forgery (RFC 6749 section 10.12). A
 * token is a signature over the session and a cookie that scripts can't read. Only the service can make a token, even
 * for a cookie that an attacker has chosen.
 */
export const makeFormTokens = Effect.fnUntraced(function* (purpose: "authorize form" | "page form") {
  const crypto = yield* Crypto
  const { sign } = yield* PageSecret
  const publicUrl = yield* PublicUrl
  const cookieName = () => hostCookie(publicUrl.url, "doorhook_login")
  const tokenOf = (cookie: string, session: string) => sign(purpose, `${cookie} ${session}`)

  return {
    /** Makes the token for a form shown in a session. All forms that are open in a browser share the cookie. */
    forForm: Effect.fnUntraced(function* (x: Exchange, session: string): Effect.fn.Return<FormToken, StoreError> {
      const name = cookieName()
      const existing = cookieOf(x, name)
      if (isCookieValue(existing)) return { token: yield* tokenOf(existing, session), setCookie: null }
      const value = Base64Url.encode(crypto.randomBytes(32))
      const cookie = setCookie(publicUrl.url, { name, value, path: "/", sameSite: "Lax", seconds: null })
      return { token: yield* tokenOf(value, session), setCookie: cookie }
    }),
    /** Whether a submitted form was shown to the same browser in the same session. */
    isGenuine: Effect.fnUntraced(function* (x: Exchange, token: string | undefined, session: string) {
      // All current browsers send this header over https, and scripts can't set it.
      if ((x.header("sec-fetch-site") ?? "same-origin") !== "same-origin") return false
      const cookie = cookieOf(x, cookieName())
      if (!isCookieValue(cookie) || token === undefined) return false
      return areEqual(token, yield* tokenOf(cookie, session))
    })
  }
})

const sessionPattern = /^(\d{1,16})\.([\w-]{16})\.([\w-]{0,1500})\.([\w-]{43})$/

const parseUser = (text: string): Option.Option<UserId> =>
  Result.getSuccess(Base64Url.decodeString(text)).pipe(Option.flatMap(Schema.decodeUnknownOption(UserId)))

export const makeSessions = Effect.gen(function* () {
  const crypto = yield* Crypto
  const now = yield* storeTime
  const { sign } = yield* PageSecret
  const publicUrl = yield* PublicUrl
  const { key } = yield* OperatorKey
  // The key is part of the signature, so an operator's session ends when the key changes.
  const ofKey = Base64Url.encode(
    yield* crypto.sha256(encoder.encode(`doorhook operator session ${Redacted.value(key)}`))
  )

  const cookieOfRole = { operator: "doorhook_console", owner: "doorhook_owner" } as const
  type Role = keyof typeof cookieOfRole
  const nameOf = (role: Role) => hostCookie(publicUrl.url, cookieOfRole[role])

  const signatureOf = (role: Role, content: string) =>
    sign(`${role} session`, role === "operator" ? `${content} ${ofKey}` : content)

  /** Starts a session; `subject` is a user's id in base64url. */
  const begin = Effect.fnUntraced(function* (role: Role, subject: string) {
    const expires = now() + sessionLifetime
    const content = `${expires}.${Base64Url.encode(crypto.randomBytes(12))}.${subject}`
    return setCookie(publicUrl.url, {
      name: nameOf(role),
      value: `${content}.${yield* signatureOf(role, content)}`,
      path: "/",
      // The host's pages may link to the portal. No other site needs to link to the console.
      sameSite: role === "operator" ? "Strict" : "Lax",
      seconds: sessionLifetime / 1_000
    })
  })

  /** Reads the unique name, which form tokens are bound to, and the subject of a valid session; null without one. */
  const read = Effect.fnUntraced(function* (role: Role, x: Exchange) {
    const match = sessionPattern.exec(cookieOf(x, nameOf(role)) ?? "")
    if (match === null) return null
    const [, expires = "", nonce = "", subject = "", signature = ""] = match
    const at = now()
    if (Number(expires) <= at || Number(expires) > at + sessionLifetime + clockTolerance) return null
    if (!areEqual(signature, yield* signatureOf(role, `${expires}.${nonce}.${subject}`))) return null
    return { name: `${role} ${nonce}`, subject }
  })

  return {
    /** Reads the operator's session in this browser; null without a session. */
    operator: (x: Exchange) => read("operator", x),
    owner: Effect.fnUntraced(function* (x: Exchange) {
      const session = yield* read("owner", x)
      const user = session === null ? null : Option.getOrNull(parseUser(session.subject))
      return session === null || user === null ? null : { name: session.name, user }
    }),
    /** Makes the `Set-Cookie` header that starts an operator's session. */
    beginOperator: begin("operator", ""),
    beginOwner: (user: UserId) => begin("owner", Base64Url.encode(user)),
    end: (role: Role) =>
      setCookie(publicUrl.url, {
        name: nameOf(role),
        value: "",
        path: "/",
        sameSite: role === "operator" ? "Strict" : "Lax",
        seconds: 0
      })
  }
})

/** Returns the path of an integration's page as the browser sees it, with any mount prefix. */
export const homeOf = (publicUrl: string, id: IntegrationId): string => `${prefixOf(publicUrl)}/portal/${id}`

/** Browsers accept the prefix `__Secure-` only over https. `__Host-` would need `Path=/`. */
const linkCookieName = (publicUrl: string, id: IntegrationId): string =>
  `${publicUrl.startsWith("https:") ? "__Secure-" : ""}doorhook_portal_${id}`

/** Returns the session token that was set in this browser by a link to an integration; empty without one. */
export const linkSessionOf = (x: Exchange, publicUrl: string, id: IntegrationId): string =>
  cookieOf(x, linkCookieName(publicUrl, id)) ?? ""

/**
 * Makes the `Set-Cookie` header that starts a session of `seconds` for the holder of a link.
 *
 * Each integration has its own cookie, limited to the path of its page. Therefore a browser that has opened a hundred
 * of these pages still sends only one cookie with each request, and none to the host's own pages. A hundred cookies
 * could exceed the 16 KiB of headers that Node.js accepts. `SameSite` is `Lax`, because the host's pages contain the
 * link, and the browser must send the cookie when it follows the redirect.
 */
export const linkSessionCookie = (publicUrl: string, id: IntegrationId, value: string, seconds: number): string =>
  setCookie(publicUrl, {
    name: linkCookieName(publicUrl, id),
    value,
    path: homeOf(publicUrl, id),
    sameSite: "Lax",
    seconds
  })

/** The host's answer about its visitor. */
export type HostVisitor =
  /** The visitor is logged in at the host. */
  | { readonly _tag: "User"; readonly id: UserId; readonly name: string }
  /** The visitor must first log in at the host, which redirects back. */
  | { readonly _tag: "Elsewhere"; readonly loginUrl: string }
  /** The visitor must log in to doorhook. */
  | { readonly _tag: "Stranger" }

/** Query parameter with the address to which the host's login page redirects back. */
const returnParameter = "return_to"

/** Parses the URL of the host's login page; null if it is not an http or https URL. */
const loginPageOf = (given: string, base: string): URL | null => {
  const url = URL.parse(given, base)
  return url !== null && /^https?:$/.test(url.protocol) ? url : null
}

/**
 * Makes the error for an unusable `login_url`. The message names only the scheme, because the rest might contain
 * secrets.
 */
const wrongLoginUrl = (given: string, base: string): DirectoryError => {
  const scheme = URL.parse(given, base)?.protocol.slice(0, 40)
  const found = scheme === undefined ? "another text" : `one that begins with \`${scheme}\``
  const flaw = `must return a \`login_url\` that is an http or https URL or a path, not ${found}`
  return new DirectoryError({ operation: "session", flaw, cause: new Error(flaw) })
}

/**
 * Calls the host to find out who its visitor is. `url` is the public address of the page, to which the visitor returns.
 * This address must not depend on the request's headers.
 */
export const askHost: (
  authorization: Pick<AuthorizationServer["Service"], "session">,
  publicUrl: string,
  x: Exchange,
  url: string
) => Effect.Effect<HostVisitor, DirectoryError> = Effect.fnUntraced(function* (authorization, publicUrl, x, url) {
  const base = `${publicUrl}/`
  const answer = yield* authorization.session({ url, headers: { ...x.headers() } })
  if (answer === null) return { _tag: "Stranger" }
  if ("id" in answer) return { _tag: "User", id: answer.id, name: answer.name ?? answer.id }
  const page = loginPageOf(answer.login_url, base)
  if (page === null) return yield* wrongLoginUrl(answer.login_url, base)
  page.searchParams.set(returnParameter, url)
  return { _tag: "Elsewhere", loginUrl: page.href }
})
