/**
 * Building blocks for judging requirements: pure functions that turn a trace and the criteria of a run into a finding.
 */
import { Acknowledgement, Signature } from "@doorhook/core"
import type { Exchange } from "../evidence/Exchange.ts"
import { limitSpan } from "../evidence/Trace.ts"
import type { Attempt, Effects, SentEvent, Trace } from "../evidence/Trace.ts"
import { bindingOf, templates } from "../history/Events.ts"
import type { History } from "../history/History.ts"
import { nearestDouble, numbersOf } from "../history/Json.ts"
import { bodyTime, crowdInWords, exchangeInWords, restsOnTime, classify, statusTime } from "./Criteria.ts"
import type { AnswerKind, Criteria, Timeliness } from "./Criteria.ts"
import { both, fail, inconclusive, nothing, pass } from "./Verdict.ts"
import type { Finding, Symptom } from "./Verdict.ts"

export type Judge = (trace: Trace, criteria: Criteria) => Finding

/** Combines several judges into one. */
export const all =
  (...judges: ReadonlyArray<Judge>): Judge =>
  (trace, criteria) =>
    both(...judges.map((judge) => judge(trace, criteria)))

/**
 * Judges one attempt: returns a finding against it, `good`, or null if the attempt does not concern the requirement.
 */
type JudgeAttempt = (attempt: Attempt, index: number) => Finding | "good" | null

/**
 * Judges attempt by attempt. One breach breaks the requirement for the trace; otherwise one undecided attempt leaves it
 * undecided. A wrong answer takes precedence over a late answer, which may be an accident. If a limit of the receiver
 * refused an attempt, only its repeat is judged; without a repeat, a breach is undecided.
 */
export const eachAttempt = (trace: Trace, none: string, judge: JudgeAttempt): Finding => {
  const good: Array<number> = []
  let late: Finding | null = null
  let open: Finding | null = null
  for (const [index, attempt] of trace.attempts.entries()) {
    const { event, limit } = attempt
    const isAgain = (one: Attempt, later: number): boolean => later > index && one.event === event && !isLimited(one)
    if (limit !== null && trace.attempts.some(isAgain)) continue
    const found = judge(attempt, index)
    if (found === null) continue
    if (found === "good") good.push(index)
    else if (limit !== null && found.verdict !== "PASS")
      open ??= inconclusive(index, `${found.observed}: refused at each repeat, or not repeated`)
    else if (found.verdict !== "FAIL") open ??= found
    else if (found.timing) late ??= found
    else return found
  }
  return late ?? open ?? (good.length === 0 ? nothing(none) : pass(good))
}

/** Whether a limit of the receiver refused an attempt. */
export const isLimited = ({ limit }: Attempt): boolean => limit !== null

/**
 * Returns the index of the first attempt that a limit of the receiver refused and whose event it then acknowledged, and
 * of the first whose event was sent again in vain; -1 if there is none. An event that is refused again shows no limit:
 * the receiver may refuse everything.
 */
export const limitsIn = ({ attempts }: Trace, criteria: Criteria): { readonly kept: number; readonly vain: number } => {
  // A receiver may refuse an event that it is still handling. That is no limit.
  const amid = new Set(
    attempts.flatMap(({ event, kind, raced }) => (raced || kind === "cut" || kind === "amid" ? [event] : []))
  )
  const limited = new Set(attempts.flatMap((one) => (isLimited(one) && !amid.has(one.event) ? [one.event] : [])))
  const tried = groupBy(
    attempts.filter(({ event }) => limited.has(event)),
    ({ event }) => event
  )
  const firstOf = (isMeant: (own: ReadonlyArray<Attempt>) => boolean): number =>
    attempts.findIndex((one) => isLimited(one) && isMeant(tried.get(one.event) ?? []))
  const isAccepted = (one: Attempt): boolean => !isLimited(one) && classify(one.exchange, criteria) === "acknowledged"
  return {
    kept: firstOf((own) => own.some(isAccepted)),
    vain: firstOf((own) => own.length > 1 && !own.some(isAccepted))
  }
}

/** Returns the earlier attempts of the same event. */
const earlierThan = (attempt: Attempt, { attempts }: Trace): ReadonlyArray<Attempt> =>
  attempts.filter(({ event, limit, op }) => event === attempt.event && op < attempt.op && limit === null)

/**
 * Returns the symptom of an attempt that was not acknowledged, which depends on whether the whole event was sent
 * before.
 */
