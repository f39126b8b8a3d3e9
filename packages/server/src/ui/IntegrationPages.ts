/**
 * Pages about integrations: the operator's list of all integrations, and the page of one integration with its actions,
 * for operators and owners.
 *
 * Owners' actions go through core's `Integrations`, which checks the owner's right in the directory each time. The
 * holder of a link acts for the user who created the integration.
 */
import type {
  Actor,
  DeliveryId,
  Integration,
  IntegrationId,
  IntegrationWithHealth,
  ListedDelivery,
  Scope,
  StatusFilter,
  StoreError
} from "@doorhook/core"
import {
  Deliveries,
  DeliverySettings,
  DeliveryStore,
  Dispatcher,
  Explanation,
  failureText,
  formatDeliveryId,
  Html,
  Integrations,
  integrationType,
  isUnreadable,
  makeMinuteCounter,
  OperatorIntegrations,
  ResourceTypes,
  RetryPolicy,
  signsWithSecret,
  statusFilters,
  TestEvents,
  testKindOf,
  writeOverrides
} from "@doorhook/core"
import { Effect, Option, Schedule } from "effect"
import type { KnownError } from "../http/Failures.ts"
import { pageOf, parseIntegrationId } from "../http/Query.ts"
import { integrationOperations } from "../operator/IntegrationOperations.ts"
import { OperatorApi } from "../operator/OperatorApi.ts"
import type { DeliveryPages } from "./DeliveryPages.ts"
import type { FigureSource } from "./Figures.ts"
import { figuresPanel, spanIn } from "./Figures.ts"
import type { LabelMaker } from "./Labels.ts"
import { nameOf, receiverOf, scopeName } from "./Labels.ts"
import type { Searcher } from "./DeliverySearch.ts"
import type { NotificationPages } from "./NotificationPages.ts"
import { seeOther } from "./Page.ts"
import type { PageEffect, Shown, Visit } from "./Parts.ts"
import * as Parts from "./Parts.ts"
import { pathOf } from "./Parts.ts"
import { typeName } from "./Summaries.ts"

/** Number of integrations on a page, and of latest deliveries shown for each. */
const perPage = 25
const latest = 12

/**
 * Maximum number of tests per minute that an owner may send to an integration. The limit is low, so that tests put
 * little load on the receiver.
 */
const testsPerMinute = 5

/** Longest wait for the outcome of a test, and the interval between lookups, in milliseconds. */
const testPatience = 6_000
const lookEvery = 100

/** How far back the recover form starts by default, in milliseconds. */
const recoverSince = 86_400_000

/** Maximum number of integrations per place on the page with all places, and on the page of one place. */
const perGlance = 10
const perPlace = 100

/** Maximum number of places on the page with all places. */
const mostPlaces = 50

/** Number of an owner's integrations above which they can be searched. */
const leastSearched = 5

const ownerSpans = ["day", "week"] as const

/** Formats a building or tenant as a query parameter, like `building-1`. */
export const keyOf = ({ id, type }: Scope): string => `${type}-${id}`

/**
 * Returns the user for whom an owner's change is made: the owner, or the integration's creator for the holder of a
 * link.
 */
export const actorOf = ({ actor }: Visit, { integration }: IntegrationWithHealth): Actor =>
  actor ?? integration.created_by

/** Makes the JSON:API document that changes these attributes of an integration. */
export const patchOf = (id: IntegrationId, attributes: object): object => ({
  data: { type: integrationType, id: String(id), attributes }
})

/** Deliveries that recovering sends again. */
const unacknowledged = ["retrying", "exhausted", "expired", "cancelled", "skipped"] as const

const servicesOf = Effect.gen(function* () {
  return {
    call: (yield* OperatorApi).call,
    deliveries: yield* Deliveries,
    dispatching: (yield* Dispatcher).status,
    integrations: yield* OperatorIntegrations,
    managed: yield* Integrations,
    retry: (yield* DeliverySettings).retry,
    signing: (yield* DeliverySettings).signing,
    store: yield* DeliveryStore,
    tests: yield* TestEvents,
    types: yield* ResourceTypes
  }
})

