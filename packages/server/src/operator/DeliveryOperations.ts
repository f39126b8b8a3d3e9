/**
 * Operations on deliveries: list, explain, resend and recover. Ids are written `dlv_42`, and times are ISO 8601 UTC.
 */
import {
  AttemptOutcome,
  Deliveries,
  DeliveryState,
  deliveryStates,
  english,
  EventId,
  Explanation,
  formatDeliveryId,
  InvalidInput,
  isoOf,
  isSearch,
  parseDeliveryId,
  parseIso,
  storeTime
} from "@doorhook/core"
import type {
  Delivery,
  DeliveryFilter,
  DeliverySummary,
  DeliveryWithAttempts,
  IntegrationSearch,
  ListedDelivery,
  Problem
} from "@doorhook/core"
import { Effect, Exit, Option, Predicate, Schema } from "effect"
import type { QueryParameters, Read } from "../http/Query.ts"
import {
  all,
  integrationIdIn,
  pageOf,
  pathId,
  readAfter,
  readChoices,
  readIntegrationId,
  readLimit,
  readOrder,
  readParameter,
  readSearch,
  searchParameters
} from "../http/Query.ts"
import type { Params } from "../http/Route.ts"
import type { OperatorRequest } from "./Operation.ts"
import { handler, operation, readBody } from "./Operation.ts"

/** Members that all documents about a delivery have. */
const Common = Schema.Struct({
  /** The delivery's id, like `dlv_42`. */
  id: Schema.String,
  /** The event's id, like `evt_...`. Requests carry it as `webhook-id`. */
  event_id: Schema.String,
  /** The receiving integration. */
  integration_id: Schema.String,
  /** `pending`, `delivering` or `retrying`; finally `delivered`, `exhausted`, `expired`, `cancelled` or `skipped`. */
  state: DeliveryState,
  /** Why the delivery ended without an acknowledgement or was never attempted; null otherwise. */
  reason: Schema.NullOr(Schema.String),
  /** When the next attempt is due; null if none is planned. */
  next_attempt_at: Schema.NullOr(Schema.String),
  /** When the event was published. */
  created_at: Schema.String
})

/** The result of an attempt. */
const Attempt = Schema.Struct({
  /** The number of the attempt, starting at 1. */
  number: Schema.Finite,
  /** When the request began. */
  started_at: Schema.String,
  /** Duration of the attempt, in milliseconds. */
  duration_ms: Schema.Finite,
  /** `acknowledged`, or the kind of failure: `bad_status`, `timeout`, `connection_refused` and others. */
  outcome: AttemptOutcome,
  /** HTTP status of the response; null without a response. */
  status: Schema.NullOr(Schema.Finite),
  /** Further details of the failure, in words; null if the outcome says it all. */
  detail: Schema.NullOr(Schema.String)
})

/** A delivery in a list. */
const ListedDocument = Schema.Struct({
  ...Common.fields,
  /** Number of attempts so far. */
  attempts: Schema.Finite,
  /** The last attempt; null before the first attempt. */
  last_attempt: Schema.NullOr(Attempt)
})
export type DeliveryDocument = typeof ListedDocument.Type

/** One attempt, with the response and an explanation. */
const AttemptSchema = Schema.Struct({
  ...Attempt.fields,
  /** Up to 16 KiB of the response's body; null without a response. */
  response_excerpt: Schema.NullOr(Schema.String),
  /** Explains the outcome, in words. */
  explanation: Schema.String
})
export type AttemptDocument = typeof AttemptSchema.Type

/** Explains the state of a delivery. */
const DeliveryExplanation = Schema.Struct({
  /** Why the delivery ended, or what it is waiting for, in words. */
  why: Schema.String,
  /** What happens next, in words; empty if nothing does. */
  next: Schema.String,
  /** Suggested actions, most useful first. */
  actions: Schema.Array(Schema.Literals(Explanation.actions))
})

/** A delivery with all its attempts. */
const DetailDocument = Schema.Struct({
  ...Common.fields,
  /** Why the delivery ended or what it is waiting for, what happens next, and what you can do. */
  explanation: DeliveryExplanation,
  /** The attempts, oldest first. */
  attempts: Schema.Array(AttemptSchema)
})
export type DeliveryDetailDocument = typeof DetailDocument.Type

/** A page of deliveries. */
const PageDocument = Schema.Struct({
  /** The deliveries, in the requested order. */
  deliveries: Schema.Array(ListedDocument),
  /** The `after` of the next page; null on the last page. */
  next: Schema.NullOr(Schema.String)
})
export type DeliveryPageDocument = typeof PageDocument.Type

/** The number of stored events, and of deliveries by state. */
export const DeliveryCountsDocument = Schema.Struct({
  /** Number of events. */
  events: Schema.Finite,
  /** Number of deliveries in each state. */
  deliveries: Schema.Record(Schema.Literals(deliveryStates), Schema.Finite),
  /** When the oldest due delivery became due; null if none is due. */
  oldest_due_at: Schema.NullOr(Schema.String)
})
export type DeliveryCountsDocument = typeof DeliveryCountsDocument.Type

/** Largest body of a recover request, in bytes. */
const maxRecoverBytes = 4 * 1024

export const deliveryOperations = {
  list: operation("deliveries.list", "GET", "/operator/deliveries", PageDocument, {
    query: ["state", "integration_id", "event_id", ...searchParameters, "order", "after", "limit"]
  }),
  summary: operation("deliveries.summary", "GET", "/operator/summary", DeliveryCountsDocument),
  show: operation("deliveries.show", "GET", "/operator/deliveries/:id", DetailDocument),
  resend: operation(
    "deliveries.resend",
    "POST",
    "/operator/deliveries/:id/resend",
    Schema.Struct({ id: Schema.String }),
    { status: 202 }
  ),
  recover: operation(
    "deliveries.recover",
    "POST",
    "/operator/integrations/:id/recover",
    Schema.Struct({ deliveries: Schema.Finite }),
    { bodyLimit: maxRecoverBytes, status: 202 }
  )
}