const unacknowledged = (attempt: Attempt, trace: Trace): Symptom | null =>
  attempt.raced || attempt.kind !== "delivery"
    ? null
    : earlierThan(attempt, trace).some((one) => wentOut(one, trace))
      ? "duplicate_refused"
      : "unacknowledged"

/** Judges an attempt whose answer must be of a kind in `good`. The text of the finding starts with `said`. */
const answeredWell = (
  attempt: Attempt,
  index: number,
  trace: Trace,
  criteria: Criteria,
  said = "",
  good: ReadonlyArray<AnswerKind> = ["acknowledged"]
) => {
  const answer = classify(attempt.exchange, criteria)
  if (good.includes(answer)) return "good"
  const observed = `${said}${exchangeInWords(attempt.exchange)}`
  return answer === "borderline"
    ? inconclusive(index, observed)
    : fail(index, observed, { timing: restsOnTime(answer), symptom: unacknowledged(attempt, trace) })
}

/** Requires that the attempts selected by `isMeant` are acknowledged. */
export const acknowledged =
  (none: string, isMeant: (attempt: Attempt, index: number, trace: Trace) => boolean): Judge =>
  (trace, criteria) =>
    eachAttempt(trace, none, (attempt, index) =>
      isMeant(attempt, index, trace) ? answeredWell(attempt, index, trace, criteria) : null
    )

/** Requires that every event's first attempt is acknowledged. */
export const firstAttempts = acknowledged(
  "no event was sent for the first time",
  ({ first, kind, raced }) => first && kind === "delivery" && !raced
)

/** Describes the limit of a receiver from all attempts that it may have refused. */
export const limitInWords = (attempts: ReadonlyArray<Attempt>): string => {
  const refused = attempts.flatMap(({ exchange, inFlight, limit }) =>
    limit === null ? [] : [{ exchange, inFlight, limit }]
  )
  // If the receiver is slow, it has answered nothing yet when it refuses for the first time.
  const first = refused.find(({ limit }) => limit.before > 0) ?? refused[0]
  if (first === undefined) return ""
  const aSecond = (1_000 * first.limit.before) / limitSpan(first.limit)
  const [unit, units] = aSecond < 1 ? (["minute", 60] as const) : (["second", 1] as const)
  const rate = Math.max(1, Math.round(aSecond * units))
  const pause = Math.max(-1, ...refused.map(({ limit }) => limit.asked ?? -1))
  const asked = pause === -1 ? "asked for no pause" : `asked for a pause of ${pause / 1_000} s`
  return `limits to about ${rate} ${rate === 1 ? "request" : "requests"} a ${unit}, ${asked}: ${exchangeInWords(first.exchange)}, ${crowdInWords(first.limit, first.inFlight)}`
}

/** The consequence of a limit. */
export const limitBecause =
  "doorhook has up to ten requests in flight to a receiver. It respects the pause and sends the refused events again later, so events arrive late in a busy hour. With --max-rate, the suite stays within the limit."

/** Requires that every answer has a status that acknowledges. Redirects are judged like other answers. */
export const exactStatus: Judge = (trace, { rule }) =>
  eachAttempt(trace, "there was no answer, so no status to judge", ({ exchange, kind }, index) => {
    if (kind !== "delivery" || exchange._tag === "Failed") return null
    return Acknowledgement.isAcknowledgingStatus(exchange.status, rule)
      ? "good"
      : fail(index, exchangeInWords(exchange))
  })

/**
 * Judges the time of an answer. If it is too close to the deadline to judge, the text of the finding ends with `near`.
 */
const timed = (exchange: Exchange, time: Timeliness, index: number, near: string): Finding | "good" => {
  if (time === "in_time") return "good"
  const observed = exchangeInWords(exchange)
  if (time === "late") return fail(index, observed, { timing: true })
  return inconclusive(index, exchange.stalled === undefined ? `${observed}${near}` : observed)
}

/** Requires that the status of every answer arrives within the deadline. */
export const statusInTime: Judge = (trace, criteria) => {
  const none = "the connection broke before an answer, so there was no time to judge"
  return eachAttempt(trace, none, ({ exchange, kind }, index) => {
    if (kind !== "delivery") return null
    const observed = exchangeInWords(exchange)
    if (exchange._tag === "Failed")
      return exchange.outcome === "timeout" ? fail(index, observed, { timing: true }) : null
    const near = `: within ${criteria.guard} ms of the deadline, which is too close to measure`
    return timed(exchange, statusTime(exchange, criteria), index, near)
  })
}