/** Other pages and lookups that these pages use. */
interface Others {
  readonly figures: FigureSource
  readonly labels: LabelMaker
  readonly search: Searcher
  readonly deliveryPages: DeliveryPages
  readonly notificationPages: NotificationPages
}
type Services = Effect.Success<typeof servicesOf> & Others

/** Handler of an action on an integration. */
type Action = (visit: Visit, found: IntegrationWithHealth, fields: URLSearchParams) => PageEffect

export class IntegrationPages {
  static make(others: Others) {
    return Effect.map(servicesOf, (services) => new IntegrationPages({ ...services, ...others }))
  }

  readonly #services: Services
  readonly #countTest = makeMinuteCounter()

  constructor(services: Services) {
    this.#services = services
  }

  // Lists.

  /** Makes the operator's page with all integrations. */
  listPage(visit: Visit): PageEffect {
    const { integrations } = this.#services
    const { home, language, query } = visit
    const { t } = language
    const status = statusFilters.find((one) => one === query.get("status"))
    const cursor = Option.getOrElse(parseIntegrationId(query.get("after") ?? ""), () => 0 as const)
    return Effect.gen({ self: this }, function* () {
      const find = (query.get("find") ?? "").trim()
      const { items, next } = yield* pageOf(perPage, (limit) =>
        find === ""
          ? integrations.list({ after: cursor, limit, ...(status !== undefined && { status }) })
          : this.#like(find, visit.now, { after: cursor, limit, status })
      )
      const readable = items.flatMap((one) => (isUnreadable(one) ? [] : [one]))
      const options: ReadonlyArray<readonly [string, string]> = [
        ["", t("every_status")],
        ...statusFilters.map((one) => [one, t(one)] as const)
      ]
      const goOn = next === null ? null : String(isUnreadable(next) ? next.id : next.integration.id)
      return {
        title: t("integrations"),
        place: "/integrations",
        refresh: 10,
        body: Html.template`<h1>${t("integrations")}</h1>
<section class="panel" aria-label="${t("integrations")}"><form method="get" action="${home}/integrations" class="filters" role="search">
${findField(visit)}${Parts.field("status", t("status"), (attributes) => Parts.select(attributes, options, status ?? ""))}<button type="submit" class="quiet">${t("show")}</button></form>
${items
  .filter(isUnreadable)
  .map(
    (one) =>
      Html.template`<p class="alert">${t("unreadable", { id: one.id, whose: scopeName(language, one.scope), why: one.unreadable })}</p>\n`
  )}${yield* this.#table(visit, t("integrations"), readable, true)}${Parts.pager(language, `${home}/integrations`, query, goOn)}</section>`
      }
    })
  }

