/**
 * Why a delivery stands as it does, in plain words, and what can be done: the one place where a delivery's state
 * and reason become sentences. Commands, the operator API and the pages show these, each to its own reader.
 */
import * as DurationText from "../model/DurationText.ts"
import { isoOf } from "../model/IsoTime.ts"
import type { Reader } from "./AttemptExplanation.ts"
import { explainAttempt } from "./AttemptExplanation.ts"
import type { Explained, Suggestion } from "./SuggestedActions.ts"
import * as Remedies from "./SuggestedActions.ts"
import { maxRetryAfter } from "../model/RetryPolicy.ts"
import { goneStatus, respectsRetryAfter } from "./Settlements.ts"

export type { ExplainedAttempt, Reader } from "./AttemptExplanation.ts"
export type { Action, Explained } from "./SuggestedActions.ts"
export { actions } from "./SuggestedActions.ts"
export { explainAttempt }

/** Why a delivery stands as it does, and what comes next or can be done: a sentence or more each. */
export interface Explanation extends Suggestion {
  readonly why: string
}

const cancelled = (explained: Explained, reader: Reader): Explanation => {
  const { delivery, last } = explained
  const next = Remedies.suggest(explained, reader)
  switch (delivery.reason) {
    case "integration_gone":
      return last?.status === goneStatus
        ? { why: `The receiver answered 410 Gone at ${isoOf(last.started_at)}: the integration was disabled.`, ...next }
        : {
            why: join(
              last === null ? "" : explainAttempt(last, reader),
              "The receiver answered another delivery with 410 Gone, for which the integration was disabled."
            ),
            ...next
          }
    case "integration_deleted":
      return {
        why: "The integration was deleted before this was acknowledged.",
        ...Remedies.suggestForDeleted(explained)
      }
    case "right_lost":
      return {
        why: "The user who made the integration has no right to these events any more, so this was not sent.",
        ...Remedies.suggestForRightLost(explained, reader)
      }
    default:
      return {
        why: join(
          last === null ? "" : explainAttempt(last, reader),
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
  if (last === null || last.detail === null || delivery.next_attempt_at === null || !respectsRetryAfter(last.status)) {
    return `${attempt}.`
  }
  const wait = Math.max(0, delivery.next_attempt_at - last.started_at - last.duration_ms)
  const seconds = DurationText.format(Math.round(wait / 1_000) * 1_000)
  return `${attempt}, ${seconds} after that answer: its Retry-After is respected, for up to ${DurationText.format(maxRetryAfter)}.`
}

/** Nothing is sent by itself so late, and nothing need be; whether the receiver works by now can be tried all the same. */
const expired = (explained: Explained, reader: Reader): Explanation => {
  const { delivery, integration, last, lifetime_over_at = null } = explained
  const end = lifetime_over_at === null ? "" : ` at ${isoOf(lifetime_over_at)}`
  const why =
    last === null
      ? `Its lifetime ended${end}, before an attempt could be made.`
      : join(
          explainAttempt(last, reader),
          `It was tried ${times(delivery.attempts)}, and no attempt is left before its lifetime ends${end}.`
        )
  const isEnabled = integration?.status === "enabled"
  return { why, ...(isEnabled ? Remedies.suggestForExpired(explained, reader) : Remedies.suggest(explained, reader)) }
}

/** Why a delivery ended, or what it waits for, and what its reader can do. */
export const explain = (explained: Explained, reader: Reader = "operator"): Explanation => {
  const { delivery, last } = explained
  const due = delivery.next_attempt_at === null ? "soon" : `at ${isoOf(delivery.next_attempt_at)}`
  const ending = last === null ? "" : explainAttempt(last, reader)
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
        next: "If its process ends before the outcome is recorded, another attempt is made.",
        actions: []
      }
    case "retrying":
      return {
        why: ending,
        next: retryText(explained, due),
        actions: reader === "operator" ? [...Remedies.allowActions(explained), "resend"] : ["resend"]
      }
    case "delivered":
      return { why: ending, next: "Nothing: it has arrived.", actions: [] }
    case "exhausted":
      return {
        why: join(ending, `It was tried ${times(delivery.attempts)}, and the schedule has no more attempts.`),
        ...Remedies.suggest(explained, reader)
      }
    case "expired":
      return expired(explained, reader)
    case "skipped":
      return {
        why:
          delivery.reason === "integration_unreadable"
            ? "Which events the integration gets could not be read from the database when the event came, so nothing was sent."
            : "The integration was disabled when the event came, so nothing was sent.",
        ...Remedies.suggest(explained, reader)
      }
    case "cancelled":
      return cancelled(explained, reader)
  }
}
