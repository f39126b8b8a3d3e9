/**
 * Why a delivery stands as it does, in plain words, and what can be done: the one place where a delivery's state
 * and reason become sentences. Commands, the operator API and whatever shows deliveries to people say these.
 */
import * as DurationText from "../domain/DurationText.ts"
import type { Delivery } from "../domain/Delivery.ts"
import type { Integration } from "../domain/Integration.ts"
import { isoOf } from "../domain/IsoTime.ts"
import type { ExplainedAttempt } from "./AttemptExplanation.ts"
import { explainAttempt } from "./AttemptExplanation.ts"
import { maxRetryAfter } from "./RetryPolicy.ts"
import { goneStatus, heedsRetryAfter } from "./Settling.ts"

export { explainAttempt }
export type { ExplainedAttempt }

/** What is known of a delivery. */
export interface Explained {
  readonly delivery: Pick<Delivery, "state" | "reason" | "attempts" | "next_attempt_at">
  /** Its last attempt; null before the first. */
  readonly last: ExplainedAttempt | null
  /** Its integration as it is now; null when it was deleted. */
  readonly integration: Pick<Integration, "status" | "disabled_reason"> | null
  /** When its event became too old to be worth an attempt, in milliseconds since the epoch, where that is known. */
  readonly lifetime_over_at?: number | null
}

const disabledWords = {
  manual: "by hand",
  gone: "because its receiver answered 410 Gone",
  failing: "because its receiver had acknowledged nothing for too long"
} as const

/**
 * What somebody who runs the service can do about a delivery, as the operator API names it: allow the integration its
 * network, probe it with one delivery, enable it, send the delivery again, or recover all of the integration since then.
 */
export const actions = ["allow", "probe", "enable", "resend", "recover"] as const
export type Action = (typeof actions)[number]

/** Why a delivery stands as it does, and what comes next or can be done: a sentence or more each. */
export interface Explanation {
  readonly why: string
  readonly next: string
  /** What can be done, in the order in which it helps. */
  readonly actions: ReadonlyArray<Action>
}

type Next = Pick<Explanation, "next" | "actions">

/** Nothing is sent by itself any more; what was never sent is not sent again. */
const noMore = (last: Explained["last"]): string => (last === null ? "Nothing is sent" : "Nothing more is sent")

/** An address that is not allowed stays so until somebody allows it. */
const first = ({ last }: Explained): ReadonlyArray<Action> => (last?.outcome === "blocked_address" ? ["allow"] : [])

/** What stands in the way of sending, and how to. */
const remedy = (explained: Explained): Next => {
  const { integration, last } = explained
  if (integration === null) return { next: `${noMore(last)}: the integration was deleted.`, actions: [] }
  if (integration.status === "enabled") {
    return {
      next: `${noMore(last)} unless it is asked for: resend this delivery, or recover all of the integration since a time.`,
      actions: [...first(explained), "resend", "recover"]
    }
  }
  const { disabled_reason } = integration
  const by = disabledWords[disabled_reason ?? "manual"]
  const isOurs = disabled_reason === "gone" || disabled_reason === "failing"
  return {
    next: `The integration is disabled, ${by}. ${isOurs ? "Probe it with one delivery, which enables it when that is acknowledged, or enable it" : "Enable it"}, then resend this delivery or recover all since a time.`,
    actions: [...first(explained), ...(isOurs ? (["probe"] as const) : []), "enable", "resend", "recover"]
  }
}

const cancelled = (explained: Explained): Explanation => {
  const { delivery, last } = explained
  const next = remedy(explained)
  switch (delivery.reason) {
    case "integration_gone":
      return last?.status === goneStatus
        ? { why: `The receiver answered 410 Gone at ${isoOf(last.started_at)}: the integration was disabled.`, ...next }
        : {
            why: join(
              last === null ? "" : explainAttempt(last),
              "Then the receiver answered another delivery with 410 Gone: the integration was disabled."
            ),
            ...next
          }
    case "integration_deleted":
      return {
        why: "The integration was deleted before this was acknowledged.",
        next: `${noMore(last)}.`,
        actions: []
      }
    case "right_lost":
      return {
        why: "The user who made the integration has no right to these events any more, so this was not sent.",
        next: `${noMore(last)}. When the right is back, resend this delivery.`,
        actions: ["resend"]
      }
    default:
      return {
        why: join(
          last === null ? "" : explainAttempt(last),
          "The integration was disabled before this was acknowledged."
        ),
        ...next
      }
  }
}

const join = (...sentences: ReadonlyArray<string>): string => sentences.filter((sentence) => sentence !== "").join(" ")

const times = (count: number): string => (count === 1 ? "once" : `${count} times`)

/** When the next attempt is due, and how long after an answer that asked for patience. */
const retryText = ({ delivery, last }: Explained, due: string): string => {
  const attempt = `Attempt ${delivery.attempts + 1} is due ${due}`
  if (last === null || last.detail === null || delivery.next_attempt_at === null || !heedsRetryAfter(last.status)) {
    return `${attempt}.`
  }
  const wait = Math.max(0, delivery.next_attempt_at - last.started_at - last.duration_ms)
  const seconds = DurationText.format(Math.round(wait / 1_000) * 1_000)
  return `${attempt}, ${seconds} after that answer: its Retry-After is heeded, for up to ${DurationText.format(maxRetryAfter)}.`
}

/** Nothing is sent by itself so late, and nothing need be; whether the receiver works by now can be tried all the same. */
const expired = (explained: Explained): Explanation => {
  const { delivery, integration, last, lifetime_over_at = null } = explained
  const end = lifetime_over_at === null ? "" : ` at ${isoOf(lifetime_over_at)}`
  const why =
    last === null
      ? `Its lifetime ended${end}, before an attempt could be made.`
      : join(
          explainAttempt(last),
          `It was tried ${times(delivery.attempts)}, and no attempt is left before its lifetime ends${end}.`
        )
  if (integration?.status !== "enabled") return { why, ...remedy(explained) }
  return {
    why,
    next: `${noMore(last)}: so late a call would ring for nobody. To see whether the receiver takes it by now, resend it.`,
    actions: [...first(explained), "resend"]
  }
}

/** Why a delivery ended, or what it waits for, and what can be done. */
export const explain = (explained: Explained): Explanation => {
  const { delivery, last } = explained
  const due = delivery.next_attempt_at === null ? "soon" : `at ${isoOf(delivery.next_attempt_at)}`
  const ending = last === null ? "" : explainAttempt(last)
  switch (delivery.state) {
    case "pending":
      return last === null
        ? { why: "It is stored and was not sent yet.", next: `Its first attempt is due ${due}.`, actions: [] }
        : {
            why: join(ending, "It is to be sent again."),
            next: `Attempt ${delivery.attempts + 1} is due ${due}.`,
            actions: []
          }
    case "delivering":
      return {
        why: join(ending, "An attempt is under way."),
        next: `If nothing is heard of it, another is made ${due}.`,
        actions: []
      }
    case "retrying":
      return { why: ending, next: retryText(explained, due), actions: [...first(explained), "resend"] }
    case "delivered":
      return { why: ending, next: "Nothing: it has arrived.", actions: [] }
    case "exhausted":
      return {
        why: join(ending, `It was tried ${times(delivery.attempts)}, and the schedule has no more attempts.`),
        ...remedy(explained)
      }
    case "expired":
      return expired(explained)
    case "skipped":
      return { why: "The integration was disabled when the event came, so nothing was sent.", ...remedy(explained) }
    case "cancelled":
      return cancelled(explained)
  }
}
