/**
 * The web pages: `/console` for operators and `/portal` for owners of integrations. This file has the routes, their
 * access checks, and the handling of forms. The pages themselves are in the other files in this folder.
 *
 * A form is answered with a redirect, so that a reload does not submit the form again. The exceptions are answers that
 * contain a new secret.
 */
import type { Actor, DeliveryId, IntegrationWithHealth } from "@doorhook/core"
import {
  EventId,
  formatDeliveryId,
  makeMinuteCounter,
  OperatorIntegrations,
  parseDeliveryId,
  IntegrationNotFound,
  storeTime
} from "@doorhook/core"
import { Effect, Option, Schema } from "effect"
import type { Exchange } from "../http/Exchange.ts"
import { readText } from "../http/Exchange.ts"
import type { KnownError } from "../http/Failures.ts"
import { integrationIdIn, parseIntegrationId, pathId } from "../http/Query.ts"
import type { Answer, Face, Method, Params, Route } from "../http/Route.ts"
import { ClientPages } from "./ClientPages.ts"
import { deliveriesIn, DeliveryPages } from "./DeliveryPages.ts"
import { makeSearch } from "./DeliverySearch.ts"
import { makeFigures } from "./Figures.ts"
import { IntegrationPages, keyOf } from "./IntegrationPages.ts"
import { makeLabels } from "./Labels.ts"
import { liveScript, makePages, seeOther } from "./Page.ts"
import { NotificationPages } from "./NotificationPages.ts"
import { makeOverview } from "./Overview.ts"
import { OwnerPages } from "./OwnerPages.ts"
import type { PageEffect, Shown, Visit } from "./Parts.ts"
import { after, inZoneOf, pathOf, failurePage, formFailure, framed, messagePage } from "./Parts.ts"
import { makePublishPages } from "./PublishPage.ts"
import type { Role, Visitor } from "./Visitors.ts"
import { maxFormBytes, Visitors } from "./Visitors.ts"

/** Maximum number of forms per minute in an owner's session. */
const formsPerMinute = 60

/** Handler of a page or a form. */
type Run = (visit: Visit, fields: URLSearchParams) => PageEffect

/** Handler of a page or a form of one integration. */
type RunOne = (visit: Visit, found: IntegrationWithHealth, fields: URLSearchParams) => PageEffect

const isAnswer = (made: Answer | Shown): made is Answer => "status" in made && "headers" in made && !("title" in made)

/** Returns the page without automatic refresh. */
const stillOf = ({ refresh: _refresh, ...shown }: Shown): Shown => shown

const none = new URLSearchParams()

const forged = formFailure(403, "forbidden", "Nothing was done", { key: "form_expired" })

const componentsOf = Effect.gen(function* () {
  const labels = yield* makeLabels
  const search = yield* makeSearch(labels)
  const notifications = yield* NotificationPages.make
  const deliveries = yield* DeliveryPages.make({ labels, search })
  const figures = yield* makeFigures(search)
  const others = { figures, labels, search, deliveryPages: deliveries, notificationPages: notifications }
  return {
    clients: yield* ClientPages.make,
    deliveries,
    integration: yield* IntegrationPages.make(others),
    integrations: yield* OperatorIntegrations,
    labels,
    notifications,
    now: yield* storeTime,
    overview: yield* makeOverview(notifications, figures, labels),
    owners: yield* OwnerPages.make(labels),
    pages: yield* makePages,
    publish: yield* makePublishPages,
    script: yield* liveScript,
    visitors: yield* Visitors.make
  }
})

class Ui {
  readonly #of: Effect.Success<typeof componentsOf>
  readonly #countForm = makeMinuteCounter()

  constructor(components: Effect.Success<typeof componentsOf>) {
    this.#of = components
  }

