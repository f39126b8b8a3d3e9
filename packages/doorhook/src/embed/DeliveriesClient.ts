/**
 * What was not delivered, why, and sending it again.
 */
import { AttemptOutcome, deliveryStates, DeliveryState, Explanation } from "@doorhook/core"
import { Predicate, Schema } from "effect"
import { badArgument, idInPath, queryOf } from "./Arguments.ts"
import type { OperatorCalls } from "./OperatorCalls.ts"

/** What every answer contains about a delivery. Times are ISO 8601 UTC. */
const Delivery = Schema.Struct({
  /** Like `dlv_42`. */
  id: Schema.String,
  /** The event, like `evt_...`: the `webhook-id` of its requests. */
  event_id: Schema.String,
  /** The integration that it goes to. */
  integration_id: Schema.String,
  /** `pending`, `delivering` or `retrying`; finally `delivered`, `exhausted`, `expired`, `cancelled` or `skipped`. */
  state: DeliveryState,
  /** Why it ended without being acknowledged, or was never attempted; null otherwise. */
  reason: Schema.NullOr(Schema.String),
  /** Number of attempts so far. */
  attempts: Schema.Finite,
  /** When it is sent next; null when no attempt is due. */
  next_attempt_at: Schema.NullOr(Schema.String),
  /** When the event was published. */
  created_at: Schema.String
})

/** How an attempt ended. */
const Attempt = Schema.Struct({
  /** From 1. */
  number: Schema.Finite,
  /** When the request began. */
  started_at: Schema.String,
  /** How long it took, in milliseconds. */
  duration_ms: Schema.Finite,
  /** `acknowledged`, or how it failed: `bad_status`, `timeout`, `connection_refused` and others. */
  outcome: AttemptOutcome,
  /** HTTP status of the response; null without one. */
  status: Schema.NullOr(Schema.Finite),
  /** What went wrong, in words, where the outcome alone does not say it. */
  detail: Schema.NullOr(Schema.String)
})

const SummaryDocument = Schema.Struct({ ...Delivery.fields, last_attempt: Schema.NullOr(Attempt) })

/** A delivery in a list. */
export interface DeliverySummary extends Schema.Schema.Type<typeof Delivery> {
  /** The last attempt; null before the first. */
  readonly last_attempt: typeof Attempt.Type | null
}

const AttemptDocument = Schema.Struct({
  ...Attempt.fields,
  response_excerpt: Schema.NullOr(Schema.String),
  explanation: Schema.String
})

/** One request to a receiver. */
export interface DeliveryAttempt extends Schema.Schema.Type<typeof Attempt> {
  /** Up to 16 KiB of the response's body; null without one. */
  readonly response_excerpt: string | null
  /** How it ended, in plain words. */
  readonly explanation: string
}

const DeliveryExplanation = Schema.Struct({
  /** Why it ended or what it waits for, in plain words. */
  why: Schema.String,
  /** What happens next, or that nothing does. */
  next: Schema.String,
  /** What can be done, in the order in which it helps. */
  actions: Schema.Array(Schema.Literals(Explanation.actions))
})

const DetailDocument = Schema.Struct({
  ...Delivery.fields,
  explanation: DeliveryExplanation,
  attempts: Schema.Array(AttemptDocument)
})

/** A delivery with all its attempts. */
export interface DeliveryDetail extends Omit<Schema.Schema.Type<typeof Delivery>, "attempts"> {
  /** Why it ended or what it waits for, and what comes next or can be done. */
  readonly explanation: typeof DeliveryExplanation.Type
  /** Its attempts, oldest first. */
  readonly attempts: ReadonlyArray<DeliveryAttempt>
}

const PageDocument = Schema.Struct({ deliveries: Schema.Array(SummaryDocument), next: Schema.NullOr(Schema.String) })

/** A page of deliveries. */
export interface DeliveryPage {
  /** The deliveries, in the order that was asked for. */
  readonly deliveries: ReadonlyArray<DeliverySummary>
  /** `after` of the next page; null on the last. */
  readonly next: string | null
}

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

/** A state, or any string: editors complete the states. */
type ListedState = DeliveryState | (string & Record<never, never>)

/** Which deliveries to list. */
export interface DeliveryListOptions {
  /** Only those in this state; several as a list, or as one string with commas. Default: all states. */
  readonly state?: ListedState | ReadonlyArray<ListedState> | undefined
  /** Only those of this integration. */
  readonly integration_id?: string | number | undefined
  /** Only those of this event. */
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

/** The time as a member, as the operator API has it. */
interface SinceOptions {
  /** The time. */
  readonly since: Since
}

/** Each call rejects with a `DoorhookError`: `not_found` for an id that there is not, `invalid_parameter` for an option that is wrong, `bad_request` for what is no id or no time at all. */
export interface DeliveriesClient {
  /** A page of deliveries, the oldest first unless `order` says otherwise. */
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
    integrationId: string | number,
    since: Since | SinceOptions
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
  list: async (options) => read(PageDocument, "GET", `/operator/deliveries${queryOf(options)}`),
  show: async (id) => read(DetailDocument, "GET", deliveryOf(id)),
  resend: async (id) => {
    await read(Resent, "POST", `${deliveryOf(id)}/resend`)
  },
  recover: async (id, since) => {
    const integration = idInPath(id, 'the id of an integration, like "12"')
    return read(Recovered, "POST", `/operator/integrations/${integration}/recover`, { since: timeIn(since) })
  },
  summary: () => read(DeliveryCounts, "GET", "/operator/summary")
})
