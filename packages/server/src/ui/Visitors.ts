/**
 * Identifies the visitors of the pages, and signs them in and out: operators with the operator key, owners with their
 * login at the host or at doorhook, and holders of a link to one integration.
 */
import type { Actor, IntegrationId, StoreError } from "@doorhook/core"
import { AuthorizationServer, Html, storeTime } from "@doorhook/core"
import { Effect, Redacted } from "effect"
import type { Exchange } from "../http/Exchange.ts"
import { readText } from "../http/Exchange.ts"
import type { KnownError } from "../http/Failures.ts"
import { PublicUrl } from "../http/PublicUrl.ts"
import { prefixOf } from "../http/OwnPaths.ts"
import type { Answer, Handler } from "../http/Route.ts"
import { KeyGuard } from "../operator/OperatorKey.ts"
import { PortalLinks } from "../operator/PortalLinks.ts"
import type { PageContent, Pages } from "./Page.ts"
import { makePages, seeOther } from "./Page.ts"
import type { Visit } from "./Parts.ts"
import { alert, hidden, loginFields, loginNames, messagePage, sessionEndedPage } from "./Parts.ts"
import {
  askHost,
  formTokenField,
  homeOf,
  linkSessionCookie,
  linkSessionOf,
  makeFormTokens,
  makeSessions,
  zoneOf
} from "./Session.ts"
import type { Language } from "./Texts.ts"
import { HostTexts, makeLanguages } from "./Texts.ts"

/** Largest form body, in bytes. Only the form that publishes events needs this much. */
export const maxFormBytes = 512 * 1_024

export type Role = Visit["role"]

/** Paths of the roles' first pages, without a mount prefix. */
const rootOf = { operator: "/console", owner: "/portal" } as const

/** The visitor's identity, independent of the page. */
export type Visitor = Pick<Visit, "actor" | "canSignOut" | "link" | "name" | "session">

/** A refused sign-in. */
interface Refused {
  readonly text: string
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
}

interface SignIn {
  readonly role: Role
  readonly home: string
  readonly token: string
  /** The login entered before; empty at first. Entered passwords and keys are never sent back. */
  readonly login: string
  /** The requested page, to return to after signing in. */
  readonly next: string
  readonly problem: string | null
}

interface Services {
  readonly authorization: AuthorizationServer["Service"]
  readonly guard: KeyGuard["Service"]
  readonly links: PortalLinks["Service"]
  readonly publicUrl: PublicUrl["Service"]
  readonly languageOf: (x: Exchange) => Language
  readonly now: () => number
  readonly pages: Pages
  readonly sessions: Effect.Success<typeof makeSessions>
  readonly tokens: Effect.Success<ReturnType<typeof makeFormTokens>>
}

const servicesOf = Effect.gen(function* () {
  const services: Services = {
    authorization: yield* AuthorizationServer,
    guard: yield* KeyGuard,
    links: yield* PortalLinks,
    publicUrl: yield* PublicUrl,
    languageOf: makeLanguages(yield* HostTexts),
    now: yield* storeTime,
    pages: yield* makePages,
    sessions: yield* makeSessions,
    tokens: yield* makeFormTokens("page form")
  }
  return services
})

export class Visitors {
  static readonly make = Effect.map(servicesOf, (services) => new Visitors(services))
  readonly #services: Services

  constructor(services: Services) {
    this.#services = services
  }

  languageOf(x: Exchange): Language {
    return this.#services.languageOf(x)
  }

  /** Returns the browser's language, with times in its zone if that is known. */
  zonedLanguageOf(x: Exchange): Pick<Visit, "language" | "zone"> {
    const [language, zone] = [this.languageOf(x), zoneOf(x)]
    return { language: zone === null ? language : language.inZone(zone), zone }
  }

