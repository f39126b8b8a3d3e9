/**
 * Puts together what is found event by event, from what the probe says of each.
 */
import type { Trace } from "../observed/Trace.ts"
import type { Finding } from "./Finding.ts"
import { fail, nothing, pass } from "./Finding.ts"
import { read } from "./Reading.ts"
import type { Story } from "./Story.ts"
import { effectsInWords, storiesOf } from "./Story.ts"
import type { Terms } from "./Terms.ts"

/** Judges one event: what is wrong in words, true when it is right, null when it has nothing to do with the requirement. */
export type JudgeEvent = (story: Story) => string | true | null

export const eachEvent = (trace: Trace, terms: Terms, none: string, judge: JudgeEvent): Finding => {
  let good = 0
  for (const story of storiesOf(trace, terms)) {
    const found = judge(story)
    if (found === null) continue
    if (found === true) good += 1
    else {
      const last = story.attempts.at(-1)
      const observed = found === "" ? effectsInWords(story, terms) : `${effectsInWords(story, terms)}: ${found}`
      return fail(last === undefined ? null : last[0], observed, false, story.event)
    }
  }
  return good === 0 ? nothing(none) : pass([], good)
}

/** No event has more than one effect, at any time it was looked at. */
export const atMostOnce = (trace: Trace, terms: Terms): Finding =>
  eachEvent(trace, terms, "no event's effects were read", ({ last, most, shared }) =>
    most === null || last === null ? null : most > shared ? (most === last ? "" : `${most} of them for a while`) : true
  )

/** What was acknowledged, and is of a kind to be acted on, has its effect. */
export const acknowledgedHasEffect = (trace: Trace, terms: Terms): Finding =>
  eachEvent(trace, terms, "no acknowledged event's effects were read", ({ last, owed, state }) =>
    last === null || !owed || state !== "acknowledged" ? null : last < 1 ? "" : true
  )

/** Both: what was acknowledged has one effect, what was not has one at most. */
export const exactlyOnce = (trace: Trace, terms: Terms): Finding =>
  eachEvent(trace, terms, "no event's effects were read", ({ last, most, owed, shared, state }) => {
    if (last === null || most === null || !owed) return null
    if (most > shared) return ""
    if (state === "acknowledged") return last < shared ? "" : true
    return state === "open" ? true : null
  })

/** What was never sent as a genuine, whole event has no effect. */
export const noPhantom = (trace: Trace, terms: Terms): Finding =>
  eachEvent(trace, terms, "no phantom was looked for", ({ most, state }) =>
    most === null || state !== "never" ? null : most > 0 ? "" : true
  )

/** What was stored is what was sent first, where that was acknowledged: else what came later may have been there first. */
export const storedAsSent = (trace: Trace, terms: Terms): Finding =>
  eachEvent(trace, terms, "no digest was given", ({ attempts, event, last, sent }) => {
    const digest = trace.effects[event]?.digest ?? null
    const [, first] = attempts.find(([, { kind }]) => kind === "delivery") ?? []
    if (digest === null || last === null || last < 1) return null
    if (first === undefined || read(first.exchange, terms) !== "acknowledged") return null
    return digest === sent.digest ? true : `what was stored has the digest ${digest}, what was sent ${sent.digest}`
  })

/** Where `data.id` is the key that is stressed: events that share it have one effect together. */
export const onceAcrossTwins = (trace: Trace, terms: Terms): Finding => {
  const none = "no events shared a data.id"
  if (terms.dedupKey !== "body" || !trace.history.ops.some((op) => op.k === "twins" && op.kind === "same_data_id")) {
    return nothing(none)
  }
  const stories = storiesOf(trace, terms)
  const counts = stories.map(({ last }) => last ?? 0)
  // A probe that knows them by that one id says of each what they have together.
  const total = trace.byDataId === true ? Math.max(...counts) : counts.reduce((sum, count) => sum + count, 0)
  if (stories.some(({ last }) => last === null)) return nothing(none)
  return total === 1 ? pass([], stories.length) : fail(null, `effects = ${total} for events with one data.id`, false, 0)
}
