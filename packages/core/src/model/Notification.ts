/**
 * Notifications for operators about integrations and the service: nothing stops silently.
 */
import { Schema } from "effect"
import * as DurationText from "./DurationText.ts"
import type { NotificationId } from "./Ids.ts"
import { IntegrationId } from "./Ids.ts"
import { DisabledReason, Scope, scopeText } from "./Integration.ts"

const minute = 60_000

const about = {
  integration_id: IntegrationId,
  /** Whose integration it is. */
  scope: Scope,
  at: Schema.Int
}

/** About one integration, before the store has given it an id. Times in milliseconds since the epoch. */
export const IntegrationNotification = Schema.Union([
  /**
   * A warning: nothing was acknowledged for a while. Unless something is, a failed attempt disables the integration, at
   * `disables_at` at the earliest, and not before the tenth (`leastFailedAttempts`).
   */
  Schema.Struct({ kind: Schema.Literal("failing"), ...about, failing_since: Schema.Int, disables_at: Schema.Int }),
  /** doorhook disabled it: its receiver answered 410, or acknowledged nothing for too long. */
  Schema.Struct({ kind: Schema.Literal("disabled"), ...about, reason: DisabledReason }),
  /** It acknowledges again: after a notification that it fails, or after it was disabled and probed. */
  Schema.Struct({ kind: Schema.Literal("recovered"), ...about, failing_since: Schema.NullOr(Schema.Int) }),
  /** Some deliveries were given up, because their schedules are used up. */
  Schema.Struct({ kind: Schema.Literal("exhausted"), ...about, deliveries: Schema.Int })
])
export type IntegrationNotification = typeof IntegrationNotification.Type

/** A notification before the store has given it an id. */
export const NewNotification = Schema.Union([
  ...IntegrationNotification.members,
  /** The clock jumped ahead: nothing is deleted for its age for 24 hours. */
  Schema.Struct({
    kind: Schema.Literal("retention_paused"),
    integration_id: Schema.Null,
    scope: Schema.Null,
    at: Schema.Int,
    /** How far the clock jumped, in milliseconds. */
    ahead_ms: Schema.Int,
    /** The end of the pause, by the clock that jumped: it may be wrong. */
    until: Schema.Int
  })
])
export type NewNotification = typeof NewNotification.Type

export const notificationKinds = ["failing", "disabled", "recovered", "exhausted", "retention_paused"] as const
export type NotificationKind = (typeof notificationKinds)[number]

/** A notification as it is kept, numbered in the order of writing. */
export type Notification<Kind extends NewNotification = NewNotification> = Kind & { readonly id: NotificationId }

/** What a process knows of an integration that it has sent to. */
export interface LastAttemptSummary {
  /** The host of its URL; the rest is left out, because it may hold the receiver's secrets. */
  readonly host: string
  /** How the last attempt ended, in words; empty when it was acknowledged. */
  readonly last: string
}

/** A notification in one line, for a log. */
export const notificationText = (
  notification: NewNotification,
  formatTime: (millis: number) => string,
  seen?: LastAttemptSummary
): string => {
  if (notification.kind === "retention_paused") {
    return `The clock of this machine jumped ahead by ${DurationText.format(Math.round(notification.ahead_ms / minute) * minute)}: nothing is deleted for its age for 24 hours. Check the clock. If the clock is correct, or the machine was suspended, there is nothing to do.`
  }
  const where = seen === undefined ? "" : ` (${seen.host})`
  const who = `Integration ${notification.integration_id}${where} of ${scopeText(notification.scope)}`
  const what = whatOf(notification, who, formatTime)
  return seen === undefined || seen.last === "" ? what : `${what} Last: ${seen.last}`
}

const whatOf = (notification: IntegrationNotification, who: string, formatTime: (millis: number) => string): string => {
  switch (notification.kind) {
    case "failing":
      return `${who} has acknowledged nothing since ${formatTime(notification.failing_since)}; unless it does, a failed attempt disables it: at ${formatTime(notification.disables_at)} at the earliest, and not before the tenth.`
    case "disabled":
      return notification.reason === "gone"
        ? `${who} is disabled: its receiver answered 410 Gone.`
        : `${who} is disabled: its receiver acknowledged nothing for too long. Enable it, or probe it, when the receiver works.`
    case "recovered":
      return `${who} acknowledges again.`
    case "exhausted":
      return `${who}: ${notification.deliveries} ${notification.deliveries === 1 ? "delivery was" : "deliveries were"} given up, because the retry schedule is used up. ${notification.deliveries === 1 ? "It" : "They"} can be sent again (resend, recover).`
  }
}
