/**
 * The pages of an integration: a link opens them, a session cookie keeps them open, and both end at the same time.
 *
 * The token of the link is in one address only, which redirects at once, so that it stays in no history entry, no `Referer` and
 * no screenshot.
 */
import {
  Deliveries,
  DeliveryState,
  DeliveryStore,
  Dispatcher,
  failureText,
  formatDeliveryId,
  makeMinuteCounter,
  OperatorIntegrations,
  parseDeliveryId,
  ResourceTypes,
  TestEvents
} from "@doorhook/core"
import type { DeliveryId, IntegrationId } from "@doorhook/core"
import { Clock, Effect, Exit, Option, Schedule, Schema } from "effect"
import type { Exchange } from "../http/Exchange.ts"
import { readText } from "../http/Exchange.ts"
import type { KnownError } from "../http/Failures.ts"
import { PublicUrl } from "../http/PublicUrl.ts"
import { pageOf, parseIntegrationId } from "../http/Query.ts"
import type { Answer, Face, Handler, Params, Route } from "../http/Route.ts"
import { confidential, makePages } from "../oauth/Page.ts"
import type { Grant } from "./PortalLinks.ts"
import { homeOf, PortalLinks, sessionCookie, sessionOf } from "./PortalLinks.ts"
import type { PortalFrame, Row } from "./PortalPages.ts"
import {
  deletedPage,
  deliveryPage,
  expiredPage,
  failurePage,
  forgedPage,
  formTokenField,
  homePage,
  noDeliveryPage,
  noSessionPage,
  unknownLinkPage
} from "./PortalPages.ts"

/** Deliveries on a page. */
const perPage = 25

/** The largest body of a form, in bytes. */
const maxFormBytes = 4 * 1_024

/** Tests of an integration in a minute: enough to find the fault of a receiver, too few to trouble one. */
const testsPerMinute = 5

/** How long to wait for the outcome of a test, and how often to look for it, in milliseconds. */
const testPatience = 6_000
const lookEvery = 100

/** Why nothing was sent, for owners, who can't enable an integration themselves. */
const unsent = {
  not_disabled:
    "Nothing was sent: only what doorhook has disabled itself can be tried again. Ask those who run this service to enable the integration.",
  nothing_to_send:
    "Nothing was sent: every event that is left was acknowledged. Events that were on their way when the integration was disabled can be tried a little later. Otherwise, ask those who run this service to enable the integration.",
  integration_disabled:
    "Nothing was sent: the integration has been disabled. The reason, and what you can do, are below."
} as const

const seeOther = (location: string, headers: Readonly<Record<string, string>> = {}): Answer => ({
  status: 303,
  headers: { ...confidential, location, ...headers },
  body: null
})

const isState = Schema.is(DeliveryState)

/** A request with a valid session. */
interface Visit {
  readonly x: Exchange
  readonly params: Params
  readonly grant: Grant
  readonly frame: PortalFrame
}

/** An alert on the home page, and the status of the answer. */
interface Alert {
  readonly text: string
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
}

