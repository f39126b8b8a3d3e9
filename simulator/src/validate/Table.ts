/**
 * Checks as a table for the terminal.
 */
import type { Check } from "./Check.ts"

const widthOf = (texts: ReadonlyArray<string>): number => Math.max(...texts.map((text) => text.length))

/** One line a check; what failed and what was skipped is explained below it. */
export const table = (checks: ReadonlyArray<Check>): string => {
  const [names, observations] = [
    widthOf(["check", ...checks.map(({ name }) => name)]),
    widthOf(["observed", ...checks.map(({ observed }) => observed)])
  ]
  const row = (verdict: string, name: string, observed: string, expected: string) =>
    `${verdict.padEnd(5)} ${name.padEnd(names)}  ${observed.padEnd(observations)}  ${expected}`.trimEnd()
  return [
    row("", "check", "observed", "expected"),
    ...checks.flatMap(({ expected, meaning, name, observed, verdict }) => [
      row(verdict, name, observed, expected),
      ...(verdict === "PASS" ? [] : [`      ${meaning}`])
    ])
  ].join("\n")
}
