/**
 * Pages about deliveries, for operators and owners. Lists have filters, and selected deliveries can be sent again. The
 * page of one delivery shows its attempts with their responses, the next step, and its request. Only operators see the
 * `detail` of an attempt, because it might describe doorhook's own network.
 */
import {
  callEndReasons,
  Crypto,
  Deliveries,
  DeliveryNotFound,
  DeliverySettings,
  DeliveryState,
  deliveryStates,
  EventViews,
  Explanation,
  formatDeliveryId,
  Html,
  missingVerdicts,
  onOneLine,
  OperatorIntegrations,
  parseDeliveryId,
  ResourceTypes,
  ServiceKey,
  shownText
} from "@doorhook/core"
import type {
  Attempt,
  CallEnding,
  DeliveryId,
  DeliveryWithAttempts,
  Event,
  EventId,
  ExplainedDelivery,
  IntegrationId,
  IntegrationWithHealth,
  ListedDelivery,
  ResourceType,
  ResourceTypeTable,
  RetryPolicies,
  Scope,
  StoreError
} from "@doorhook/core"
import { Effect, Option, Schema } from "effect"
import type { KnownError } from "../http/Failures.ts"
import { parseIntegrationId } from "../http/Query.ts"
import type { FoundOne, Search, Searcher } from "./DeliverySearch.ts"
import type { LabelMaker, Place } from "./Labels.ts"
import { nameOf } from "./Labels.ts"
import type { PageEffect, Visit } from "./Parts.ts"
import * as Parts from "./Parts.ts"
import { pathOf } from "./Parts.ts"
import { requestPanel } from "./Payload.ts"
import type { Summarizer } from "./Summaries.ts"
import { summaryOf, typeName } from "./Summaries.ts"
import type { Language, TextKey } from "./Texts.ts"

/** Number of deliveries on a page. */
const perPage = 25

/** Maximum number of deliveries that one form sends again. */
const mostResent = 25

const isState = Schema.is(DeliveryState)

/** The scope and the paths of a list of deliveries. */
export interface ListOf {
  /** Path of the list, below the role's home. */
  readonly path: string
  /** Path before the id of a single delivery, below the role's home. */
  readonly deliveries: string
  /** The integration whose deliveries are listed; null for all. */
  readonly integration: IntegrationId | null
}

/** The states that the filter `troubled` selects. */
const troubled = ["retrying", "exhausted", "expired"] as const

const servicesOf = Effect.gen(function* () {
  const { retry, signing } = yield* DeliverySettings
  return {
    crypto: yield* Crypto,
    deliveries: yield* Deliveries,
    integrations: yield* OperatorIntegrations,
    onFailure: warnOncePerType(Effect.runForkWith(yield* Effect.context<never>())),
    retry,
    serviceKey: yield* ServiceKey,
    views: yield* EventViews.makeViews,
    signing,
    types: yield* ResourceTypes
  }
})

/** Logs the failure of a type's own summary once, because a page can show many deliveries of the type. */
const warnOncePerType = (run: (effect: Effect.Effect<void>) => unknown): Summarizer["onFailure"] => {
  const known = new Set<ResourceType | null>()
  return (type, cause) => {
    if (known.has(type)) return
    known.add(type)
    run(
      Effect.logWarning(
        `The function \`summary\` of the resource type ${type ?? ""} failed. This is logged once.`,
        cause
      )
    )
  }
}

/** Lookups that other pages share. */
interface Shared {
  readonly labels: LabelMaker
  readonly search: Searcher
}
type Services = Effect.Success<typeof servicesOf> & Shared

/** The receiver of a delivery in a list. */
interface Receiver {
  readonly name: string
  readonly doors: Place["doors"]
}

export class DeliveryPages {
  static make(shared: Shared) {
    return Effect.map(servicesOf, (services) => new DeliveryPages({ ...services, ...shared }))
  }

  readonly #services: Services

  constructor(services: Services) {
    this.#services = services
  }

  /** Makes the page with all deliveries. */
  listPage(visit: Visit): PageEffect {
    const title = visit.language.t("deliveries")
    return Effect.map(
      this.list(visit, { path: "/deliveries", deliveries: "/deliveries", integration: null }),
      (body) => ({
        title,
        place: "/deliveries",
        refresh: 5,
        body: Html.template`<h1>${title}</h1>
<section class="panel" aria-label="${title}">${body}</section>`
      })
    )
  }

