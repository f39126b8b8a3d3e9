/**
 * The web pages: `/console` for operators and `/portal` for owners of integrations. This file has the routes, their
 * access checks, and the handling of forms. The pages themselves are in the other files in this folder.
 *
 * A form is answered with a redirect, so that a reload does not submit the form again. The exceptions are answers that
 * contain a new secret.
 */
import type { Actor, IntegrationId, StoreError, IntegrationWithHealth } from "@doorhook/core"
import {
  AuthorizationServer,
  Crypto,
  formatDeliveryId,
  makeMinuteCounter,
  OperatorIntegrations,
  parseDeliveryId,
  IntegrationNotFound,
  storeTime
} from "@doorhook/core"
import { Effect, Option, Redacted } from "effect"
import { Base64Url } from "effect/encoding"
import type { Exchange } from "../http/Exchange.ts"
import { readText } from "../http/Exchange.ts"
import type { KnownError } from "../http/Failures.ts"
import { PublicUrl } from "../http/PublicUrl.ts"
import { integrationIdIn, parseIntegrationId, pathId } from "../http/Query.ts"
import type { Answer, Face, Handler, Method, Params, Route } from "../http/Route.ts"
import { KeyGuard } from "../operator/OperatorKey.ts"
import { PortalLinks } from "../operator/PortalLinks.ts"
import { makeClientPages } from "./Clients.ts"
import { deliveriesIn, makeDeliveryPages } from "./Deliveries.ts"
import { makeIntegrationPages, pathOf } from "./Integrations.ts"
import { liveScript } from "./LiveScript.ts"
import { makeNotificationPages } from "./Notifications.ts"
import { makeOverview } from "./Overview.ts"
import { makeOwnerPages } from "./Owners.ts"
import { makePages, seeOther } from "./Page.ts"
import type { Shown, Visit } from "./Parts.ts"
import { after, failurePage, formFailure, framed, loginNames, messagePage, sessionEndedPage } from "./Parts.ts"
import { makePublishPages } from "./Publish.ts"
import type { OwnerSession } from "./Session.ts"
import {
  askHost,
  formTokenField,
  homeOf,
  linkSessionCookie,
  linkSessionOf,
  makeFormTokens,
  makeSessions,
  prefixOf
} from "./Session.ts"
import { signInPage } from "./SignIn.ts"
import { HostTexts, makeLanguages } from "./Texts.ts"

/** Largest form body, in bytes. Only the form that publishes events needs this much. */
const maxFormBytes = 512 * 1_024

/** Maximum number of forms per minute in an owner's session. */
const formsPerMinute = 60

/** Handler of a page or a form. */
type Run = (visit: Visit, fields: URLSearchParams) => Effect.Effect<Answer | Shown, KnownError>

/** Handler of a page or a form of one integration. */
type RunOne = (
  visit: Visit,
  found: IntegrationWithHealth,
  fields: URLSearchParams
) => Effect.Effect<Answer | Shown, KnownError>

/** A refused sign-in. */
interface Refused {
  readonly text: string
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
}

/** Checks a sign-in form. Returns the cookie of the new session, or the refusal. */
type Check = (x: Exchange, fields: URLSearchParams) => Effect.Effect<string | Refused, KnownError>

const isAnswer = (made: Answer | Shown): made is Answer => "status" in made && "headers" in made && !("title" in made)

/** Returns the page without automatic refresh. */
const stillOf = ({ refresh: _refresh, ...shown }: Shown): Shown => shown

const none = new URLSearchParams()