  /** Returns the integrations whose name, host or client contains a text. */
  #like(
    text: string,
    now: number,
    page: { readonly after: IntegrationId | 0; readonly limit: number; readonly status: StatusFilter | undefined }
  ): Effect.Effect<ReadonlyArray<IntegrationWithHealth>, StoreError> {
    return Effect.map(this.#services.search.integrationsLike(text, now), ({ found }) =>
      found.filter((one) => one.integration.id > page.after && hasStatus(one, page.status)).slice(0, page.limit)
    )
  }

  /** Makes the page with an owner's integrations, grouped by place. */
  ownerPage(visit: Visit, actor: Actor): PageEffect {
    const { t } = visit.language
    const chosen = visit.query.get("place")
    return Effect.gen({ self: this }, function* () {
      const places = yield* this.#services.labels.placesOf(visit.language, actor)
      const shown =
        chosen === null ? places.slice(0, mostPlaces) : places.filter(({ scope }) => keyOf(scope) === chosen)
      const find = (visit.query.get("find") ?? "").trim()
      const limit = chosen === null && find === "" ? perGlance : perPlace
      const sections = yield* Effect.forEach(shown, (place) => this.#placePanel(visit, actor, place, limit, find))
      const total = sections.reduce((sum, section) => sum + section.total, 0)
      return {
        title: t("your_integrations"),
        place: "",
        refresh: 10,
        body: Html.template`<h1>${t("your_integrations")}</h1>
${places.length > 0 && total === 0 && find === "" ? welcome(visit) : null}${
          total > leastSearched || find !== ""
            ? Html.template`<form method="get" action="${visit.home}" class="filters" role="search">${findField(visit)}<button type="submit" class="quiet">${t("show")}</button></form>`
            : null
        }${sections.length === 0 ? Html.template`<p>${t("no_places")}</p>` : sections.map(({ panel }) => panel)}${
          chosen === null && places.length > mostPlaces
            ? Html.template`<p class="muted">${t("more_places", { n: places.length - mostPlaces })}</p>`
            : null
        }`
      }
    })
  }

  #placePanel(
    visit: Visit,
    actor: Actor,
    { name, scope }: { readonly name: string; readonly scope: Scope },
    limit: number,
    find: string
  ): Effect.Effect<{ readonly panel: Html.Html; readonly total: number }, KnownError> {
    const { integrations, managed, search } = this.#services
    const { home, language } = visit
    const { t } = language
    return Effect.gen({ self: this }, function* () {
      const { items, total } = yield* managed.list(actor, scope, { offset: 0, limit })
      const found: Array<IntegrationWithHealth> = []
      for (const { id } of items) {
        const one = yield* Effect.catchTag(integrations.show(id), "IntegrationNotFound", () => Effect.succeed(null))
        if (one !== null && (find === "" || (yield* search.isLike(one, find, visit.now)))) found.push(one)
      }
      const key = keyOf(scope)
      const panel = Html.template`<section class="panel" aria-labelledby="${key}"><div class="row apart"><h2 id="${key}">${name}</h2><a class="button quiet" href="${home}/new?place=${key}">${t("new_integration")}</a></div>
${yield* this.#table(visit, name, found, false)}${total > items.length ? Html.template`<p><a href="${home}?place=${key}">${t("all_of", { n: total })}</a></p>` : null}</section>
`
      return { panel, total }
    })
  }

  /** Makes a table of integrations, each with its last attempt and a strip with the states of the latest deliveries. */
  #table(
    visit: Visit,
    label: string,
    items: ReadonlyArray<IntegrationWithHealth>,
    hasPlace: boolean
  ): Effect.Effect<Html.Html, StoreError> {
    const { language } = visit
    const { t } = language
    const { labels } = this.#services
    const urls = items.map(({ integration }) => integration.configuration.url)
    return Effect.gen({ self: this }, function* () {
      const rows: Array<ReadonlyArray<Html.Part>> = []
      for (const one of items) {
        const { id } = one.integration
        const { creator, place } = yield* labels.of(visit, one.integration)
        const latestOnes = yield* this.#latest(id)
        const last = latestOnes.find(({ last_attempt }) => last_attempt !== null)?.last_attempt ?? null
        const words = latestOnes.map((latestOne) => Parts.stateNow(visit, this.#services.retry, latestOne)).join(", ")
        rows.push([
          Html.template`<a href="${visit.home}${pathOf(visit, id)}"><b>${nameOf(one.integration, urls)}</b></a><span class="under">${one.integration.name === null ? null : `${receiverOf(one.integration, urls)}, `}${creator}</span>`,
          Html.template`${Parts.health(language, one)}${one.failing === null ? null : Html.template`<span class="under">${language.html("since_then", { ago: Parts.ago(visit, one.failing.since) })}</span>`}`,
          ...(hasPlace ? [place.name] : []),
          last === null
            ? null
            : Html.template`${Parts.outcomeBadge(visit, last)}<span class="under">${Parts.ago(visit, last.started_at)}</span>`,
          latestOnes.length === 0
            ? null
            : Html.template`<span class="strip" role="img" aria-label="${words}">${latestOnes.map(({ state }) => Html.template`<i class="${state}"></i>`)}</span>`
        ])
      }
      const columns = [t("integration"), t("health"), ...(hasPlace ? [t("whose")] : []), t("last_attempt"), t("latest")]
      return Parts.table(label, columns, rows, t("no_integrations"), hasPlace ? "integrations wide" : "integrations")
    })
  }

  /** Returns an integration's latest deliveries, newest first. */
  #latest(id: IntegrationId): Effect.Effect<ReadonlyArray<ListedDelivery>, StoreError> {
    return this.#services.deliveries.list({ integration_id: id, order: "newest", limit: latest })
  }

  /** Explains the most recent failure among an integration's latest deliveries. Returns null if none failed. */
  #lastFailure({ language, role }: Visit, id: IntegrationId): Effect.Effect<Html.Html | null, StoreError> {
    const { deliveries } = this.#services
    return Effect.gen({ self: this }, function* () {
      const items = yield* this.#latest(id)
      const failed = items.find((one) => one.last_attempt !== null && one.last_attempt.outcome !== "acknowledged")
      if (failed === undefined) return null
      // Retention might have deleted the delivery in the meantime.
      const shown = yield* Effect.catchTag(deliveries.show(failed.id), "DeliveryNotFound", () => Effect.succeed(null))
      const last = shown?.history.at(-1)
      return last === undefined || last.outcome === "acknowledged"
        ? null
        : Html.template`<p>${language.say(Explanation.explainAttempt(last, role))}</p>\n`
    })
  }

  // One integration.

  /** Makes the page of one integration with its deliveries. `above` is an optional notice at the top. */
  onePage(visit: Visit, found: IntegrationWithHealth, above: Html.Html | null = null): PageEffect {
    const { deliveryPages, figures, labels, notificationPages, types } = this.#services
    const { language, role } = visit
    const span = spanIn(visit.query, ownerSpans)
    const { t } = language
    const { bindings, configuration, created_at, description, detail, id } = found.integration
    const path = pathOf(visit, id)
    const title = nameOf(found.integration)
    return Effect.gen({ self: this }, function* () {
      const { creator, place } = yield* labels.of(visit, found.integration)
      const listed = yield* deliveryPages.list(visit, {
        path,
        deliveries: role === "operator" ? "/deliveries" : `${path}/deliveries`,
        integration: id
      })
      const notifications = role === "operator" ? yield* notificationPages.latest(visit, id) : null
      return {
        title,
        place: role === "operator" ? "/integrations" : "",
        refresh: 5,
        body: Html.template`${Parts.heading(
          title,
          Html.template`${creator}, ${place.name}`,
          Html.template`${Parts.health(language, found)}${this.#mainAction(visit, found)}${this.#menu(visit, found)}`
        )}
${above}${yield* this.#notices(visit, found)}
${Parts.panel(
  "integration",
  t("integration"),
  Parts.facts([
    description === null ? null : [t("description"), Html.template`<span class="lines">${description}</span>`],
    [t("sends_to"), Html.template`<span class="mono">${configuration.url}</span>`],
    [t("sends"), sends(language, types, bindings)],
    [t("detail"), t(`detail_${detail}`)],
    [t("whose"), place.name],
    [t("created"), Html.template`${Parts.at(language, created_at)} ${creator}`],
    [t("number"), String(id)]
  ])
)}
${figuresPanel(visit, path, yield* figures.of(id, span, visit.now), span, ownerSpans)}
${Parts.panel("deliveries", t("deliveries"), listed)}
${role === "operator" ? overridesPanel(visit, found, types) : null}${notifications === null ? null : Parts.panel("notifications", t("notifications"), notifications)}
${role === "operator" ? null : dangerPanel(visit, found, title)}`
      }
    })
  }

  /** Makes the button for what a visitor does most: send a test event, or enable the integration again. */
  #mainAction(visit: Visit, { integration }: IntegrationWithHealth): Html.Html {
    const { language } = visit
    const { t } = language
    const path = pathOf(visit, integration.id)
    const name = nameOf(integration)
    const kind = "primary"
    if (integration.status === "enabled") {
      const test = testKindOf(integration, this.#services.types)
      const type = typeName(language, this.#services.types, test.resource_type)
      const text = `${t("test_ask", { type })}${test.urgent ? ` ${t("test_rings")}` : ""}`
      return Parts.ask(visit, `${path}/test`, {
        id: "test",
        label: t("test"),
        title: `${t("test")}: ${name}`,
        text,
        kind
      })
    }
    if (integration.disabled_reason === "manual") return enableAction(visit, integration, kind)
    return Parts.ask(visit, `${path}/probe`, { id: "probe", label: t("try_again"), text: t("try_again_ask"), kind })
  }

  /** Makes the menu with all other actions, except those that can't be undone. */
  #menu(visit: Visit, { integration }: IntegrationWithHealth): Html.Html {
    const { home, role } = visit
    const { t } = visit.language
    const { disabled_reason, id, status, version } = integration
    const path = pathOf(visit, id)
    const link = (to: string, words: string) => Html.template`<a href="${home}${path}/${to}">${words}</a>`
    const fields = Parts.hidden("version", String(version))
    const name = nameOf(integration)
    const rotate = {
      id: "rotate",
      label: t("rotate"),
      title: `${t("rotate")}: ${name}`,
      text: t("rotate_ask"),
      fields,
      kind: "item"
    } as const
    const stop = t(role === "operator" ? "disable" : "pause")
    const pause = {
      id: "pause",
      label: stop,
      title: `${stop}: ${name}`,
      text: t("pause_ask"),
      fields: Parts.hidden("status", "disabled"),
      kind: "item"
    } as const
    return Parts.menu(t("more"), [
      ...(role === "owner" ? [link("edit", t("edit")), link("verify", t("verify"))] : []),
      ...(status === "enabled" ? [link("recover", t("recover"))] : []),
      ...(role === "owner" && signsWithSecret(this.#services.signing)
        ? [Parts.ask(visit, `${path}/rotate`, rotate)]
        : []),
      ...(role === "operator" ? [linkAction(visit, integration)] : []),
      ...(status === "enabled" ? [Parts.ask(visit, `${path}/status`, pause)] : []),
      ...(status === "disabled" && disabled_reason !== "manual" ? [enableAction(visit, integration, "item")] : [])
    ])
  }

  /** Says why an integration is disabled, since when it fails, and whether it is catching up. */
  #notices(visit: Visit, { failing, integration }: IntegrationWithHealth): Effect.Effect<Html.Html, StoreError> {
    const { language } = visit
    const { html, t } = language
    const { disabled_reason, id, status } = integration
    return Effect.gen({ self: this }, function* () {
      const { catching_up } = yield* this.#services.dispatching
      const catchingUp = catching_up.find(({ integration_id }) => integration_id === id)
      const isTroubled = failing !== null || (disabled_reason ?? "manual") !== "manual"
      return Html.template`${
        status === "disabled"
          ? Html.template`<p class="alert">${t(`why_${disabled_reason ?? "manual"}`)}</p>`
          : failing === null
            ? null
            : Html.template`<p class="alert">${html("nothing_since", { time: Parts.at(language, failing.since) })}</p>`
      }${isTroubled ? yield* this.#lastFailure(visit, id) : null}${
        catchingUp === undefined
          ? null
          : Html.template`<p class="notice">${html("catching_up", { time: Parts.at(language, catchingUp.since) })}</p>`
      }`
    })
  }

  // Actions.

  /** Actions of operators and owners, by the last segment of their path. */
  get sharedActions(): Readonly<Record<"test" | "probe" | "status" | "recover", Action>> {
    const send: Action = (visit, found) => this.#send(visit, found)
    return {
      test: send,
      probe: send,
      status: (visit, found, fields) => this.#setStatus(visit, found, fields),
      recover: (visit, found, fields) => this.#recover(visit, found, fields)
    }
  }

  /** Actions of operators only. */
  get operatorActions(): Readonly<Record<"link" | "overrides", Action>> {
    return {
      link: (visit, found, fields) => this.#makeLink(visit, found, fields),
      overrides: (visit, found, fields) => this.#override(visit, found, fields)
    }
  }

  /** Fails unless the visitor still has the right to change the integration. */
  permit(visit: Visit, found: IntegrationWithHealth): Effect.Effect<unknown, KnownError> {
    return visit.role === "operator"
      ? Effect.void
      : this.#services.managed.get(actorOf(visit, found), found.integration.scope, found.integration.id)
  }

  /** Sends a test event to an enabled integration, or a probe to a disabled one. */
  #send(visit: Visit, { integration: { id, status } }: IntegrationWithHealth): PageEffect {
    const { integrations, tests } = this.#services
    return Effect.gen({ self: this }, function* () {
      if (visit.role === "owner") {
        const { count, seconds } = this.#countTest(id, visit.now)
        if (count > testsPerMinute) {
          const said = { key: "too_many_tests", values: { seconds } } as const
          const headers = { "retry-after": String(seconds) }
          return yield* Parts.formFailure(429, "rate_limited", "Too many tests", said, headers)
        }
      }
      const sent = status === "disabled" ? yield* integrations.probe(id) : (yield* tests.send(id)).delivery_id
      yield* this.#awaitOutcome(sent)
      const list = visit.role === "operator" ? "/deliveries" : `/${id}/deliveries`
      return seeOther(`${visit.home}${list}/${formatDeliveryId(sent)}`)
    })
  }

  /**
   * Waits up to `testPatience` for the outcome of a delivery. A failed lookup is only logged, because the delivery is
   * already being sent.
   */
  #awaitOutcome(id: DeliveryId): Effect.Effect<unknown> {
    return this.#services.store.find(id).pipe(
      Effect.repeat({
        until: (found) =>
          found === null || (found.delivery.state !== "pending" && found.delivery.state !== "delivering"),
        schedule: Schedule.spaced(lookEvery)
      }),
      Effect.timeoutOption(testPatience),
      Effect.catchTag("StoreError", (error) =>
        Effect.logError(`Can't look up the outcome of delivery ${formatDeliveryId(id)}. ${failureText(error)}`)
      )
    )
  }

  #setStatus(visit: Visit, found: IntegrationWithHealth, fields: URLSearchParams): PageEffect {
    const { integrations, managed } = this.#services
    const { id, scope } = found.integration
    const status = fields.get("status") === "disabled" ? "disabled" : "enabled"
    const set: Effect.Effect<unknown, KnownError> =
      visit.role === "operator"
        ? integrations.set(id, { status })
        : managed.patch(actorOf(visit, found), scope, id, patchOf(id, { status }), null)
    return Effect.as(
      set,
      seeOther(Parts.after(`${visit.home}${pathOf(visit, id)}`, status === "enabled" ? "enabled" : "paused"))
    )
  }

  /**
   * Makes the page that says how many deliveries recovering sends, before it is done. Events whose lifetime is over, like
   * rings, are sent only if the visitor asks for them.
   */
  recoverPage(visit: Visit, found: IntegrationWithHealth): PageEffect {
    const { home, language, now, query } = visit
    const { html, number, t } = language
    const { id } = found.integration
    const path = pathOf(visit, id)
    const since = language.instant(query.get("since") ?? "") ?? now - recoverSince
    const { retry, search } = this.#services
    const unexpired = RetryPolicy.unexpiredSince(retry, now)
    const isLate = ({ created_at, resource_type }: ListedDelivery) => created_at < (unexpired[resource_type ?? ""] ?? 0)
    return Effect.map(search.count(id, unacknowledged, since, isLate), ({ isCapped, late, n }): Shown => {
      const more = isCapped ? t("more_than") : ""
      const count = `${more}${number(n)}`
      const title = t("recover")
      const words = n === 0 ? t("send_again") : t(n === 1 ? "recover_send_one" : "recover_send_other", { n: count })
      const lateBox =
        late === 0
          ? null
          : Html.template`<label class="box"><input type="checkbox" name="late" value="yes"${n === 0 ? Html.template` required` : null}> <span>${t("recover_late", { n: `${more}${number(late)}` })}<span class="under">${t("recover_late_hint")}</span></span></label>
`
      const send = Html.template`${Parts.hidden("since", language.fieldTime(since))}${lateBox}<div class="row"><button type="submit" class="primary"${n + late === 0 ? Html.template` disabled` : null}>${words}</button><a class="button quiet" href="${home}${path}">${t("cancel")}</a></div>`
      return {
        title,
        place: role(visit),
        body: Html.template`<p><a href="${home}${path}">${nameOf(found.integration)}</a></p>
<h1>${title}</h1>
<section class="panel" aria-label="${title}"><p>${t("recover_ask")}</p>
<form method="get" action="${home}${path}/recover" class="filters">${Parts.field("since", t("since"), (attributes) => Html.template`<input type="datetime-local" ${attributes} value="${language.fieldTime(since)}" required>`)}<button type="submit" class="quiet">${t("count")}</button></form>
<p>${html(n === 1 ? "recover_count_one" : "recover_count_other", { n: Html.template`<b>${count}</b>`, time: Parts.at(language, since) })}</p>
${Parts.form(visit, `${path}/recover`, send)}</section>`
      }
    })
  }

  #recover(visit: Visit, { integration: { id } }: IntegrationWithHealth, fields: URLSearchParams): PageEffect {
    const since = visit.language.instant(fields.get("since") ?? "")
    if (since === undefined) return Parts.formFailure(422, "invalid", "Invalid time", { key: "no_time" })
    return Effect.map(this.#services.deliveries.recover(id, since, { late: fields.get("late") === "yes" }), (n) =>
      seeOther(Parts.after(`${visit.home}${pathOf(visit, id)}`, "recovered", n))
    )
  }

  #makeLink(visit: Visit, found: IntegrationWithHealth, fields: URLSearchParams): PageEffect {
    const { language } = visit
    const { html, t } = language
    const request = {
      params: { id: String(found.integration.id) },
      body: JSON.stringify({ expires_in: fields.get("lifetime") ?? "15m" })
    }
    return Effect.flatMap(
      this.#services.call(integrationOperations.createPortalLink, request),
      ({ expires_at, url }) => {
        const expires = Parts.at(language, Date.parse(expires_at))
        const above = Html.template`<section class="notice" role="status" aria-label="${t("link")}"><p>${html("link_made", { time: expires })}</p>
${Parts.field("link", t("link"), (attributes) => Html.template`<input type="text" ${attributes} value="${url}" readonly class="wide mono">`)}${Parts.copyButton(language, "link")}</section>`
        return this.onePage(visit, found, above)
      }
    )
  }

  #override(visit: Visit, { integration }: IntegrationWithHealth, fields: URLSearchParams): PageEffect {
    const { call, types } = this.#services
    const { id, overrides } = integration
    const listIn = (name: string) => (fields.get(name) ?? "").split(/[\s,]+/).filter((part) => part !== "")
    const retry: Record<string, ReadonlyArray<string>> = {}
    for (const type of types.keys()) {
      const delays = listIn(`retry-${type}`)
      if (delays.length > 0) retry[type] = delays[0] === "none" ? [] : delays
    }
    const { acknowledge: _, allow_targets: __, retry: ___, ...others } = writeOverrides(overrides)
    const acknowledge = fields.get("acknowledge") ?? ""
    const networks = listIn("allow")
    const document = {
      overrides: {
        ...others,
        ...(acknowledge !== "" && { acknowledge }),
        ...(Object.keys(retry).length > 0 && { retry }),
        ...(networks.length > 0 && { allow_targets: networks })
      }
    }
    const request = { params: { id: String(id) }, body: JSON.stringify(document) }
    return Effect.as(
      call(integrationOperations.set, request),
      seeOther(Parts.after(`${visit.home}/integrations/${id}`, "saved"))
    )
  }
}

