/**
 * Runs all checks, and describes failed checks in words.
 */
import type { Entry } from "../History.ts"
import type { Outcome } from "../Simulation.ts"
import {
  attemptNumbers,
  counts,
  deliveredIsReceived,
  nothingAfterSuccess,
  nothingLost,
  staysCancelled
} from "./Completeness.ts"
import { disabling, notifications, probes } from "./Health.ts"
import { feeds, idempotent, purges } from "./Retention.ts"
import { isolation, nothingAfterEnd, sameBody, signatures } from "./Recipients.ts"
import { callLifetime, catchingUp, retryTimes } from "./Schedule.ts"
import type { Check, Violation } from "./Trace.ts"
import { traceOf } from "./Trace.ts"
import { clocks } from "./Clocks.ts"
import { callsFirst, caps, leases } from "./Workers.ts"

export const checks: ReadonlyArray<Check> = [
  nothingLost,
  deliveredIsReceived,
  nothingAfterSuccess,
  staysCancelled,
  retryTimes,
  callLifetime,
  nothingAfterEnd,
  isolation,
  sameBody,
  callsFirst,
  caps,
  leases,
  attemptNumbers,
  counts,
  idempotent,
  disabling,
  notifications,
  probes,
  feeds,
  purges,
  signatures,
  catchingUp,
  clocks
]

/** A failed check with its violations. */
export interface Failure {
  readonly check: Check
  readonly violations: ReadonlyArray<Violation>
}

/** Runs all checks and returns the failed ones. */
export const judge = (outcome: Outcome): ReadonlyArray<Failure> => {
  const trace = traceOf(outcome)
  return checks.flatMap((check) => {
    const violations = check.violations(trace)
    return violations.length === 0 ? [] : [{ check, violations }]
  })
}

/** Maximum number of characters shown of one entry. */
const maxWidth = 400

const line = ({ at, index, wall, ...fact }: Entry): string =>
  `  #${index} ${at} ms (wall ${wall}) ${JSON.stringify(fact)}`.slice(0, maxWidth)

/** Returns the command that replays a seed. */
const replayOf = (seed: number): string => `npm run simulate:seeds -- --seed ${seed}`

/** Describes each failed check by its shortest violation, with the entries that show it. */
export const describeFailures = (
  seed: number,
  { entries }: Outcome,
  failures: ReadonlyArray<Failure>,
  options = ""
): string =>
  failures
    .flatMap(({ check, violations }) => {
      const shown = violations.reduce((best, next) => (next.entries.length < best.entries.length ? next : best))
      return [
        `seed ${seed} breaks ${check.name} (${violations.length} times): ${check.rule}`,
        `  ${shown.what}`,
        ...[...new Set(shown.entries)]
          .toSorted((a, b) => a - b)
          .flatMap((index) => {
            const entry = entries[index]
            return entry === undefined ? [] : [line(entry)]
          })
      ]
    })
    .concat(`again: ${replayOf(seed)}${options}`)
    .join("\n")
