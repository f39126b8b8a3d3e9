/**
 * What became of each event of a trace: whether it was acknowledged, and what that obliges the receiver to.
 */
import type { Attempt, SentEvent, Trace } from "../observed/Trace.ts"
import { read } from "./Reading.ts"
import type { Terms } from "./Terms.ts"

export interface Story {
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

/** Whether all of the request went out: what is given up in the body can't be acted on. */
const wentOut = (attempt: Attempt, { history }: Trace): boolean => {
  if (attempt.kind === "forged" || attempt.kind === "malformed" || attempt.kind === "method") return false
  if (attempt.kind !== "cut") return true
  const operation = history.ops[attempt.op]
  const partial =
    operation?.k === "abort_storm" ||
    operation?.k === "stalled" ||
    ((operation?.k === "cut_new" || operation?.k === "cut_again") && operation.cut.in === "body")
  return !partial
}

/** How many of the receiver's URLs an event was sent to. */
export const endpointsOf = (attempts: Story["attempts"]): number =>
  new Set(attempts.map(([, { endpoint }]) => endpoint)).size

/** Whether `data.id` is a number, as it is documented: an unknown kind of event may have a text, or none. */
export const isNumbered = ({ dataId }: SentEvent): boolean => /^\d+$/.test(dataId)

/** Attempts whose acknowledgement was there for the suite to see. */
const isJudged = ({ kind }: Attempt): boolean => kind === "delivery" || kind === "amid" || kind === "load"

export const storiesOf = (trace: Trace, terms: Terms): ReadonlyArray<Story> => {
  const byEvent = new Map<number, Array<readonly [number, Attempt]>>()
  for (const [index, attempt] of trace.attempts.entries()) {
    const known = byEvent.get(attempt.event)
    if (known === undefined) byEvent.set(attempt.event, [[index, attempt]])
    else known.push([index, attempt])
  }
  // Where data.id is the key that is stressed, events that share it are one.
  const sharesDataId =
    terms.dedupKey === "body" && trace.history.ops.some((op) => op.k === "twins" && op.kind === "same_data_id")
  const byNumber = (sent: SentEvent): boolean => trace.byDataId === true && isNumbered(sent)
  const askedBy = (sent: SentEvent): string => (byNumber(sent) ? sent.dataId : sent.webhookId)
  // Long numbers are rounded where they pass through a double, on their way into a log, say.
  const shownBy = (sent: SentEvent): number | string => (byNumber(sent) ? Number(sent.dataId) : sent.webhookId)
  const sharers = new Map<number | string, Array<number>>()
  for (const [event, sent] of trace.events.entries()) {
    const known = sharers.get(shownBy(sent))
    if (known === undefined) sharers.set(shownBy(sent), [event])
    else known.push(event)
  }
  /** The events of a group that are asked for in another way than one of them, each way once. */
  const alikeAmong = (group: ReadonlyArray<number>, own: SentEvent): ReadonlyArray<number> => {
    if (group.length === 1) return []
    const asked = new Set([askedBy(own)])
    return group.filter((place) => {
      const other = trace.events[place]
      if (other === undefined || asked.has(askedBy(other))) return false
      asked.add(askedBy(other))
      return true
    })
  }
  return trace.events.map((sent, event) => {
    const attempts = byEvent.get(event) ?? []
    const acknowledged = attempts.some(
      ([, attempt]) => isJudged(attempt) && read(attempt.exchange, terms) === "acknowledged"
    )
    const group = sharers.get(shownBy(sent)) ?? [event]
    const alike = alikeAmong(group, sent)
    const effects = trace.effects[event] ?? null
    const counted = (of: "last" | "most"): number | null =>
      effects === null ? null : alike.reduce((sum, place) => sum + (trace.effects[place]?.[of] ?? 0), effects[of])
    return {
      event,
      sent,
      attempts,
      state: acknowledged ? "acknowledged" : attempts.some(([, one]) => wentOut(one, trace)) ? "open" : "never",
      alike,
      last: counted("last"),
      most: counted("most"),
      shared: group.length * (trace.blindToUrls === true ? Math.max(1, endpointsOf(attempts)) : 1),
      owed: sent.documented && !sharesDataId
    }
  })
}

const times = (count: number): string => (count === 1 ? "once" : count === 2 ? "twice" : `${count} times`)

/** What the probe says of an event, in words. */
export const effectsInWords = ({ attempts, event, last, sent }: Story, terms: Terms): string => {
  const acknowledged = attempts.filter(
    ([, attempt]) => isJudged(attempt) && read(attempt.exchange, terms) === "acknowledged"
  ).length
  const how = acknowledged === 0 ? "never acknowledged" : `acknowledged ${times(acknowledged)}`
  return `effects = ${last ?? "unknown"} for event ${event + 1} (${sent.webhookId}), sent ${times(attempts.length)}, ${how}`
}