  /** Returns the path at which the public URL mounts the service; empty at the root. */
  get prefix(): string {
    return prefixOf(this.#services.publicUrl.url)
  }

  /** Returns the path of a role's first page as the browser sees it. */
  homeOf(role: Role): string {
    return `${this.prefix}${rootOf[role]}`
  }

  // Identity.

  operator(x: Exchange): Effect.Effect<Visitor | null, StoreError> {
    return Effect.map(this.#services.sessions.operator(x), (session) =>
      session === null
        ? null
        : {
            session: session.name,
            name: this.languageOf(x).t("operator"),
            actor: null,
            canSignOut: true,
            link: null
          }
    )
  }

  /**
   * Identifies the holder of a link to an integration. Returns "expired" after the link's expiry, null without a valid
   * link.
   */
  linkHolder(x: Exchange, id: IntegrationId): Effect.Effect<Visitor | "expired" | null, StoreError> {
    const { links, publicUrl } = this.#services
    return Effect.map(links.check("visit", linkSessionOf(x, publicUrl.url, id)), (access) => {
      if (access._tag === "Expired") return "expired"
      if (access._tag === "Unknown" || access.grant.integration_id !== id) return null
      const { expires_at, nonce } = access.grant
      return { session: `link ${nonce}`, name: null, actor: null, canSignOut: false, link: { id, expires_at } }
    })
  }

  /**
   * Identifies the owner who is logged in to the host or to doorhook. If the host requires visitors to log in on its own
   * page first, returns a redirect to that page. A form gets a page that says that the form had no effect, and so does
   * the pages' script, which can't follow a redirect to another site. Returns null if nobody is logged in.
   */
  owner(x: Exchange): Effect.Effect<Visitor | Answer | null, KnownError> {
    const { authorization, pages, publicUrl, sessions } = this.#services
    return Effect.gen({ self: this }, function* () {
      // The return address is built from the public URL, so request headers can't change it.
      const page = pageOf(x)
      const visitor = yield* askHost(authorization, publicUrl.url, x, `${publicUrl.url}${page}`)
      if (visitor._tag === "Elsewhere") {
        // Browsers send this value for requests by scripts.
        return x.method === "GET" && x.header("sec-fetch-dest") !== "empty"
          ? seeOther(visitor.loginUrl)
          : yield* pages.answer(sessionEndedPage(this.languageOf(x), `${this.prefix}${page}`))
      }
      if (visitor._tag === "User") {
        const actor: Actor = { user_id: visitor.id, client_id: null }
        return { session: `host ${visitor.id}`, name: visitor.name, actor, canSignOut: false, link: null }
      }
      const session = yield* sessions.owner(x)
      if (session === null || !(yield* authorization.isActive(session.user))) return null
      const actor: Actor = { user_id: session.user, client_id: null }
      return { session: session.name, name: session.user, actor, canSignOut: true, link: null }
    })
  }

  // Form tokens.

  /** Makes the token for the forms of a session. Sets the token's cookie if the browser has none. */
  formToken(x: Exchange, session: string): Effect.Effect<string, StoreError> {
    return Effect.map(this.#services.tokens.forForm(x, session), ({ setCookie, token }) => {
      if (setCookie !== null) x.also = { ...x.also, "set-cookie": setCookie }
      return token
    })
  }

  /** Whether the submitted form was shown to this browser in this session. */
  isGenuine(x: Exchange, fields: URLSearchParams, session: string): Effect.Effect<boolean, StoreError> {
    return this.#services.tokens.isGenuine(x, fields.get(formTokenField) ?? undefined, session)
  }

  // Signing in and out.

  /** Answers a request without a session: shows the sign-in form, which leads to the requested page. */
  askToSignIn(role: Role, x: Exchange): Effect.Effect<Answer, StoreError> {
    const isHome = x.method === "GET" && x.path.replace(/\/$/, "") === rootOf[role]
    const next = x.method === "GET" ? target(x) : rootOf[role]
    return this.#showSignIn(role, x, { login: "", next, problem: null }, { status: isHome ? 200 : 403 })
  }