/**
 * Requires that every answer is complete and ends within the deadline, with the connection usable or closed properly.
 */
export const completeAnswers: Judge = (trace, criteria) =>
  eachAttempt(trace, "no answer began in time, so there was no end to judge", ({ exchange, kind }, index) => {
    if (kind !== "delivery") return null
    const observed = exchangeInWords(exchange)
    if (exchange._tag === "Failed") return exchange.outcome === "timeout" ? null : fail(index, observed)
    if (exchange.ending === "cut_off" || exchange.ending === "malformed") return fail(index, observed)
    // `statusInTime` already judges a late answer.
    if (statusTime(exchange, criteria) === "late") return null
    const near = `, and the body ended within ${criteria.guard} ms of the deadline, which is too close to measure`
    return timed(exchange, bodyTime(exchange, criteria), index, near)
  })

/**
 * One event of a trace: whether it was acknowledged, the effects that it must have, and the effects that the probe
 * counted.
 */
export interface EventStory {
  /** Index of the event in the trace. */
  readonly event: number
  readonly sent: SentEvent
  /** Attempts of the event, with their indexes in the trace. */
  readonly attempts: ReadonlyArray<readonly [index: number, attempt: Attempt]>
  /** `acknowledged` requires one effect; `open` allows one or none; `never` allows none. */
  readonly state: "acknowledged" | "open" | "never"
  /**
   * Indexes of events whose `data.id` is the same double as this event's. A probe may count this event's effects as
   * theirs.
   */
  readonly alike: ReadonlyArray<number>
  /** Effects at the latest reading, including those of `alike`; null if nothing was read. */
  readonly last: number | null
  /** Highest number of effects at any reading. */
  readonly most: number | null
  /** Expected number of effects: one for each event or URL that the probe can't distinguish from this one. */
  readonly shared: number
  /**
   * Whether an acknowledgement requires an effect: false for events that may be ignored, that share their `data.id`, or
   * that a receiver should store without acting on them.
   */
  readonly owed: boolean
}

const { expiresAt, replay, timestamp } = Signature.headerNames

/** Whether the event had expired when the attempt was signed. */
export const isExpired = ({ request: { headers } }: Attempt): boolean =>
  Number(headers[timestamp]) >= Number(headers[expiresAt])

/** Whether the attempt was marked as one that somebody asked for. */
export const isReplay = ({ request: { headers } }: Attempt): boolean => headers[replay] === "1"

/** Whether a receiver should act on the request. */
const isGenuine = ({ kind }: Attempt): boolean => kind !== "forged" && kind !== "malformed" && kind !== "method"

/** Whether the whole request was sent. A receiver can't act on a request whose sender hung up during the body. */
export const wentOut = (attempt: Attempt, { history }: Trace): boolean => {
  if (attempt.kind !== "cut") return isGenuine(attempt)
  const operation = history.ops[attempt.op]
  if (operation?.k === "abort_storm" || operation?.k === "stalled") return false
  return !(operation !== undefined && "cut" in operation && operation.cut.in === "body")
}

/** Counts the URLs of the receiver that an event was sent to. */
export const endpointsOf = (attempts: EventStory["attempts"]): number =>
  new Set(attempts.map(([, { endpoint }]) => endpoint)).size

/** Whether `data.id` is a number, as documented. In an unknown kind of event it may be a text or missing. */
export const isNumbered = ({ dataId }: SentEvent): boolean => /^\d+$/.test(dataId)

/** Whether the suite waited for the answer. */
const isJudged = ({ kind }: Attempt): boolean => kind === "delivery" || kind === "amid" || kind === "load"

const isAcknowledged = (attempt: Attempt, criteria: Criteria): boolean =>
  isJudged(attempt) && classify(attempt.exchange, criteria) === "acknowledged"

const sharesDataId = ({ history }: Trace, { dedupKey }: Criteria): boolean =>
  dedupKey === "body" && history.ops.some((op) => op.k === "twins" && op.kind === "same_data_id")

const groupBy = <Key, Value>(values: Iterable<Value>, keyOf: (value: Value) => Key): ReadonlyMap<Key, Array<Value>> => {
  const groups = new Map<Key, Array<Value>>()
  for (const value of values) {
    const known = groups.get(keyOf(value))
    if (known === undefined) groups.set(keyOf(value), [value])
    else known.push(value)
  }
  return groups
}

