/**
 * Explains in plain words why a delivery is in its state and what can be done. Commands, the operator API and the pages
 * show these explanations, adapted to their readers.
 */
import { maxRetryAfter } from "../model/RetryPolicy.ts"
import type { Sentence, Sentences, SentenceKey } from "../model/Sentences.ts"
import { say } from "../model/Sentences.ts"
import type { Reader, ExplainedAttempt } from "./AttemptExplanation.ts"
import { explainAttempt } from "./AttemptExplanation.ts"
import { goneStatus, waitIn } from "./Settlements.ts"
import type { Delivery } from "../model/Delivery.ts"
import type { Integration } from "../model/Integration.ts"

export type { ExplainedAttempt, Reader } from "./AttemptExplanation.ts"
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
        ...suggest(explained, reader)
      }
    case "integration_deleted":
      return { why: [say("delivery_deleted")], ...suggestForDeleted(explained) }
    case "row_unreadable":
      return { why: [...ending, say("delivery_unreadable")], ...suggest(explained, reader) }
    case "right_lost":
      return { why: [say("delivery_right_lost")], ...suggestForRightLost(explained, reader) }
    case "call_ended":
      return { why: [...ending, say("delivery_call_ended")], ...suggestForExpired(explained, reader) }
    default:
      return { why: [...ending, say("delivery_disabled")], ...suggest(explained, reader) }
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
  const { delivery, integration, is_late = true, last, lifetime_over_at = null } = explained
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
    ...(isEnabled && is_late ? suggestForExpired(explained, reader) : suggest(explained, reader))
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
        actions: reader === "operator" ? [...allowActions(explained), "resend"] : ["resend"]
      }
    case "delivered":
      return { why: ending, next: [say("remedy_arrived")], actions: [] }
    case "exhausted":
      return {
        why: [...ending, tried(delivery.attempts), say("delivery_schedule_over")],
        ...suggest(explained, reader)
      }
    case "expired":
      return expired(explained, reader)
    case "skipped":
      return { why: [say("delivery_skipped")], ...suggest(explained, reader) }
    case "cancelled":
      return cancelled(explained, reader)
  }
}

// What can be done: operators get commands, and owners of integrations get actions on the pages.

/** The input of an explanation. */
export interface Explained {
  readonly delivery: Pick<Delivery, "state" | "reason" | "attempts" | "next_attempt_at">
  /** The delivery's last attempt; null before the first. */
  readonly last: ExplainedAttempt | null
  /** The current state of its integration; null if it was deleted. */
  readonly integration: Pick<Integration, "status" | "disabled_reason"> | null
  /** End of the event's lifetime, in milliseconds since the epoch, if known. */
  readonly lifetime_over_at?: number | null
  /** Whether the lifetime of an expired delivery is over now; by default true. A schedule can end before. */
  readonly is_late?: boolean
}

/**
 * Actions, as the operator API names them: allow the integration's network, probe the integration with one delivery,
 * enable it, resend the delivery, or recover all unacknowledged deliveries of the integration since a given time.
 */
export const actions = ["allow", "probe", "enable", "resend", "recover"] as const
export type Action = (typeof actions)[number]

export interface Suggestion {
  readonly next: Sentences
  /** What the reader can do, most helpful action first. */
  readonly actions: ReadonlyArray<Action>
}

/** Advice that differs between operators and owners. */
const advice = {
  operator: {
    resend: "remedy_resend",
    probe: "remedy_probe",
    enable: "remedy_enable",
    rightBack: "remedy_right_back",
    tryLate: "remedy_try_late"
  },
  owner: {
    resend: "remedy_resend_owner",
    probe: "remedy_probe_owner",
    enable: "remedy_enable_owner",
    rightBack: "remedy_right_back_owner",
    tryLate: "remedy_try_late_owner"
  }
} as const satisfies Readonly<Record<Reader, Readonly<Record<string, SentenceKey>>>>

/** Removes actions that the reader can't take: only operators can allow networks. */
const forReader = (reader: Reader, { actions, next }: Suggestion): Suggestion => ({
  next,
  actions: reader === "operator" ? actions : actions.filter((action) => action !== "allow")
})

const noMore = ({ last }: Explained): Sentence => say(last === null ? "remedy_nothing" : "remedy_nothing_more")

/** Returns the action `allow` if the last attempt's address was not allowed. */
export const allowActions = ({ last }: Explained): ReadonlyArray<Action> =>
  last?.outcome === "blocked_address" ? ["allow"] : []

/** Suggests how to send an ended delivery, depending on the state of its integration. */
export const suggest = (explained: Explained, reader: Reader): Suggestion => {
  const { integration } = explained
  const own = advice[reader]
  if (integration === null) return { next: [noMore(explained), say("remedy_deleted")], actions: [] }
  const first = allowActions(explained)
  if (integration.status === "enabled") {
    return forReader(reader, {
      next: [noMore(explained), say(own.resend)],
      actions: [...first, "resend", "recover"]
    })
  }
  const { disabled_reason } = integration
  const isByDoorhook = disabled_reason === "gone" || disabled_reason === "failing"
  return forReader(reader, {
    next: [say(`remedy_${disabled_reason ?? "manual"}`), say(isByDoorhook ? own.probe : own.enable)],
    actions: [...first, ...(isByDoorhook ? (["probe"] as const) : []), "enable", "resend", "recover"]
  })
}

/** Suggestion for a delivery that had not ended when its integration was deleted. */
export const suggestForDeleted = (explained: Explained): Suggestion => ({ next: [noMore(explained)], actions: [] })

/** Suggestion for a delivery whose integration's creator no longer has a right to the event. */
export const suggestForRightLost = (explained: Explained, reader: Reader): Suggestion =>
  forReader(reader, { next: [noMore(explained), say(advice[reader].rightBack)], actions: ["resend"] })

/** Suggestion for an expired delivery of an enabled integration. */
export const suggestForExpired = (explained: Explained, reader: Reader): Suggestion =>
  forReader(reader, {
    next: [noMore(explained), say("remedy_too_late"), say(advice[reader].tryLate)],
    actions: [...allowActions(explained), "resend"]
  })
