/**
 * The parts that judgements of requirements are made of. Each reads a trace under the terms of a run and nothing else.
 */
import { Acknowledgement } from "@doorhook/core"
import type { Attempt, SentEvent, Trace } from "../evidence/Trace.ts"
import type { Finding } from "./Finding.ts"
import { both, fail, inconclusive, nothing, pass } from "./Finding.ts"
import { bodyTime, exchangeInWords, isTiming, read, statusTime } from "./Reading.ts"
import type { Terms } from "./Terms.ts"

export type Judge = (trace: Trace, terms: Terms) => Finding

/** All of these judgements of one trace. */
export const all =
  (...judges: ReadonlyArray<Judge>): Judge =>
  (trace, terms) =>
    both(...judges.map((judge) => judge(trace, terms)))

/** Judges one attempt: a finding against it, `good`, or null when it has nothing to do with the requirement. */
export type JudgeAttempt = (attempt: Attempt, index: number) => Finding | "good" | null

/**
 * Puts together what is found attempt by attempt: one that breaks the requirement breaks it for the trace, one that leaves
 * it open leaves it open. What is wrong whenever it comes counts before what came late, which may be an accident.
 * An attempt that was crowded out is not judged: the one that was made alone after it is.
 */
export const eachAttempt = (trace: Trace, none: string, judge: JudgeAttempt): Finding => {
  const good: Array<number> = []
  let late: Finding | null = null
  let open: Finding | null = null
  for (const [index, attempt] of trace.attempts.entries()) {
    if (attempt.crowded) continue
    const found = judge(attempt, index)
    if (found === null) continue
    if (found === "good") good.push(index)
    else if (found.verdict !== "FAIL") open ??= found
    else if (found.timing) late ??= found
    else return found
  }
  return late ?? open ?? (good.length === 0 ? nothing(none) : pass(good))
}

/** The judgement of attempts that must be acknowledged, of those that `isMeant` names. */
export const acknowledged =
  (none: string, isMeant: (attempt: Attempt, index: number, trace: Trace) => boolean): Judge =>
  (trace, terms) =>
    eachAttempt(trace, none, (attempt, index) => {
      if (!isMeant(attempt, index, trace)) return null
      const reading = read(attempt.exchange, terms)
      if (reading === "acknowledged") return "good"
      const observed = exchangeInWords(attempt.exchange)
      return reading === "borderline"
        ? inconclusive(index, observed)
        : fail(index, observed, { timing: isTiming(reading) })
    })

/** Every event's first attempt is acknowledged. */
export const firstAttempts = acknowledged(
  "no event was sent for the first time",
  ({ first, kind, raced }) => first && kind === "delivery" && !raced
)

/** None was refused for coming beside others: doorhook sends ten at once, and such a refusal costs a retry. */
export const uncrowded: Judge = (trace) => {
  const index = trace.attempts.findIndex(({ crowded }) => crowded)
  const attempt = trace.attempts[index]
  return attempt === undefined
    ? nothing("nothing was refused for coming beside others")
    : fail(
        index,
        `${exchangeInWords(attempt.exchange)} with ${attempt.inFlight} requests at once; acknowledged when it was sent again alone`,
        { strength: "SHOULD" }
      )
}

/** Every answer has a status that acknowledges. A redirect is an answer like any other. */
export const exactStatus: Judge = (trace, { rule }) =>
  eachAttempt(trace, "no answer came, so there was no status to judge", ({ exchange, kind }, index) => {
    if (kind !== "delivery" || exchange._tag === "Failed") return null
    return Acknowledgement.isAcknowledgingStatus(exchange.status, rule)
      ? "good"
      : fail(index, exchangeInWords(exchange))
  })

/** Every answer's status comes within the deadline. */
export const statusInTime: Judge = (trace, terms) =>
  eachAttempt(
    trace,
    "the connection broke before an answer, so there was no time to judge",
    ({ exchange, kind }, index) => {
      if (kind !== "delivery") return null
      const observed = exchangeInWords(exchange)
      if (exchange._tag === "Failed")
        return exchange.outcome === "timeout" ? fail(index, observed, { timing: true }) : null
      switch (statusTime(exchange, terms)) {
        case "in_time":
          return "good"
        case "borderline":
          return inconclusive(
            index,
            `${observed}: within ${terms.guard} ms of the deadline, nearer than can be measured`
          )
        case "late":
          return fail(index, observed, { timing: true })
      }
    }
  )

