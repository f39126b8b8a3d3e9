/**
 * Pages about deliveries, for operators and owners. Lists have filters, and selected deliveries can be sent again. The
 * page of one delivery shows its request, its attempts with their responses, and the next step. Only operators see the
 * `detail` of an attempt, because it might describe doorhook's own network.
 */
import {
  bodyOf,
  escapedJson,
  Deliveries,
  DeliveryNotFound,
  DeliveryRequest,
  DeliverySettings,
  DeliveryState,
  deliveryStates,
  EventId,
  Explanation,
  formatDeliveryId,
  hiddenValue,
  Html,
  onOneLine,
  OperatorIntegrations,
  parseDeliveryId,
  ResourceTypes,
  Signature
} from "@doorhook/core"
import type {
  Attempt,
  DeliveryId,
  DeliveryWithAttempts,
  IntegrationId,
  ListedDelivery,
  Signing,
  StoreError,
  IntegrationWithHealth
} from "@doorhook/core"
import { Effect, Option, Schema } from "effect"
import type { KnownError } from "../http/Failures.ts"
import { parseIntegrationId } from "../http/Query.ts"
import type { PageEffect, Shown, Visit } from "./Parts.ts"
import * as Parts from "./Parts.ts"
import type { Search, Searcher } from "./DeliverySearch.ts"
import { hostOf } from "./Labels.ts"

/** Number of deliveries on a page. */
const perPage = 25

/** Maximum number of deliveries that one form sends again. */
const mostResent = 25

const isState = Schema.is(DeliveryState)
const isEventId = Schema.is(EventId)

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
  return {
    deliveries: yield* Deliveries,
    integrations: yield* OperatorIntegrations,
    signing: (yield* DeliverySettings).signing,
    types: yield* ResourceTypes
  }
})

type Services = Effect.Success<typeof servicesOf> & { readonly search: Searcher }

