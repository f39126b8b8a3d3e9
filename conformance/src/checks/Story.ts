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
  /** By the probe, at the latest reading; null where nothing was read. */
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
  // An event may have no data.id at all.
  const shownBy = ({ dataId, webhookId }: SentEvent): string =>
    trace.byDataId === true && dataId !== "" ? dataId : webhookId
  const sharers = new Map<string, number>()
  for (const sent of trace.events) sharers.set(shownBy(sent), (sharers.get(shownBy(sent)) ?? 0) + 1)
  return trace.events.map((sent, event) => {
    const attempts = byEvent.get(event) ?? []
    const acknowledged = attempts.some(
      ([, attempt]) => isJudged(attempt) && read(attempt.exchange, terms) === "acknowledged"
    )
    const effects = trace.effects[event] ?? null
    return {
      event,
      sent,
      attempts,
      state: acknowledged ? "acknowledged" : attempts.some(([, one]) => wentOut(one, trace)) ? "open" : "never",
      last: effects?.last ?? null,
      most: effects?.most ?? null,
      shared: (sharers.get(shownBy(sent)) ?? 1) * (trace.blindToUrls === true ? Math.max(1, endpointsOf(attempts)) : 1),
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