/** Every answer that begins also ends: whole, within the deadline, with the connection usable or closed in order. */
export const completeAnswers: Judge = (trace, terms) =>
  eachAttempt(trace, "no answer began in time, so there was no end to judge", ({ exchange, kind }, index) => {
    if (kind !== "delivery") return null
    const observed = exchangeInWords(exchange)
    if (exchange._tag === "Failed") return exchange.outcome === "timeout" ? null : fail(index, observed)
    if (exchange.ending === "cut_off" || exchange.ending === "malformed") return fail(index, observed)
    // Of an answer that begins late, the end says nothing more.
    if (statusTime(exchange, terms) === "late") return null
    switch (bodyTime(exchange, terms)) {
      case "in_time":
        return "good"
      case "borderline":
        return inconclusive(index, `${observed}, the body's end ${terms.guard} ms or less from the deadline`)
      case "late":
        return fail(index, observed, { timing: true })
    }
  })

/** What became of one event of a trace: whether it was acknowledged, and what that obliges the receiver to. */
export interface EventStory {
  /** Its place in the trace. */
  readonly event: number
  readonly sent: SentEvent
  /** Its attempts, with their places in the trace. */
  readonly attempts: ReadonlyArray<readonly [index: number, attempt: Attempt]>
  /** `acknowledged` obliges to one effect; `open` allows one or none; `never` allows none. */
  readonly state: "acknowledged" | "open" | "never"
  /** Others whose number some programs take for this one's: a probe may count an effect of this at theirs. */
  readonly alike: ReadonlyArray<number>
  /** By the probe, at the latest reading, with those of `alike`; null where nothing was read. */
  readonly last: number | null
  /** The most at any reading. */
  readonly most: number | null
  /** How many effects the probe counts as one: of events of the trace that it can't tell from this, at URLs likewise. */
  readonly shared: number
  /** Whether an acknowledgement obliges to an effect of its own: not for kinds that may be ignored, nor for duplicates. */
  readonly owed: boolean
}

/** What became of each event. */
export declare const storiesOf: (trace: Trace, terms: Terms) => ReadonlyArray<EventStory>

/**
 * Puts together what is found event by event from the probe. A judge answers what is wrong in words, true when it is right,
 * null when it has nothing to do with the requirement; words of a breach may be empty.
 */
export declare const eachEvent: (
  trace: Trace,
  terms: Terms,
  none: string,
  judge: (story: EventStory) => string | true | null
) => Finding

/** Every undisturbed attempt is acknowledged, whichever it is. */
export declare const everyAttempt: Judge
/** Every further attempt of an event is acknowledged, whatever became of those before it. */
export declare const everyDuplicate: Judge
/** The last attempt of each event is acknowledged. */
export declare const lastAttempts: Judge
/** Each of several copies sent at once is acknowledged, or refused at once: none hangs, none is cut off. */
export declare const copiesAnswered: Judge
/** No event has more than one effect, at any time it was looked at. */
export declare const atMostOnce: Judge
/** What was acknowledged, and is of a kind to be acted on, has its effect. */
export declare const acknowledgedHasEffect: Judge
/** Both: what was acknowledged has one effect, what was not has one at most. */
export declare const exactlyOnce: Judge
/** What was never sent as a genuine, whole event has no effect. */
export declare const noPhantom: Judge
/**
 * What was stored is what was sent first. Numbers beyond 2^53 that were rounded as RFC 8785 does are a breach of strength
 * SHOULD; otherwise the finding names the member that differs where the probe shows what is stored.
 */
export declare const storedAsSent: Judge
/** The receiver starts again whenever it was ended. */
export declare const startsAgain: Judge
/** No answer holds a signature, or a part of the secret, that a forger could use. */
export declare const leaksNothing: Judge
