/**
 * An integration's own page: a link opens it, a cookie keeps it open, and both end at the same time.
 *
 * The token of the link is in one address only, which is left at once by a redirect, so that it stays in no history entry,
 * no `Referer` and no screenshot.
 */
import {
  Deliveries,
  DeliveryState,
  DeliveryStore,
  Dispatcher,
  failureText,
  formatDeliveryId,
  OperatorIntegrations,
  parseDeliveryId,
  ResourceTypes,
  TestEvents
} from "@doorhook/core"
import type { Crypto, DeliveryId, IntegrationId } from "@doorhook/core"
import { Clock, Effect, Option, Schedule, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { readText } from "../http/RequestBody.ts"
import type { RequestFailure } from "../http/RequestFailure.ts"
import { failureResponse } from "../http/RequestFailure.ts"
import type { KnownError } from "../http/KnownFailures.ts"
import { json } from "../http/MediaType.ts"
import type { PublicUrl } from "../http/PublicUrl.ts"
import { resource } from "../http/Resource.ts"
import { Appearance } from "../oauth/Appearance.ts"
import { confidential } from "../oauth/Answers.ts"
import * as Page from "../oauth/Page.ts"
import { pageOf, parseIntegrationId } from "../http/ListQuery.ts"
import { expired, forged, gone, noDelivery, notOpen, onPage, unknown } from "./ClosedPages.ts"
import * as Cookie from "./PortalCookie.ts"
import { PortalLinks } from "./PortalLinks.ts"
import type { PortalFrame, Row } from "./PortalPages.ts"
import { deliveryPage, formTokenField, homePage } from "./PortalPages.ts"
import type { Grant } from "./PortalToken.ts"
import { makeTestThrottle } from "./TestThrottle.ts"

/** How many deliveries a page shows. */
const perPage = 25

/** The largest body of a form, in bytes. */
const maxFormBytes = 4 * 1024

/** How long the answer to a test is waited for, and how often it is looked for, in milliseconds. */
const testPatience = 6_000
const lookEvery = 100

/** Why neither test nor probe was sent, for those who can't enable an integration themselves. */
const notSent = {
  not_disabled:
    "Nothing was sent: only what doorhook has disabled itself can be tried again. Ask those who run this service to enable the integration.",
  nothing_to_send:
    "Nothing was sent: there is no event left that was not acknowledged. What was still on its way when the integration was disabled can be tried a little later. Else ask those who run this service to enable the integration.",
  integration_disabled: "Nothing was sent: the integration was disabled meanwhile. Below is why, and what you can do."
} as const

const seeOther = (location: string, headers: Readonly<Record<string, string>> = {}) =>
  HttpServerResponse.empty({ status: 303, headers: { ...confidential, location, ...headers } })

const isState = Schema.is(DeliveryState)

type Response = HttpServerResponse.HttpServerResponse

const makeRoutes = Effect.gen(function* () {
  const links = yield* PortalLinks
  const deliveries = yield* Deliveries
  const integrations = yield* OperatorIntegrations
  const tests = yield* TestEvents
  const store = yield* DeliveryStore
  const dispatcher = yield* Dispatcher
  const types = yield* ResourceTypes
  const throttle = makeTestThrottle()
  const appearance = yield* Appearance
  const services = yield* Effect.context<Crypto | PublicUrl>()

  const served = <R>(handler: Effect.Effect<Response, KnownError, R>) =>
    onPage(handler).pipe(Effect.provideService(Appearance, appearance), Effect.provideContext(services))

  const pathParameter = (name: string) => Effect.map(HttpRouter.params, (params) => params[name] ?? "")

  /** Runs for a visitor whose cookie is good; tells all others that the page is not open. */
  const visiting = <R>(run: (visitor: PortalFrame, grant: Grant) => Effect.Effect<Response, KnownError, R>) =>
    Effect.gen(function* () {
      const id = Option.getOrNull(parseIntegrationId(yield* pathParameter("id")))
      if (id === null) return yield* Page.answer(notOpen)
      const access = yield* links.check("visit", yield* Cookie.read(id))
      if (access._tag === "Expired") return yield* Page.answer(expired)
      if (access._tag === "Unknown" || access.grant.integration_id !== id) return yield* Page.answer(notOpen)
      const { grant } = access
      const integration = yield* integrations.show(id)
      const { catching_up } = yield* dispatcher.status
      const visitor: PortalFrame = {
        integration,
        catchingUp: catching_up.find(({ integration_id }) => integration_id === id) ?? null,
        types,
        home: yield* Cookie.homeOf(id),
        expires_at: grant.expires_at,
        formToken: yield* links.tokenFor("form", grant)
      }
      return yield* run(visitor, grant)
    }).pipe(Effect.catchTag("UnknownIntegration", () => Page.answer(gone)))

  const open = Effect.gen(function* () {
    const access = yield* links.check("link", yield* pathParameter("token"))
    if (access._tag === "Expired") return yield* Page.answer(expired)
    if (access._tag === "Unknown") return yield* Page.answer(unknown)
    const grant = yield* links.renamed(access.grant)
    const seconds = Math.ceil((grant.expires_at - (yield* Clock.currentTimeMillis)) / 1_000)
    const cookie = yield* Cookie.write(grant.integration_id, yield* links.tokenFor("visit", grant), seconds)
    return seeOther(yield* Cookie.homeOf(grant.integration_id), { "set-cookie": cookie })
  })

  const listRows = (id: IntegrationId, state: DeliveryState | null, after: DeliveryId | null) =>
    Effect.gen(function* () {
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

  const showHome = (visitor: PortalFrame, told: { readonly words: string; readonly status: number } | null) =>
    Effect.gen(function* () {
      const { url } = yield* HttpServerRequest.HttpServerRequest
      const query = new URLSearchParams(url.split("?")[1] ?? "")
      const asked = query.get("state")
      const state = isState(asked) ? asked : null
      const after = Option.getOrNull(parseDeliveryId(query.get("after") ?? ""))
      const { next, rows } = yield* listRows(visitor.integration.integration.id, state, after)
      const content = homePage(visitor, { rows, state, next }, told?.words ?? null)
      return yield* Page.answer({ ...content, status: told?.status ?? 200 })
    })

  const showDelivery = (visitor: PortalFrame) =>
    Effect.gen(function* () {
      const text = yield* pathParameter("delivery")
      const id = Option.getOrNull(parseDeliveryId(text))
      const none = Page.answer(noDelivery(visitor.home))
      if (id === null) return yield* none
      const delivery = yield* deliveries
        .show(id, "owner")
        .pipe(Effect.catchTag("DeliveryNotFound", () => Effect.succeed(null)))
      if (delivery?.integration_id !== visitor.integration.integration.id) return yield* none
      return yield* Page.answer(deliveryPage(visitor, delivery, null))
    })

  /** Waits for the outcome of a delivery, for a while. It is sent already: a look that fails must not say otherwise. */
  const awaitOutcome = (id: DeliveryId) =>
    store.find(id).pipe(
      Effect.repeat({
        until: (found) =>
          found === null || (found.delivery.state !== "pending" && found.delivery.state !== "delivering"),
        schedule: Schedule.spaced(lookEvery)
      }),
      Effect.timeoutOption(testPatience),
      Effect.catchTag("StoreError", (error) =>
        Effect.logError(`How the delivery ${formatDeliveryId(id)} went can't be looked up. ${failureText(error)}`)
      )
    )

  /** Shows the page with why nothing was sent, and the integration as it is by now. */
  const showUnsent = (visitor: PortalFrame, why: keyof typeof notSent) =>
    Effect.flatMap(integrations.show(visitor.integration.integration.id), (integration) =>
      showHome({ ...visitor, integration }, { words: notSent[why], status: 409 })
    )

  /** Sends what can be sent: a test, or a probe of what doorhook disabled. Whoever sent it is led to how it went. */
  const send = (visitor: PortalFrame) =>
    Effect.gen(function* () {
      const { id, status } = visitor.integration.integration
      const wait = yield* throttle(id)
      if (wait !== null) {
        const words = `That was many tests at once. Please wait ${wait} s before the next.`
        const page = yield* showHome(visitor, { words, status: 429 })
        return HttpServerResponse.setHeader(page, "retry-after", String(wait))
      }
      const sent = status === "disabled" ? yield* integrations.probe(id) : (yield* tests.send(id)).delivery_id
      yield* awaitOutcome(sent)
      return seeOther(`${visitor.home}/deliveries/${formatDeliveryId(sent)}`)
    }).pipe(
      Effect.catchTags({
        NotProbed: ({ why }) => showUnsent(visitor, why),
        NotDeliverable: ({ why }) => (why === "integration_deleted" ? Page.answer(gone) : showUnsent(visitor, why))
      })
    )

  /** Whether a form was shown in this visit. A browser that says that it comes from another site is believed. */
  const isGenuine = Effect.fnUntraced(function* (grant: Grant) {
    const { headers } = yield* HttpServerRequest.HttpServerRequest
    const form = new URLSearchParams(yield* readText(maxFormBytes))
    if ((headers["sec-fetch-site"] ?? "same-origin") !== "same-origin") return false
    const access = yield* links.check("form", form.get(formTokenField) ?? "")
    return (
      access._tag === "Granted" &&
      access.grant.integration_id === grant.integration_id &&
      access.grant.nonce === grant.nonce
    )
  })

  const home = visiting((visitor) => showHome(visitor, null))
  const one = visiting(showDelivery)
  const test = visiting((visitor, grant) =>
    Effect.flatMap(isGenuine(grant), (genuine) => (genuine ? send(visitor) : Page.answer(forged(visitor.home))))
  )

  const refuse = (refusal: RequestFailure) =>
    Effect.map(failureResponse(json)(refusal), HttpServerResponse.setHeader("cache-control", "no-store"))
  return [
    resource("/portal/open/:token", { GET: served(open) }, refuse),
    resource("/portal/:id", { GET: served(home) }, refuse),
    resource("/portal/:id/deliveries/:delivery", { GET: served(one) }, refuse),
    resource("/portal/:id/test", { POST: served(test) }, refuse)
  ]
})

export const PortalRoutes = HttpRouter.addAll(makeRoutes)
