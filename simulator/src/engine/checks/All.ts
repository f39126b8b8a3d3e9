/**
 * All checks, and what they say about one outcome.
 */
import type { Outcome } from "../Simulation.ts"
import { deliveredIsReceived, nothingAfterSuccess } from "./Acknowledged.ts"
import { callLifetime } from "./CallLifetime.ts"
import { callsFirst } from "./CallsFirst.ts"
import { caps } from "./Caps.ts"
import { catchingUp } from "./CatchingUp.ts"
import type { Check, Violation } from "./Check.ts"
import { disabling } from "./Disabling.ts"
import { feeds } from "./Feeds.ts"
import { idempotent } from "./Idempotent.ts"
import { isolation } from "./Isolation.ts"
import { leases } from "./Leases.ts"
import { nothingAfterEnd } from "./NothingAfterEnd.ts"
import { nothingLost } from "./NothingLost.ts"
import { notices } from "./Notices.ts"
import { overrides } from "./Overrides.ts"
import { probes } from "./Probes.ts"
import { purges } from "./Purges.ts"
import { attemptNumbers, tallies } from "./Records.ts"
import { retryTimes } from "./RetryTimes.ts"
import { sameBody } from "./SameBody.ts"
import { signatures } from "./Signatures.ts"
import { traceOf } from "./Trace.ts"

export const checks: ReadonlyArray<Check> = [
  nothingLost,
  deliveredIsReceived,
  nothingAfterSuccess,
  retryTimes,
  callLifetime,
  nothingAfterEnd,
  isolation,
  sameBody,
  callsFirst,
  caps,
  leases,
  attemptNumbers,
  tallies,
  idempotent,
  disabling,
  notices,
  probes,
  feeds,
  purges,
  signatures,
  overrides,
  catchingUp
]

/** A check that failed, with the places where. */
export interface Failure {
  readonly check: Check
  readonly violations: ReadonlyArray<Violation>
}

/** What the checks find; empty when every rule was kept. */
export const judge = (outcome: Outcome): ReadonlyArray<Failure> => {
  const trace = traceOf(outcome)
  return checks.flatMap((check) => {
    const violations = check.violations(trace)
    return violations.length === 0 ? [] : [{ check, violations }]
  })
}