export const makePortalRoutes = Effect.gen(function* () {
  const links = yield* PortalLinks
  const deliveries = yield* Deliveries
  const integrations = yield* OperatorIntegrations
  const tests = yield* TestEvents
  const store = yield* DeliveryStore
  const dispatcher = yield* Dispatcher
  const types = yield* ResourceTypes
  const publicUrl = yield* PublicUrl
  const pages = yield* makePages
  const countTest = makeMinuteCounter()

  const face: Face = { refuse: (x, refusal) => pages.answer(failurePage(refusal, x.id)) }

  /** Exchanges the token of a link for a session. */
  const open = Effect.fnUntraced(function* (token: string) {
    const access = yield* links.check("link", token)
    if (access._tag === "Expired") return yield* pages.answer(expiredPage)
    if (access._tag === "Unknown") return yield* pages.answer(unknownLinkPage)
    const grant = yield* links.renamed(access.grant)
    const { expires_at, integration_id } = grant
    const seconds = Math.ceil((expires_at - (yield* Clock.currentTimeMillis)) / 1_000)
    const cookie = sessionCookie(publicUrl.url, integration_id, yield* links.tokenFor("visit", grant), seconds)
    return seeOther(homeOf(publicUrl.url, integration_id), { "set-cookie": cookie })
  })

  /** A handler for requests with a valid session. */
  const visiting =
    (run: (visit: Visit) => Effect.Effect<Answer, KnownError>): Handler =>
    (x, params) =>
      Effect.gen(function* () {
        const id = Option.getOrNull(parseIntegrationId(params["id"] ?? ""))
        if (id === null) return yield* pages.answer(noSessionPage)
        const access = yield* links.check("visit", sessionOf(x, publicUrl.url, id))
        if (access._tag === "Expired") return yield* pages.answer(expiredPage)
        if (access._tag === "Unknown" || access.grant.integration_id !== id) return yield* pages.answer(noSessionPage)
        const { grant } = access
        const integration = yield* integrations.show(id)
        const { catching_up } = yield* dispatcher.status
        const frame: PortalFrame = {
          integration,
          catchingUp: catching_up.find(({ integration_id }) => integration_id === id) ?? null,
          types,
          home: homeOf(publicUrl.url, id),
          expires_at: grant.expires_at,
          formToken: yield* links.tokenFor("form", grant)
        }
        return yield* run({ x, params, grant, frame })
      }).pipe(Effect.catchTag("UnknownIntegration", () => pages.answer(deletedPage)))

  const listRows = Effect.fnUntraced(function* (
    id: IntegrationId,
    state: DeliveryState | null,
    after: DeliveryId | null
  ) {
    const { items, next } = yield* pageOf(perPage, (limit) =>
      deliveries.list({
        integration_id: id,
        order: "newest",
        limit,
        ...(state !== null && { states: [state] as const }),
        ...(after !== null && { after })
      })
    )
    const rows: ReadonlyArray<Row> = yield* Effect.forEach(
      items,
      (delivery) => Effect.map(store.find(delivery.id), (found) => ({ delivery, event: found?.event ?? null })),
      { concurrency: 5 }
    )
    return { rows, next: next === null ? null : formatDeliveryId(next.id) }
  })

  const showHome = Effect.fnUntraced(function* ({ frame, x }: Visit, alert: Alert | null) {
    const query = new URLSearchParams(x.query)
    const given = query.get("state")
    const state = isState(given) ? given : null
    const after = Option.getOrNull(parseDeliveryId(query.get("after") ?? ""))
    const { next, rows } = yield* listRows(frame.integration.integration.id, state, after)
    const content = homePage(frame, { rows, state, next }, alert?.text ?? null)
    return yield* pages.answer({ ...content, status: alert?.status ?? 200, headers: alert?.headers ?? {} })
  })

  const showDelivery = Effect.fnUntraced(function* ({ frame, params }: Visit) {
    const none = pages.answer(noDeliveryPage(frame.home))
    const id = Option.getOrNull(parseDeliveryId(params["delivery"] ?? ""))
    if (id === null) return yield* none
    const delivery = yield* Effect.catchTag(deliveries.show(id, "owner"), "DeliveryNotFound", () => Exit.succeed(null))
    if (delivery?.integration_id !== frame.integration.integration.id) return yield* none
    return yield* pages.answer(deliveryPage(frame, delivery))
  })

  /** Waits a while for the outcome of a delivery. It is on its way already: a look-up that fails must not fail the request. */
  const awaitOutcome = (id: DeliveryId) =>
    store.find(id).pipe(
      Effect.repeat({
        until: (found) =>
          found === null || (found.delivery.state !== "pending" && found.delivery.state !== "delivering"),
        schedule: Schedule.spaced(lookEvery)
      }),
      Effect.timeoutOption(testPatience),
      Effect.catchTag("StoreError", (error) =>
        Effect.logError(`The outcome of delivery ${formatDeliveryId(id)} can't be looked up. ${failureText(error)}`)
      )
    )

  /** Shows why nothing was sent, and the integration as it is by now. */
  const showUnsent = (visit: Visit, why: keyof typeof unsent) =>
    Effect.flatMap(integrations.show(visit.frame.integration.integration.id), (integration) =>
      showHome({ ...visit, frame: { ...visit.frame, integration } }, { text: unsent[why], status: 409 })
    )

  /** Sends a test event, or a probe where doorhook has disabled the integration, and redirects to its delivery. */
  const send = (visit: Visit) =>
    Effect.gen(function* () {
      const { home, integration } = visit.frame
      const { id, status } = integration.integration
      const { count, seconds } = countTest(id, yield* Clock.currentTimeMillis)
      if (count > testsPerMinute) {
        const text = `Too many tests. Please wait ${seconds} s before the next one.`
        return yield* showHome(visit, { text, status: 429, headers: { "retry-after": String(seconds) } })
      }
      const sent = status === "disabled" ? yield* integrations.probe(id) : (yield* tests.send(id)).delivery_id
      yield* awaitOutcome(sent)
      return seeOther(`${home}/deliveries/${formatDeliveryId(sent)}`)
    }).pipe(
      Effect.catchTags({
        NotProbed: ({ why }) => showUnsent(visit, why),
        NotDeliverable: ({ why }) =>
          why === "integration_deleted" ? pages.answer(deletedPage) : showUnsent(visit, why)
      })
    )

  /** Whether the form was shown in this session. A browser that attributes it to another site is believed. */
  const isGenuine = Effect.fnUntraced(function* ({ grant, x }: Visit) {
    const form = new URLSearchParams(yield* readText(x, maxFormBytes))
    if ((x.header("sec-fetch-site") ?? "same-origin") !== "same-origin") return false
    const access = yield* links.check("form", form.get(formTokenField) ?? "")
    return (
      access._tag === "Granted" &&
      access.grant.integration_id === grant.integration_id &&
      access.grant.nonce === grant.nonce
    )
  })

  const test = (visit: Visit) =>
    Effect.flatMap(isGenuine(visit), (genuine) => (genuine ? send(visit) : pages.answer(forgedPage(visit.frame.home))))

  const routes: ReadonlyArray<Route> = [
    { method: "GET", path: "/portal/open/:token", face, handle: (_, params) => open(params["token"] ?? "") },
    { method: "GET", path: "/portal/:id", face, handle: visiting((visit) => showHome(visit, null)) },
    { method: "GET", path: "/portal/:id/deliveries/:delivery", face, handle: visiting(showDelivery) },
    { method: "POST", path: "/portal/:id/test", face, handle: visiting(test) }
  ]
  return routes
})
