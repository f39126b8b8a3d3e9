/**
 * Pages about integrations: the operator's list of all integrations, and the page of one integration with its actions,
 * for operators and owners.
 *
 * Owners' actions go through core's `Integrations`, which checks the owner's right in the directory each time. The
 * holder of a link acts for the user who created the integration.
 */
import type { Actor, DeliveryId, IntegrationId, Scope, IntegrationWithHealth } from "@doorhook/core"
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
  signsWithSecret,
  statusFilters,
  TestEvents,
  testKindOf,
  writeOverrides
} from "@doorhook/core"
import { Effect, Option, Schedule } from "effect"
import type { KnownError } from "../http/Failures.ts"
import { pageOf, parseIntegrationId } from "../http/Query.ts"
import type { Answer } from "../http/Route.ts"
import { integrationOperations } from "../operator/Integrations.ts"
import { OperatorApi } from "../operator/OperatorApi.ts"
import type { makeDeliveryPages } from "./Deliveries.ts"
import type { makeNotificationPages } from "./Notifications.ts"
import { seeOther } from "./Page.ts"
import type { Shown, Visit } from "./Parts.ts"
import {
  after,
  ago,
  ask,
  at,
  copyButton,
  facts,
  field,
  form,
  formFailure,
  health,
  hidden,
  hostOf,
  outcomeBadge,
  pager,
  panel,
  select,
  table,
  typeName
} from "./Parts.ts"

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

/** Returns the path of an integration's page, below the home of the visitor's role. */
export const pathOf = ({ role }: Pick<Visit, "role">, id: IntegrationId): string =>
  role === "operator" ? `/integrations/${id}` : `/${id}`

/**
 * Returns the user for whom an owner's change is made: the owner, or the integration's creator for the holder of a
 * link.
 */
export const actorOf = ({ actor }: Visit, { integration }: IntegrationWithHealth): Actor =>
  actor ?? integration.created_by

/** Returns a readable name of an integration's owner, like "building 1". */
export const scopeName = ({ t }: Visit["language"], { id, type }: Scope): string => t(`scope_${type}`, { id })

/** Makes the JSON:API document that changes these attributes of an integration. */
export const patchOf = (id: IntegrationId, attributes: object): object => ({
  data: { type: integrationType, id: String(id), attributes }
})

