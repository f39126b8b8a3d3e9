/**
 * The operator's overview: readiness, figures of all processes, deliveries by state, and integrations that need attention.
 */
import { deliveryStates, Html, isUnreadable, OperatorIntegrations } from "@doorhook/core"
import { Effect } from "effect"
import { pageOf } from "../http/Query.ts"
import { statsOperations } from "../operator/StatsOperations.ts"
import type { StatsDocument } from "../operator/StatsOperations.ts"
import { OperatorApi } from "../operator/OperatorApi.ts"
import type { FigureSource } from "./Figures.ts"
import { figuresPanel, spanIn } from "./Figures.ts"
import type { LabelMaker } from "./Labels.ts"
import { nameOf } from "./Labels.ts"
import type { NotificationPages } from "./NotificationPages.ts"
import type { Shown, Visit } from "./Parts.ts"
import * as Parts from "./Parts.ts"

/** Maximum number of unhealthy integrations and of notifications on the page. */
const mostTroubled = 8
const mostNotifications = 6

const overviewSpans = ["hour", "day", "week"] as const

export const makeOverview = Effect.fnUntraced(function* (
  notificationPages: NotificationPages,
  figureSource: FigureSource,
  labels: LabelMaker
) {
  const integrations = yield* OperatorIntegrations
  const { call } = yield* OperatorApi

  /** Makes the panels with unhealthy integrations and the latest notifications. */
  const attention = Effect.fnUntraced(function* (visit: Visit) {
    const { home, language } = visit
    const { t } = language
    const { items, next } = yield* pageOf(mostTroubled, (limit) =>
      integrations.list({ status: "unhealthy", after: 0, limit })
    )
    const troubled = yield* Effect.forEach(items, (one) =>
      isUnreadable(one)
        ? Effect.succeed(Html.nothing)
        : Effect.map(
            labels.of(visit, one.integration),
            ({ creator, place }) =>
              Html.template`<li><div class="row"><a href="${home}/integrations/${one.integration.id}">${nameOf(one.integration)}</a>${Parts.health(language, one)}<span class="muted">${creator}, ${place.name}</span></div>${
                one.failing === null
                  ? null
                  : Html.template`<p class="muted">${language.html("first_failed", { ago: Parts.ago(visit, one.failing.since) })}</p>`
              }</li>\n`
          )
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
    const span = spanIn(visit.query, overviewSpans)
    const trouble = figures.detail ?? figures.process.outage?.detail ?? null
    // The database does not answer if the figures have no part about it.
    const counted = figures.database === null ? null : yield* figureSource.of(null, span, visit.now)
    const { notifications, troubled } =
      figures.database === null ? { troubled: null, notifications: null } : yield* attention(visit)
    return {
      title: t("overview"),
      place: "",
      refresh: 5,
      body: Html.template`<h1>${t("overview")}</h1>
${trouble === null ? Html.template`<p class="notice good">${t("ready")}</p>` : Html.template`<p class="alert" role="alert" lang="en">${trouble}</p>`}
${tiles(visit, figures)}
${counted === null ? null : figuresPanel(visit, "", counted, span, overviewSpans)}
${figures.database === null ? null : byState(visit, figures.database)}
${
  troubled === null
    ? null
    : Html.template`<div class="halves">${Parts.panel("attention", t("attention"), troubled)}${Parts.panel("lately", t("latest_notifications"), notifications ?? Html.nothing)}</div>`
}`
    } satisfies Shown
  })
})

const tiles = ({ language, language: { number, t } }: Visit, { at, database, process }: StatsDocument): Html.Html => {
  const due = database?.oldest_due_at ?? null
  const open = database === null ? null : database.deliveries.pending + database.deliveries.retrying
  const tile = (name: string, figure: string, words: string): Html.Html =>
    Html.template`<section class="tile"><h2>${name}</h2><p class="figure">${figure}</p><p class="muted">${words}</p></section>\n`
  const catchingUp = process.catching_up.length
  return Html.template`<div class="tiles">${tile(t("events"), database === null ? "-" : number(database.events), t("events_kept"))}${tile(t("backlog"), open === null ? "-" : number(open), t("backlog_of"))}${tile(
    t("oldest_due"),
    due === null ? t("none_due") : language.duration(Date.parse(at) - Date.parse(due)),
    t(due === null ? "nothing_waits" : "has_waited")
  )}${tile(
    t("under_way"),
    number(process.delivering),
    `${t("in_memory", { waiting: number(process.buffered), unsettled: number(process.unsettled) })}${catchingUp === 0 ? "" : `; ${language.count("catch_up", catchingUp)}`}`
  )}</div>`
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
