/**
 * Volume, success rate and latency of deliveries over a span of time, for one integration or all. The figures come from
 * the database: they include all processes, and events published in SQL.
 */
import type { FigureRow, IntegrationId, StoreError } from "@doorhook/core"
import { DeliveryId, DeliveryStore, Html, inTurn, latencyBounds, RecentMap } from "@doorhook/core"
import { Effect } from "effect"
import type { Searcher } from "./DeliverySearch.ts"
import type { Visit } from "./Parts.ts"
import * as Parts from "./Parts.ts"

const minute = 60_000
const hour = 60 * minute

/** The spans to choose from, each with its number of steps and their length in milliseconds. */
const spans = {
  hour: { steps: 60, step: minute },
  day: { steps: 24, step: hour },
  week: { steps: 28, step: 6 * hour }
} as const
type Span = keyof typeof spans

/**
 * Number of ids that one query covers, and the maximum number of queries for one answer. A query on SQLite blocks the
 * process: for 4 ms with 5,000 ids.
 */
const idsPerQuery = 5_000
const mostQueries = 100

/** How long an answer is kept, in milliseconds, and how many are. */
const keptFor = 10_000
const mostKept = 1_000

/** Deliveries that were created in the same step, by result. */
interface Step {
  readonly at: number
  readonly delivered: number
  readonly failed: number
  readonly waiting: number
}

/** The figures of a span. */
export interface Figures {
  readonly steps: ReadonlyArray<Step>
  /** Deliveries in all steps. */
  readonly total: number
  /** Share of acknowledged deliveries among those that were attempted; null without any. */
  readonly rate: number | null
  /** Latency that this share of the acknowledged attempts did not exceed, in milliseconds; null without any. */
  readonly latency: (share: number) => number | null
  /** Start of the figures if older deliveries of the span were not counted; otherwise null. */
  readonly counted_from: number | null
}

const countOf = (rows: ReadonlyArray<FigureRow>): number => rows.reduce((sum, { count }) => sum + count, 0)

const failedStates: ReadonlySet<string> = new Set(["exhausted", "expired", "retrying"])

/** Sums the rows of all queries. `until` is the end of the last step. */
const figuresFrom = (
  rows: ReadonlyArray<FigureRow>,
  { step, steps }: { readonly step: number; readonly steps: number },
  until: number
): Omit<Figures, "counted_from"> => {
  const inSpan = rows.filter(({ at }) => at >= until - steps * step && at < until)
  const delivered = inSpan.filter(({ state }) => state === "delivered")
  const attempted = countOf(delivered) + countOf(inSpan.filter(({ state }) => failedStates.has(state)))
  return {
    steps: Array.from({ length: steps }, (_, index) => {
      const at = until - (steps - index) * step
      const here = inSpan.filter((row) => row.at === at)
      const [acknowledged, failed] = [
        countOf(here.filter(({ state }) => state === "delivered")),
        countOf(here.filter(({ state }) => failedStates.has(state)))
      ]
      return { at, delivered: acknowledged, failed, waiting: countOf(here) - acknowledged - failed }
    }),
    total: countOf(inSpan),
    rate: attempted === 0 ? null : countOf(delivered) / attempted,
    latency: (share) => {
      const timed = delivered.filter(({ latency }) => latency >= 0)
      let left = share * countOf(timed)
      if (left === 0) return null
      for (const [index, bound] of latencyBounds.entries()) {
        const here = countOf(timed.filter(({ latency }) => latency === index))
        const below = latencyBounds[index - 1] ?? 0
        if (here >= left) return below + ((bound - below) * left) / here
        left -= here
      }
      return latencyBounds.at(-1) ?? null
    }
  }
}

export const makeFigures = Effect.fnUntraced(function* (search: Pick<Searcher, "placeOf">) {
  const store = yield* DeliveryStore
  const known = new RecentMap<string, { readonly figures: Figures; readonly until: number }>(mostKept)

  /** Counts the deliveries of a span, newest first, a range of ids at a time. */
  const count = Effect.fnUntraced(function* (
    integration_id: IntegrationId | null,
    span: Span,
    now: number
  ): Effect.fn.Return<Figures, StoreError> {
    const { step, steps } = spans[span]
    const until = (Math.floor(now / step) + 1) * step
    const first = yield* search.placeOf(until - steps * step)
    const rows: Array<FigureRow> = []
    const [newest] = yield* store.list({ order: "newest", limit: 1 })
    let before = DeliveryId.make((newest?.id ?? 0) + 1)
    for (let queries = 0; before > first && queries < mostQueries; queries++) {
      const from = DeliveryId.make(Math.max(first, before - idsPerQuery))
      const request = { from, before, step, ...(integration_id !== null && { integration_id }) }
      rows.push(...(yield* inTurn(store.figures(request))))
      before = from
    }
    const counted_from = before > first ? Math.min(now, ...rows.map(({ at }) => at)) : null
    return { ...figuresFrom(rows, { step, steps }, until), counted_from }
  })

  return {
    /** Returns the figures of an integration, or of all if `integration_id` is null. */
    of: (integration_id: IntegrationId | null, span: Span, now: number): Effect.Effect<Figures, StoreError> => {
      const key = `${integration_id ?? "all"} ${span}`
      const found = known.get(key)
      if (found !== undefined && now < found.until) return Effect.succeed(found.figures)
      return Effect.tap(count(integration_id, span, now), (figures) =>
        Effect.sync(() => known.set(key, { figures, until: now + keptFor }))
      )
    }
  }
})
export type FigureSource = Effect.Success<ReturnType<typeof makeFigures>>