/** Returns the stories of all events of a trace. */
export const storiesOf = (trace: Trace, criteria: Criteria): ReadonlyArray<EventStory> => {
  const attemptsOf = groupBy(trace.attempts.entries(), ([, { event }]) => event)
  const shares = sharesDataId(trace, criteria)
  const byNumber = (sent: SentEvent): boolean => trace.sight.byDataId && isNumbered(sent)
  const askedBy = (sent: SentEvent): string => (byNumber(sent) ? sent.dataId : sent.webhookId)
  // Receivers may round long numbers to doubles, for example when they log them.
  const shownBy = (sent: SentEvent): number | string => (byNumber(sent) ? Number(sent.dataId) : sent.webhookId)
  const sharers = groupBy(trace.events.entries(), ([, sent]) => shownBy(sent))
  // A probe that ignores case adds up the effects of events whose ids differ only in case, so the effects of each are
  // unknown.
  const folded = trace.sight.foldsCase
    ? groupBy(new Set(trace.events.map(({ webhookId }) => webhookId)), (id) => id.toLowerCase())
    : null
  const isFolded = ({ webhookId }: SentEvent): boolean => (folded?.get(webhookId.toLowerCase())?.length ?? 1) > 1
  return trace.events.map((sent, event) => {
    const attempts = attemptsOf.get(event) ?? []
    const group = sharers.get(shownBy(sent)) ?? []
    const others = new Map(group.map(([place, other]) => [askedBy(other), place]))
    others.delete(askedBy(sent))
    const alike = [...others.values()]
    const acknowledged = attempts.filter(([, one]) => isAcknowledged(one, criteria))
    const onlyStored = acknowledged.length > 0 && acknowledged.every(([, one]) => isExpired(one) || isReplay(one))
    const effects = isFolded(sent) ? null : (trace.effects[event] ?? null)
    const counted = (of: "last" | "most"): number | null =>
      effects === null ? null : alike.reduce((sum, place) => sum + (trace.effects[place]?.[of] ?? 0), effects[of])
    return {
      event,
      sent,
      attempts,
      state:
        acknowledged.length > 0 ? "acknowledged" : attempts.some(([, one]) => wentOut(one, trace)) ? "open" : "never",
      alike,
      last: counted("last"),
      most: counted("most"),
      shared: Math.max(1, group.length) * (trace.sight.blindToUrls ? Math.max(1, endpointsOf(attempts)) : 1),
      owed: sent.documented && !shares && !onlyStored
    }
  })
}

const times = (count: number): string => (count === 1 ? "once" : count === 2 ? "twice" : `${count} times`)

/** Describes the effects of an event. Only genuine attempts count as sent and acknowledged. */
const effectsInWords = ({ attempts, event, last, sent }: EventStory, criteria: Criteria): string => {
  const genuine = attempts.filter(([, attempt]) => isGenuine(attempt))
  const count = genuine.filter(([, attempt]) => isAcknowledged(attempt, criteria)).length
  const how =
    genuine.length === 0
      ? `requested ${times(attempts.length)}, never sent as a genuine event`
      : `sent ${times(genuine.length)}, ${count === 0 ? "never acknowledged" : `acknowledged ${times(count)}`}`
  return `effects = ${last ?? "unknown"} for event ${event + 1} (${sent.webhookId}), ${how}`
}

/** Returns the symptom of wrong effects of a genuine event; null if they are right. */
const symptomOf = ({ attempts, last, most, owed, shared, state }: EventStory): Symptom | null => {
  if (last === null || most === null || state === "never") return null
  if (most > shared) {
    const isAtOnce = attempts.some(([, { started }], place) => {
      const [, before] = attempts[place - 1] ?? []
      return before !== undefined && started < before.started + before.exchange.elapsed
    })
    return isAtOnce ? "doubled_at_once" : "doubled"
  }
  return owed && state === "acknowledged" && last < shared ? "lost" : null
}

/**
 * Judges event by event, from the probe's counts. `judge` returns the breach in words (possibly empty), true if the
 * event passes, or null if it does not concern the requirement.
 */
export const eachEvent = (
  trace: Trace,
  criteria: Criteria,
  none: string,
  judge: (story: EventStory) => string | true | null
): Finding => {
  let good = 0
  for (const story of storiesOf(trace, criteria)) {
    const found = judge(story)
    if (found === null) continue
    if (found !== true) {
      const observed = found === "" ? effectsInWords(story, criteria) : `${effectsInWords(story, criteria)}: ${found}`
      return fail(story.attempts.at(-1)?.[0] ?? null, observed, { event: story.event, symptom: symptomOf(story) })
    }
    good += 1
  }
  return good === 0 ? nothing(none) : pass([], good)
}

