/**
 * Decides which cases run, in which order and for how long. All requirements advance together, breadth first. Pure data
 * and functions.
 *
 * The given cases of all requirements run first, then further cases, then cases drawn from the seed, then the lanes
 * `quiet` and `last`. (`last` sends as many events between an event and its duplicate as time allows.) Within a step,
 * lanes run in the order of `lanes`. Requirements take turns, so a run that is cut short has tried some cases of each.
 */
import { keyOf, lanes } from "../history/History.ts"
import type { Case, Lane } from "../history/History.ts"
import { costOf, endsReceiver, movesClock } from "../history/Operations.ts"
import type { Plan } from "../record/Outcome.ts"

/**
 * How the time of a run (`--max-time`) is divided. The shares are limits, not a budget: a run ends as soon as everything
 * is decided.
 */
export const timeShares = {
  /**
   * When the last case of a kind may begin, as a share of the run's time. Further and sampled cases end early, because a
   * verdict needs only the given ones. After the given cases there must be time for the lane `last`, for cases that move
   * the clock, and at the end for the lane `quiet` and for failures that are repeated.
   */
  until: { given: 0.84, further: 0.6, sampled: 0.6, last: 0.88, beforeClock: 0.85, end: 0.95 },

  /** The lane `last`: usual share (or 12 seconds, if that is longer), so that thousands of other events are sent. */
  last: 0.1,
  /** Minimum for the lane `last`, even if everything else took too long: some hundred events. */
  leastLast: 0.035,

  /** An operation that sends many events beside other cases: 300 events to a receiver that takes 250 ms each. */
  filler: 0.07,
  /** The same in a lane that runs one case at a time, where nothing else happens in the meantime. */
  fillerAlone: 0.035,
  /** The same in a replay and in `doctor`, where nothing else needs the time. */
  fillerInReplay: 0.25,

  /** Longest pause that a receiver may ask for with `retry-after`: a minute in a usual run, for limits by the minute. */
  longestPause: 0.5,

  /** Waiting for second effects at the end of a run. Other cases usually fill the settling time. */
  lateEffects: 0.1,
  /** Reading all effects once more for that, because a reading may be a slow command. */
  rereading: 0.04,

  /** Repeating and shortening failures, each time that this is done. */
  refining: 0.2,
  /** Of the time that is left for refining: when a failure is no longer shortened, so that others get their turn. */
  shortening: 0.5,
  /** Of the same time: when the shortest history is no longer repeated. */
  confirming: 0.75,

  /** Of a wait for effects: how long later waits last once effects were missing after a full wait. */
  impatience: 0.3
} as const

/**
 * How a run whose time was not set is extended for a receiver that limits requests: in proportion to the time from one
 * request to the next, from `usualInterval` milliseconds on.
 */
export const extension = { usualInterval: 25, most: 4 } as const

/** Usual time for the lane `last`, and shortest wait for effects, in milliseconds. */
export const leastTimes = { last: 12_000, settle: 2_000 } as const

/** Steps of a run: required cases first, then cases for which there is time. */
const steps = ["given", "further", "sampled"] as const
type Step = (typeof steps)[number]

/**
 * Returns when the lane `last` ends if it begins at `now`. Both times are in milliseconds since the run began. `time` is
 * how long the run may take, which is longer than `maxTime` if it was extended.
 */
export const lastUntil = (now: number, maxTime: number, time = maxTime): number =>
  Math.max(
    Math.min(time * timeShares.until.last, now + Math.max(leastTimes.last, maxTime * timeShares.last)),
    Math.min(time * timeShares.until.end, now + maxTime * timeShares.leastLast)
  )

/** Number of concurrent histories by lane. Most have one request in flight, and `Slots` allows ten requests in all. */
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

/** Lanes with the same number share a wait for effects. */
export const waitGroups: Readonly<Record<Lane, number>> = {
  timing: 0,
  state: 0,
  disturbed: 1,
  blocking: 1,
  load: 1,
  operated: 2,
  last: 3,
  quiet: 3,
  aged: 4
}

/** Cases that run together and whose effects are read together. */
export interface Batch {
  readonly step: Step
  readonly lane: Lane
  /** The cases in order. Requirements take turns. */
  readonly cases: ReadonlyArray<Case>
  /** Number of cases at the beginning of `cases` that are the first of their requirement. */
  readonly firsts: number
  /** Whether a case may end the receiver. The effects of earlier cases are read before such a batch. */
  readonly endsReceiver: boolean
  /** Whether a case moves the receiver's clock. Only other batches that move it may follow. */
  readonly movesClock: boolean
}

const ends = ({ history }: Case): boolean => history.ops.some(endsReceiver)
const moves = ({ history }: Case): boolean => history.ops.some(movesClock)

