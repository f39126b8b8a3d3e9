/**
 * What a run tells the person at the terminal.
 */
import type { RunSummary } from "./Tally.ts"

/** 1234567 as `1,234,567`, in every locale. */
export const grouped = (count: number): string => `${count}`.replaceAll(/\B(?=(\d{3})+$)/g, ",")

/** 3723000 as `1:02:03`. */
export const clock = (millis: number): string => {
  const seconds = Math.floor(millis / 1_000)
  const two = (number: number) => `${number}`.padStart(2, "0")
  return `${Math.floor(seconds / 3_600)}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`
}

const lateText = ({ late }: RunSummary): string =>
  late === null ? "" : `p50 ${late.p50} ms, p99 ${late.p99} ms, max ${late.max} ms`

/** How the run stands, in one line: where it is in the plan and so on. Without a speed it is nowhere in particular. */
export const progressLine = (summary: RunSummary, elapsed: number, speed: number | null): string => {
  const parts = [
    speed === null ? clock(elapsed) : `${clock(elapsed * speed)} of the plan`,
    `planned ${grouped(summary.planned)}`,
    `accepted ${grouped(summary.accepted)}`,
    `deliveries ${grouped(summary.deliveries)}`,
    `failed ${grouped(summary.failed)}`,
    ...(summary.late === null ? [] : [`late p50 ${summary.late.p50} ms p99 ${summary.late.p99} ms`])
  ]
  return parts.join("  ")
}

/** How the run ended, one number a line. */
export const summaryText = (summary: RunSummary, elapsed: number): string => {
  const perSecond = elapsed > 0 ? Math.round((summary.accepted * 1_000) / elapsed) : 0
  const rows: ReadonlyArray<readonly [name: string, value: string]> = [
    ["planned", `${grouped(summary.planned)} events`],
    ["accepted", grouped(summary.accepted)],
    ["deliveries", grouped(summary.deliveries)],
    ["failed", `${grouped(summary.failed)}${summary.last_failure === null ? "" : ` (last: ${summary.last_failure})`}`],
    ...(summary.unanswered === 0
      ? []
      : [["unanswered", `${grouped(summary.unanswered)} (sent or about to be)`] as const]),
    ["retries", `${grouped(summary.retries)} requests`],
    ...(summary.late === null ? [] : [["late", lateText(summary)] as const]),
    ["took", `${(elapsed / 1_000).toFixed(1)} s, ${grouped(perSecond)} events/s`]
  ]
  return rows.map(([name, value]) => `${name.padEnd(12)}${value}`).join("\n")
}
