/**
 * Who has opened a page: an operator, an owner who is logged in here or at the host, or the holder of a link to one integration.
 * And proof that a form was shown to the browser that sends it.
 *
 * Sessions are signed cookies: nothing is stored for one. It ends after twelve hours, when the page secret is replaced, and that
 * of an operator when the operator key changes. The key itself is in no cookie.
 */
import type { AuthorizationServer, IntegrationId, StoreError } from "@doorhook/core"
import { constantTimeEquals, Crypto, DirectoryError, UserId } from "@doorhook/core"
import { Clock, Effect, Option, Redacted, Result, Schema } from "effect"
import { Base64Url } from "effect/encoding"
import { Cookies } from "effect/http"
import type { Exchange } from "../http/Exchange.ts"
import { PageSecret } from "../http/PageSecret.ts"
import { PublicUrl } from "../http/PublicUrl.ts"
import { OperatorKey } from "../operator/OperatorKey.ts"

/** How long a session lasts, in milliseconds. */
const sessionLifetime = 12 * 3_600_000

/** How far the clocks of two processes may differ, in milliseconds. */
const clockTolerance = 60_000

const encoder = new TextEncoder()
const areEqual = (given: string, genuine: string): boolean =>
  constantTimeEquals(encoder.encode(given), encoder.encode(genuine))

/** A cookie of a request; undefined where there is none. */
const cookieOf = (x: Exchange, name: string): string | undefined => Cookies.parseHeader(x.header("cookie") ?? "")[name]

/** The path of the public URL, below which the service is mounted; empty at the root. */
export const prefixOf = (publicUrl: string): string => new URL(publicUrl).pathname.replace(/\/$/, "")

/** The `__Host-` prefix keeps other hosts of the domain from setting a cookie; browsers take it over https only. */
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
    /** Null ends with the browser's session. */
    readonly seconds: number | null
  }
): string =>
  `${name}=${value}; Path=${path}${seconds === null ? "" : `; Max-Age=${seconds}`}; HttpOnly; SameSite=${sameSite}${publicUrl.startsWith("https:") ? "; Secure" : ""}`

/** The form field that proves that the form was shown to this browser. */
export const formTokenField = "csrf_token"

/** What a form needs to be shown. */
interface FormToken {
  readonly token: string
  /** The `Set-Cookie` header that goes with it; null when the browser has the cookie. */
  readonly setCookie: string | null
}

/**
 * Protects forms against requests that other pages forge (RFC 6749 section 10.12). A token signs a cookie that no script can
 * read and the session that the page was shown in. Without the service's secret nobody can make one, not even for a cookie of
 * their own choice.
 */
interface FormTokens {
  /** The token of a form shown to this browser in a session; empty before there is one. Open forms share the cookie. */
  readonly forForm: (x: Exchange, session: string) => Effect.Effect<FormToken, StoreError>
  /** Whether a submitted form was shown to the browser that sends it, in the same session. */
  readonly isGenuine: (x: Exchange, token: string | undefined, session: string) => Effect.Effect<boolean, StoreError>
}

const isCookieValue = (value: string | undefined): value is string =>
  value !== undefined && /^[A-Za-z0-9_-]{43}$/.test(value)

/** Makes the protection of the forms of one purpose. */
export const makeFormTokens = Effect.fnUntraced(function* (purpose: "authorize form" | "page form") {
  const crypto = yield* Crypto
  const { sign } = yield* PageSecret
  const publicUrl = yield* PublicUrl
  const cookieName = () => hostCookie(publicUrl.url, "doorhook_login")
  const tokenOf = (cookie: string, session: string) => sign(purpose, `${cookie} ${session}`)

  return {
    forForm: Effect.fnUntraced(function* (x, session) {
      const name = cookieName()
      const existing = cookieOf(x, name)
      if (isCookieValue(existing)) return { token: yield* tokenOf(existing, session), setCookie: null }
      const value = Base64Url.encode(crypto.randomBytes(32))
      const cookie = setCookie(publicUrl.url, { name, value, path: "/", sameSite: "Lax", seconds: null })
      return { token: yield* tokenOf(value, session), setCookie: cookie }
    }),
    isGenuine: Effect.fnUntraced(function* (x, token, session) {
      // All current browsers send it, over https. No script can set it.
      if ((x.header("sec-fetch-site") ?? "same-origin") !== "same-origin") return false
      const cookie = cookieOf(x, cookieName())
      if (!isCookieValue(cookie) || token === undefined) return false
      return areEqual(token, yield* tokenOf(cookie, session))
    })
  } satisfies FormTokens
})

/** What of a session is not the same for each visitor of its kind. */
interface Session {
  /** Distinguishes it from other sessions: form tokens are bound to it. */
  readonly name: string
}

/** A session of a user who has logged in here. */
export interface OwnerSession extends Session {
  readonly user: UserId
}

interface Sessions {
  /** The operator's session in this browser; null without one. */
  readonly operator: (x: Exchange) => Effect.Effect<Session | null, StoreError>
  readonly owner: (x: Exchange) => Effect.Effect<OwnerSession | null, StoreError>
  /** The `Set-Cookie` headers that begin and end sessions. */
  readonly beginOperator: Effect.Effect<string, StoreError>
  readonly beginOwner: (user: UserId) => Effect.Effect<string, StoreError>
  readonly end: (role: "operator" | "owner") => string
}