/** Returns the first case of each list, then the second of each, and so on. Drops repeated histories. */
const byTurns = (lists: ReadonlyArray<ReadonlyArray<Case>>): ReadonlyArray<Case> => {
  const longest = Math.max(0, ...lists.map(({ length }) => length))
  const turns = Array.from({ length: longest }, (_, turn) => lists.flatMap((list) => list[turn] ?? [])).flat()
  return [...new Map(turns.map((one) => [keyOf(one.history), one])).values()]
}

/** Lanes that run at a fixed place of a run, whatever the step of their cases. */
export const lanesApart: ReadonlySet<Lane> = new Set(["last", "quiet", "aged"])

/**
 * Returns the batches of a run in order: the lane `aged`, the given cases of requested profiles, the steps, the lanes
 * `quiet` and `last`, and batches that move the clock. Drops repeated histories.
 */
export const scheduleOf = (plans: ReadonlyArray<Plan>): ReadonlyArray<Batch> => {
  const known = new Set<string>()
  const batchOf = (step: Step, lane: Lane, isMeant: (one: Case) => boolean, of = plans): Batch => {
    const lists = of.map((plan) =>
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
  const whole = (step: Step, of = plans): ReadonlyArray<Batch> =>
    lanes
      .filter((lane) => !lanesApart.has(lane))
      .flatMap((lane) => {
        const [staying, ending] = [false, true].map((ended) =>
          batchOf(step, lane, (one) => stays(one) && ends(one) === ended, of)
        )
        // Kills come before pauses, because a pause takes longer than a deadline.
        return (lane === "operated" ? [ending, staying] : [staying, ending]).flatMap((batch) => batch ?? [])
      })
  // A case that is a given case of one requirement runs as given, even if another requirement lists it in a later step.
  const ofLane = (lane: Lane): ReadonlyArray<Batch> => steps.map((step) => batchOf(step, lane, stays))
  const aged = ofLane("aged")
  // A profile is tested on request, so it comes before the time runs out for anything else.
  const asked = plans.filter(({ missing, requirement }) => requirement.profile !== null && missing === null)
  const given = [...whole("given", asked), ...whole("given")]
  const end = [...ofLane("quiet"), ...ofLane("last")]
  const clock = steps.flatMap((step) => lanes.map((lane) => batchOf(step, lane, moves)))
  const batches = [...aged, ...given, ...whole("further"), ...whole("sampled"), ...end, ...clock]
  return batches.filter(({ cases }) => cases.length > 0)
}

/** What determines how long cases take. */
export interface Speed {
  /** Usual time of an answer, in milliseconds. */
  readonly answer: number
  /** Time from one request to the next, in milliseconds, where the rate is bounded; else 0. */
  readonly interval: number
  /** Factor for waiting times. */
  readonly pace: number
}

/** Returns the minimum duration of a case in milliseconds, with the lane's concurrency. */
const timeOf = ({ history }: Case, lane: Lane, { answer, interval, pace }: Speed): number =>
  history.ops.reduce((sum, operation) => {
    const { answers, ms } = costOf(operation)
    return sum + Math.max(answers * interval, (answers * answer) / widths[lane]) + (ms * pace) / widths[lane]
  }, 0)

const waitOf = ({ history }: Case): number => history.ops.reduce((sum, operation) => sum + costOf(operation).ms, 0)

/** Puts the cases with the longest waits first, so that others run in the meantime. */
export const longestFirst = (lane: Lane, cases: ReadonlyArray<Case>): ReadonlyArray<Case> =>
  widths[lane] === 1 ? cases : cases.toSorted((a, b) => waitOf(b) - waitOf(a))

/** Returns the minimum duration of cases of a lane in milliseconds, with the lane's concurrency. */
export const timeOfAll = (lane: Lane, cases: ReadonlyArray<Case>, speed: Speed): number =>
  cases.reduce((sum, one) => sum + timeOf(one, lane, speed), 0)

/**
 * Returns the cases of a batch that fit into `left` milliseconds, and always the first case of each requirement. The
 * report counts the cases left out.
 */
export const fitting = (batch: Batch, left: number, speed: Speed): ReadonlyArray<Case> => {
  let time = 0
  return batch.cases.filter((one, place) => {
    time += timeOf(one, batch.lane, speed)
    return place < batch.firsts || time <= left
  })
}

/**
 * Returns the time to reserve for later batches of a step, in milliseconds: enough for one case of each of their
 * requirements.
 */
export const reserveOf = (later: ReadonlyArray<Batch>, step: Step, speed: Speed): number =>
  later
    .filter((batch) => batch.step === step && !lanesApart.has(batch.lane))
    .reduce((sum, { cases, firsts, lane }) => sum + timeOfAll(lane, cases.slice(0, firsts), speed), 0)