export const makeIntegrationPages = Effect.fnUntraced(function* (
  deliveryPages: Effect.Success<typeof makeDeliveryPages>,
  notificationPages: Effect.Success<typeof makeNotificationPages>
) {
  const deliveries = yield* Deliveries
  const dispatcher = yield* Dispatcher
  const integrations = yield* OperatorIntegrations
  const managed = yield* Integrations
  const { signing } = yield* DeliverySettings
  const store = yield* DeliveryStore
  const tests = yield* TestEvents
  const types = yield* ResourceTypes
  const { call } = yield* OperatorApi
  const countTest = makeMinuteCounter()

  /**
   * Returns the last attempt for an integration, and a strip with the states of its latest deliveries, newest first.
   */
  const latestOf = (visit: Visit, id: IntegrationId) =>
    Effect.map(deliveries.list({ integration_id: id, order: "newest", limit: latest }), (items) => {
      const { t } = visit.language
      const last = items.find(({ last_attempt }) => last_attempt !== null)?.last_attempt ?? null
      const words = items.map(({ state }) => t(`state_${state}`)).join(", ")
      return {
        last:
          last === null ? null : Html.template`${outcomeBadge(visit.language, last)} ${ago(visit, last.started_at)}`,
        strip:
          items.length === 0
            ? null
            : Html.template`<span class="strip" role="img" aria-label="${words}">${items.map(({ state }) => Html.template`<i class="${state}"></i>`)}</span>`
      }
    })

  /** Explains the most recent failure among an integration's latest deliveries. Returns null if none failed. */
  const lastFailure = Effect.fnUntraced(function* ({ language, role }: Visit, id: IntegrationId) {
    const items = yield* deliveries.list({ integration_id: id, order: "newest", limit: latest })
    const failed = items.find((one) => one.last_attempt !== null && one.last_attempt.outcome !== "acknowledged")
    if (failed === undefined) return null
    // Retention might have deleted the delivery in the meantime.
    const shown = yield* Effect.catchTag(deliveries.show(failed.id), "DeliveryNotFound", () => Effect.succeed(null))
    const last = shown?.history.at(-1)
    return last === undefined || last.outcome === "acknowledged"
      ? null
      : Html.template`<p>${language.say(Explanation.explainAttempt(last, role))}</p>\n`
  })

  const listPage = Effect.fnUntraced(function* (visit: Visit) {
    const {
      home,
      language,
      language: { t },
      query
    } = visit
    const status = statusFilters.find((one) => one === query.get("status"))
    const cursor = Option.getOrElse(parseIntegrationId(query.get("after") ?? ""), () => 0 as const)
    const { items, next } = yield* pageOf(perPage, (limit) =>
      integrations.list({ after: cursor, limit, ...(status !== undefined && { status }) })
    )
    const rows: Array<ReadonlyArray<Html.Part>> = []
    for (const one of items) {
      if (isUnreadable(one)) continue
      const { configuration, id, scope } = one.integration
      const { last, strip } = yield* latestOf(visit, id)
      rows.push([
        Html.template`<a href="${home}/integrations/${id}">${t("integration_title", { id })}</a>`,
        health(language, one),
        Html.template`<span class="mono">${hostOf(configuration.url)}</span>`,
        scopeName(language, scope),
        one.failing === null ? null : ago(visit, one.failing.since),
        last,
        strip
      ])
    }
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
<form method="get" action="${home}/integrations" class="filters" role="search">
${field("status", t("status"), (attributes) => select(attributes, options, status ?? ""))}<button type="submit" class="quiet">${t("show")}</button></form>
${items
  .filter(isUnreadable)
  .map(
    (one) =>
      Html.template`<p class="alert">${t("unreadable", { id: one.id, whose: scopeName(language, one.scope), why: one.unreadable })}</p>\n`
  )}
<section class="panel" aria-label="${t("integrations")}">${table(
        t("integrations"),
        [t("integration"), t("health"), t("host"), t("whose"), t("failing_since"), t("last_attempt"), t("latest")],
        rows,
        t("no_integrations")
      )}${pager(language, `${home}/integrations`, query, goOn)}</section>`
    } satisfies Shown
  })

  /** Makes the page of one integration with its deliveries. `above` is an optional notice at the top. */
  const onePage = Effect.fnUntraced(function* (
    visit: Visit,
    found: IntegrationWithHealth,
    above: Html.Html | null = null
  ) {
    const {
      language,
      language: { html, t },
      role
    } = visit
    const { integration } = found
    const { bindings, configuration, created_at, id, scope } = integration
    const path = pathOf(visit, id)
    const listed = yield* deliveryPages.list(visit, {
      path,
      deliveries: role === "operator" ? "/deliveries" : `${path}/deliveries`,
      integration: id
    })
    const catchingUp = (yield* dispatcher.status).catching_up.find(({ integration_id }) => integration_id === id)
    const notifications = role === "operator" ? yield* notificationPages.of(visit, id) : null
    const isTroubled = found.failing !== null || (integration.disabled_reason ?? "manual") !== "manual"
    const failure = isTroubled ? yield* lastFailure(visit, id) : null
    const host = hostOf(configuration.url)
    return {
      title: t("integration_at", { id, host }),
      place: role === "operator" ? "/integrations" : "",
      refresh: 5,
      body: Html.template`<div class="row apart"><h1>${t("integration_at", { id, host })}</h1>${health(language, found)}</div>
${above}${
        integration.status === "disabled"
          ? Html.template`<p class="alert">${t(`why_${integration.disabled_reason ?? "manual"}`)}</p>`
          : found.failing === null
            ? null
            : Html.template`<p class="alert">${html("nothing_since", { time: at(language, found.failing.since) })}</p>`
      }${failure}${catchingUp === undefined ? null : Html.template`<p class="notice">${html("catching_up", { time: at(language, catchingUp.since) })}</p>`}
${panel(
  "integration",
  t("integration"),
  Html.template`${facts([
    [t("sends_to"), Html.template`<span class="mono">${configuration.url}</span>`],
    [t("sends"), sends(language, bindings)],
    [t("whose"), scopeName(language, scope)],
    [t("created"), at(language, created_at)]
  ])}<div class="row">${actions(visit, found)}</div>`
)}
${role === "operator" ? operatorPanel(visit, found) : null}
${panel("deliveries", t("deliveries"), listed)}
${notifications === null ? null : panel("notifications", t("notifications"), notifications)}`
    } satisfies Shown
  })

  /** Makes the buttons for the possible actions, each with a confirmation. */
  const actions = (visit: Visit, { integration }: IntegrationWithHealth): ReadonlyArray<Html.Html> => {
    const {
      home,
      language,
      language: { t },
      now,
      role
    } = visit
    const { disabled_reason, id, status, version } = integration
    const path = pathOf(visit, id)
    const kind = testKindOf(integration, types)
    const versioned = hidden("version", String(version))
    const day = new Date(now - recoverSince).toISOString().slice(0, 16)
    return [
      ...(status === "enabled"
        ? [
            ask(visit, `${path}/test`, {
              label: t("test"),
              text: `${t("test_ask", { type: typeName(language, kind.resource_type) })}${kind.urgent ? ` ${t("test_rings")}` : ""}`
            })
          ]
        : disabled_reason === "manual"
          ? []
          : [ask(visit, `${path}/probe`, { label: t("try_again"), text: t("try_again_ask") })]),
      status === "enabled"
        ? ask(visit, `${path}/status`, {
            label: t(role === "operator" ? "disable" : "pause"),
            text: t("pause_ask"),
            fields: hidden("status", "disabled"),
            danger: true
          })
        : ask(visit, `${path}/status`, {
            label: t("enable"),
            text: t("enable_ask"),
            fields: hidden("status", "enabled")
          }),
      ...(status === "enabled"
        ? [
            ask(visit, `${path}/recover`, {
              label: t("recover"),
              text: t("recover_ask"),
              fields: field(
                "recover-since",
                t("since"),
                (attributes) => Html.template`<input type="datetime-local" ${attributes} value="${day}" required>`
              )
            })
          ]
        : []),
      ...(role === "operator"
        ? [
            ask(visit, `${path}/link`, {
              label: t("make_link"),
              text: t("make_link_ask"),
              fields: field("lifetime", t("lifetime"), (attributes) =>
                select(
                  attributes,
                  ["15m", "1h", "8h", "24h"].map((text) => [text, text] as const),
                  "15m"
                )
              )
            })
          ]
        : [
            Html.template`<a class="button quiet" href="${home}${path}/edit">${t("edit")}</a>`,
            Html.template`<a class="button quiet" href="${home}${path}/verify">${t("verify")}</a>`,
            ...(signsWithSecret(signing)
              ? [
                  ask(visit, `${path}/rotate`, {
                    label: t("rotate"),
                    text: t("rotate_ask"),
                    fields: versioned,
                    danger: true
                  })
                ]
              : []),
            ask(visit, `${path}/delete`, { label: t("delete"), text: t("delete_ask"), fields: versioned, danger: true })
          ])
    ]
  }

  /** Makes the panel with this integration's own settings, which only operators can change. */
  const operatorPanel = (visit: Visit, { integration }: IntegrationWithHealth): Html.Html => {
    const { t } = visit.language
    const { acknowledge = "", allow_targets = [], retry = {} } = writeOverrides(integration.overrides)
    const choices: ReadonlyArray<readonly [string, string]> = [
      ["", t("as_everywhere")],
      ["200", "200"],
      ["2xx", "2xx"]
    ]
    const own = [acknowledge, ...allow_targets, ...Object.keys(retry)].some((value) => value !== "")
    const fields = Html.template`${field("acknowledge", t("acknowledge"), (attributes) => select(attributes, choices, acknowledge))}${[
      ...types.keys()
    ].map((type) =>
      field(
        `retry-${type}`,
        t("retry", { type: typeName(visit.language, type) }),
        (attributes) =>
          Html.template`<input type="text" ${attributes} value="${retry[type] === undefined ? "" : retry[type].length === 0 ? "none" : retry[type].join(", ")}" placeholder="${t("as_everywhere")}">`,
        t("retry_hint")
      )
    )}${field("allow", t("allow_targets"), (attributes) => Html.template`<input type="text" ${attributes} value="${allow_targets.join(", ")}">`, t("allow_hint"))}<button type="submit">${t("save")}</button>`
    return panel(
      "own",
      t("own_settings"),
      Html.template`<p class="muted">${t(own ? "own_some" : "own_none")}</p>
<details><summary>${t("change")}</summary>
${form(visit, `${pathOf(visit, integration.id)}/overrides`, fields, "fields")}</details>`
    )
  }

  /**
   * Waits up to `testPatience` for the outcome of a delivery. A failed lookup is only logged, because the delivery is
   * already being sent.
   */
  const awaitOutcome = (id: DeliveryId) =>
    store.find(id).pipe(
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

  /** Fails unless the visitor still has the right to change the integration. */
  const permit = (visit: Visit, found: IntegrationWithHealth): Effect.Effect<unknown, KnownError> =>
    visit.role === "operator"
      ? Effect.void
      : managed.get(actorOf(visit, found), found.integration.scope, found.integration.id)

  const deliveryPath = (visit: Visit, id: IntegrationId, delivery: DeliveryId): string =>
    `${visit.home}${visit.role === "operator" ? "" : `/${id}`}/deliveries/${formatDeliveryId(delivery)}`

  /** Handler of an action on an integration. */
  type Action = (
    visit: Visit,
    found: IntegrationWithHealth,
    fields: URLSearchParams
  ) => Effect.Effect<Answer | Shown, KnownError>

  /** Sends a test event to an enabled integration, or a probe to a disabled one. */
  const send: Action = (visit, found) =>
    Effect.gen(function* () {
      const { id, status } = found.integration
      if (visit.role === "owner") {
        const { count, seconds } = countTest(id, visit.now)
        if (count > testsPerMinute) {
          return yield* formFailure(
            429,
            "rate_limited",
            "Too many tests",
            { key: "too_many_tests", values: { seconds } },
            { "retry-after": String(seconds) }
          )
        }
      }
      const sent = status === "disabled" ? yield* integrations.probe(id) : (yield* tests.send(id)).delivery_id
      yield* awaitOutcome(sent)
      return seeOther(deliveryPath(visit, id, sent))
    })

  const setStatus: Action = (visit, found, fields) =>
    Effect.gen(function* () {
      const { id, scope } = found.integration
      const status = fields.get("status") === "disabled" ? "disabled" : "enabled"
      if (visit.role === "operator") yield* integrations.set(id, { status })
      else yield* managed.patch(actorOf(visit, found), scope, id, patchOf(id, { status }), null)
      const path = `${visit.home}${pathOf(visit, id)}`
      return seeOther(after(path, status === "enabled" ? "enabled" : "paused"))
    })

  const recover: Action = (visit, found, fields) =>
    Effect.gen(function* () {
      const { id } = found.integration
      const since = Date.parse(`${fields.get("recover-since") ?? ""}Z`)
      if (Number.isNaN(since)) {
        return yield* formFailure(422, "invalid", "Invalid time", { key: "no_time" })
      }
      const n = yield* deliveries.recover(id, since)
      return seeOther(after(`${visit.home}${pathOf(visit, id)}`, "recovered", n))
    })

  const makeLink: Action = (visit, found, fields) =>
    Effect.gen(function* () {
      const { id } = found.integration
      const link = yield* call(integrationOperations.createPortalLink, {
        params: { id: String(id) },
        body: JSON.stringify({ expires_in: fields.get("lifetime") ?? "15m" })
      })
      const { html, t } = visit.language
      const expires = at(visit.language, Date.parse(link.expires_at))
      return yield* onePage(
        visit,
        found,
        Html.template`<section class="notice" role="status" aria-label="${t("link")}"><p>${html("link_made", { time: expires })}</p>
${field("link", t("link"), (attributes) => Html.template`<input type="text" ${attributes} value="${link.url}" readonly class="wide mono">`)}${copyButton(visit.language, "link")}</section>`
      )
    })

  const override: Action = (visit, found, fields) =>
    Effect.gen(function* () {
      const { id, overrides } = found.integration
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
      yield* call(integrationOperations.set, { params: { id: String(id) }, body: JSON.stringify(document) })
      return seeOther(after(`${visit.home}/integrations/${id}`, "saved"))
    })

  return {
    listPage,
    onePage,
    permit,
    shared: { test: send, probe: send, status: setStatus, recover },
    operators: { link: makeLink, overrides: override }
  }
})

/** Describes the bindings of an integration in words. */
const sends = (language: Visit["language"], bindings: IntegrationWithHealth["integration"]["bindings"]): string =>
  bindings
    .map(({ actions, resource_type }) => `${typeName(language, resource_type)} (${actions.join(", ")})`)
    .join(", ")
