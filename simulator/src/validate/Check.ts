/** Results of realism checks, and how they are printed. */
import { columns } from "@doorhook/core"

export interface Check {
  /** Subject of the check, like `night share`. */
  readonly name: string
  readonly verdict: "PASS" | "FAIL" | "SKIP"
  readonly observed: string
  readonly expected: string
  /** Explains a failure, or why the check was skipped. */
  readonly meaning: string
}

/** Checks that something never occurs. */
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

/** Formats checks, one per line. Failed and skipped checks are explained below their line. */
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
