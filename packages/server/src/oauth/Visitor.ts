/**
 * The browser in the authorize step: who is logged in at the host, and proof that a form was filled in where it was shown.
 */
import type { AuthorizationServer, Parameters, StoreError, UserId } from "@doorhook/core"
import { authorizeParameters, constantTimeEquals, Crypto, DirectoryError, RedirectUri } from "@doorhook/core"
import { Effect } from "effect"
import { Base64Url } from "effect/encoding"
import { Cookies } from "effect/http"
import type { Exchange } from "../http/Exchange.ts"
import { PageSecret } from "../http/PageSecret.ts"
import { PublicUrl } from "../http/PublicUrl.ts"
import { paths } from "./Metadata.ts"

export type Visitor =
  /** Logged in at the host. */
  | { readonly _tag: "User"; readonly id: UserId; readonly name: string }
  /** Has to log in there first, and comes back from there. */
  | { readonly _tag: "Elsewhere"; readonly loginUrl: string }
  /** Has to log in here. */
  | { readonly _tag: "Stranger" }

/** The parameter with the address that the host's login page returns to. */
const returnParameter = "return_to"

/** The parameters that a page or a clean address repeats: all that mean something, without the secret. */
export const repeatable = ({ values }: Parameters.Parameters): ReadonlyArray<readonly [string, string]> =>
  authorizeParameters.flatMap((name) => {
    const value = values.get(name)
    return value === undefined || name === "client_secret" ? [] : [[name, value]]
  })

/** The public address of this step, with the parameters that open it again. */
export const cleanUrl = (publicUrl: string, parameters: Parameters.Parameters): string =>
  RedirectUri.withParameters(`${publicUrl}${paths.authorize}`, Object.fromEntries(repeatable(parameters)))

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

/** Asks the host who its visitor is. The way back is built from public parts: no header of the request can change it. */
export const findVisitor = Effect.fnUntraced(function* (
  authorization: AuthorizationServer["Service"],
  publicUrl: string,
  x: Exchange,
  parameters: Parameters.Parameters
) {
  const base = `${publicUrl}/`
  const url = cleanUrl(publicUrl, parameters)
  const answer = yield* authorization.session({ url, headers: { ...x.headers() } })
  if (answer === null) return { _tag: "Stranger" } satisfies Visitor
  if ("id" in answer) return { _tag: "User", id: answer.id, name: answer.name ?? answer.id } satisfies Visitor
  const page = loginPageOf(answer.login_url, base)
  if (page === null) return yield* wrongLoginUrl(answer.login_url, base)
  page.searchParams.set(returnParameter, url)
  return { _tag: "Elsewhere", loginUrl: page.href } satisfies Visitor
})

/** The form field that holds the token. */
export const csrfField = "csrf_token"

/** What a form needs to be shown. */
interface FormToken {
  readonly token: string
  /** The `Set-Cookie` header that goes with it; null when the browser has the cookie. */
  readonly setCookie: string | null
}

/**
 * Protects forms against requests that other pages forge (RFC 6749 section 10.12). A token signs a cookie that no script can
 * read and the user that the page named; null stands for a form that asks for login and password. Without the service's
 * secret nobody can make one, not even for a cookie of their own choice.
 */
export interface CsrfTokens {
  /** The token of a form shown to this browser. Several forms may be open at once: they share the cookie. */
  readonly forForm: (x: Exchange, user: UserId | null) => Effect.Effect<FormToken, StoreError>
  /** Whether a submitted form was shown to the browser that sends it, and to the user who is logged in there. */
  readonly isGenuine: (
    x: Exchange,
    form: Parameters.Parameters,
    user: UserId | null
  ) => Effect.Effect<boolean, StoreError>
}

const encoder = new TextEncoder()

const isCookieValue = (value: string | undefined): value is string =>
  value !== undefined && /^[A-Za-z0-9_-]{43}$/.test(value)

const cookieOf = (x: Exchange, name: string): string | undefined => Cookies.parseHeader(x.header("cookie") ?? "")[name]

export const makeCsrfTokens: Effect.Effect<CsrfTokens, never, Crypto | PageSecret | PublicUrl> = Effect.gen(
  function* () {
    const crypto = yield* Crypto
    const { sign } = yield* PageSecret
    const publicUrl = yield* PublicUrl

    const isSecure = () => publicUrl.url.startsWith("https:")
    /** The `__Host-` prefix keeps other hosts of the domain from setting the cookie; browsers take it over https only. */
    const cookieName = () => (isSecure() ? "__Host-doorhook_login" : "doorhook_login")
    const tokenOf = (cookie: string, user: UserId | null) => sign("authorize form", `${cookie} ${user ?? ""}`)

    return {
      forForm: Effect.fnUntraced(function* (x, user) {
        const name = cookieName()
        const existing = cookieOf(x, name)
        if (isCookieValue(existing)) return { token: yield* tokenOf(existing, user), setCookie: null }
        const cookie = Base64Url.encode(crypto.randomBytes(32))
        const secure = isSecure() ? "; Secure" : ""
        return {
          token: yield* tokenOf(cookie, user),
          setCookie: `${name}=${cookie}; Path=/; HttpOnly; SameSite=Lax${secure}`
        }
      }),
      isGenuine: Effect.fnUntraced(function* (x, form, user) {
        // All current browsers send it, over https. No script can set it.
        if ((x.header("sec-fetch-site") ?? "same-origin") !== "same-origin") return false
        const cookie = cookieOf(x, cookieName())
        const given = form.values.get(csrfField)
        if (!isCookieValue(cookie) || given === undefined) return false
        return constantTimeEquals(encoder.encode(given), encoder.encode(yield* tokenOf(cookie, user)))
      })
    }
  }
)