/** Says what a webhook is and what to do first, to an owner without any. */
const welcome = ({ home, language: { t } }: Visit): Html.Html =>
  Html.template`<section class="panel" aria-labelledby="welcome"><h2 id="welcome">${t("welcome")}</h2>
<p>${t("welcome_text")}</p><ol><li>${t("welcome_first")}</li><li>${t("welcome_second")}</li><li>${t("welcome_third")}</li></ol>
<p><a class="button primary" href="${home}/new">${t("new_integration")}</a></p></section>
`

const hasStatus = ({ failing, integration }: IntegrationWithHealth, status: StatusFilter | undefined): boolean => {
  if (status !== "unhealthy") return status === undefined || integration.status === status
  return failing !== null || (integration.disabled_reason ?? "manual") !== "manual"
}

const findField = ({ language: { t }, query }: Visit): Html.Html =>
  Parts.field(
    "find",
    t("find_integration"),
    (attributes) =>
      Html.template`<input type="search" ${attributes} value="${query.get("find") ?? ""}" autocomplete="off" autocapitalize="none" spellcheck="false">`
  )

const role = ({ role: of }: Visit): string => (of === "operator" ? "/integrations" : "")

const enableAction = (visit: Visit, { id }: Integration, kind: "primary" | "item"): Html.Html => {
  const { t } = visit.language
  const fields = Parts.hidden("status", "enabled")
  const question = { id: "enable", label: t("enable"), text: t("enable_ask"), fields, kind }
  return Parts.ask(visit, `${pathOf(visit, id)}/status`, question)
}

