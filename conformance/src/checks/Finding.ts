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
      /** How many events' effects were looked at. */
      readonly events: number
    }
  | {
      readonly verdict: "FAIL"
      /** The attempt that breaks the requirement; null when it is not one attempt's doing. */
      readonly attempt: number | null
      /** The event concerned, by its place in the trace; null when it is not about one. */
      readonly event: number | null
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
      /** Nothing of the trace had to do with the requirement: it says nothing beside others. */
      readonly empty: boolean
    }
  | {
      /** The check itself failed: a fault of the suite, which says nothing of the receiver. */
      readonly verdict: "ERROR"
      readonly attempt: null
      readonly observed: string
    }

export const pass = (attempts: ReadonlyArray<number>, events = 0): Finding => ({ verdict: "PASS", attempts, events })

export const fail = (
  attempt: number | null,
  observed: string,
  timing = false,
  event: number | null = null
): Finding => ({ verdict: "FAIL", attempt, event, observed, timing })

export const inconclusive = (attempt: number | null, observed: string): Finding => ({
  verdict: "INCONCLUSIVE",
  attempt,
  observed,
  empty: false
})

/** There was nothing to judge. */
export const nothing = (observed: string): Finding => ({
  verdict: "INCONCLUSIVE",
  attempt: null,
  observed,
  empty: true
})

/** What is left to say when a check throws. */
export const thrown = (cause: unknown): Finding => ({
  verdict: "ERROR",
  attempt: null,
  observed: `the suite's own check failed (${cause instanceof Error ? cause.message : String(cause)}): please report it, with the trace of --trace FILE`
})

/**
 * Puts findings on one trace together: one that breaks the requirement breaks it, one that leaves it open does so. Proof
 * counts before what may be an accident.
 */
export const both = (...findings: ReadonlyArray<Finding>): Finding => {
  const failed = findings.filter((finding) => finding.verdict === "FAIL")
  const broken = failed.find(({ timing }) => !timing) ?? failed[0]
  if (broken !== undefined) return broken
  const open = findings.find((finding) => finding.verdict === "INCONCLUSIVE" && !finding.empty)
  if (open !== undefined) return open
  const passed = findings.filter((finding) => finding.verdict === "PASS")
  if (passed.length === 0) return findings[0] ?? nothing("nothing was judged")
  return pass(
    passed.flatMap(({ attempts }) => attempts),
    passed.reduce((sum, { events }) => sum + events, 0)
  )
}
