/**
 * What a realism check finds.
 */

export interface Check {
  /** What is looked at, like `arrivals of parcels`. */
  readonly name: string
  readonly verdict: "PASS" | "FAIL" | "SKIP"
  readonly observed: string
  readonly expected: string
  /** What it means when it fails; why it was skipped. */
  readonly meaning: string
}

/** What all checks of one run that are tests of hypotheses may reject together, by chance alone. */
const falseAlarms = 0.001

/** A check that is a test of a hypothesis, before it is known how many there are. */
export interface Test {
  readonly name: string
  readonly p: number
  readonly meaning: string
}

const shown = (p: number): string => (p >= 0.001 ? p.toFixed(3) : p.toExponential(1))

/** The tests as checks: so many tests share the probability of a false alarm (Bonferroni). */
export const checksOf = (tests: ReadonlyArray<Test>): ReadonlyArray<Check> => {
  const limit = falseAlarms / Math.max(1, tests.length)
  return tests.map(({ meaning, name, p }) =>
    Number.isNaN(p)
      ? skipped(name, `There is no p-value for what is there, so that it may be so or not: ${meaning}`)
      : {
          name,
          verdict: p > limit ? "PASS" : "FAIL",
          observed: `p ${shown(p)}`,
          expected: `p > ${shown(limit)}`,
          meaning
        }
  )
}

/** Whether a number is within a tolerance of another. */
export const near = (
  name: string,
  observed: number,
  expected: number,
  tolerance: number,
  meaning: string,
  digits = 3
): Check => ({
  name,
  verdict: Math.abs(observed - expected) <= tolerance ? "PASS" : "FAIL",
  observed: observed.toFixed(digits),
  expected: `${expected.toFixed(digits)} +- ${tolerance.toFixed(digits)}`,
  meaning
})

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
