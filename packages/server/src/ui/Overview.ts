/**
 * The operator's overview: readiness, rates, the last hour, deliveries by state, and integrations that need attention.
 */
import { deliveryStates, Html, isoOf, isUnreadable, OperatorIntegrations } from "@doorhook/core"
import { Effect } from "effect"
import { pageOf } from "../http/Query.ts"
import { statsOperations } from "../operator/StatsOperations.ts"
import type { StatsDocument } from "../operator/StatsOperations.ts"
import { OperatorApi } from "../operator/OperatorApi.ts"
import { scopeName } from "./Labels.ts"
import type { Lately, Minute } from "./History.ts"
import { History } from "./History.ts"
import type { NotificationPages } from "./NotificationPages.ts"
import type { Shown, Visit } from "./Parts.ts"
import * as Parts from "./Parts.ts"

/** Maximum number of unhealthy integrations and of notifications on the page. */
const mostTroubled = 8
const mostNotifications = 6

export const makeOverview = Effect.fnUntraced(function* (notificationPages: NotificationPages) {
  const history = yield* History
  const integrations = yield* OperatorIntegrations
  const { call } = yield* OperatorApi

  /** Makes the panels with unhealthy integrations and the latest notifications. */
  const attention = Effect.fnUntraced(function* (visit: Visit) {
    const { home, language } = visit
    const { t } = language
    const { items, next } = yield* pageOf(mostTroubled, (limit) =>
      integrations.list({ status: "unhealthy", after: 0, limit })
    )
    const troubled = items.flatMap((one) =>
      isUnreadable(one)
        ? []
        : [
            Html.template`<li><div class="row"><a href="${home}/integrations/${one.integration.id}">${t("integration_title", { id: one.integration.id })}</a>${Parts.health(language, one)}<span class="muted">${scopeName(language, one.integration.scope)}</span></div>${
              one.failing === null
                ? null
                : Html.template`<p class="muted">${language.html("first_failed", { ago: Parts.ago(visit, one.failing.since) })}</p>`
            }</li>\n`
          ]
    )
    return {
      troubled:
        troubled.length === 0
          ? Html.template`<p class="muted">${t("none_troubled")}</p>`
          : Html.template`<ul class="plain">${troubled}${next === null ? null : Html.template`<li><a href="${home}/integrations?status=unhealthy">${t("and_more")}</a></li>`}</ul>`,
      notifications: yield* notificationPages.latest(visit, null, mostNotifications)
    }
  })

  return Effect.fnUntraced(function* (visit: Visit) {
    const { t } = visit.language
    const figures = yield* call(statsOperations.read)
    const lately = yield* history.lately
    const hour = yield* history.hour
    const trouble = figures.detail ?? figures.process.outage?.detail ?? null
    const { notifications, troubled } =
      figures.database === null ? { troubled: null, notifications: null } : yield* attention(visit)
    return {
      title: t("overview"),
      place: "",
      refresh: 5,
      body: Html.template`<h1>${t("overview")}</h1>
${trouble === null ? Html.template`<p class="notice good">${t("ready")}</p>` : Html.template`<p class="alert" role="alert" lang="en">${trouble}</p>`}
${tiles(visit, figures, lately)}
${Parts.panel("hour", t("last_hour"), chart(visit, hour))}
${figures.database === null ? null : byState(visit, figures.database)}
${
  troubled === null
    ? null
    : Html.template`<div class="halves">${Parts.panel("attention", t("attention"), troubled)}<div>${Parts.panel("failures", t("failures_lately"), failures(visit, lately))}${Parts.panel("lately", t("latest_notifications"), notifications ?? Html.nothing)}</div></div>`
}`
    } satisfies Shown
  })
})

const tiles = (
  { language, language: { t } }: Visit,
  { at, database, process }: StatsDocument,
  lately: Lately
): Html.Html => {
  const rate = (count: number): string =>
    lately.seconds <= 0 ? "-" : language.number(Math.round((count / lately.seconds) * 10) / 10)
  const within = (share: number): string => {
    const millis = lately.latency(share)
    return millis === null ? "-" : language.duration(millis)
  }
  const due = database?.oldest_due_at ?? null
  const tile = (name: string, figure: string, words: string): Html.Html =>
    Html.template`<section class="tile"><h2>${name}</h2><p class="figure">${figure}</p><p class="muted">${words}</p></section>\n`
  return Html.template`<div class="tiles">${tile(t("events_a_second"), rate(lately.events), t("accepted_here"))}${tile(t("attempts_a_second"), rate(lately.attempts), t("made_here"))}${tile(t("acknowledged_within"), within(0.99), t("half_within", { duration: within(0.5) }))}${tile(
    t("oldest_due"),
    due === null ? t("none_due") : language.duration(Date.parse(at) - Date.parse(due)),
    t(due === null ? "nothing_waits" : "has_waited")
  )}${tile(
    t("under_way"),
    language.number(process.delivering),
    `${t("in_memory", { waiting: language.number(process.buffered), unsettled: language.number(process.unsettled) })}${process.catching_up.length === 0 ? "" : `; ${language.count("catch_up", process.catching_up.length)}`}`
  )}</div>`
}