const linkLifetimes = ["15m", "1h", "8h", "24h"] as const

const linkAction = (visit: Visit, { id }: Integration): Html.Html => {
  const { t } = visit.language
  const options = linkLifetimes.map((text) => [text, text] as const)
  return Parts.ask(visit, `${pathOf(visit, id)}/link`, {
    id: "link",
    kind: "item",
    label: t("make_link"),
    text: t("make_link_ask"),
    fields: Parts.field("lifetime", t("lifetime"), (attributes) => Parts.select(attributes, options, linkLifetimes[0]))
  })
}

/** Makes the panel with the action that can't be undone. */
const dangerPanel = (visit: Visit, { integration }: IntegrationWithHealth, name: string): Html.Html => {
  const { t } = visit.language
  const title = t("delete_named", { name })
  const remove = {
    id: "delete",
    label: t("delete"),
    title: `${title}?`,
    text: t("delete_ask"),
    yes: title,
    fields: Parts.hidden("version", String(integration.version)),
    kind: "danger"
  } as const
  return Html.template`<section class="panel risky" aria-labelledby="danger"><h2 id="danger">${t("danger")}</h2>
<div class="row apart"><p>${t("delete_text")}</p>${Parts.ask(visit, `${pathOf(visit, integration.id)}/delete`, remove)}</div></section>
`
}

