/**
 * Which cases run, in which order, and with how much of the time: breadth first. Pure data and functions.
 *
 * The given cases of all requirements come first, then further ones, then cases drawn from the seed, then the lanes `quiet` and
 * `last` (as many events between an event and its duplicate as time allows). Within a step, lanes run in the order of `lanes`, and
 * cases take turns by requirement, so that a run that is cut short has tested something of each.
 */
import { keyOf, lanes } from "../history/History.ts"
import type { Case, Lane } from "../history/History.ts"
import { costOf, endsReceiver, movesClock } from "../history/Operations.ts"
import type { Plan } from "../record/Outcome.ts"

/** Steps of a run, from what must be done to what time allows. */
const steps = ["given", "further", "sampled"] as const
export type Step = (typeof steps)[number]

/** The time of the lane `last`, in milliseconds, or as a share of the run's time if that is more. */
const lastUsual = 12_000
const lastShare = 0.1
/** Its least share, even if everything else took too long. */
const lastLeast = 0.035

/** The share of the run's time until which cases of a step begin. */
export const until: Readonly<Record<Step | "last" | "beforeClock" | "end", number>> = {
  given: 0.84,
  further: 0.6,
  sampled: 0.6,
  last: 0.88,
  beforeClock: 0.85,
  end: 0.95
}

/** The end of the lane `last` if it begins now, both in milliseconds since the run began. */
export const lastUntil = (now: number, maxTime: number): number =>
  Math.max(
    Math.min(maxTime * until.last, now + Math.max(lastUsual, maxTime * lastShare)),
    Math.min(maxTime * until.end, now + maxTime * lastLeast)
  )

/** How many histories run at once, by lane. Most have one request in flight, and `Slots` caps them all at ten. */
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

/** Cases that run together: their effects are read together, too. */
export interface Batch {
  readonly step: Step
  readonly lane: Lane
  /** The requirements take turns. */
  readonly cases: ReadonlyArray<Case>
  /** How many cases at the beginning are the first of their requirement. */
  readonly firsts: number
  /** Whether it may end the receiver: the effects of earlier cases are read before. */
  readonly endsReceiver: boolean
  /** Whether it moves the receiver's clock: only such batches come after it. */
  readonly movesClock: boolean
}

const ends = ({ history }: Case): boolean => history.ops.some(endsReceiver)
const moves = ({ history }: Case): boolean => history.ops.some(movesClock)

/** The first of each list, then the second of each, and so on; equal histories once. */
const byTurns = (lists: ReadonlyArray<ReadonlyArray<Case>>): ReadonlyArray<Case> => {
  const longest = Math.max(0, ...lists.map(({ length }) => length))
  const turns = Array.from({ length: longest }, (_, turn) => lists.flatMap((list) => list[turn] ?? [])).flat()
  return [...new Map(turns.map((one) => [keyOf(one.history), one])).values()]
}

/** Lanes with their own place in a run, whatever the step. */
export const lanesApart: ReadonlySet<Lane> = new Set(["last", "quiet", "aged"])

/** The batches of a run in order: `aged`, the steps, `quiet` and `last`, and those that move the clock. Equal histories once. */
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
        // A pause takes longer than a deadline, so kills come first.
        return (lane === "operated" ? [ending, staying] : [staying, ending]).flatMap((batch) => batch ?? [])
      })
  // A case that is given for one requirement runs as given, whatever its step in another.
  const ofLane = (lane: Lane): ReadonlyArray<Batch> => steps.map((step) => batchOf(step, lane, stays))
  const aged = ofLane("aged")
  const given = whole("given")
  const end = [...ofLane("quiet"), ...ofLane("last")]
  const clock = steps.flatMap((step) => lanes.map((lane) => batchOf(step, lane, moves)))
  const batches = [...aged, ...given, ...whole("further"), ...whole("sampled"), ...end, ...clock]
  return batches.filter(({ cases }) => cases.length > 0)
}

/** The least time of a case, in milliseconds, with a receiver that takes this long for an answer. */
const timeOf = ({ history }: Case, answer: number, pace: number): number =>
  history.ops.reduce((sum, operation) => {
    const { answers, ms } = costOf(operation)
    return sum + answers * answer + ms * pace
  }, 0)

const waitOf = ({ history }: Case): number => history.ops.reduce((sum, operation) => sum + costOf(operation).ms, 0)

/** The cases with the longest waits first: others run in the meantime. */
export const longestFirst = (lane: Lane, cases: ReadonlyArray<Case>): ReadonlyArray<Case> =>
  widths[lane] === 1 ? cases : cases.toSorted((a, b) => waitOf(b) - waitOf(a))

/** The least time of some cases of a lane, with its width. */
export const timeOfAll = (lane: Lane, cases: ReadonlyArray<Case>, answer: number, pace: number): number =>
  cases.reduce((sum, one) => sum + timeOf(one, answer, pace), 0) / widths[lane]

/**
 * The cases of a batch that fit into the time that is left, but at least the first of each requirement. The report counts those
 * left out.
 */
export const fitting = (batch: Batch, left: number, answer: number, pace: number): ReadonlyArray<Case> => {
  let time = 0
  return batch.cases.filter((one, place) => {
    time += timeOf(one, answer, pace) / widths[batch.lane]
    return place < batch.firsts || time <= left
  })
}

/** The time to reserve for later batches of a step: for one case of each of their requirements. */
export const reserveOf = (later: ReadonlyArray<Batch>, step: Step, answer: number, pace: number): number =>
  later
    .filter((batch) => batch.step === step && !lanesApart.has(batch.lane))
    .reduce((sum, { cases, firsts, lane }) => sum + timeOfAll(lane, cases.slice(0, firsts), answer, pace), 0)
