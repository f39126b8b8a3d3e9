/**
 * Findings on a trace, and how several of them are combined into one.
 */
import type { Strength } from "../history/Variations.ts"

/** The verdicts on a requirement. Only PASS counts as passed. */
export const verdicts = ["PASS", "FAIL", "WARN", "INCONCLUSIVE", "NOT_OBSERVABLE", "SKIPPED", "ERROR"] as const
export type Verdict = (typeof verdicts)[number]

/**
 * What went wrong with a genuine event. The cause may be a breach of the basic requirement for the symptom
 * (`causesOf`).
 */
export type Symptom = "unacknowledged" | "duplicate_refused" | "lost" | "doubled" | "doubled_at_once"

export type Finding =
  | {
      readonly verdict: "PASS"
      /** Indexes in the trace of the attempts that passed. */
      readonly attempts: ReadonlyArray<number>
      /** Number of events whose effects passed. */
      readonly events: number
    }
  | {
      readonly verdict: "FAIL"
      /** Index of the attempt that breaks the requirement; null if no single attempt does. */
      readonly attempt: number | null
      /** Index in the trace of the event concerned; null if none is. */
      readonly event: number | null
      readonly observed: string
      /** Whether the finding depends on a measured time. It then needs to be seen again, in a repeat or another case. */
      readonly timing: boolean
      /** SHOULD if this breach is weaker than the requirement. */
      readonly strength: Strength
      readonly symptom: Symptom | null
      /** The consequence; null to use the consequence of the case or the requirement. */
      readonly because: string | null
    }
  | {
      readonly verdict: "INCONCLUSIVE"
      /** Index of the attempt that could not be decided; null if there was none to judge. */
      readonly attempt: number | null
      readonly observed: string
      /** Whether nothing in the trace concerns the requirement. If so, other findings decide. */
      readonly empty: boolean
    }
  | {
      /** The judgement itself failed, which is a fault of the suite and says nothing about the receiver. */
      readonly verdict: "ERROR"
      readonly attempt: null
      readonly observed: string
    }
type Failed = Extract<Finding, { readonly verdict: "FAIL" }>

export const pass = (attempts: ReadonlyArray<number>, events = 0): Finding => ({ verdict: "PASS", attempts, events })

export const fail = (
  attempt: number | null,
  observed: string,
  more: Partial<Omit<Failed, "verdict" | "attempt" | "observed">> = {}
): Failed => ({
  verdict: "FAIL",
  attempt,
  event: null,
  observed,
  timing: false,
  strength: "MUST",
  symptom: null,
  because: null,
  ...more
})

export const inconclusive = (attempt: number | null, observed: string): Finding => ({
  verdict: "INCONCLUSIVE",
  attempt,
  observed,
  empty: false
})

/** Makes the finding that the trace has nothing to judge. */
export const nothing = (observed: string): Finding => ({
  verdict: "INCONCLUSIVE",
  attempt: null,
  observed,
  empty: true
})

/** Makes the finding of a judgement that threw. */
export const thrown = (cause: unknown): Finding => ({
  verdict: "ERROR",
  attempt: null,
  observed: `the suite's own judgement failed (${cause instanceof Error ? cause.message : String(cause)}): please report it, with the evidence of --trace FILE`
})

/** Returns the rank of a breach: a MUST before a SHOULD, and proof before a possible accident. */
const weight = ({ strength, timing }: Failed): number => (strength === "MUST" ? 0 : 2) + (timing ? 1 : 0)

/**
 * Combines several findings on one trace. A breach of a MUST comes first, then an undecided finding, then a breach of a
 * SHOULD.
 */
export const both = (...findings: ReadonlyArray<Finding>): Finding => {
  const [broken] = findings.filter((finding) => finding.verdict === "FAIL").toSorted((a, b) => weight(a) - weight(b))
  const open = findings.find((finding) => finding.verdict === "INCONCLUSIVE" && !finding.empty)
  if (broken !== undefined && (broken.strength === "MUST" || open === undefined)) return broken
  if (open !== undefined) return open
  const passed = findings.filter((finding) => finding.verdict === "PASS")
  if (passed.length === 0) return findings[0] ?? nothing("nothing was judged")
  return pass(
    passed.flatMap(({ attempts }) => attempts),
    passed.reduce((sum, { events }) => sum + events, 0)
  )
}