/** Returns the span that the visitor has chosen. */
export const spanIn = (query: URLSearchParams, among: ReadonlyArray<Span>): Span =>
  among.find((one) => one === query.get("span")) ?? among[0] ?? "day"

/** Makes a panel with the figures of a span, and links to other spans. `path` is below the role's home. */
export const figuresPanel = (
  { home, language }: Visit,
  path: string,
  figures: Figures,
  span: Span,
  among: ReadonlyArray<Span>
): Html.Html => {
  const { t } = language
  const tabs = among.map(
    (one) =>
      Html.template`<a href="${home}${path}?span=${one}"${one === span ? Html.template` aria-current="true"` : null}>${t(`span_${one}`)}</a>`
  )
  const latency = (share: number): string => {
    const millis = figures.latency(share)
    return millis === null ? "-" : language.duration(millis)
  }
  const rate = figures.rate === null ? "-" : language.percent(figures.rate)
  return Html.template`<section class="panel" aria-labelledby="figures"><div class="row apart"><h2 id="figures">${t("figures")}</h2><nav class="tabs" aria-label="${t("span")}">${tabs}</nav></div>
${
  figures.total === 0
    ? Html.template`<p class="muted">${t("figures_none")}</p>`
    : Html.template`<dl class="numbers"><div><dt>${t("success_rate")}</dt><dd>${rate}</dd></div><div><dt>${t("deliveries")}</dt><dd>${language.number(figures.total)}</dd></div><div><dt>${t("latency_median")}</dt><dd>${latency(0.5)}</dd></div><div><dt>${t("latency_95")}</dt><dd>${latency(0.95)}</dd></div></dl>
${chart(language, figures, span)}`
}${figures.counted_from === null ? null : Html.template`<p class="muted">${language.html("figures_from", { time: Parts.at(language, figures.counted_from) })}</p>`}</section>
`
}

/** Makes a bar for each step, and a table with the same numbers. */
const chart = (language: Visit["language"], { steps }: Figures, span: Span): Html.Html => {
  const { number, t } = language
  const label = (at: number) => (span === "week" ? language.day(at) : language.clock(at))
  const top = Math.max(1, ...steps.map(({ delivered, failed, waiting }) => delivered + failed + waiting))
  const width = 100 / steps.length
  const bar = (kind: string, index: number, from: number, size: number) =>
    size === 0
      ? Html.nothing
      : Html.template`<rect class="${kind}" x="${(index * width + width * 0.1).toFixed(2)}" width="${(width * 0.8).toFixed(2)}" y="${(100 - (100 * (from + size)) / top).toFixed(2)}" height="${((100 * size) / top).toFixed(2)}"/>`
  const bars = steps.map(
    ({ delivered, failed, waiting }, index) =>
      Html.template`${bar("delivered", index, 0, delivered)}${bar("waiting", index, delivered, waiting)}${bar("failed", index, delivered + waiting, failed)}`
  )
  const key = (kind: "delivered" | "failed" | "waiting") =>
    Html.template`<li><span class="key ${kind}"></span> ${t(`figure_${kind}`)}</li>`
  const rows = steps
    .filter(({ delivered, failed, waiting }) => delivered + failed + waiting > 0)
    .map(({ at, ...step }) => [
      Html.template`<time class="number">${span === "week" ? `${language.day(at)} ` : ""}${language.clock(at)}</time>`,
      number(step.delivered),
      number(step.failed),
      number(step.waiting)
    ])
  const columns = [t("time"), t("figure_delivered"), t("figure_failed"), t("figure_waiting")]
  return Html.template`<div class="chart" aria-hidden="true"><span class="top">${number(top)}</span><svg viewBox="0 0 100 100" preserveAspectRatio="none">${bars}</svg><span>${label(steps[0]?.at ?? 0)}</span><span>${label(steps.at(-1)?.at ?? 0)}</span></div>
<ul class="keys">${key("delivered")}${key("failed")}${key("waiting")}</ul>
<details id="as-table"><summary>${t("as_table")}</summary>${Parts.table(t("figures"), columns, rows, "")}</details>`
}
