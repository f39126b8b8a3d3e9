/**
 * Checks as a table for the terminal.
 */
import { columns } from "@doorhook/core"
import type { Check } from "./Check.ts"

/** One line a check; what failed and what was skipped is explained below it. */
export const table = (checks: ReadonlyArray<Check>): string => {
  const [head = "", ...lines] = columns([
    ["", "check", "observed", "expected"],
    ...checks.map(({ expected, name, observed, verdict }) => [verdict, name, observed, expected])
  ])
  return [
    head,
    ...checks.flatMap(({ meaning, verdict }, at) => [
      lines[at] ?? "",
      ...(verdict === "PASS" ? [] : [`      ${meaning}`])
    ])
  ].join("\n")
}