export const makeUiRoutes = Effect.gen(function* () {
  const authorization = yield* AuthorizationServer
  const crypto = yield* Crypto
  const now = yield* storeTime
  const guard = yield* KeyGuard
  const integrations = yield* OperatorIntegrations
  const links = yield* PortalLinks
  const publicUrl = yield* PublicUrl
  const languageOf = makeLanguages(yield* HostTexts)
  const pages = yield* makePages
  const sessions = yield* makeSessions
  const tokens = yield* makeFormTokens("page form")
  const script = yield* liveScript

  const notifications = yield* makeNotificationPages
  const deliveries = yield* makeDeliveryPages
  const one = yield* makeIntegrationPages(deliveries, notifications)
  const overview = yield* makeOverview(notifications)
  const clients = yield* makeClientPages
  const publish = yield* makePublishPages
  const owners = yield* makeOwnerPages
  const countForm = makeMinuteCounter()

  type Role = Visit["role"]
  const rootOf = { operator: "/console", owner: "/portal" } as const
  const baseOf = (role: Role) => `${prefixOf(publicUrl.url)}${rootOf[role]}`

  const faceOf = (role: Role): Face => ({
    refuse: (x, refusal) => {
      // On pages below an integration's page, link back to that page: the holder of a link has access to no other page.
      const below = /^\/portal\/\d+(?=\/)/.exec(x.path)?.[0]
      const back = below === undefined ? baseOf(role) : `${prefixOf(publicUrl.url)}${below}`
      return pages.answer(failurePage(languageOf(x), refusal, x.id, back))
    }
  })
  const faces = { operator: faceOf("operator"), owner: faceOf("owner") } as const

  // Identifying the visitor.

  /** The visitor's identity, independent of the page. */
  type Known = Pick<Visit, "actor" | "canSignOut" | "link" | "session">

  const operator = (x: Exchange): Effect.Effect<Known | null, StoreError> =>
    Effect.map(sessions.operator(x), (session) =>
      session === null ? null : { session: session.name, actor: null, canSignOut: true, link: null }
    )

  /**
   * Identifies the holder of a link to an integration. Returns "expired" after the link's expiry, null without a valid
   * link.
   */
  const linkHolder = Effect.fnUntraced(function* (x: Exchange, id: IntegrationId) {
    const access = yield* links.check("visit", linkSessionOf(x, publicUrl.url, id))
    if (access._tag === "Expired") return "expired" as const
    if (access._tag === "Unknown" || access.grant.integration_id !== id) return null
    const { expires_at, nonce } = access.grant
    return {
      session: `link ${nonce}`,
      actor: null,
      canSignOut: false,
      link: { id, expires_at }
    } satisfies Known
  })

  const actorOf = ({ user }: Pick<OwnerSession, "user">): Actor => ({ user_id: user, client_id: null })

  /**
   * Returns the page to show after the visitor has logged in again: the requested page, or the nearest page for a form.
   */
  const pageOf = (x: Exchange): string =>
    x.method === "GET" ? target(x) : (/^\/portal\/(?:new$|\d+(?:\/edit$)?)/.exec(x.path)?.[0] ?? rootOf.owner)

  /**
   * Identifies the owner who is logged in to the host or to doorhook. If the host requires visitors to log in on its own
   * page first, returns a redirect to that page. A form gets a page that says that the form had no effect, and so does
   * the pages' script, which can't follow a redirect to another site. Returns null if nobody is logged in.
   */
  const owner = Effect.fnUntraced(function* (x: Exchange) {
    // The return address is built from the public URL, so request headers can't change it.
    const page = pageOf(x)
    const visitor = yield* askHost(authorization, publicUrl.url, x, `${publicUrl.url}${page}`)
    if (visitor._tag === "Elsewhere") {
      // Browsers send this value for requests by scripts.
      return x.method === "GET" && x.header("sec-fetch-dest") !== "empty"
        ? seeOther(visitor.loginUrl)
        : yield* pages.answer(sessionEndedPage(languageOf(x), `${prefixOf(publicUrl.url)}${page}`))
    }
    if (visitor._tag === "User") {
      const actor = actorOf({ user: visitor.id })
      return { session: `host ${visitor.id}`, actor, canSignOut: false, link: null } satisfies Known
    }
    const session = yield* sessions.owner(x)
    if (session === null || !(yield* authorization.isActive(session.user))) return null
    return { session: session.name, actor: actorOf(session), canSignOut: true, link: null } satisfies Known
  })

  // Handling requests.

  const visitOf = Effect.fnUntraced(function* (role: Role, x: Exchange, params: Params, known: Known) {
    const { setCookie, token } = yield* tokens.forForm(x, known.session)
    if (setCookie !== null) x.also = { ...x.also, "set-cookie": setCookie }
    return {
      ...known,
      x,
      params,
      query: new URLSearchParams(x.query),
      language: languageOf(x),
      role,
      home: baseOf(role),
      formToken: token,
      now: now()
    } satisfies Visit
  })

  const render = (visit: Visit, made: Answer | Shown): Effect.Effect<Answer> =>
    isAnswer(made) ? Effect.succeed(made) : pages.answer(framed(visit, made))

  /** Shows the sign-in form, with the problem of the last attempt. */
  const showSignIn = Effect.fnUntraced(function* (
    role: Role,
    x: Exchange,
    { login = "", next = x.path, problem = null }: Partial<Parameters<typeof signInPage>[1]>,
    answer: { readonly status: number; readonly headers?: Readonly<Record<string, string>> }
  ) {
    const { setCookie, token } = yield* tokens.forForm(x, `sign in ${role}`)
    const page = yield* pages.answer({
      ...signInPage(languageOf(x), { role, home: baseOf(role), token, login, next, problem }),
      ...answer
    })
    return setCookie === null ? page : { ...page, headers: { ...page.headers, "set-cookie": setCookie } }
  })

  /** Whether the submitted form was shown to this browser in this session. */
  const isGenuine = (x: Exchange, fields: URLSearchParams, session: string) =>
    tokens.isGenuine(x, fields.get(formTokenField) ?? undefined, session)

  const forged = formFailure(403, "forbidden", "Nothing was done", { key: "form_expired" })

  /** Reads the fields of a submitted form. Fails unless the form was shown in the visitor's session. */
  const fieldsOf = Effect.fnUntraced(function* (visit: Visit) {
    const fields = new URLSearchParams(yield* readText(visit.x, maxFormBytes))
    if (!(yield* isGenuine(visit.x, fields, visit.session))) return yield* forged
    if (visit.role === "owner") {
      const { count, seconds } = countForm(visit.session, visit.now)
      if (count > formsPerMinute) {
        return yield* formFailure(
          429,
          "rate_limited",
          "Too many requests",
          { key: "too_many", values: { seconds } },
          { "retry-after": String(seconds) }
        )
      }
    }
    return fields
  })

  const carryOut = (visit: Visit, method: Method, run: Run) =>
    Effect.gen(function* () {
      const fields = method === "POST" ? yield* fieldsOf(visit) : none
      const made = yield* run(visit, fields)
      // The script would refresh the page with GET, which does not return a form's answer.
      return yield* render(visit, method === "POST" && !isAnswer(made) ? stillOf(made) : made)
    })

  const operatorRoute = (method: "GET" | "POST", path: string, run: Run): Route => ({
    method,
    path: `/console${path}`,
    face: faces.operator,
    handle: (x, params) =>
      Effect.gen(function* () {
        const known = yield* operator(x)
        if (known === null) {
          const isHome = path === "" && method === "GET"
          return yield* showSignIn(
            "operator",
            x,
            { next: method === "GET" ? target(x) : "/console" },
            { status: isHome ? 200 : 403 }
          )
        }
        return yield* carryOut(yield* visitOf("operator", x, params, known), method, run)
      })
  })

  const ownerRoute = (method: "GET" | "POST", path: string, run: Run): Route => ({
    method,
    path: `/portal${path}`,
    face: faces.owner,
    handle: (x, params) =>
      Effect.gen(function* () {
        const id = path.startsWith("/:id") ? Option.getOrNull(parseIntegrationId(params["id"] ?? "")) : null
        const holder = id === null ? null : yield* linkHolder(x, id)
        if (holder === "expired") return yield* pages.answer(messagePage(languageOf(x), "expired", 403))
        const known = holder ?? (yield* owner(x))
        if (known === null) {
          const isHome = path === "" && method === "GET"
          return yield* showSignIn(
            "owner",
            x,
            { next: method === "GET" ? target(x) : "/portal" },
            { status: isHome ? 200 : 403 }
          )
        }
        if ("status" in known) return known
        return yield* carryOut(yield* visitOf("owner", x, params, known), method, run)
      })
  })

  /** Restricts a page or form of one integration to visitors who still have the right to see the integration. */
  const ofOne =
    (run: RunOne, isChange = false): Run =>
    (visit, fields) =>
      Effect.gen(function* () {
        const id = yield* integrationIdIn(visit.params)
        const found = yield* Effect.catchTag(integrations.show(id), "IntegrationNotFound", (error) =>
          visit.link === null ? Effect.fail(error) : Effect.succeed(null)
        )
        if (found === null) return yield* pages.answer(messagePage(visit.language, "deleted", 404))
        // The holder of a link may see the integration until the link expires.
        if (visit.link === null) {
          // To a visitor without the right, the integration seems not to exist.
          yield* Effect.catchTags(one.permit(visit, found), {
            ScopeNotFound: () => new IntegrationNotFound({ id })
          })
        } else if (isChange) yield* one.permit(visit, found)
        return yield* run(visit, found, fields)
      })

  // Signing in and out.

  /** Returns the path and query that the visitor requested. */
  const target = ({ path, query }: Exchange): string => (query === "" ? path : `${path}?${query}`)

  /**
   * Returns where to go after signing in: to the requested page if it is one of the role's pages, otherwise to the
   * role's first page.
   */
  const nextOf = (role: Role, fields: URLSearchParams): string => {
    const next = fields.get("next") ?? ""
    const isOwn = next === rootOf[role] || next.startsWith(`${rootOf[role]}/`) || next.startsWith(`${rootOf[role]}?`)
    return isOwn && /^[\w/.?=&%,:+~-]*$/.test(next) && !next.includes("//") && !next.includes("..")
      ? `${prefixOf(publicUrl.url)}${next}`
      : baseOf(role)
  }

  const signIn =
    (role: Role, check: Check): Handler =>
    (x) =>
      Effect.gen(function* () {
        const fields = new URLSearchParams(yield* readText(x, maxFormBytes))
        const next = (fields.get("next") ?? "").slice(0, 2_000)
        const again = (text: string, answer: Parameters<typeof showSignIn>[3]) =>
          showSignIn(role, x, { login: fields.get(loginNames.login) ?? "", next, problem: text }, answer)
        if (!(yield* isGenuine(x, fields, `sign in ${role}`))) {
          return yield* again(languageOf(x).t("form_expired"), { status: 403 })
        }
        const checked = yield* check(x, fields)
        if (typeof checked !== "string") return yield* again(checked.text, checked)
        return seeOther(nextOf(role, fields), { "set-cookie": checked })
      })

  const throttled = (x: Exchange, seconds: number): Refused => ({
    text: languageOf(x).t("throttled", { minutes: Math.ceil(seconds / 60) }),
    status: 429,
    headers: { "retry-after": String(seconds) }
  })

  const checkKey: Check = (x, fields) =>
    guard.check(x, fields.get("key") ?? "").pipe(
      Effect.andThen(sessions.beginOperator),
      Effect.catchTag("RequestFailure", ({ headers, status }) =>
        Effect.succeed<Refused>(
          status === 429
            ? throttled(x, Number(headers["retry-after"] ?? 60))
            : { text: languageOf(x).t("wrong_key"), status: 403 }
        )
      )
    )

  const checkLogin: Check = Effect.fnUntraced(function* (x: Exchange, fields: URLSearchParams) {
    const result = yield* authorization.signIn({
      login: fields.get(loginNames.login) ?? "",
      password: Redacted.make(fields.get(loginNames.password) ?? ""),
      address: x.address
    })
    if (result._tag === "Throttled") return throttled(x, result.retry_after)
    if (result._tag === "Refused") return { text: languageOf(x).t("wrong_login"), status: 403 }
    return yield* sessions.beginOwner(result.user)
  })

  const signOut: Run = (visit) => Effect.succeed(seeOther(visit.home, { "set-cookie": sessions.end(visit.role) }))

  /** Opens a link: exchanges its token for a session. */
  const open: Handler = (x, params) =>
    Effect.gen(function* () {
      const access = yield* links.check("link", params["token"] ?? "")
      if (access._tag === "Expired") return yield* pages.answer(messagePage(languageOf(x), "expired", 403))
      if (access._tag === "Unknown") return yield* pages.answer(messagePage(languageOf(x), "unknown_link", 403))
      const grant = yield* links.renamed(access.grant)
      const { expires_at, integration_id } = grant
      const seconds = Math.ceil((expires_at - now()) / 1_000)
      const session = yield* links.tokenFor("visit", grant)
      const cookie = linkSessionCookie(publicUrl.url, integration_id, session, seconds)
      return seeOther(homeOf(publicUrl.url, integration_id), { "set-cookie": cookie })
    })

  // Deliveries.

  const deliveryOf = (visit: Visit) => pathId(visit.params, "delivery", parseDeliveryId, "a delivery (dlv_...)")

  /** Lists deliveries. A search for the id of a delivery redirects to that delivery. */
  const allDeliveries: Run = (visit) => {
    const wanted = Option.getOrNull(parseDeliveryId((visit.query.get("find") ?? "").trim()))
    return wanted === null
      ? deliveries.listPage(visit)
      : Effect.succeed(seeOther(`${visit.home}/deliveries/${formatDeliveryId(wanted)}`))
  }

  const anyDelivery: Run = (visit) =>
    Effect.flatMap(deliveryOf(visit), (id) =>
      deliveries.detail(visit, id, { path: "/deliveries", deliveries: "/deliveries", integration: null })
    )

  const ownDelivery: RunOne = (visit, found) =>
    Effect.gen(function* () {
      const id = yield* deliveryOf(visit)
      const path = pathOf(visit, found.integration.id)
      yield* requireOf(found, [id])
      return yield* deliveries.detail(visit, id, {
        path,
        deliveries: `${path}/deliveries`,
        integration: found.integration.id
      })
    })

  const requireOf = (found: IntegrationWithHealth, ids: Parameters<typeof deliveries.requireOf>[1]) =>
    deliveries.requireOf(found.integration.id, ids)

  /** Sends the selected deliveries again. Redirects to the delivery if only one was selected, otherwise to the list. */
  const resend = (visit: Visit, fields: URLSearchParams, list: string, path: string): ReturnType<Run> =>
    Effect.gen(function* () {
      const ids = deliveriesIn(fields)
      const [first] = ids
      if (first === undefined) {
        return yield* formFailure(422, "blank", "Nothing selected", { key: "none_selected" })
      }
      const sent = yield* deliveries.resend(ids)
      return seeOther(
        ids.length === 1
          ? after(`${visit.home}${path}/${formatDeliveryId(first)}`, "sent")
          : after(`${visit.home}${list}`, "resent", sent)
      )
    })

  const resendAny: Run = (visit, fields) => {
    const back = fields.get("back") ?? ""
    return resend(visit, fields, /^\/integrations\/\d{1,16}$/.test(back) ? back : "/deliveries", "/deliveries")
  }

  const resendOwn: RunOne = (visit, found, fields) => {
    const path = pathOf(visit, found.integration.id)
    return Effect.andThen(requireOf(found, deliveriesIn(fields)), resend(visit, fields, path, `${path}/deliveries`))
  }

  // Owners' own pages.

  /** Restricts a page or form to owners who are logged in. Holders of a link get 404. */
  const ofOwner =
    (run: (visit: Visit, actor: Actor, fields: URLSearchParams) => ReturnType<Run>): Run =>
    (visit, fields) =>
      visit.actor === null
        ? Effect.fail(formFailure(404, "not_found", "Not found", { key: "no_place" }))
        : run(visit, visit.actor, fields)

  const newPage = ofOwner((visit, actor) =>
    owners.newPage(visit, actor, {
      ...owners.nothingEntered(visit.query.get("place") ?? ""),
      key: Base64Url.encode(crypto.randomBytes(18))
    })
  )

  const remove: RunOne = (visit, found, fields) =>
    Effect.flatMap(owners.remove(visit, found, fields), (answer) =>
      answer === null ? pages.answer(messagePage(visit.language, "gone_page", 200)) : Effect.succeed(answer)
    )

  const show: RunOne = (visit, found) => one.onePage(visit, found)
  const change = (run: RunOne): Run => ofOne(run, true)

  const page = (run: (visit: Visit) => ReturnType<Run>): Run => run
  const routes: ReadonlyArray<Route> = [
    { method: "GET", path: "/console/live.js", face: faces.operator, handle: script },
    { method: "POST", path: "/console/sign-in", face: faces.operator, handle: signIn("operator", checkKey) },
    operatorRoute("POST", "/sign-out", signOut),
    operatorRoute("GET", "", overview),
    operatorRoute("GET", "/deliveries", allDeliveries),
    operatorRoute("POST", "/deliveries/resend", resendAny),
    operatorRoute("GET", "/deliveries/:delivery", anyDelivery),
    operatorRoute("GET", "/integrations", one.listPage),
    operatorRoute("GET", "/integrations/:id", ofOne(show)),
    ...Object.entries({ ...one.shared, ...one.operators }).map(([action, run]) =>
      operatorRoute("POST", `/integrations/:id/${action}`, change(run))
    ),
    operatorRoute(
      "GET",
      "/clients",
      page((visit) => clients.page(visit))
    ),
    operatorRoute("POST", "/clients", clients.add),
    operatorRoute("POST", "/clients/rotate", clients.rotate),
    operatorRoute("POST", "/clients/remove", clients.remove),
    operatorRoute("POST", "/clients/revoke", clients.revoke),
    operatorRoute("GET", "/notifications", notifications.page),
    operatorRoute(
      "GET",
      "/publish",
      page((visit) => Effect.succeed(publish.page(visit)))
    ),
    operatorRoute("POST", "/publish", publish.publish),

    { method: "GET", path: "/portal/live.js", face: faces.owner, handle: script },
    { method: "GET", path: "/portal/open/:token", face: faces.owner, handle: open },
    { method: "POST", path: "/portal/sign-in", face: faces.owner, handle: signIn("owner", checkLogin) },
    ownerRoute("POST", "/sign-out", signOut),
    ownerRoute("GET", "", ofOwner(owners.home)),
    ownerRoute("GET", "/new", newPage),
    ownerRoute("POST", "/new", ofOwner(owners.create)),
    ownerRoute("GET", "/:id", ofOne(show)),
    ownerRoute(
      "GET",
      "/:id/edit",
      ofOne((visit, found) => Effect.succeed(owners.editPage(visit, found)))
    ),
    ownerRoute(
      "GET",
      "/:id/verify",
      ofOne((visit, found) => Effect.succeed(owners.verifyPage(visit, found)))
    ),
    ownerRoute("GET", "/:id/deliveries/:delivery", ofOne(ownDelivery)),
    ownerRoute("POST", "/:id/deliveries/resend", change(resendOwn)),
    ...Object.entries({ ...one.shared, edit: owners.edit, rotate: owners.rotate, delete: remove }).map(
      ([action, run]) => ownerRoute("POST", `/:id/${action}`, change(run))
    )
  ]
  return routes
})