/** Size of the chart, and of the margins for its labels, in units of its view box. */
const size = { width: 720, height: 160, left: 44, bottom: 22 } as const

/** Makes a line chart of the last hour, followed by a table of the same counts with a row for every five minutes. */
const chart = ({ language, language: { t } }: Visit, hour: ReadonlyArray<Minute>): Html.Html => {
  const first = hour[0]
  const last = hour.at(-1)
  if (first === undefined || last === undefined || hour.length < 2)
    return Html.template`<p class="muted">${t("chart_later")}</p>`
  const sum = (of: (minute: Minute) => number) => hour.reduce((total, minute) => total + of(minute), 0)
  const top = Math.max(1, ...hour.map(({ acknowledged, events, failed }) => Math.max(events, acknowledged, failed)))
  const x = (index: number) => size.left + ((size.width - size.left - 4) * index) / (hour.length - 1)
  const y = (value: number) => 6 + (size.height - size.bottom - 6) * (1 - value / top)
  const line = (of: (minute: Minute) => number) =>
    hour.map((minute, index) => `${index === 0 ? "M" : "L"}${x(index).toFixed(1)} ${y(of(minute)).toFixed(1)}`).join("")
  const floor = y(0).toFixed(1)
  const clock = (millis: number) => isoOf(millis).slice(11, 16)
  const label = t("chart_label", {
    minutes: hour.length,
    events: language.number(sum(({ events }) => events)),
    acknowledged: language.number(sum(({ acknowledged }) => acknowledged)),
    failed: language.number(sum(({ failed }) => failed)),
    most: language.number(top)
  })
  const rows: Array<ReadonlyArray<Html.Part>> = []
  for (let from = 0; from < hour.length; from += 5) {
    const part = hour.slice(from, from + 5)
    const total = (of: (minute: Minute) => number) => language.number(part.reduce((all, minute) => all + of(minute), 0))
    rows.push([
      `${clock(part[0]?.at ?? 0)} UTC`,
      total(({ events }) => events),
      total(({ acknowledged }) => acknowledged),
      total(({ failed }) => failed)
    ])
  }
  const key = (kind: string, words: string) => Html.template`<li><span class="key ${kind}"></span> ${words}</li>`
  return Html.template`<ul class="keys">${key("events", t("events"))}${key("acknowledged", t("acknowledged_attempts"))}${key("failed", t("failed_attempts"))}<li class="muted">${t("per_minute")}</li></ul>
<svg class="chart" viewBox="0 0 ${size.width} ${size.height}" role="img" aria-label="${label}">
<path class="grid" d="M${size.left} ${y(top).toFixed(1)}H${size.width}M${size.left} ${y(top / 2).toFixed(1)}H${size.width}M${size.left} ${floor}H${size.width}"/>
<path class="area" d="${line(({ acknowledged }) => acknowledged)}L${x(hour.length - 1).toFixed(1)} ${floor}L${size.left} ${floor}Z"/>
<path class="line acknowledged" d="${line(({ acknowledged }) => acknowledged)}"/>
<path class="line events" d="${line(({ events }) => events)}"/>
<path class="line failed" d="${line(({ failed }) => failed)}"/>
<text x="${size.left - 6}" y="${(y(top) + 8).toFixed(1)}" text-anchor="end">${language.number(top)}</text>
<text x="${size.left - 6}" y="${floor}" text-anchor="end">0</text>
<text x="${size.left}" y="${size.height - 4}">${clock(first.at)}</text>
<text x="${size.width - 4}" y="${size.height - 4}" text-anchor="end">${clock(last.at)} UTC</text>
</svg>
<details><summary>${t("as_table")}</summary>${Parts.table(t("last_hour"), [t("time"), t("events"), t("acknowledged_attempts"), t("failed_attempts")], rows, "")}</details>`
}

const byState = (
  { home, language, language: { t } }: Visit,
  { deliveries, events }: NonNullable<StatsDocument["database"]>
): Html.Html =>
  Parts.panel(
    "by-state",
    language.count("deliveries_of", events),
    Html.template`<ul class="states">${deliveryStates.map(
      (state) =>
        Html.template`<li><a href="${home}/deliveries?state=${state}">${Parts.badge(state, t(`state_${state}`))}<b>${language.number(deliveries[state])}</b><span class="muted">${t(`means_${state}`)}</span></a></li>\n`
    )}</ul>`
  )

const failures = ({ language, language: { t } }: Visit, { failures: found }: Lately): Html.Html =>
  found.length === 0
    ? Html.template`<p class="muted">${t("no_failures")}</p>`
    : Html.template`<ul class="plain">${found.map(
        ([outcome, count]) =>
          Html.template`<li class="row"><b class="number">${language.number(count)} ×</b> ${Parts.badge("failed", t(`outcome_${outcome}`))}</li>\n`
      )}</ul>`