const commonOf = (delivery: Delivery) => ({
  id: formatDeliveryId(delivery.id),
  event_id: delivery.event_id,
  integration_id: String(delivery.integration_id),
  state: delivery.state,
  reason: delivery.reason,
  attempts: delivery.attempts,
  next_attempt_at: delivery.next_attempt_at === null ? null : isoOf(delivery.next_attempt_at),
  created_at: isoOf(delivery.created_at)
})

const listedOf = (delivery: ListedDelivery): DeliveryDocument => ({
  ...commonOf(delivery),
  last_attempt:
    delivery.last_attempt === null
      ? null
      : { ...delivery.last_attempt, started_at: isoOf(delivery.last_attempt.started_at) }
})

const detailOf = (delivery: DeliveryWithAttempts): DeliveryDetailDocument => ({
  ...commonOf(delivery),
  explanation: {
    why: english(...delivery.explanation.why),
    next: english(...delivery.explanation.next),
    actions: delivery.explanation.actions
  },
  attempts: delivery.history.map((one) => ({
    ...one,
    explanation: english(...Explanation.explainAttempt(one)),
    started_at: isoOf(one.started_at)
  }))
})

export const deliveryCounts = ({ events, oldest_due_at, states }: DeliverySummary): DeliveryCountsDocument => ({
  events,
  deliveries: states,
  oldest_due_at: oldest_due_at === null ? null : isoOf(oldest_due_at)
})

const deliveryIdIn = (params: Params) => pathId(params, "id", parseDeliveryId, "a delivery (dlv_...)")

type Parameter = (typeof deliveryOperations.list.query)[number]

/** Reads the filter from a query. */
const readFilter = (
  query: QueryParameters<Parameter>
): Read<{ readonly filter: DeliveryFilter; readonly search: IntegrationSearch }> => {
  const read = all({
    states: readChoices(query, "state", deliveryStates),
    integration_id: readIntegrationId(query),
    event_id: readParameter(query, "event_id", Schema.decodeUnknownOption(EventId), "the id of an event, like evt_..."),
    search: readSearch(query),
    order: readOrder(query),
    after: readAfter(query, parseDeliveryId),
    limit: readLimit(query)
  })
  return Exit.map(read, ({ after, event_id, integration_id, limit, order, search, states }) => ({
    filter: {
      ...(states !== null && { states }),
      ...(integration_id !== null && { integration_id }),
      ...(event_id !== null && { event_id }),
      ...(after !== null && { after }),
      order,
      limit
    },
    search
  }))
}

/** How far the caller's clock may be ahead of the service's clock, in milliseconds. */
const mostSkew = 60_000

const invalidSince = (problem: Problem): Exit.Exit<never, InvalidInput> =>
  Exit.fail(new InvalidInput({ title: "Invalid value", problems: [problem] }))

/** Reads `since` from the body of a recover request. */
const sinceIn = (body: unknown, now: number): Exit.Exit<number, InvalidInput> => {
  const given = Predicate.isReadonlyObject(body) && body["since"] !== undefined
  const since = given && Predicate.isString(body["since"]) ? parseIso(body["since"]) : Option.none<number>()
  if (Option.isNone(since)) {
    const detail = "`since` must be a date, or a time with its offset, in ISO 8601, like 2026-03-02T00:00:00Z."
    return invalidSince(
      given
        ? { pointer: "/since", code: "invalid", detail }
        : { pointer: "", code: "blank", title: "Missing member", detail }
    )
  }
  if (since.value <= now + mostSkew) return Exit.succeed(since.value)
  const detail = `\`since\` must be in the past; ${isoOf(since.value)} is in the future. The service's clock says ${isoOf(now)}.`
  return invalidSince({ pointer: "/since", code: "invalid", detail })
}

const readSince = (input: Pick<OperatorRequest, "text">, now: () => number) =>
  Effect.gen(function* () {
    const body = yield* readBody(input)
    return yield* sinceIn(body, now())
  })

export const makeDeliveryHandlers = Effect.gen(function* () {
  const deliveries = yield* Deliveries
  const now = yield* storeTime
  return [
    handler(deliveryOperations.list, ({ query }) =>
      Effect.gen(function* () {
        const { filter, search } = yield* readFilter(query)
        const { items, next } = yield* pageOf(filter.limit, (limit) =>
          isSearch(search) ? deliveries.search(search, { ...filter, limit }) : deliveries.list({ ...filter, limit })
        )
        return { deliveries: items.map(listedOf), next: next === null ? null : formatDeliveryId(next.id) }
      })
    ),
    handler(deliveryOperations.summary, () => Effect.map(deliveries.summary, deliveryCounts)),
    handler(deliveryOperations.show, ({ params }) =>
      Effect.flatMap(deliveryIdIn(params), (id) => Effect.map(deliveries.show(id), detailOf))
    ),
    handler(deliveryOperations.resend, ({ params }) =>
      Effect.flatMap(deliveryIdIn(params), (id) => Effect.as(deliveries.resend(id), { id: formatDeliveryId(id) }))
    ),
    handler(deliveryOperations.recover, (input) =>
      Effect.gen(function* () {
        const id = yield* integrationIdIn(input.params)
        return { deliveries: yield* deliveries.recover(id, yield* readSince(input, now)) }
      })
    )
  ]
})