export class DeliveryPages {
  static make(search: Searcher) {
    return Effect.map(servicesOf, (services) => new DeliveryPages({ ...services, search }))
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
          ? yield* this.#textFilter((query.get("find") ?? "").trim())
          : { filter: { integrations: [of.integration] }, compared: null }
      const found = yield* search.find({ limit: perPage, ...filter, ...filterIn(query, types) })
      const hosts = of.integration === null ? yield* this.#hostsOf(found.items) : noHosts
      const next = found.next === null ? null : formatDeliveryId(found.next)
      return Html.template`${filters(visit, of, types.keys())}
${compared === null ? null : Html.template`<p class="notice">${language.t("compared_first", { n: language.number(compared) })}</p>\n`}${listForm(visit, of, found.items, hosts)}
${
  found.searched_to === null
    ? null
    : Html.template`<p class="notice">${language.html("searched_to", { time: Parts.at(language, found.searched_to) })}</p>`
}${Parts.pager(language, `${home}${of.path}`, query, next)}`
    })
  }

  /**
   * Returns the filter for a text that the visitor entered: the id of an event or an integration, or part of a host.
   * `compared` is the number of integrations compared with the host if there are more, otherwise null.
   */
  #textFilter(
    text: string
  ): Effect.Effect<{ readonly filter: Partial<Search>; readonly compared: number | null }, StoreError> {
    if (text === "") return Effect.succeed({ filter: {}, compared: null })
    if (isEventId(text)) return Effect.succeed({ filter: { event_id: text }, compared: null })
    const id = Option.getOrNull(parseIntegrationId(text))
    if (id !== null) return Effect.succeed({ filter: { integrations: [id] }, compared: null })
    return Effect.map(this.#services.search.integrationsAt(text), ({ compared, integrations }) => ({
      filter: { integrations },
      compared
    }))
  }

  #hostsOf(items: ReadonlyArray<ListedDelivery>): Effect.Effect<ReadonlyMap<IntegrationId, string>, StoreError> {
    return Effect.gen({ self: this }, function* () {
      const hosts = new Map<IntegrationId, string>()
      for (const id of new Set(items.map(({ integration_id }) => integration_id))) {
        const one = yield* this.#integrationOf(id)
        if (one !== null) hosts.set(id, hostOf(one.integration.configuration.url))
      }
      return hosts
    })
  }

  /** Returns the integration; null if it was deleted. */
  #integrationOf(id: IntegrationId): Effect.Effect<IntegrationWithHealth | null, StoreError> {
    return Effect.catchTag(this.#services.integrations.show(id), "IntegrationNotFound", () => Effect.succeed(null))
  }

  /** Makes the page of one delivery. The caller must have checked that the visitor may see the delivery. */
  detail(visit: Visit, id: DeliveryId, of: ListOf): PageEffect {
    const { deliveries, signing } = this.#services
    return Effect.gen({ self: this }, function* () {
      const delivery = yield* deliveries.show(id, visit.role)
      return detailPage(visit, delivery, yield* this.#integrationOf(delivery.integration_id), of, signing)
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

const noHosts: ReadonlyMap<IntegrationId, string> = new Map()

/** Reads the filters of a list from the visit's query, except the text. Ignores what can't be read. */
const filterIn = (query: URLSearchParams, types: ReadonlyMap<string, unknown>): Partial<Search> => {
  const state = query.get("state") ?? ""
  const type = query.get("type") ?? ""
  const cursor = Option.getOrUndefined(parseDeliveryId(query.get("after") ?? ""))
  const [since, until] = [Parts.timeIn(query, "since"), Parts.timeIn(query, "until")]
  return {
    ...(isState(state) && { states: [state] as const }),
    ...(state === "troubled" && { states: troubled }),
    ...(types.has(type) && { resource_type: type }),
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

const filters = (
  { home, language: { t }, language, query }: Visit,
  { integration, path }: ListOf,
  types: Iterable<string>
): Html.Html => {
  const states: ReadonlyArray<readonly [string, string]> = [
    ["", t("every_state")],
    ["troubled", t("not_acknowledged")],
    ...deliveryStates.map((state) => [state, t(`state_${state}`)] as const)
  ]
  const names: ReadonlyArray<readonly [string, string]> = [
    ["", t("every_type")],
    ...[...types].map((type) => [type, Parts.typeName(language, type)] as const)
  ]
  const time = (name: "since" | "until") =>
    Parts.field(
      name,
      t(name),
      (attributes) => Html.template`<input type="datetime-local" ${attributes} value="${query.get(name) ?? ""}">`
    )
  return Html.template`<form method="get" action="${home}${path}" class="filters" role="search">
${
  integration === null
    ? Parts.field(
        "find",
        t("find"),
        (attributes) =>
          Html.template`<input type="search" ${attributes} value="${query.get("find") ?? ""}" autocomplete="off" autocapitalize="none" spellcheck="false">`
      )
    : null
}${Parts.field("state", t("state"), (attributes) => Parts.select(attributes, states, query.get("state") ?? ""))}${Parts.field("type", t("type"), (attributes) => Parts.select(attributes, names, query.get("type") ?? ""))}${time("since")}${time("until")}<button type="submit" class="quiet">${t("show")}</button></form>`
}

/** Makes a table with a checkbox in each row, and a button that sends the selected deliveries again. */
const listForm = (
  visit: Visit,
  of: ListOf,
  items: ReadonlyArray<ListedDelivery>,
  hosts: ReadonlyMap<IntegrationId, string>
): Html.Html => {
  const { home, language, now } = visit
  const { t } = language
  const all = of.integration === null
  const next = ({ next_attempt_at, reason, state }: ListedDelivery): Html.Part => {
    if (state !== "retrying" || next_attempt_at === null) return reason === null ? null : t(`reason_${reason}`)
    return next_attempt_at <= now ? t("due_now") : Parts.ago(visit, next_attempt_at)
  }
  const rows = items.map((one): ReadonlyArray<Html.Part> => {
    const id = formatDeliveryId(one.id)
    const last = one.last_attempt
    return [
      Html.template`<input type="checkbox" name="delivery" value="${id}" aria-label="${t("select_delivery", { id })}">`,
      Html.template`<a class="whole" href="${home}${of.deliveries}/${id}">${id}</a>`,
      Parts.badge(one.state, t(`state_${one.state}`)),
      Parts.typeName(language, one.resource_type),
      ...(all
        ? [
            Html.template`<a href="${home}/integrations/${one.integration_id}">${hosts.get(one.integration_id) ?? t("deleted_integration")}</a>`
          ]
        : []),
      last === null
        ? null
        : Html.template`${Parts.outcomeBadge(language, last)}${last.number > 1 ? ` ${language.count("attempts", last.number)}` : null}`,
      next(one),
      Parts.ago(visit, one.created_at)
    ]
  })
  const selectAll = Html.template`<input type="checkbox" data-select-all hidden aria-label="${t("select_all")}"><span class="hidden">${t("selected")}</span>`
  const columns = [
    selectAll,
    t("delivery"),
    t("state"),
    t("type"),
    ...(all ? [t("receiver")] : []),
    t("last_attempt"),
    t("next"),
    t("created")
  ]
  const listed = Parts.table(t("deliveries"), columns, rows, t("no_deliveries"))
  if (items.length === 0) return listed
  return Parts.form(
    visit,
    `${of.deliveries}/resend`,
    Html.template`${Parts.hidden("back", of.path)}${listed}
<div class="row selected"><button type="submit" class="quiet">${t("resend_selected")}</button> <span class="muted">${t("resend_selected_hint", { n: mostResent })}</span></div>`
  )
}

const excerpt = ({ t }: Visit["language"], { number, response_excerpt }: Attempt): Html.Html | null =>
  response_excerpt === null || response_excerpt === ""
    ? null
    : Html.template`<details id="answer-${number}"><summary>${t("answer")}</summary><pre tabindex="0" aria-label="${t("answer")}">${response_excerpt.split(/\r?\n/).map(onOneLine).join("\n")}</pre></details>`

const attemptItem = ({ language, role }: Visit, attempt: Attempt): Html.Html =>
  Html.template`<li class="${attempt.outcome}"><strong>${language.t("attempt", { n: attempt.number })}</strong> ${Parts.outcomeBadge(language, attempt)} <span class="muted">${Parts.at(language, attempt.started_at)}, ${language.duration(attempt.duration_ms)}</span>
<p>${language.say(Explanation.explainAttempt(attempt, role))}</p>${excerpt(language, attempt)}</li>
`

/** Examples of the signature header, by signing scheme (Standard Webhooks 1.0). */
const signatures = { hmac: "v1,...", ed25519: "v1a,...", both: "v1,... v1a,..." } as const satisfies Readonly<
  Record<Exclude<Signing, "off">, string>
>

/** Lists the headers of the last attempt, each with an explanation. */
const headerRows = (
  { t }: Visit["language"],
  { event_id, history }: DeliveryWithAttempts,
  integration: IntegrationWithHealth | null,
  signing: Signing
): Html.Html => {
  const last = history.at(-1)
  const own = Object.keys(integration?.integration.overrides.headers ?? {})
  const rows: ReadonlyArray<readonly [string, string, string]> = [
    ["content-type", "application/json", t("header_type")],
    ["user-agent", DeliveryRequest.userAgent, t("header_agent")],
    [Signature.headerNames.id, event_id, t("header_id")],
    [
      Signature.headerNames.timestamp,
      last === undefined ? "" : String(Math.floor(last.started_at / 1_000)),
      t("header_timestamp")
    ],
    [Signature.headerNames.attempt, last === undefined ? "" : String(last.number), t("header_attempt")],
    ...(signing === "off"
      ? []
      : [[Signature.headerNames.signature, signatures[signing], t(`header_signature_${signing}`)] as const]),
    ...own.map((name) => [name, hiddenValue, t("header_own")] as const)
  ]
  return Parts.table(
    t("headers"),
    [t("header"), t("value"), t("meaning")],
    rows.map(([name, value, meaning]) => [
      Html.template`<span class="mono whole">${name}</span>`,
      Html.template`<span class="mono">${value}</span>`,
      meaning
    ]),
    ""
  )
}

/** Suggested actions that are carried out on the integration's page. */
const elsewhere = ["allow", "probe", "enable", "recover"] as const

const detailPage = (
  visit: Visit,
  delivery: DeliveryWithAttempts,
  integration: IntegrationWithHealth | null,
  of: ListOf,
  signing: Signing
): Shown => {
  const { home, language, role } = visit
  const { html, t } = language
  const id = formatDeliveryId(delivery.id)
  const { event, explanation, history, next_attempt_at, state } = delivery
  const due = state === "retrying" && next_attempt_at !== null ? next_attempt_at : null
  const path = role === "operator" ? `/integrations/${delivery.integration_id}` : `/${delivery.integration_id}`
  const where = integration === null ? t("deleted_integration") : hostOf(integration.integration.configuration.url)
  const title = t("delivery_title", { type: Parts.typeName(language, event?.resource_type ?? null), id })
  const isFirst = history.length === 0
  const steps = elsewhere.filter((action) => explanation.actions.includes(action))
  return {
    title,
    refresh: 3,
    place: role === "operator" ? "/deliveries" : "",
    body: Html.template`<p><a href="${home}${of.path}">${t("all_deliveries")}</a></p>
<div class="row apart"><h1>${title}</h1>${Parts.badge(state, t(`state_${state}`))}</div>
${Parts.panel(
  "now",
  t("status"),
  Html.template`${Parts.facts([
    [t("why"), language.say(explanation.why)],
    [
      t("next"),
      Html.template`${language.say(explanation.next)}${due === null ? null : Html.template` (${Parts.ago(visit, due)})`}`
    ],
    [t("integration"), integration === null ? where : Html.template`<a href="${home}${path}">${where}</a>`],
    ["webhook-id", Html.template`<span class="mono">${delivery.event_id}</span>`],
    [t("created"), Parts.at(language, delivery.created_at)],
    delivery.reason === null ? null : [t("reason"), t(`reason_${delivery.reason}`)]
  ])}<div class="row">${
    integration === null
      ? null
      : Parts.ask(visit, `${of.deliveries}/resend`, {
          id: "resend",
          kind: "primary",
          label: t(isFirst ? "send_now" : "send_again"),
          text: t(isFirst ? "send_now_ask" : "send_again_ask"),
          fields: Parts.hidden("delivery", id)
        })
  }${steps.map((step) => Html.template`<a class="button quiet" href="${home}${path}">${t(`step_${step}`)}</a>`)}<a class="button quiet" href="${home}${of.deliveries}/${id}">${t("refresh")}</a></div>`
)}
${Parts.panel(
  "attempts",
  t("attempts"),
  isFirst && due === null
    ? Html.template`<p class="muted">${t("no_attempts")}</p>`
    : Html.template`<ol class="timeline">${history.map((one) => attemptItem(visit, one))}${
        due === null
          ? null
          : Html.template`<li class="coming"><strong>${t("attempt", { n: delivery.attempts + 1 })}</strong> ${html("attempt_comes", { when: Parts.ago(visit, due), time: Parts.at(language, due) })}</li>`
      }</ol>`
)}
${
  event === null
    ? null
    : Parts.panel(
        "sent",
        t("request"),
        Html.template`${integration === null ? null : Html.template`<p class="mono">POST ${integration.integration.configuration.url}</p>`}
<h3>${t("headers")}</h3>
${headerRows(language, delivery, integration, signing)}
<h3 id="payload">${t("body")}</h3>
<pre tabindex="0" aria-labelledby="payload">${escapedJson(bodyOf(event))}</pre>`
      )
}`
  }
}
