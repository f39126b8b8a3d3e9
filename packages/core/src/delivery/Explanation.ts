/**
 * Explains in plain words why a delivery is in its state and what can be done. Commands, the operator API and the pages
 * show these explanations, adapted to their readers.
 */
import { maxRetryAfter } from "../model/RetryPolicy.ts"
import type { Sentence, Sentences } from "../model/Sentences.ts"
import { say } from "../model/Sentences.ts"
import type { Reader } from "./AttemptExplanation.ts"
import { explainAttempt } from "./AttemptExplanation.ts"
import type { Explained, Suggestion } from "./SuggestedActions.ts"
import * as Remedies from "./SuggestedActions.ts"
import { goneStatus, waitIn } from "./Settlements.ts"

export type { ExplainedAttempt, Reader } from "./AttemptExplanation.ts"
export type { Action, Explained } from "./SuggestedActions.ts"
export { actions } from "./SuggestedActions.ts"
export { explainAttempt }

/** Why a delivery is in its state, and what happens next or can be done. */
export interface Explanation extends Suggestion {
  readonly why: Sentences
}

/** Explains how the last attempt ended; empty before the first. */
const endingOf = ({ last }: Explained, reader: Reader): Sentences => (last === null ? [] : explainAttempt(last, reader))

const cancelled = (explained: Explained, reader: Reader): Explanation => {
  const { delivery, last } = explained
  const ending = endingOf(explained, reader)
  switch (delivery.reason) {
    case "integration_gone":
      return {
        why:
          last?.status === goneStatus
            ? [say("delivery_gone", { time: { time: last.started_at } })]
            : [...ending, say("delivery_gone_other")],
        ...Remedies.suggest(explained, reader)
      }
    case "integration_deleted":
      return { why: [say("delivery_deleted")], ...Remedies.suggestForDeleted(explained) }
    case "row_unreadable":
      return { why: [...ending, say("delivery_unreadable")], ...Remedies.suggest(explained, reader) }
    case "right_lost":
      return { why: [say("delivery_right_lost")], ...Remedies.suggestForRightLost(explained, reader) }
    default:
      return { why: [...ending, say("delivery_disabled")], ...Remedies.suggest(explained, reader) }
  }
}

const tried = (n: number): Sentence => (n === 1 ? say("delivery_tried_one") : say("delivery_tried_other", { n }))

const attemptDue = ({ attempts, next_attempt_at }: Explained["delivery"]): Sentence => {
  const n = attempts + 1
  return next_attempt_at === null
    ? say("remedy_attempt_soon", { n })
    : say("remedy_attempt", { n, time: { time: next_attempt_at } })
}

/** Says when the next attempt is due. If the receiver sent a `Retry-After`, also says how long after its answer. */
const retryDue = ({ delivery, last }: Explained): Sentence => {
  const due = delivery.next_attempt_at
  if (last === null || due === null || waitIn(last.detail) === null) return attemptDue(delivery)
  const wait = Math.max(0, due - last.started_at - last.duration_ms)
  return say("remedy_attempt_asked", {
    n: delivery.attempts + 1,
    time: { time: due },
    wait: { duration: Math.round(wait / 1_000) * 1_000 },
    most: { duration: maxRetryAfter }
  })
}

/** Explains an expired delivery, which is sent only on request. */
const expired = (explained: Explained, reader: Reader): Explanation => {
  const { delivery, integration, last, lifetime_over_at = null } = explained
  const end = lifetime_over_at === null ? null : { time: { time: lifetime_over_at } }
  const isEnabled = integration?.status === "enabled"
  return {
    why:
      last === null
        ? [end === null ? say("delivery_lifetime_over") : say("delivery_lifetime_over_at", end)]
        : [
            ...explainAttempt(last, reader),
            tried(delivery.attempts),
            end === null ? say("delivery_lifetime_ends") : say("delivery_lifetime_ends_at", end)
          ],
    ...(isEnabled ? Remedies.suggestForExpired(explained, reader) : Remedies.suggest(explained, reader))
  }
}

/** Explains the state of a delivery, and what its reader can do. */
export const explain = (explained: Explained, reader: Reader = "operator"): Explanation => {
  const { delivery, last } = explained
  const { next_attempt_at: due } = delivery
  const ending = endingOf(explained, reader)
  switch (delivery.state) {
    case "pending":
      return last === null
        ? {
            why: [say("delivery_stored")],
            next: [due === null ? say("remedy_first_soon") : say("remedy_first", { time: { time: due } })],
            actions: []
          }
        : { why: [...ending, say("delivery_again")], next: [attemptDue(delivery)], actions: [] }
    case "delivering":
      return { why: [...ending, say("delivery_attempted")], next: [say("remedy_under_way")], actions: [] }
    case "retrying":
      return {
        why: ending,
        next: [retryDue(explained)],
        actions: reader === "operator" ? [...Remedies.allowActions(explained), "resend"] : ["resend"]
      }
    case "delivered":
      return { why: ending, next: [say("remedy_arrived")], actions: [] }
    case "exhausted":
      return {
        why: [...ending, tried(delivery.attempts), say("delivery_schedule_over")],
        ...Remedies.suggest(explained, reader)
      }
    case "expired":
      return expired(explained, reader)
    case "skipped":
      return { why: [say("delivery_skipped")], ...Remedies.suggest(explained, reader) }
    case "cancelled":
      return cancelled(explained, reader)
  }
}
