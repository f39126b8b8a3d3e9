/**
 * Which cases run, in which order, and with how much of the time: breadth first. Pure data and functions.
 *
 * Every requirement's given cases come before any further one, those before any that is drawn from the seed, and what is
 * left of the time goes to the lane `last` (many events between an event and its duplicate). Within a step, lanes run in
 * the order of `lanes`, and cases take turns by requirement, so that a run that is cut short has looked at each.
 */
import type { Case, Lane } from "../history/History.ts"
import type { Plan } from "../record/Verdict.ts"

/** What a case is run for, from what must be done to what time allows. */
export const steps = ["given", "further", "sampled"] as const
export type Step = (typeof steps)[number]

/** Until which share of the run's time cases of a step are begun. */
export const until: Readonly<Record<Step | "last" | "end", number>> = {
  given: 0.8,
  further: 0.6,
  sampled: 0.6,
  last: 0.85,
  end: 0.95
}

/** Histories at once, by lane: each has one request under way most of the time, and `Slots` keeps all of them to ten. */
export const widths: Readonly<Record<Lane, number>> = {
  timing: 1,
  state: 8,
  disturbed: 4,
  blocking: 1,
  load: 1,
  operated: 1,
  last: 1,
  aged: 8
}

/** Cases that run together: when they are done, effects are waited for and read once for all of them. */
export interface Batch {
  readonly step: Step
  readonly lane: Lane
  readonly cases: ReadonlyArray<Case>
  /** Whether it may end the receiver: what others left in memory is read before. */
  readonly endsReceiver: boolean
  /** Whether it moves the receiver's clock: nothing but its like comes after it. */
  readonly movesClock: boolean
}

/** The batches of a run in their order; `aged` apart, which is begun before them. Cases of equal histories come once. */
export declare const scheduleOf: (plans: ReadonlyArray<Plan>) => ReadonlyArray<Batch>

/** How long a case takes at least, in milliseconds, of a receiver that takes this long for an answer. */
export declare const timeOf: (one: Case, answer: number, pace: number) => number

/**
 * The cases of a batch that fit into what is left, by turns: at least one of each requirement that has none yet. Those
 * that do not fit are left out for want of time, and said to be.
 */
export declare const fitting: (batch: Batch, left: number, answer: number, pace: number) => ReadonlyArray<Case>
