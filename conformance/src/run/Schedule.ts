/**
 * Which cases run, in which order, and with how much of the time: breadth first. Pure data and functions.
 *
 * Every requirement's given cases come before any further one, those before any that is drawn from the seed, and then the
 * lanes `quiet` and `last` (as many events between an event and its duplicate as there is time for). Within a step, lanes
 * run in the order of `lanes`, and cases take turns by requirement, so that a run that is cut short has looked at each.
 */
import { keyOf, lanes } from "../history/History.ts"
import type { Case, Lane } from "../history/History.ts"
import { costOf, endsReceiver, movesClock } from "../history/Operations.ts"
import type { Plan } from "../record/Outcome.ts"

/** What a case is run for, from what must be done to what time allows. */
const steps = ["given", "further", "sampled"] as const
export type Step = (typeof steps)[number]

/** How long the lane `last` takes, in milliseconds, and as a share of the run's time where that is more. */
const lastUsual = 12_000
const lastShare = 0.1
/** Where all else took longer than it should, some of it is done nevertheless. */
const lastLeast = 0.035

/** Until which share of the run's time cases of a step are begun; the others are those of what comes after them. */
export const until: Readonly<Record<Step | "last" | "beforeClock" | "end", number>> = {
  given: 0.84,
  further: 0.6,
  sampled: 0.6,
  last: 0.88,
  beforeClock: 0.85,
  end: 0.95
}

/** Until when the lane `last` goes on that begins now, both in milliseconds since the run began. */
export const lastUntil = (now: number, maxTime: number): number =>
  Math.max(
    Math.min(maxTime * until.last, now + Math.max(lastUsual, maxTime * lastShare)),
    Math.min(maxTime * until.end, now + maxTime * lastLeast)
  )

/** Histories at once, by lane: each has one request under way most of the time, and `Slots` keeps all of them to ten. */
export const widths: Readonly<Record<Lane, number>> = {
  timing: 1,
  state: 8,
  disturbed: 4,
  blocking: 1,
  load: 1,
  operated: 1,
  last: 1,
  quiet: 1,
  aged: 8
}

/** Cases that run together: when they are done, effects are waited for and read once for all of them. */
export interface Batch {
  readonly step: Step
  readonly lane: Lane
  /** By turns of the requirements that ask for them. */
  readonly cases: ReadonlyArray<Case>
  /** How many of the first cases are the only ones that their requirements have in this batch so far: one of each. */
  readonly firsts: number
  /** Whether it may end the receiver: what others left in memory is read before. */
  readonly endsReceiver: boolean
  /** Whether it moves the receiver's clock: nothing but its like comes after it. */
  readonly movesClock: boolean
}

const ends = ({ history }: Case): boolean => history.ops.some(endsReceiver)
const moves = ({ history }: Case): boolean => history.ops.some(movesClock)

/** The first of each list, then the second of each, and so on; cases of equal histories once. */
const byTurns = (lists: ReadonlyArray<ReadonlyArray<Case>>): ReadonlyArray<Case> => {
  const longest = Math.max(0, ...lists.map(({ length }) => length))
  const turns = Array.from({ length: longest }, (_, turn) => lists.flatMap((list) => list[turn] ?? [])).flat()
  return [...new Map(turns.map((one) => [keyOf(one.history), one])).values()]
}

/** Lanes with a place of their own in a run, whatever their step. */
export const lanesApart: ReadonlySet<Lane> = new Set(["last", "quiet", "aged"])

/** The batches of a run in their order: `aged` first, then by steps, `lanesApart`, what moves the clock. Equal histories once. */
export const scheduleOf = (plans: ReadonlyArray<Plan>): ReadonlyArray<Batch> => {
  const known = new Set<string>()
  const batchOf = (step: Step, lane: Lane, isMeant: (one: Case) => boolean): Batch => {
    const lists = plans.map((plan) =>
      plan[step].filter((one) => one.lane === lane && isMeant(one) && !known.has(keyOf(one.history)))
    )
    const cases = byTurns(lists)
    for (const { history } of cases) known.add(keyOf(history))
    return {
      step,
      lane,
      cases,
      firsts: byTurns(lists.map((list) => list.slice(0, 1))).length,
      endsReceiver: cases.some(ends),
      movesClock: cases.some(moves)
    }
  }
  const stays = (one: Case): boolean => !moves(one)
  const whole = (step: Step): ReadonlyArray<Batch> =>
    lanes
      .filter((lane) => !lanesApart.has(lane))
      .flatMap((lane) => {
        const [staying, ending] = [false, true].map((ended) =>
          batchOf(step, lane, (one) => stays(one) && ends(one) === ended)
        )
        // Held still, a receiver takes a deadline and more: one that is pressed for time is killed first.
        return (lane === "operated" ? [ending, staying] : [staying, ending]).flatMap((batch) => batch ?? [])
      })
  // What is given somewhere is known as given, whichever step another requirement has it in.
  const ofLane = (lane: Lane): ReadonlyArray<Batch> => steps.map((step) => batchOf(step, lane, stays))
  const aged = ofLane("aged")
  const given = whole("given")
  const end = [...ofLane("quiet"), ...ofLane("last")]
  const clock = steps.flatMap((step) => lanes.map((lane) => batchOf(step, lane, moves)))
  const batches = [...aged, ...given, ...whole("further"), ...whole("sampled"), ...end, ...clock]
  return batches.filter(({ cases }) => cases.length > 0)
}

/** How long a case takes at least, in milliseconds, of a receiver that takes this long for an answer. */
const timeOf = ({ history }: Case, answer: number, pace: number): number =>
  history.ops.reduce((sum, operation) => {
    const { answers, ms } = costOf(operation)
    return sum + answers * answer + ms * pace
  }, 0)

const waitOf = ({ history }: Case): number => history.ops.reduce((sum, operation) => sum + costOf(operation).ms, 0)

/** Those that wait longest first: where several run at once, the others run in the meantime. */
export const longestFirst = (lane: Lane, cases: ReadonlyArray<Case>): ReadonlyArray<Case> =>
  widths[lane] === 1 ? cases : cases.toSorted((a, b) => waitOf(b) - waitOf(a))

/** How long some cases of a lane take at least, run beside each other as the lane allows. */
export const timeOfAll = (lane: Lane, cases: ReadonlyArray<Case>, answer: number, pace: number): number =>
  cases.reduce((sum, one) => sum + timeOf(one, answer, pace), 0) / widths[lane]

/**
 * The cases of a batch that fit into what is left, by turns: at least one of each requirement that has none yet. Those
 * that do not fit are left out for want of time, and said to be.
 */
export const fitting = (batch: Batch, left: number, answer: number, pace: number): ReadonlyArray<Case> => {
  let time = 0
  return batch.cases.filter((one, place) => {
    time += timeOf(one, answer, pace) / widths[batch.lane]
    return place < batch.firsts || time <= left
  })
}

/** What must be kept for the batches that come later in a step: one case of each of their requirements. */
export const reserveOf = (later: ReadonlyArray<Batch>, step: Step, answer: number, pace: number): number =>
  later
    .filter((batch) => batch.step === step && !lanesApart.has(batch.lane))
    .reduce((sum, { cases, firsts, lane }) => sum + timeOfAll(lane, cases.slice(0, firsts), answer, pace), 0)
