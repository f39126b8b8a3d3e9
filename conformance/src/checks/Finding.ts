/**
 * What a check says of one trace.
 */

/** The verdicts on a requirement. Only PASS counts as passed. */
export const verdicts = ["PASS", "FAIL", "WARN", "INCONCLUSIVE", "NOT_OBSERVABLE", "SKIPPED", "ERROR"] as const
export type Verdict = (typeof verdicts)[number]

export type Finding =
  | {
      readonly verdict: "PASS"
      /** The attempts that show it, by their place in the trace. */
      readonly attempts: ReadonlyArray<number>
    }
  | {
      readonly verdict: "FAIL"
      /** The attempt that breaks the requirement. */
      readonly attempt: number
      readonly observed: string
      /**
       * Whether it rests on a time that was measured. A wrong answer seen once is proof; a late one is proof when it is
       * late again.
       */
      readonly timing: boolean
    }
  | {
      readonly verdict: "INCONCLUSIVE"
      /** The attempt that left it open; null when there was none to judge. */
      readonly attempt: number | null
      readonly observed: string
    }

export const pass = (attempts: ReadonlyArray<number>): Finding => ({ verdict: "PASS", attempts })

export const fail = (attempt: number, observed: string, timing = false): Finding => ({
  verdict: "FAIL",
  attempt,
  observed,
  timing
})

export const inconclusive = (attempt: number | null, observed: string): Finding => ({
  verdict: "INCONCLUSIVE",
  attempt,
  observed
})