  get routes(): ReadonlyArray<Route> {
    return [...this.#operatorRoutes(), ...this.#ownerRoutes()]
  }

  #operatorRoutes(): ReadonlyArray<Route> {
    const { clients, deliveries, integration, notifications, overview, publish, script, visitors } = this.#of
    const get = (path: string, run: Run) => this.#operatorRoute("GET", path, run)
    const post = (path: string, run: Run) => this.#operatorRoute("POST", path, run)
    const face = this.#face("operator")
    return [
      { method: "GET", path: "/console/live.js", face, handle: script },
      { method: "POST", path: "/console/sign-in", face, handle: visitors.signIn("operator") },
      post("/sign-out", (visit) => visitors.signOut(visit)),
      get("", overview),
      get("/deliveries", (visit) => this.#allDeliveries(visit)),
      post("/deliveries/resend", (visit, fields) => this.#resendAny(visit, fields)),
      get("/deliveries/:delivery", (visit) => this.#anyDelivery(visit)),
      get("/events/:event", (visit) =>
        Effect.flatMap(eventOf(visit), (id) => deliveries.eventPage(visit, id, () => true))
      ),
      get("/integrations", (visit) => integration.listPage(visit)),
      get(
        "/integrations/:id",
        this.#ofOne((visit, found) => integration.onePage(visit, found))
      ),
      get(
        "/integrations/:id/recover",
        this.#ofOne((visit, found) => integration.recoverPage(visit, found))
      ),
      ...Object.entries({ ...integration.sharedActions, ...integration.operatorActions }).map(([action, run]) =>
        post(`/integrations/:id/${action}`, this.#change(run))
      ),
      get("/clients", (visit) => clients.page(visit)),
      post("/clients", (visit, fields) => clients.add(visit, fields)),
      post("/clients/rotate", (visit, fields) => clients.rotate(visit, fields)),
      post("/clients/remove", (visit, fields) => clients.remove(visit, fields)),
      post("/clients/revoke", (visit, fields) => clients.revoke(visit, fields)),
      get("/notifications", (visit) => notifications.page(visit)),
      get("/publish", (visit) => Effect.succeed(publish.page(visit))),
      post("/publish", publish.publish)
    ]
  }

  #ownerRoutes(): ReadonlyArray<Route> {
    const { clients, integration, owners, script, visitors } = this.#of
    const get = (path: string, run: Run) => this.#ownerRoute("GET", path, run)
    const post = (path: string, run: Run) => this.#ownerRoute("POST", path, run)
    const face = this.#face("owner")
    return [
      { method: "GET", path: "/portal/live.js", face, handle: script },
      { method: "GET", path: "/portal/open/:token", face, handle: visitors.openLink },
      { method: "POST", path: "/portal/sign-in", face, handle: visitors.signIn("owner") },
      post("/sign-out", (visit) => visitors.signOut(visit)),
      get(
        "",
        ofOwner((visit, actor) => toEventOf(visit) ?? integration.ownerPage(visit, actor))
      ),
      get(
        "/events/:event",
        ofOwner((visit, actor) => this.#ownEvent(visit, actor))
      ),
      get(
        "/grants",
        ofOwner((visit, actor) => clients.ownPage(visit, actor))
      ),
      post(
        "/grants/revoke",
        ofOwner((visit, actor, fields) => clients.revokeOwn(visit, actor, fields))
      ),
      get(
        "/new",
        ofOwner((visit, actor) => owners.emptyPage(visit, actor))
      ),
      post(
        "/new",
        ofOwner((visit, actor, fields) => owners.create(visit, actor, fields))
      ),
      get(
        "/:id",
        this.#ofOne((visit, found) => integration.onePage(visit, found))
      ),
      get(
        "/:id/recover",
        this.#ofOne((visit, found) => integration.recoverPage(visit, found))
      ),
      get(
        "/:id/edit",
        this.#ofOne((visit, found) => Effect.succeed(owners.editPage(visit, found)))
      ),
      get(
        "/:id/verify",
        this.#ofOne((visit, found) => Effect.succeed(owners.verifyPage(visit, found)))
      ),
      get(
        "/:id/deliveries/:delivery",
        this.#ofOne((visit, found) => this.#ownDelivery(visit, found))
      ),
      post(
        "/:id/deliveries/resend",
        this.#change((visit, found, fields) => this.#resendOwn(visit, found, fields))
      ),
      ...Object.entries({
        ...integration.sharedActions,
        edit: (visit, found, fields) => owners.edit(visit, found, fields),
        rotate: (visit, found, fields) => owners.rotate(visit, found, fields),
        delete: (visit, found, fields) => this.#remove(visit, found, fields)
      } satisfies Record<string, RunOne>).map(([action, run]) => post(`/:id/${action}`, this.#change(run)))
    ]
  }

  // Handling requests.

  #face(role: Role): Face {
    const { pages, visitors } = this.#of
    return {
      refuse: (x, refusal) => {
        // On pages below an integration's page, link back to that page: the holder of a link has access to no other page.
        const below = /^\/portal\/\d+(?=\/)/.exec(x.path)?.[0]
        const back = below === undefined ? visitors.homeOf(role) : `${visitors.prefix}${below}`
        return pages.answer(failurePage(visitors.languageOf(x), refusal, x.id, back))
      }
    }
  }

  #operatorRoute(method: "GET" | "POST", path: string, run: Run): Route {
    const { visitors } = this.#of
    return {
      method,
      path: `/console${path}`,
      face: this.#face("operator"),
      handle: (x, params) =>
        Effect.gen({ self: this }, function* () {
          const visitor = yield* visitors.operator(x)
          if (visitor === null) return yield* visitors.askToSignIn("operator", x)
          return yield* this.#carryOut(yield* this.#visitOf("operator", x, params, visitor), method, run)
        })
    }
  }

  #ownerRoute(method: "GET" | "POST", path: string, run: Run): Route {
    const { labels, pages, visitors } = this.#of
    return {
      method,
      path: `/portal${path}`,
      face: this.#face("owner"),
      handle: (x, params) =>
        Effect.gen({ self: this }, function* () {
          const id = path.startsWith("/:id") ? Option.getOrNull(parseIntegrationId(params["id"] ?? "")) : null
          const holder = id === null ? null : yield* visitors.linkHolder(x, id)
          if (holder === "expired") return yield* pages.answer(messagePage(visitors.languageOf(x), "expired", 403))
          const visitor = holder ?? (yield* visitors.owner(x))
          if (visitor === null) return yield* visitors.askToSignIn("owner", x)
          if ("status" in visitor) return visitor
          const visit = yield* this.#visitOf("owner", x, params, visitor)
          const zone = visitor.actor === null ? null : yield* labels.zoneOf(visitor.actor.user_id, visit.now)
          return yield* this.#carryOut(inZoneOf(visit, zone), method, run)
        })
    }
  }

  #visitOf(role: Role, x: Exchange, params: Params, visitor: Visitor): Effect.Effect<Visit, KnownError> {
    const { now, visitors } = this.#of
    return Effect.map(visitors.formToken(x, visitor.session), (formToken) => ({
      ...visitor,
      x,
      params,
      query: new URLSearchParams(x.query),
      ...visitors.zonedLanguageOf(x),
      role,
      home: visitors.homeOf(role),
      formToken,
      now: now()
    }))
  }

  #carryOut(visit: Visit, method: Method, run: Run): Effect.Effect<Answer, KnownError> {
    return Effect.gen({ self: this }, function* () {
      const fields = method === "POST" ? yield* this.#fieldsOf(visit) : none
      const made = yield* run(visit, fields)
      if (isAnswer(made)) return made
      // The script would refresh the page with GET, which does not return a form's answer.
      return yield* this.#of.pages.answer(framed(visit, method === "POST" ? stillOf(made) : made))
    })
  }

  /** Reads the fields of a submitted form. Fails unless the form was shown in the visitor's session. */
  #fieldsOf(visit: Visit): Effect.Effect<URLSearchParams, KnownError> {
    return Effect.gen({ self: this }, function* () {
      const fields = new URLSearchParams(yield* readText(visit.x, maxFormBytes))
      if (!(yield* this.#of.visitors.isGenuine(visit.x, fields, visit.session))) return yield* forged
      if (visit.role === "owner") {
        const { count, seconds } = this.#countForm(visit.session, visit.now)
        if (count > formsPerMinute) {
          const said = { key: "too_many", values: { seconds } } as const
          const headers = { "retry-after": String(seconds) }
          return yield* formFailure(429, "rate_limited", "Too many requests", said, headers)
        }
      }
      return fields
    })
  }

  // Access to one integration.

  /** Restricts a page of one integration to visitors who still have the right to see the integration. */
  #ofOne(run: RunOne, isChange = false): Run {
    const { integration, integrations, labels, pages } = this.#of
    return (visit, fields) =>
      Effect.gen(function* () {
        const id = yield* integrationIdIn(visit.params)
        const found = yield* Effect.catchTag(integrations.show(id), "IntegrationNotFound", (error) =>
          visit.link === null ? Effect.fail(error) : Effect.succeed(null)
        )
        if (found === null) return yield* pages.answer(messagePage(visit.language, "deleted", 404))
        // The holder of a link may see the integration until the link expires.
        if (visit.link === null) {
          // To a visitor without the right, the integration seems not to exist.
          yield* Effect.catchTags(integration.permit(visit, found), {
            ScopeNotFound: () => new IntegrationNotFound({ id })
          })
        } else if (isChange) yield* integration.permit(visit, found)
        const { place } = yield* labels.of(visit, found.integration)
        return yield* run(inZoneOf(visit, place.zone), found, fields)
      })
  }

  /** Restricts a form of one integration to visitors who still have the right to change the integration. */
  #change(run: RunOne): Run {
    return this.#ofOne(run, true)
  }

