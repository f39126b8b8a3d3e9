/**
 * What a realism check finds, and how result are shown.
 */
import { columns } from "@doorhook/core"

export interface Check {
  /** What is looked at, like `night share`. */
  readonly name: string
  readonly verdict: "PASS" | "FAIL" | "SKIP"
  readonly observed: string
  readonly expected: string
  /** What it means when it fails; why it was skipped. */
  readonly meaning: string
}

/** Whether something never happens. */
export const never = (name: string, count: number, meaning: string, example = ""): Check => ({
  name,
  verdict: count === 0 ? "PASS" : "FAIL",
  observed: `${count}${count === 0 || example === "" ? "" : `, e.g. ${example}`}`,
  expected: "0",
  meaning
})

export const skipped = (name: string, why: string): Check => ({
  name,
  verdict: "SKIP",
  observed: "-",
  expected: "-",
  meaning: why
})

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