/**
 * Whether the receiver may refuse an attempt because it may still be working on an earlier attempt: an earlier attempt
 * timed out, and none was acknowledged.
 */
const mayStillRun = (earlier: ReadonlyArray<Attempt>, criteria: Criteria): boolean => {
  const answers = earlier.flatMap(({ exchange, kind }) => (kind === "delivery" ? [classify(exchange, criteria)] : []))
  return !answers.includes("acknowledged") && answers.some(restsOnTime)
}

/** Requires that every attempt without interference is acknowledged. */
export const everyAttempt: Judge = (trace, criteria) =>
  eachAttempt(trace, "no attempt was made", (attempt, index) => {
    if (attempt.kind !== "delivery" || attempt.provisional) return null
    const found = answeredWell(attempt, index, trace, criteria)
    if (found === "good" || found.verdict !== "FAIL") return found
    // A refusal after a late answer may be an accident, like the late answer itself.
    return { ...found, timing: found.timing || mayStillRun(earlierThan(attempt, trace), criteria) }
  })

const statusOf = ({ exchange }: Attempt): number | null => (exchange._tag === "Answered" ? exchange.status : null)

/**
 * Requires that every further attempt of an event is acknowledged, whatever happened to the earlier ones. If a
 * duplicate fails like the first attempt, the finding is undecided, because other requirements judge that failure. A
 * refusal is allowed while an earlier attempt may still be running, and for copies sent at the same time.
 */
export const everyDuplicate: Judge = (trace, criteria) =>
  eachAttempt(trace, "no event was sent again", (attempt, index) => {
    if (attempt.first || attempt.kind !== "delivery" || attempt.provisional) return null
    const answer = classify(attempt.exchange, criteria)
    if (answer === "acknowledged") return "good"
    if (attempt.raced && answer === "refused") return null
    const observed = `sent again (attempt ${attempt.number}): ${exchangeInWords(attempt.exchange)}`
    if (answer === "borderline") return inconclusive(index, observed)
    const earlier = earlierThan(attempt, trace)
    // The receiver may still be working on an attempt whose sender hung up.
    if (earlier.some(({ kind }) => kind === "cut")) return null
    if (mayStillRun(earlier, criteria)) {
      return inconclusive(index, `${observed}, while an earlier attempt may still have been running`)
    }
    const isKnown = earlier.some((other) => isAcknowledged(other, criteria))
    const isAlike = (other: Attempt): boolean =>
      classify(other.exchange, criteria) === answer && statusOf(other) === statusOf(attempt)
    return !isKnown && earlier.some(isAlike)
      ? inconclusive(index, `${observed}, like the first attempt of the same event`)
      : fail(index, observed, { timing: restsOnTime(answer), symptom: unacknowledged(attempt, trace) })
  })

/** Requires that the last attempt of each event is acknowledged. */
export const lastAttempts: Judge = (trace, criteria) => {
  const last = new Map<number, number>()
  for (const [index, { event, kind, limit, provisional, raced }] of trace.attempts.entries()) {
    if (kind === "delivery" && !provisional && !raced && limit === null) last.set(event, index)
  }
  return eachAttempt(trace, "no event was retried", (attempt, index) =>
    last.get(attempt.event) === index ? answeredWell(attempt, index, trace, criteria, "the last attempt: ") : null
  )
}

/**
 * Requires that each of several copies sent at the same time is promptly acknowledged or refused; none may hang or end
 * without an answer.
 */
export const copiesAnswered: Judge = (trace, criteria) =>
  eachAttempt(trace, "no copies were sent at once", (attempt, index) => {
    if (!attempt.raced) return null
    const said = "one of several copies at once: "
    const found = answeredWell(attempt, index, trace, criteria, said, ["acknowledged", "refused"])
    const because = "Copies that wait for each other hold up workers of the receiver until the sender gives up."
    return found !== "good" && found.verdict === "FAIL" ? { ...found, because } : found
  })

const unread = "no event's effects were read"

/** Requires that no event has more than one effect at any reading. */
export const atMostOnce: Judge = (trace, criteria) =>
  eachEvent(trace, criteria, unread, ({ last, most, shared }) =>
    most === null || last === null
      ? null
      : most > shared
        ? most === last
          ? ""
          : `up to ${most} at earlier readings`
        : true
  )