  #remove(visit: Visit, found: IntegrationWithHealth, fields: URLSearchParams): PageEffect {
    const { owners, pages } = this.#of
    return Effect.flatMap(owners.remove(visit, found, fields), (answer) =>
      answer === null ? pages.answer(messagePage(visit.language, "gone_page", 200)) : Effect.succeed(answer)
    )
  }

  // Deliveries.

  /** Shows an event to an owner: their own integrations only, and only an event of their buildings and tenants. */
  #ownEvent(visit: Visit, actor: Actor): PageEffect {
    const { deliveries, labels } = this.#of
    return Effect.gen(function* () {
      const id = yield* eventOf(visit)
      const own = new Set((yield* labels.placesOf(visit.language, actor)).map(({ scope }) => keyOf(scope)))
      return yield* deliveries.eventPage(visit, id, (scope) => own.has(keyOf(scope)))
    })
  }

  /** Lists deliveries. A search for the id of an event or a delivery redirects to its page. */
  #allDeliveries(visit: Visit): PageEffect {
    const wanted = Option.getOrNull(parseDeliveryId((visit.query.get("find") ?? "").trim()))
    return wanted === null
      ? (toEventOf(visit) ?? this.#of.deliveries.listPage(visit))
      : Effect.succeed(seeOther(`${visit.home}/deliveries/${formatDeliveryId(wanted)}`))
  }

  #anyDelivery(visit: Visit): PageEffect {
    return Effect.flatMap(deliveryOf(visit), (id) =>
      this.#of.deliveries.detail(visit, id, { path: "/deliveries", deliveries: "/deliveries", integration: null })
    )
  }

  #ownDelivery(visit: Visit, { integration }: IntegrationWithHealth): PageEffect {
    const { deliveries } = this.#of
    const path = pathOf(visit, integration.id)
    const list = { path, deliveries: `${path}/deliveries`, integration: integration.id }
    return Effect.flatMap(deliveryOf(visit), (id) =>
      Effect.andThen(deliveries.requireOf(integration.id, [id]), deliveries.detail(visit, id, list))
    )
  }

  #resendAny(visit: Visit, fields: URLSearchParams): PageEffect {
    const back = fields.get("back") ?? ""
    const list = /^\/integrations\/\d{1,16}$/.test(back) ? back : "/deliveries"
    return this.#resend(visit, deliveriesIn(fields), list, "/deliveries")
  }

  #resendOwn(visit: Visit, { integration }: IntegrationWithHealth, fields: URLSearchParams): PageEffect {
    const path = pathOf(visit, integration.id)
    const ids = deliveriesIn(fields)
    return Effect.andThen(
      this.#of.deliveries.requireOf(integration.id, ids),
      this.#resend(visit, ids, path, `${path}/deliveries`)
    )
  }

  /** Sends the selected deliveries again. Redirects to the delivery if only one was selected, otherwise to the list. */
  #resend(visit: Visit, ids: ReadonlyArray<DeliveryId>, list: string, path: string): PageEffect {
    const [first] = ids
    if (first === undefined) return formFailure(422, "blank", "Nothing selected", { key: "none_selected" })
    return Effect.map(this.#of.deliveries.resend(ids), (sent) =>
      seeOther(
        ids.length === 1
          ? after(`${visit.home}${path}/${formatDeliveryId(first)}`, "sent")
          : after(`${visit.home}${list}`, "resent", sent)
      )
    )
  }
}

const decodeEventId = Schema.decodeUnknownOption(EventId)

const eventOf = (visit: Visit) => pathId(visit.params, "event", decodeEventId, "an event (evt_...)")

/** Redirects a search for the id of an event to its page. Returns null for another search. */
const toEventOf = ({ home, query }: Visit): PageEffect | null => {
  const id = Option.getOrNull(decodeEventId((query.get("find") ?? "").trim()))
  return id === null ? null : Effect.succeed(seeOther(`${home}/events/${id}`))
}

const deliveryOf = (visit: Visit) => pathId(visit.params, "delivery", parseDeliveryId, "a delivery (dlv_...)")

/** Restricts a page or form to owners who are logged in. Holders of a link get 404. */
const ofOwner =
  (run: (visit: Visit, actor: Actor, fields: URLSearchParams) => PageEffect): Run =>
  (visit, fields) =>
    visit.actor === null
      ? formFailure(404, "not_found", "Not found", { key: "no_place" })
      : run(visit, visit.actor, fields)

export const makeUiRoutes = Effect.map(componentsOf, (components) => new Ui(components).routes)
