/**
 * Notifications to operators about integrations and the service.
 */
import { Schema } from "effect"
import * as DurationText from "./DurationText.ts"
import type { NotificationId } from "./Ids.ts"
import { IntegrationId } from "./Ids.ts"
import { DisabledReason, Scope, scopeText } from "./Integration.ts"

const minute = 60_000

const about = {
  integration_id: IntegrationId,
  /** The building or tenant of the integration. */
  scope: Scope,
  at: Schema.Int
}

/**
 * A notification about an integration, before the store has assigned an id. Times are in milliseconds since the epoch.
 */
export const IntegrationNotification = Schema.Union([
  /**
   * A warning that nothing has been acknowledged for some time. Without an acknowledgement, the first failed attempt
   * after `disables_at` disables the integration, but not before the tenth failed attempt (`leastFailedAttempts`).
   */
  Schema.Struct({ kind: Schema.Literal("failing"), ...about, failing_since: Schema.Int, disables_at: Schema.Int }),
  /** doorhook disabled the integration: its receiver answered 410, or acknowledged nothing for too long. */
  Schema.Struct({ kind: Schema.Literal("disabled"), ...about, reason: DisabledReason }),
  /** The integration acknowledges again, after a `failing` notification or a probe. */
  Schema.Struct({ kind: Schema.Literal("recovered"), ...about, failing_since: Schema.NullOr(Schema.Int) }),
  /** Deliveries were given up because their retry schedule is used up. */
  Schema.Struct({ kind: Schema.Literal("exhausted"), ...about, deliveries: Schema.Int })
])
export type IntegrationNotification = typeof IntegrationNotification.Type

/** A notification before the store has assigned an id. */
export const NewNotification = Schema.Union([
  ...IntegrationNotification.members,
  /** The clock jumped ahead: nothing is deleted by age for 24 hours. */
  Schema.Struct({
    kind: Schema.Literal("retention_paused"),
    integration_id: Schema.Null,
    scope: Schema.Null,
    at: Schema.Int,
    /** How far the clock jumped, in milliseconds. */
    ahead_ms: Schema.Int,
    /** End of the pause. It may be wrong, because it is a time of the clock that jumped. */
    until: Schema.Int
  }),
  /** The clocks of a machine and of the database server differ by more than five seconds. */
  Schema.Struct({
    kind: Schema.Literal("clock_offset"),
    integration_id: Schema.Null,
    scope: Schema.Null,
    at: Schema.Int,
    machine: Schema.String,
    /** How far the machine's clock is ahead, in milliseconds; negative if it is behind. */
    ahead_ms: Schema.Int
  })
])
export type NewNotification = typeof NewNotification.Type

export const notificationKinds = [
  "failing",
  "disabled",
  "recovered",
  "exhausted",
  "retention_paused",
  "clock_offset"
] as const
export type NotificationKind = (typeof notificationKinds)[number]

/** A stored notification. Ids are in storage order. */
export type Notification<Kind extends NewNotification = NewNotification> = Kind & { readonly id: NotificationId }

/** Summary of an integration's last attempt in this process. */
export interface LastAttemptSummary {
  /** The host of the integration's URL. The rest of the URL may contain secrets. */
  readonly host: string
  /** The failure of the last attempt, in words; empty if it was acknowledged. */
  readonly last: string
}

/** Returns how far a clock is ahead of another, in words: `5m ahead of`, `3s behind`. */
export const aheadText = (ahead_ms: number): string =>
  `${DurationText.format(Math.round(Math.abs(ahead_ms) / 1_000) * 1_000)} ${ahead_ms > 0 ? "ahead of" : "behind"}`

/** Returns a notification as one log line. */
export const notificationText = (
  notification: NewNotification,
  formatTime: (millis: number) => string,
  seen?: LastAttemptSummary
): string => {
  if (notification.kind === "retention_paused") {
    return `The clock of this machine jumped ahead by ${DurationText.format(Math.round(notification.ahead_ms / minute) * minute)}: nothing is deleted by age for 24 hours. Check the clock. If the clock is correct, or the machine was suspended, there is nothing to do.`
  }
  if (notification.kind === "clock_offset") {
    const { ahead_ms, machine } = notification
    return `The clock of ${machine} is ${aheadText(ahead_ms)} the database server's. Deliveries follow the database server's clock. Check which of the two is wrong, and synchronize both (NTP).`
  }
  const where = seen === undefined ? "" : ` (${seen.host})`
  const who = `Integration ${notification.integration_id}${where} of ${scopeText(notification.scope)}`
  const what = whatOf(notification, who, formatTime)
  return seen === undefined || seen.last === "" ? what : `${what} Last: ${seen.last}`
}

const whatOf = (notification: IntegrationNotification, who: string, formatTime: (millis: number) => string): string => {
  switch (notification.kind) {
    case "failing":
      return `${who} has acknowledged nothing since ${formatTime(notification.failing_since)}. Unless it acknowledges, it is disabled by the first failed attempt after ${formatTime(notification.disables_at)}, but not before the tenth failed attempt.`
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