  /** Makes a list with its filter form. The filters come from the visit's query. */
  list(visit: Visit, of: ListOf): Effect.Effect<Html.Html, StoreError> {
    const { search, types } = this.#services
    const { home, language, query } = visit
    return Effect.gen({ self: this }, function* () {
      const { compared, filter } =
        of.integration === null
          ? yield* this.#receiverFilter((query.get("find") ?? "").trim(), visit.now)
          : { filter: { integrations: [of.integration] }, compared: null }
      const found = yield* search.find({ limit: perPage, ...filter, ...filterIn(visit, types) })
      const next = found.next === null ? null : formatDeliveryId(found.next)
      return Html.template`${filters(visit, of, types)}
${compared === null ? null : Html.template`<p class="notice">${language.t("compared_first", { n: language.number(compared) })}</p>\n`}${yield* this.#listForm(visit, of, found.items)}
${
  found.searched_to === null
    ? null
    : Html.template`<p class="notice">${language.html("searched_to", { time: Parts.at(language, found.searched_to) })}</p>`
}${Parts.pager(language, `${home}${of.path}`, query, next)}`
    })
  }

  /**
   * Returns the filter for a receiver that the visitor entered: the id of an integration, or part of a name, a host or a
   * client's name. `compared` is the number of compared integrations if there are more, otherwise null.
   */
  #receiverFilter(
    text: string,
    now: number
  ): Effect.Effect<{ readonly filter: Partial<Search>; readonly compared: number | null }, StoreError> {
    if (text === "") return Effect.succeed({ filter: {}, compared: null })
    const id = Option.getOrNull(parseIntegrationId(text))
    if (id !== null) return Effect.succeed({ filter: { integrations: [id] }, compared: null })
    return Effect.map(this.#services.search.integrationsLike(text, now), ({ compared, found }) => ({
      filter: { integrations: found.map(({ integration }) => integration.id) },
      compared
    }))
  }

  /** Makes a table with a checkbox in each row, and a button that sends the selected deliveries again. */
  #listForm(visit: Visit, of: ListOf, items: ReadonlyArray<FoundOne>): Effect.Effect<Html.Html, StoreError> {
    const { home, language } = visit
    const { t } = language
    const all = of.integration === null
    return Effect.gen({ self: this }, function* () {
      const receivers = yield* this.#receiversOf(visit, items)
      const rows = items.map((one): ReadonlyArray<Html.Part> => {
        const id = formatDeliveryId(one.id)
        const last = one.last_attempt
        const receiver = receivers.get(one.integration_id) ?? null
        const line = this.#lineOf(visit, one, receiver?.doors)
        return [
          Html.template`<input type="checkbox" name="delivery" value="${id}" aria-label="${t("select_delivery", { id: line })}">`,
          Html.template`<a href="${home}${of.deliveries}/${id}">${line}</a><span class="under">${id}</span>`,
          Parts.badge(one.state, Parts.stateNow(visit, this.#services.retry, one)),
          ...(all
            ? [
                receiver === null
                  ? t("deleted_integration")
                  : Html.template`<a href="${home}/integrations/${one.integration_id}">${receiver.name}</a>`
              ]
            : []),
          last === null
            ? null
            : Html.template`${Parts.outcomeBadge(visit, last)}${last.number > 1 ? Html.template`<span class="under">${language.count("attempts", last.number)}</span>` : null}`,
          nextOf(visit, this.#services.retry, one),
          Parts.ago(visit, one.created_at)
        ]
      })
      const selectAll = Html.template`<input type="checkbox" data-select-all hidden aria-label="${t("select_all")}"><span class="hidden">${t("selected")}</span>`
      const columns = [
        selectAll,
        t("type"),
        t("state"),
        ...(all ? [t("receiver")] : []),
        t("last_attempt"),
        t("next"),
        t("created")
      ]
      if (items.length === 0) return yield* this.#emptyList(visit, of)
      const kind = all ? "deliveries all" : "deliveries"
      return Parts.form(
        visit,
        `${of.deliveries}/resend`,
        Html.template`${Parts.hidden("back", of.path)}${Parts.table(t("deliveries"), columns, rows, "", kind)}
<div class="row selected"><button type="submit" class="quiet">${t("resend_selected")}</button> <span class="muted">${t("resend_selected_hint", { n: mostResent })}</span></div>`
      )
    })
  }

  /** Says that no delivery matches, or that there is none yet and what to do. */
  #emptyList({ language: { t }, query }: Visit, of: ListOf): Effect.Effect<Html.Html, StoreError> {
    const isFiltered = ["find", "text", "state", "type", "since", "until", "after"].some(
      (name) => (query.get(name) ?? "") !== ""
    )
    return Effect.succeed(
      Html.template`<p class="muted">${t(isFiltered ? "no_deliveries" : of.integration === null ? "no_deliveries_yet" : "no_deliveries_here")}</p>`
    )
  }

  /** Returns the line that stands for a delivery. */
  #lineOf({ language }: Visit, { excerpt, resource_type }: FoundOne, doors: Place["doors"] = noDoors): string {
    const { types } = this.#services
    return excerpt === null
      ? typeName(language, types, resource_type)
      : summaryOf(language, this.#services, { ...excerpt, resource_type }, doors)
  }

  /** Returns the names of the receivers of deliveries, without deleted integrations. */
  #receiversOf(
    visit: Visit,
    items: ReadonlyArray<ListedDelivery>
  ): Effect.Effect<ReadonlyMap<IntegrationId, Receiver>, StoreError> {
    return Effect.gen({ self: this }, function* () {
      const found: Array<IntegrationWithHealth> = []
      for (const id of new Set(items.map(({ integration_id }) => integration_id))) {
        const one = yield* this.#integrationOf(id)
        if (one !== null) found.push(one)
      }
      const urls = found.map(({ integration }) => integration.configuration.url)
      const receivers = new Map<IntegrationId, Receiver>()
      for (const one of found) {
        const { place } = yield* this.#services.labels.of(visit, one.integration)
        receivers.set(one.integration.id, { name: nameOf(one.integration, urls), doors: place.doors })
      }
      return receivers
    })
  }

  /** Returns the integration; null if it was deleted. */
  #integrationOf(id: IntegrationId): Effect.Effect<IntegrationWithHealth | null, StoreError> {
    return Effect.catchTag(this.#services.integrations.show(id), "IntegrationNotFound", () => Effect.succeed(null))
  }

  /** Makes the page of one delivery. The caller must have checked that the visitor may see the delivery. */
  detail(visit: Visit, id: DeliveryId, of: ListOf): PageEffect {
    const { deliveries, labels, types } = this.#services
    const { home, language, role } = visit
    const { t } = language
    return Effect.gen({ self: this }, function* () {
      const delivery = yield* deliveries.show(id, role)
      const found = yield* this.#integrationOf(delivery.integration_id)
      const doors = found === null ? noDoors : (yield* labels.of(visit, found.integration)).place.doors
      const { event, state } = delivery
      const timed = { created_at: delivery.created_at, state, resource_type: event?.resource_type ?? null }
      const title = event === null ? typeName(language, types, null) : summaryOf(language, this.#services, event, doors)
      const path = pathOf(visit, delivery.integration_id)
      const receiver =
        found === null
          ? t("deleted_integration")
          : Html.template`<a href="${home}${path}">${nameOf(found.integration)}</a>`
      const request = yield* requestPanel(visit, delivery, found, this.#services)
      return {
        title,
        refresh: 3,
        place: role === "operator" ? "/deliveries" : "",
        body: Html.template`<p class="back"><a href="${home}${of.path}">${t("all_deliveries")}</a></p>
${Parts.heading(
  title,
  Html.template`${formatDeliveryId(id)}`,
  Html.template`${Parts.badge(state, Parts.stateNow(visit, this.#services.retry, timed))}${actionsOf(visit, delivery, found, of)}`
)}
${event === null ? null : endLine(language, yield* deliveries.endOfCall(event))}
${statusPanel(visit, delivery, receiver, Parts.isGivenUp(visit, this.#services.retry, timed))}
${attemptsPanel(visit, delivery)}
${request}`
      }
    })
  }

  /**
   * Makes the page that says for each integration whether it got an event, and why not. `mayRead` says whether the visitor
   * may see what concerns a building or tenant.
   */
  eventPage(visit: Visit, id: EventId, mayRead: (scope: Scope) => boolean): PageEffect {
    const { deliveries, labels } = this.#services
    const { home, language, role } = visit
    const { t } = language
    return Effect.gen({ self: this }, function* () {
      const { event, integrations, missing } = yield* deliveries.explainEvent(id, undefined, role)
      const place = role === "operator" ? "/deliveries" : ""
      if (event === null || !scopesOf(event).some(mayRead)) {
        const why = missing === null || role === "owner" ? t("unknown_event") : language.say([missing.why])
        const body = Html.template`<h1>${t("unknown_event_title")}</h1>
<p class="mono">${id}</p>
${Parts.alert(why)}`
        return { title: t("unknown_event_title"), place, status: 404, body }
      }
      let doors = noDoors
      const typed = { resource_type: event.resource_type }
      const rows: Array<ReadonlyArray<Html.Part>> = []
      for (const { delivery, integration, integration_id, verdict, why } of integrations) {
        if (integration === null ? role === "owner" : !mayRead(integration.scope)) continue
        const found = integration === null ? null : yield* labels.of(visit, integration)
        if (found !== null && doors.size === 0) doors = found.place.doors
        const path = pathOf(visit, integration_id)
        const isGivenUp = delivery !== null && Parts.isGivenUp(visit, this.#services.retry, { ...delivery, ...typed })
        const word = Parts.badge(verdict, isGivenUp ? t("given_up") : t(verdictKey(verdict)))
        rows.push([
          integration === null || found === null
            ? t("deleted_integration")
            : Html.template`<a href="${home}${path}">${nameOf(integration)}</a><span class="under">${found.place.name}</span>`,
          delivery === null
            ? word
            : Html.template`<a href="${home}${role === "operator" ? "" : path}/deliveries/${formatDeliveryId(delivery.id)}">${word}</a>`,
          language.say(why)
        ])
      }
      const title = summaryOf(language, this.#services, event, doors)
      const columns = [t("integration"), t("state"), t("why")]
      return {
        title,
        place,
        refresh: 5,
        body: Html.template`${Parts.heading(title, Html.template`<span class="mono">${id}</span>`, Html.nothing)}
${endLine(language, yield* deliveries.endOfCall(event))}
<section class="panel" aria-labelledby="who"><h2 id="who">${t("who_got_it")}</h2>
${Parts.table(t("who_got_it"), columns, rows, t("nobody_got_it"))}</section>`
      }
    })
  }

  /**
   * Sends deliveries again and returns their number. Skips deliveries whose integration is disabled or deleted, and
   * those that retention has deleted in the meantime. Fails if all are skipped.
   */
  resend(ids: ReadonlyArray<DeliveryId>): Effect.Effect<number, KnownError> {
    const { deliveries } = this.#services
    return Effect.gen(function* () {
      let sent = 0
      for (const [index, id] of ids.entries()) {
        const sending = Effect.as(deliveries.resend(id), 1)
        const isLast = index === ids.length - 1
        // If all deliveries were refused, this reports the failure of the last one.
        sent += yield* isLast && sent === 0
          ? sending
          : Effect.catchTag(sending, ["NotDeliverable", "DeliveryNotFound"], () => Effect.succeed(0))
      }
      return sent
    })
  }

  /** Fails unless all these deliveries belong to the integration. */
  requireOf(integration: IntegrationId, ids: ReadonlyArray<DeliveryId>): Effect.Effect<void, KnownError> {
    return Effect.forEach(
      ids,
      (id) =>
        Effect.flatMap(this.#services.deliveries.show(id), ({ integration_id }) =>
          integration_id === integration ? Effect.void : Effect.fail(new DeliveryNotFound({ id }))
        ),
      { discard: true }
    )
  }
}

const noDoors: Place["doors"] = new Map()

/** Returns the building and the tenants that an event is about. */
const scopesOf = ({ building_id, tenant_ids }: Event): ReadonlyArray<Scope> => [
  { type: "building", id: building_id },
  ...tenant_ids.map((id) => ({ type: "tenant", id }) as const)
]

const isVerdictOfMissing = Schema.is(Schema.Literals(missingVerdicts))

/** Returns the text for whether an integration got an event. */
const verdictKey = (verdict: ExplainedDelivery["verdict"]): TextKey => {
  if (isVerdictOfMissing(verdict)) return `verdict_${verdict}`
  return verdict === "right_lost" ? "reason_right_lost" : `state_${verdict}`
}

/** Returns when the next attempt is due, or why there is none. */
const nextOf = (visit: Visit, retry: RetryPolicies, delivery: ListedDelivery): Html.Part => {
  const { next_attempt_at, reason, state } = delivery
  const { t } = visit.language
  if (Parts.isGivenUp(visit, retry, delivery)) return t("reason_schedule_used_up")
  if (state !== "retrying" || next_attempt_at === null) return reason === null ? null : t(`reason_${reason}`)
  return next_attempt_at <= visit.now ? t("due_now") : Parts.ago(visit, next_attempt_at)
}

/** Reads the filters of a list from the visit's query, except the receiver. Ignores what can't be read. */
const filterIn = ({ language, query }: Visit, types: ResourceTypeTable): Partial<Search> => {
  const state = query.get("state") ?? ""
  const type = query.get("type") ?? ""
  const text = (query.get("text") ?? "").trim()
  const cursor = Option.getOrUndefined(parseDeliveryId(query.get("after") ?? ""))
  const [since, until] = [language.instant(query.get("since") ?? ""), language.instant(query.get("until") ?? "")]
  return {
    ...(isState(state) && { states: [state] as const }),
    ...(state === "troubled" && { states: troubled }),
    ...(types.has(type) && { resource_type: type }),
    ...(text !== "" && { text }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
    ...(cursor !== undefined && { after: cursor })
  }
}

/** Reads the deliveries selected in a form. */
export const deliveriesIn = (fields: URLSearchParams): ReadonlyArray<DeliveryId> =>
  [...new Set(fields.getAll("delivery"))]
    .slice(0, mostResent)
    .flatMap((text) => Option.match(parseDeliveryId(text), { onNone: () => [], onSome: (id) => [id] }))

const filters = (visit: Visit, { integration, path }: ListOf, types: ResourceTypeTable): Html.Html => {
  const { home, language, query } = visit
  const { t } = language
  const states: ReadonlyArray<readonly [string, string]> = [
    ["", t("every_state")],
    ["troubled", t("not_acknowledged")],
    ...deliveryStates.map((state) => [state, Parts.stateText(visit, state)] as const)
  ]
  const names: ReadonlyArray<readonly [string, string]> = [
    ["", t("every_type")],
    ...[...types.keys()].map((type) => [type, typeName(language, types, type)] as const)
  ]
  const input = (name: "find" | "text" | "since" | "until", type: string) =>
    Parts.field(
      name,
      t(name),
      (attributes) =>
        Html.template`<input type="${type}" ${attributes} value="${query.get(name) ?? ""}" autocomplete="off" autocapitalize="none" spellcheck="false">`
    )
  return Html.template`<form method="get" action="${home}${path}#filters" id="filters" class="filters" role="search">
${integration === null ? input("find", "search") : null}${input("text", "search")}${Parts.field("state", t("state"), (attributes) => Parts.select(attributes, states, query.get("state") ?? ""))}${Parts.field("type", t("type"), (attributes) => Parts.select(attributes, names, query.get("type") ?? ""))}${input("since", "datetime-local")}${input("until", "datetime-local")}<button type="submit" class="quiet">${t("show")}</button><p class="muted">${t("times_in", { zone: language.zone })}</p></form>`
}

const excerpt = ({ t }: Visit["language"], { number, response_excerpt }: Attempt): Html.Html | null =>
  response_excerpt === null || response_excerpt === ""
    ? null
    : Html.template`<details id="answer-${number}"><summary>${t("answer")}</summary><pre tabindex="0" aria-label="${t("answer")}">${response_excerpt.split(/\r?\n/).map(onOneLine).join("\n")}</pre></details>`

const attemptItem = ({ language, role }: Visit, attempt: Attempt): Html.Html =>
  Html.template`<li class="${attempt.outcome}"><strong>${language.t("attempt", { n: attempt.number })}</strong> ${Parts.outcomeBadge({ language, role }, attempt)} <span class="muted">${Parts.at(language, attempt.started_at)}, ${language.duration(attempt.duration_ms)}</span>
<p>${language.say(Explanation.explainAttempt(attempt, role))}</p>${excerpt(language, attempt)}</li>
`

/** Suggested actions that are carried out on the integration's page. */
const elsewhere = ["allow", "probe", "enable", "recover"] as const

const actionsOf = (
  visit: Visit,
  delivery: DeliveryWithAttempts,
  integration: IntegrationWithHealth | null,
  of: ListOf
): Html.Html => {
  const { home, language } = visit
  const { t } = language
  if (integration === null) return Html.nothing
  const id = formatDeliveryId(delivery.id)
  const isFirst = delivery.history.length === 0
  const path = pathOf(visit, delivery.integration_id)
  const steps = elsewhere.filter((action) => delivery.explanation.actions.includes(action))
  return Html.template`${Parts.ask(visit, `${of.deliveries}/resend`, {
    id: "resend",
    kind: "primary",
    label: t(isFirst ? "send_now" : "send_again"),
    text: t(isFirst ? "send_now_ask" : "send_again_ask"),
    fields: Parts.hidden("delivery", id)
  })}${steps.map((step) => Html.template`<a class="button quiet" href="${home}${path}${step === "recover" ? "/recover" : ""}">${t(`step_${step}`)}</a>`)}<a class="button quiet" href="${home}${of.deliveries}/${id}">${t("refresh")}</a>`
}

/** Shows why a delivery is in its state, and what happens next. */
/** Says that a call has ended, and why. */
const endLine = (language: Language, end: CallEnding | null): Html.Html | null => {
  if (end === null) return null
  const known = callEndReasons.find((reason) => reason === end.reason)
  const { t } = language
  const why = known === undefined ? shownText(end.reason ?? "", 80) : t(`ended_${known}`)
  return Html.template`<p id="ended">${why === "" ? t("call_ended_plain") : t("call_ended", { why })} ${Parts.at(language, end.published_at)}</p>`
}

const statusPanel = (
  { home, language, ...visit }: Visit,
  delivery: DeliveryWithAttempts,
  receiver: Html.Part,
  isGivenUp: boolean
): Html.Html => {
  const { t } = language
  const { created_at, event_id, explanation, reason } = delivery
  const due = dueOf(delivery)
  return Parts.panel(
    "now",
    t("status"),
    Parts.facts([
      [t("why"), language.say(explanation.why)],
      [
        t("next"),
        Html.template`${language.say(explanation.next)}${due === null ? null : Html.template` (${Parts.ago({ home, language, ...visit }, due)})`}`
      ],
      [t("integration"), receiver],
      [
        "webhook-id",
        // The holder of a link may see one integration, and the page of an event is about all.
        visit.link === null
          ? Html.template`<a class="mono" href="${home}/events/${event_id}">${event_id}</a>`
          : Html.template`<span class="mono">${event_id}</span>`
      ],
      [t("created"), Parts.at(language, created_at)],
      reason === null ? null : [t("reason"), t(isGivenUp ? "reason_schedule_used_up" : `reason_${reason}`)]
    ])
  )
}

/** Returns when the next attempt of a delivery is due; null if none is planned. */
const dueOf = ({ next_attempt_at, state }: DeliveryWithAttempts): number | null =>
  state === "retrying" ? next_attempt_at : null

const attemptsPanel = (visit: Visit, delivery: DeliveryWithAttempts): Html.Html => {
  const { language } = visit
  const { html, t } = language
  const due = dueOf(delivery)
  const coming =
    due === null
      ? null
      : Html.template`<li class="coming"><strong>${t("attempt", { n: delivery.attempts + 1 })}</strong> ${html("attempt_comes", { when: Parts.ago(visit, due), time: Parts.at(language, due) })}</li>`
  return Parts.panel(
    "attempts",
    t("attempts"),
    delivery.history.length === 0 && coming === null
      ? Html.template`<p class="muted">${t("no_attempts")}</p>`
      : Html.template`<ol class="timeline">${delivery.history.map((one) => attemptItem(visit, one))}${coming}</ol>`
  )
}