  /** Shows the sign-in form, with the problem of the last attempt. */
  #showSignIn(
    role: Role,
    x: Exchange,
    shown: Pick<SignIn, "login" | "next" | "problem">,
    answer: { readonly status: number; readonly headers?: Readonly<Record<string, string>> }
  ): Effect.Effect<Answer, StoreError> {
    return Effect.flatMap(this.formToken(x, `sign in ${role}`), (token) =>
      this.#services.pages.answer({
        ...signInPage(this.languageOf(x), { role, home: this.homeOf(role), token, ...shown }),
        ...answer
      })
    )
  }

  /** Handles a submitted sign-in form: begins a session and leads to the requested page. */
  signIn(role: Role): Handler {
    return (x) =>
      Effect.gen({ self: this }, function* () {
        const fields = new URLSearchParams(yield* readText(x, maxFormBytes))
        const next = (fields.get("next") ?? "").slice(0, 2_000)
        const again = (problem: string, answer: Omit<Refused, "text">) =>
          this.#showSignIn(role, x, { login: fields.get(loginNames.login) ?? "", next, problem }, answer)
        if (!(yield* this.isGenuine(x, fields, `sign in ${role}`))) {
          return yield* again(this.languageOf(x).t("form_expired"), { status: 403 })
        }
        const checked = yield* role === "operator" ? this.#checkKey(x, fields) : this.#checkLogin(x, fields)
        if (typeof checked !== "string") return yield* again(checked.text, checked)
        return seeOther(this.#nextOf(role, next), { "set-cookie": checked })
      })
  }

  /**
   * Returns where to go after signing in: to the requested page if it is one of the role's pages, otherwise to the
   * role's first page.
   */
  #nextOf(role: Role, next: string): string {
    const isOwn = next === rootOf[role] || next.startsWith(`${rootOf[role]}/`) || next.startsWith(`${rootOf[role]}?`)
    return isOwn && /^[\w/.?=&%,:+~-]*$/.test(next) && !next.includes("//") && !next.includes("..")
      ? `${this.prefix}${next}`
      : this.homeOf(role)
  }

  #throttled(x: Exchange, seconds: number): Refused {
    return {
      text: this.languageOf(x).t("throttled", { minutes: Math.ceil(seconds / 60) }),
      status: 429,
      headers: { "retry-after": String(seconds) }
    }
  }

  /** Checks the operator key. Returns the cookie of the new session, or the refusal. */
  #checkKey(x: Exchange, fields: URLSearchParams): Effect.Effect<string | Refused, KnownError> {
    const { guard, sessions } = this.#services
    return guard.check(x, fields.get("key") ?? "").pipe(
      Effect.andThen(sessions.beginOperator),
      Effect.catchTag("RequestFailure", ({ headers, status }) =>
        Effect.succeed<Refused>(
          status === 429
            ? this.#throttled(x, Number(headers["retry-after"] ?? 60))
            : { text: this.languageOf(x).t("wrong_key"), status: 403 }
        )
      )
    )
  }

  /** Checks an owner's login. Returns the cookie of the new session, or the refusal. */
  #checkLogin(x: Exchange, fields: URLSearchParams): Effect.Effect<string | Refused, KnownError> {
    const { authorization, sessions } = this.#services
    const attempt = {
      login: fields.get(loginNames.login) ?? "",
      password: Redacted.make(fields.get(loginNames.password) ?? ""),
      address: x.address
    }
    return Effect.flatMap(authorization.signIn(attempt), (result): Effect.Effect<string | Refused, KnownError> => {
      if (result._tag === "Throttled") return Effect.succeed(this.#throttled(x, result.retry_after))
      if (result._tag === "Refused") {
        return Effect.succeed({ text: this.languageOf(x).t("wrong_login"), status: 403 })
      }
      return sessions.beginOwner(result.user)
    })
  }

  signOut({ home, role }: Visit): Effect.Effect<Answer> {
    return Effect.succeed(seeOther(home, { "set-cookie": this.#services.sessions.end(role) }))
  }

  /** Opens a link: exchanges its token for a session. */
  get openLink(): Handler {
    const { links, now, pages, publicUrl } = this.#services
    return (x, params) =>
      Effect.gen({ self: this }, function* () {
        const access = yield* links.check("link", params["token"] ?? "")
        if (access._tag === "Expired") return yield* pages.answer(messagePage(this.languageOf(x), "expired", 403))
        if (access._tag === "Unknown") return yield* pages.answer(messagePage(this.languageOf(x), "unknown_link", 403))
        const grant = yield* links.renamed(access.grant)
        const { expires_at, integration_id } = grant
        const seconds = Math.ceil((expires_at - now()) / 1_000)
        const session = yield* links.tokenFor("visit", grant)
        const cookie = linkSessionCookie(publicUrl.url, integration_id, session, seconds)
        return seeOther(homeOf(publicUrl.url, integration_id), { "set-cookie": cookie })
      })
  }
}

/** Returns the path and query that the visitor requested. */
const target = ({ path, query }: Exchange): string => (query === "" ? path : `${path}?${query}`)

/** Returns the page to show after the visitor has logged in again: the requested page, or the nearest page for a form. */
const pageOf = (x: Exchange): string =>
  x.method === "GET" ? target(x) : (/^\/portal\/(?:new$|\d+(?:\/edit$)?)/.exec(x.path)?.[0] ?? rootOf.owner)

const signInPage = (language: Language, { home, login, next, problem, role, token }: SignIn): PageContent => {
  const { lang, t } = language
  // A link leads to the page of one integration. The hint about it would be wrong once a login was tried.
  const isLinked = role === "owner" && problem === null && /^\/portal\/\d/.test(next)
  const title = t(role === "operator" ? "operator_sign_in" : "owner_sign_in")
  const keyField = Html.template`<label for="key">${t("operator_key")}</label>
<input id="key" name="key" type="password" autocomplete="current-password" required autofocus>
`
  return {
    title: problem === null ? title : t("error_title", { title }),
    lang,
    script: `${home}/live.js`,
    body: Html.template`<h1>${title}</h1>
${problem === null ? null : alert(problem)}<form method="post" action="${home}/sign-in">
${hidden(formTokenField, token)}${hidden("next", next)}
${role === "operator" ? keyField : loginFields(language, login, null)}<button type="submit">${t("sign_in")}</button>
</form>
<p class="muted">${t(role === "operator" ? "operator_key_hint" : "owner_sign_in_hint")}${isLinked ? ` ${t("owner_link_hint")}` : null}</p>`
  }
}
