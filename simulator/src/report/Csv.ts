/**
 * The report over time as CSV (RFC 4180): a line for each interval, times in milliseconds. The columns are documented in
 * `docs/load-testing.md`; an empty field is a value that there was none of.
 */
import type { RunReport } from "../results/RunReport.ts"

const columns = [
  "at",
  "planned",
  "sent",
  "attempts",
  "acknowledged",
  "duplicates",
  "backlog",
  "answer_p50",
  "answer_p99"
] as const

export const csvReport = ({ series }: RunReport): string =>
  [columns.join(","), ...series.map((line) => columns.map((column) => line[column] ?? "").join(","))].join("\r\n") +
  "\r\n"
