/**
 * What is found in one trace, and how findings are put together.
 */
import type { Strength } from "../history/Variations.ts"

/** The verdicts on a requirement. Only PASS counts as passed. */
export const verdicts = ["PASS", "FAIL", "WARN", "INCONCLUSIVE", "NOT_OBSERVABLE", "SKIPPED", "ERROR"] as const
export type Verdict = (typeof verdicts)[number]

/**
 * What happened to a genuine event, where a breach shows just that, whatever came before it: the requirement that asks
 * for no more may be the cause.
 */
export type Symptom = "unacknowledged" | "duplicate_refused" | "lost" | "doubled" | "doubled_at_once"

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
      /** Whether it rests on a time that was measured: one that is late is proof when another is late too. */
      readonly timing: boolean
      /** SHOULD where this breach says less than the requirement. */
      readonly strength: Strength
      readonly symptom: Symptom | null
      /** What happens to people; null where its case or the requirement says that. */
      readonly because: string | null
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
      /** The judgement itself failed: a fault of the suite, which says nothing of the receiver. */
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

/** There was nothing to judge. */
export const nothing = (observed: string): Finding => ({
  verdict: "INCONCLUSIVE",
  attempt: null,
  observed,
  empty: true
})

/** What is left to say when a judgement throws. */
export const thrown = (cause: unknown): Finding => ({
  verdict: "ERROR",
  attempt: null,
  observed: `the suite's own judgement failed (${cause instanceof Error ? cause.message : String(cause)}): please report it, with the evidence of --trace FILE`
})

/** Of two breaches, the one that says more: a MUST before a SHOULD, proof before what may be an accident. */
const weight = ({ strength, timing }: Failed): number => (strength === "MUST" ? 0 : 2) + (timing ? 1 : 0)

/** Findings on one trace as one: what breaks the requirement breaks it, what leaves it open does so. */
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