const sessionPattern = /^(\d{1,16})\.([\w-]{16})\.([\w-]{0,1500})\.([\w-]{43})$/

const parseUser = (text: string): Option.Option<UserId> =>
  Result.getSuccess(Base64Url.decodeString(text)).pipe(Option.flatMap(Schema.decodeUnknownOption(UserId)))

export const makeSessions = Effect.gen(function* () {
  const crypto = yield* Crypto
  const { sign } = yield* PageSecret
  const publicUrl = yield* PublicUrl
  const { key } = yield* OperatorKey
  // A session stands for the key that was given: another key, and it is no session any more.
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
    const expires = (yield* Clock.currentTimeMillis) + sessionLifetime
    const content = `${expires}.${Base64Url.encode(crypto.randomBytes(12))}.${subject}`
    return setCookie(publicUrl.url, {
      name: nameOf(role),
      value: `${content}.${yield* signatureOf(role, content)}`,
      path: "/",
      // The host's pages lead owners here; nobody is led to the console by another site.
      sameSite: role === "operator" ? "Strict" : "Lax",
      seconds: sessionLifetime / 1_000
    })
  })

  /** The name and subject of a session that lasts; null for none. */
  const read = Effect.fnUntraced(function* (role: Role, x: Exchange) {
    const match = sessionPattern.exec(cookieOf(x, nameOf(role)) ?? "")
    if (match === null) return null
    const [, expires = "", nonce = "", subject = "", signature = ""] = match
    const now = yield* Clock.currentTimeMillis
    if (Number(expires) <= now || Number(expires) > now + sessionLifetime + clockTolerance) return null
    if (!areEqual(signature, yield* signatureOf(role, `${expires}.${nonce}.${subject}`))) return null
    return { name: `${role} ${nonce}`, subject }
  })

  return {
    operator: (x) => read("operator", x),
    owner: Effect.fnUntraced(function* (x) {
      const session = yield* read("owner", x)
      const user = session === null ? null : Option.getOrNull(parseUser(session.subject))
      return session === null || user === null ? null : { name: session.name, user }
    }),
    beginOperator: begin("operator", ""),
    beginOwner: (user) => begin("owner", Base64Url.encode(user)),
    end: (role) =>
      setCookie(publicUrl.url, {
        name: nameOf(role),
        value: "",
        path: "/",
        sameSite: role === "operator" ? "Strict" : "Lax",
        seconds: 0
      })
  } satisfies Sessions
})

/** The path of an integration's page as the browser sees it, behind any prefix that the service is mounted at. */
export const homeOf = (publicUrl: string, id: IntegrationId): string => `${prefixOf(publicUrl)}/portal/${id}`

/** Browsers accept `__Secure-` over https only. `__Host-` would need `Path=/`. */
const linkCookieName = (publicUrl: string, id: IntegrationId): string =>
  `${publicUrl.startsWith("https:") ? "__Secure-" : ""}doorhook_portal_${id}`

/** The session that a link to an integration has opened in this browser; empty when there is none. */
export const linkSessionOf = (x: Exchange, publicUrl: string, id: IntegrationId): string =>
  cookieOf(x, linkCookieName(publicUrl, id)) ?? ""

/**
 * The `Set-Cookie` header that starts a session of `seconds` for the holder of a link.
 *
 * Each integration has a cookie for the path of its page alone: a browser that has opened a hundred pages still sends one with
 * each request, and none to the host's own pages. Node.js refuses requests with more than 16 KiB of headers. `Lax`: the host's
 * pages lead to the link, and the redirect that follows must carry the cookie.
 */
export const linkSessionCookie = (publicUrl: string, id: IntegrationId, value: string, seconds: number): string =>
  setCookie(publicUrl, {
    name: linkCookieName(publicUrl, id),
    value,
    path: homeOf(publicUrl, id),
    sameSite: "Lax",
    seconds
  })

/** Who the host says its visitor is. */
export type HostVisitor =
  /** Logged in at the host. */
  | { readonly _tag: "User"; readonly id: UserId; readonly name: string }
  /** Has to log in there first, and comes back from there. */
  | { readonly _tag: "Elsewhere"; readonly loginUrl: string }
  /** Has to log in here. */
  | { readonly _tag: "Stranger" }

/** The parameter with the address that the host's login page returns to. */
const returnParameter = "return_to"

/** The host's login page; null when a browser can't be sent there. */
const loginPageOf = (given: string, base: string): URL | null => {
  const url = URL.parse(given, base)
  return url !== null && /^https?:$/.test(url.protocol) ? url : null
}

/** What is wrong with a `login_url`. No more than its scheme is logged: the rest may hold secrets. */
const wrongLoginUrl = (given: string, base: string): DirectoryError => {
  const scheme = URL.parse(given, base)?.protocol.slice(0, 40)
  const found = scheme === undefined ? "a text that is none" : `one that begins with \`${scheme}\``
  const flaw = `must return a \`login_url\` that is an http or https URL or a path, not ${found}`
  return new DirectoryError({ operation: "session", flaw, cause: new Error(flaw) })
}

/**
 * Asks the host who its visitor is. `url` is the page, seen from outside: the way back is built from public parts, so no header
 * of the request can change it.
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