/** Makes the panel with this integration's own settings, which only operators can change. */
const overridesPanel = (visit: Visit, { integration }: IntegrationWithHealth, types: Services["types"]): Html.Html => {
  const { t } = visit.language
  const { acknowledge = "", allow_targets = [], retry = {} } = writeOverrides(integration.overrides)
  const choices: ReadonlyArray<readonly [string, string]> = [
    ["", t("as_everywhere")],
    ["200", "200"],
    ["2xx", "2xx"]
  ]
  const own = [acknowledge, ...allow_targets, ...Object.keys(retry)].some((value) => value !== "")
  const delaysOf = (delays: ReadonlyArray<string> | undefined): string => {
    if (delays === undefined) return ""
    return delays.length === 0 ? "none" : delays.join(", ")
  }
  const retryFields = [...types.keys()].map((type) =>
    Parts.field(
      `retry-${type}`,
      t("retry", { type: typeName(visit.language, types, type) }),
      (attributes) =>
        Html.template`<input type="text" ${attributes} value="${delaysOf(retry[type])}" placeholder="${t("as_everywhere")}">`,
      t("retry_hint")
    )
  )
  const fields = Html.template`${Parts.field("acknowledge", t("acknowledge"), (attributes) => Parts.select(attributes, choices, acknowledge))}${retryFields}${Parts.field("allow", t("allow_targets"), (attributes) => Html.template`<input type="text" ${attributes} value="${allow_targets.join(", ")}">`, t("allow_hint"))}<button type="submit">${t("save")}</button>`
  return Parts.panel(
    "own",
    t("own_settings"),
    Html.template`<p class="muted">${t(own ? "own_some" : "own_none")}</p>
<details><summary>${t("change")}</summary>
${Parts.form(visit, `${pathOf(visit, integration.id)}/overrides`, fields, "fields")}</details>`
  )
}

/** Describes the bindings of an integration in words. Names actions only of types that have several. */
const sends = (language: Visit["language"], types: Services["types"], bindings: Integration["bindings"]): string =>
  bindings
    .map(({ actions, resource_type }) => {
      const name = typeName(language, types, resource_type)
      return (types.get(resource_type)?.actions.length ?? 1) > 1 ? `${name} (${actions.join(", ")})` : name
    })
    .join(", ")
