/**
 * Subscriptions of the events extension of the Model Context Protocol (SEP-3415): integrations that a client made with a
 * secret of its own, and that end unless the client refreshes them.
 */
import { Schema } from "effect"
import type { Event } from "./Event.ts"
import { GrantId } from "./Ids.ts"
import { isoOf } from "./IsoTime.ts"

export const Subscription = Schema.Struct({
  /** The handle that receivers get with each delivery. It follows from the owner and from what was subscribed to. */
  id: Schema.String,
  /** The event type, like `call.create`. */
  name: Schema.String,
  /** The grant of the last refresh. The subscription ends with it. */
  grant_id: GrantId,
  /** When it ends unless it is refreshed, in milliseconds since the epoch. */
  expires_at: Schema.Int,
  /**
   * The cursor at the last refresh. Everything up to it was acknowledged or given up, so the client may continue there at
   * any later time.
   */
  cursor: Schema.String
})
export type Subscription = typeof Subscription.Type

/** Error codes of the extension (section "Error Handling", provisional numbers of its draft). */
export const subscriptionErrors = {
  NotFound: -32_023,
  Forbidden: -32_024,
  ResourceExhausted: -32_025,
  Unsupported: -32_026,
  CallbackEndpointError: -32_027
} as const

/** The error with which a subscription or stream ends that lost its right (section "Subscription Termination"). */
export const accessRevoked = {
  code: subscriptionErrors.Forbidden,
  message: "Forbidden",
  data: { reason: "Access revoked" }
} as const

/** How long a subscription lives without a refresh, in milliseconds (section "Subscription TTL"). */
export const subscriptionLifetimes = { least: 60_000, usual: 3_600_000, most: 24 * 3_600_000 } as const

/**
 * Returns the lifetime that a client gets: what it suggests, within the limits. Without a suggestion, the usual one.
 * Null asks for no end, for which the client gets the longest.
 */
export const lifetimeFor = (suggested: number | null | undefined): number => {
  const { least, most, usual } = subscriptionLifetimes
  return suggested === undefined ? usual : Math.min(most, Math.max(least, suggested ?? most))
}

/** The header with the handle of a subscription (section "Webhook event delivery"). */
export const subscriptionHeader = "x-mcp-subscription-id"

/** Statuses with which a receiver refuses one event for good (sections "Webhook event delivery", "Delivery profile"). */
export const refusedForGood: ReadonlyArray<number | null> = [410, 413]

/** Returns the name of an event type, like `call.create`. */
export const eventNameOf = ({ action, resource_type }: Pick<Event, "resource_type" | "action">): string =>
  `${resource_type}.${action}`

/**
 * Returns an event as subscribers get it (section "Event Occurrences"), with `data` as published or reduced. `more` is
 * added to the members. There is no URL of the event, because those below `/v4` refuse the tokens of MCP clients.
 */
export const occurrenceOf = (
  event: Event,
  more: { readonly cursor?: string; readonly _meta?: Readonly<Record<string, unknown>> } = {}
): string => {
  const { created_at, data, id } = event
  const head = { eventId: id, name: eventNameOf(event), timestamp: isoOf(created_at) }
  const rest = JSON.stringify(more).slice(1, -1)
  return `${JSON.stringify(head).slice(0, -1)},"data":${data}${rest === "" ? "" : `,${rest}`}}`
}

/** Whether a subscription has ended, unless it is refreshed. */
export const hasExpired = ({ expires_at }: Subscription, now: number): boolean => expires_at <= now
