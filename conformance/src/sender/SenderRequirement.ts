/**
 * What a sender must do, and how to tell from what was seen of it: pure.
 */
import type { Verdict } from "../checks/Finding.ts"
import type { Observation, SeenAttempt, SeenEvent } from "./Observation.ts"
import { inWords } from "./Treatment.ts"

export interface SenderTerms {
  /** Milliseconds. */
  readonly deadline: number
  /** What can't be told around a time, in milliseconds. */
  readonly guard: number
}

export interface SenderFinding {
  readonly verdict: Verdict
  readonly observed: string
  /** The event that decided it; null for none. */
  readonly event: SeenEvent | null
}

export interface SenderRequirement {
  readonly id: string
  readonly strength: "MUST" | "SHOULD"
  readonly statement: string
  readonly because: string
  readonly check: (observation: Observation, terms: SenderTerms) => SenderFinding
}

export const fail = (observed: string, event: SeenEvent | null = null): SenderFinding => ({
  verdict: "FAIL",
  observed,
  event
})

/** Judges attempts one by one: `good`, a complaint, or null where there is nothing to judge. */
export const eachAttempt = (
  nothing: string,
  judge: (attempt: SeenAttempt, event: SeenEvent, index: number, terms: SenderTerms) => string | null
): SenderRequirement["check"] => {
  return ({ events }, terms) => {
    let good = 0
    for (const event of events) {
      for (const [index, attempt] of event.attempts.entries()) {
        const judged = judge(attempt, event, index, terms)
        if (judged === "good") good++
        else if (judged !== null) return fail(`event ${event.number}, attempt ${index + 1}: ${judged}`, event)
      }
    }
    return good === 0
      ? { verdict: "INCONCLUSIVE", observed: nothing, event: null }
      : { verdict: "PASS", observed: `${good} attempts`, event: null }
  }
}

/** An event in words: what it was answered. */
export const eventInWords = ({ attempts }: SeenEvent, deadline: number): ReadonlyArray<string> =>
  attempts.map(
    ({ at, gaveUpAfter, treatment }, index) =>
      `attempt ${index + 1} at ${Math.round(at)} ms, answered ${treatment === null ? "200" : inWords(treatment, deadline)}${gaveUpAfter === null ? "" : `; the sender gave up after ${Math.round(gaveUpAfter)} ms`}`
  )
