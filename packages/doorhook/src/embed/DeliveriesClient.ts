/**
 * What was not delivered, why, and sending it again.
 */
import { deliveryStates, Explanation } from "@doorhook/core"
import { Predicate, Schema } from "effect"
import { badArgument, idInPath, queryOf } from "./Arguments.ts"
import type { OperatorCalls } from "./OperatorCalls.ts"

/** What every answer says of a delivery. Times are ISO 8601 UTC. */
const DeliveryFields = {
  id: Schema.String,
  event_id: Schema.String,
  integration_id: Schema.String,
  /** `pending`, `delivering`, `retrying`; and at its end `delivered`, `exhausted`, `expired`, `cancelled` or `skipped`. */
  state: Schema.String,
  /** Why it ended without being acknowledged, or was never begun. */
  reason: Schema.NullOr(Schema.String),
  /** How many were made. */
  attempts: Schema.Finite,
  /** When it is sent next; null when nothing is to come. */
  next_attempt_at: Schema.NullOr(Schema.String),
  created_at: Schema.String
}

/** How an attempt ended. */
const AttemptFields = {
  /** From 1. */
  number: Schema.Finite,
  started_at: Schema.String,
  duration_ms: Schema.Finite,
  /** `acknowledged`, `bad_status`, `timeout`, `connection_refused` and others. */
  outcome: Schema.String,
  /** The status of the answer; null when there was none. */
  status: Schema.NullOr(Schema.Finite),
  /** What went wrong, in words, where there is more to say than the outcome. */
  detail: Schema.NullOr(Schema.String)
}

/** A delivery in a list. */
const DeliverySummary = Schema.Struct({
  ...DeliveryFields,
  /** The last attempt; null before the first. */
  last_attempt: Schema.NullOr(Schema.Struct(AttemptFields))
})
export type DeliverySummary = typeof DeliverySummary.Type

/** One request that was made to a receiver. */
const DeliveryAttempt = Schema.Struct({
  ...AttemptFields,
  /** Up to 16 KiB of the answer's body; null when there was none. */
  response_excerpt: Schema.NullOr(Schema.String),
  /** How it ended, in plain words. */
  explanation: Schema.String
})
export type DeliveryAttempt = typeof DeliveryAttempt.Type

/** A delivery with all its attempts. */
const DeliveryDetail = Schema.Struct({
  ...DeliveryFields,
  /** Why it ended or what it waits for, and what comes next or can be done, in plain words. */
  explanation: Schema.Struct({
    why: Schema.String,
    next: Schema.String,
    /** What can be done, in the order in which it helps. */
    actions: Schema.Array(Schema.Literals(Explanation.actions))
  }),
  attempts: Schema.Array(DeliveryAttempt)
})
export type DeliveryDetail = typeof DeliveryDetail.Type

const DeliveryPage = Schema.Struct({ deliveries: Schema.Array(DeliverySummary), next: Schema.NullOr(Schema.String) })
export type DeliveryPage = typeof DeliveryPage.Type

const DeliveryCounts = Schema.Struct({
  /** How many events there are. */
  events: Schema.Finite,
  /** How many deliveries there are in each state. */
  deliveries: Schema.Record(Schema.Literals(deliveryStates), Schema.Finite),
  /** When the delivery that has waited longest became due; null when none is due. */
  oldest_due_at: Schema.NullOr(Schema.String)
})
export type DeliveryCounts = typeof DeliveryCounts.Type

const Resent = Schema.Struct({ id: Schema.String })
const Recovered = Schema.Struct({ deliveries: Schema.Finite })

/** Which deliveries to list. */
export interface DeliveryListOptions {
  /** `exhausted` and the others, as in a `DeliverySummary`; several in a list, or with commas between them. */
  readonly state?: string | ReadonlyArray<string> | undefined
  readonly integration_id?: string | undefined
  readonly event_id?: string | undefined
  /** Which comes first; default `oldest`. */
  readonly order?: "oldest" | "newest" | undefined
  /** The `next` of an earlier answer. Its null says that the list has ended: given here, it is refused. */
  readonly after?: string | null | undefined
  /** 1 to 1,000; default 100. */
  readonly limit?: number | undefined
}

/** A time: a `Date`, or ISO 8601. */
type Since = Date | string

/** Each call rejects with a `DoorhookError`: `not_found` for an id that there is not, `invalid_parameter` for an option that is wrong, `bad_request` for what is no id or no time at all. */
export interface DeliveriesClient {
  readonly list: (options?: DeliveryListOptions) => Promise<DeliveryPage>
  /** One delivery with all its attempts. */
  readonly show: (id: string) => Promise<DeliveryDetail>
  /**
   * Sends a delivery again at once, as its next attempt. Rejects with `integration_disabled` or `integration_deleted` when there is
   * nowhere to send it.
   */
  readonly resend: (id: string) => Promise<void>
  /**
   * Sends all that an integration has not acknowledged since a time: what has ended, and what waits for a retry. Says how many.
   * Rejects as `resend`.
   */
  readonly recover: (
    integrationId: string,
    since: Since | { readonly since: Since }
  ) => Promise<{ readonly deliveries: number }>
  /** How many there are in each state. */
  readonly summary: () => Promise<DeliveryCounts>
}

/** The time in ISO 8601, which the API reads; given by itself or as a member, as the API has it. */
const timeIn = (given: unknown): string => {
  const since: unknown = Predicate.isObject(given) && !Predicate.isDate(given) ? given["since"] : given
  if (Predicate.isString(since)) return since
  if (Predicate.isDate(since) && !Number.isNaN(since.getTime())) return since.toISOString()
  throw badArgument("since", 'a Date, or a time in ISO 8601 like "2026-03-02T00:00:00Z"', since)
}

const deliveryOf = (id: string): string => `/operator/deliveries/${idInPath(id, 'the id of a delivery, like "dlv_42"')}`

export const makeDeliveriesClient = ({ read }: OperatorCalls): DeliveriesClient => ({
  list: async (options) => read(DeliveryPage, "GET", `/operator/deliveries${queryOf(options)}`),
  show: async (id) => read(DeliveryDetail, "GET", deliveryOf(id)),
  resend: async (id) => {
    await read(Resent, "POST", `${deliveryOf(id)}/resend`)
  },
  recover: async (id, since) => {
    const integration = idInPath(id, 'the id of an integration, like "12"')
    return read(Recovered, "POST", `/operator/integrations/${integration}/recover`, { since: timeIn(since) })
  },
  summary: () => read(DeliveryCounts, "GET", "/operator/summary")
})
