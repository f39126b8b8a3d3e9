/**
 * From evidence to verdicts: pure functions, asked again and again while a run goes on, so that it stops asking where
 * everything is decided, and once at its end.
 */
import type { Case } from "../history/History.ts"
import type { Strength } from "../history/Forgeries.ts"
import type { Drawn } from "../history/Samples.ts"
import type { Finding, Verdict } from "../judgement/Finding.ts"
import type { Terms } from "../judgement/Terms.ts"
import type { Need, Requirement } from "../requirements/Requirement.ts"
import type { Trace } from "../evidence/Trace.ts"
import type { CaseRun, Confirmed, Ended, Evidence } from "./Evidence.ts"
import type { Options } from "./Options.ts"

/** How often a case is repeated to confirm what may have been an accident. */
export const maxRepeats = 2

/** What is to be done for a requirement in one run: its cases as the receiver's bindings leave them. */
export interface Plan {
  readonly requirement: Requirement
  readonly given: ReadonlyArray<Case>
  readonly further: ReadonlyArray<Case>
  readonly sampled: ReadonlyArray<Drawn>
  /** Its cases by the keys of their histories, with how much a breach of each says. */
  readonly strengths: ReadonlyMap<string, Strength>
  /** What it can't be tested without, and is not given. */
  readonly missing: Need | null
  /** What it can't pass without, and is not given. */
  readonly unproven: Need | null
}

/** What is to be done for every selected requirement. */
export declare const plansOf: (options: Options, sight: ReadonlySet<Need>) => ReadonlyArray<Plan>

/** What a run says of a requirement, its repeats considered. */
export interface Assessment {
  readonly finding: Finding
  /** The trace that the finding is about: of the run or of a repeat. */
  readonly trace: Trace
  /** A failure that may be an accident and has neither been repeated yet nor been seen in another case. */
  readonly suspect: boolean
}

/**
 * Looks at one run of a case for one requirement.
 *
 * The strength of a breach is the least of four: the requirement's, the case's, the operations' (`strengthOf`), the
 * finding's. A breach that rests on a measured time is an accident until the same requirement is broken so in another
 * case that ran alone, or in a repeat. Only one that happened with others under way and passes alone is dropped.
 */
export declare const assess: (plan: Plan, run: CaseRun, others: ReadonlyArray<CaseRun>, terms: Terms) => Assessment

export interface Outcome {
  readonly requirement: Requirement
  readonly verdict: Verdict
  readonly observed: string
  /** What decided the verdict; null where nothing did. */
  readonly decisive: {
    readonly run: CaseRun
    readonly trace: Trace
    readonly attempt: number | null
    readonly event: number | null
    readonly because: string
  } | null
  readonly confirmed: Confirmed | null
  readonly cases: { readonly directed: number; readonly directedDone: number; readonly randomDone: number }
  /** Which of its cases were not done in full, and how much of them was. */
  readonly cutShort: ReadonlyArray<string>
  /** What a pass rests on and was not verified: the probe's upper range, how long memory was seen to last. */
  readonly caveats: ReadonlyArray<string>
  /** Whether it was left undecided for want of time, and of nothing else. */
  readonly lacksTime: boolean
}

/** The verdict on one requirement, from everything that was executed so far. */
export declare const judge: (
  plan: Plan,
  evidence: Pick<Evidence, "runs" | "terms" | "calibration" | "refinements" | "strangers" | "interventions">,
  ended: Ended
) => Outcome

/** The verdicts of a run. */
export declare const outcomesOf: (evidence: Evidence) => ReadonlyArray<Outcome>

/** Whether the receiver has acknowledged anything at all. */
export declare const acknowledgesAtAll: (runs: ReadonlyArray<CaseRun>, terms: Terms) => boolean

/** Over how long, and over how many other events, an event was seen to be known again; null where none came again. */
export declare const memoryOf: (
  evidence: Pick<Evidence, "runs" | "terms">
) => { readonly seconds: number; readonly ids: number } | null

/** Whether the probe was seen to count past one: when asked to double, or of a double effect. */
export declare const countsPastOne: (evidence: Pick<Evidence, "runs" | "calibration">) => boolean

/**
 * Ids of the broken requirements from which another probably follows: presupposed ones that fail on plain histories, and
 * those that the same trace breaks with fewer presuppositions. Changes no verdict.
 */
export declare const causesOf: (outcome: Outcome, all: ReadonlyArray<Outcome>) => ReadonlyArray<Requirement["id"]>