/** Requires that every acknowledged event of a known kind has an effect. */
export const acknowledgedHasEffect: Judge = (trace, criteria) =>
  eachEvent(trace, criteria, "no acknowledged event's effects were read", ({ last, owed, state }) =>
    last === null || !owed || state !== "acknowledged" ? null : last < 1 ? "" : true
  )

/** Requires exactly one effect of an acknowledged event, and at most one of any other. */
export const exactlyOnce: Judge = (trace, criteria) =>
  eachEvent(trace, criteria, unread, ({ last, most, owed, shared, state }) => {
    if (last === null || most === null || !owed) return null
    if (most > shared) return ""
    if (state === "acknowledged") return last < shared ? "" : true
    return state === "open" ? true : null
  })

/** Requires that an event has no effect if it was never sent as a genuine, whole event. */
export const noPhantom: Judge = (trace, criteria) =>
  eachEvent(trace, criteria, "no effects of unsent events were read", ({ most, state }) =>
    most === null || state !== "never" ? null : most > 0 ? "" : true
  )

/** Whether events of a history have undocumented members, which a receiver need not store. */
const hasUnknown = ({ ops }: History): boolean =>
  ops.some((op) => {
    if (!("event" in op)) return false
    const documented = templates[bindingOf(op.event)]?.data.map(([name]) => name) ?? []
    return op.event.data.some(([name]) => !documented.includes(name))
  })

/** Whether the stored data shows the nearest double in place of a number that is not a double. */
const isRounded = ({ data, digest }: Effects, sent: SentEvent, body: string): boolean => {
  // The digest of RFC 8785 is over rounded numbers, whatever is stored.
  if (sent.exactDigest === undefined || digest === sent.exactDigest || data === undefined) return false
  const stored = new Set(numbersOf(data))
  return numbersOf(body).some((number) => !stored.has(number) && stored.has(nearestDouble(number)))
}

/**
 * Requires that the stored data is what the first attempt sent. Judges only events whose first attempt was
 * acknowledged, because otherwise a later one may have been stored. Undocumented members may be missing. Rounding a
 * number to a double breaks a SHOULD.
 */
export const storedAsSent: Judge = (trace, criteria) => {
  const mayLack = hasUnknown(trace.history)
  let rounded: Finding | null = null
  const found = eachEvent(trace, criteria, "nothing showed what was stored", (story) => {
    const { attempts, event, last, sent } = story
    const effects = trace.effects[event] ?? null
    const [, first] = attempts.find(([, { kind, limit }]) => kind === "delivery" && limit === null) ?? []
    if (effects === null || last === null || last < 1) return null
    if (first === undefined || classify(first.exchange, criteria) !== "acknowledged") return null
    const isWhole = effects.digest === sent.digest || effects.digest === sent.exactDigest
    if (effects.digest !== null && !isWhole && !mayLack) return "what is stored is not what was sent"
    if (isRounded(effects, sent, first.request.body)) {
      rounded ??= fail(
        attempts.at(-1)?.[0] ?? null,
        `${effectsInWords(story, criteria)}: the stored data has a number that was rounded to a double`,
        {
          event,
          strength: "SHOULD",
          because:
            "A double keeps only 15 digits of every number. The interface does not promise longer numbers, but what is stored is not what was sent."
        }
      )
    }
    return isWhole ? true : null
  })
  return rounded === null ? found : both(found, rounded)
}

/** Requires that the receiver starts again after every stop. Undecided if nothing showed that it stopped. */
export const startsAgain: Judge = ({ interventions }) => {
  const own = interventions.filter(({ op }) => op !== null)
  const down = own.find((one) => one.down !== undefined)?.down
  if (down !== undefined) {
    return fail(null, `the receiver did not start again after it was killed: ${down}`, {
      because:
        "A receiver that needs help to start after a crash, because of a stale lock or half-written data, misses every event until someone intervenes."
    })
  }
  const unended = own.find((one) => one.unended !== undefined)?.unended
  return unended === undefined
    ? nothing("the receiver started again whenever it was stopped")
    : inconclusive(null, unended)
}

/** Requires that no answer leaks the secret, or a signature that a forger could use. */
export const leaksNothing: Judge = (trace) => {
  const index = trace.attempts.findIndex(({ leaked }) => leaked !== null)
  const attempt = trace.attempts[index]
  if (attempt === undefined) return nothing("no answer leaked anything")
  const what = attempt.leaked === "secret" ? "the secret" : "the correct signature"
  return fail(index, `${exchangeInWords(attempt.exchange)}: the answer contains ${what}`, {
    because:
      "A forger can read the secret or signature in the answer, and send the request again with a correct signature."
  })
}
