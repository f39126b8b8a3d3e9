/**
 * Integrations, events and attempts to fill a store with, and short ways to do so.
 */
import { Effect, Redacted } from "effect"
import type { Attempt, LeasedDelivery } from "../domain/Delivery.ts"
import { laneOf } from "../domain/Delivery.ts"
import type { Event } from "../domain/Event.ts"
import { BuildingId, ClientId, EventId, TenantId, UserId } from "../domain/Ids.ts"
import type { DeliveryId } from "../domain/Ids.ts"
import type { Integration, Scope } from "../domain/Integration.ts"
import { JsonText } from "../domain/JsonText.ts"
import type { ClaimRequest, NewDelivery, NewEventRecord, Settlement } from "../ports/DeliveryStore.ts"
import { DeliveryStore } from "../ports/DeliveryStore.ts"
import type { NewIntegration } from "../ports/IntegrationStore.ts"
import { IntegrationStore } from "../ports/IntegrationStore.ts"
import { expectPresent } from "./SuiteCase.ts"

/** The time at which cases begin: far from the system's, because stores may know no time but what they are told. */
export const start = 5_000_000

export const building = (id: number): Scope => ({ type: "building", id: BuildingId.make(id) })
export const tenant = (id: number): Scope => ({ type: "tenant", id: TenantId.make(id) })

export const newIntegration = (fields: Partial<NewIntegration> = {}): NewIntegration => ({
  scope: building(1),
  integrator: "webhook",
  configuration: { url: "https://receiver.example/hook", method: "post" },
  bindings: [{ resource_type: "access_log", actions: ["create"] }],
  status: "enabled",
  disabled_reason: null,
  created_by: { user_id: UserId.make("user"), client_id: ClientId.make("client") },
  signing_secret: Redacted.make("whsec_c2VjcmV0IG9mIGFuIGludGVncmF0aW9u"),
  previous_secrets: [],
  overrides: {},
  version: 1,
  created_at: start,
  updated_at: start,
  ...fields
})

/** The id of event number n. */
export const eventId = (n: number): EventId => EventId.make(`evt_${String(n).padStart(20, "0")}`)

export const newEvent = (n: number, fields: Partial<Event> = {}): Event => ({
  id: eventId(n),
  resource_type: "access_log",
  action: "create",
  building_id: BuildingId.make(1),
  tenant_ids: [TenantId.make(101), TenantId.make(102)],
  data: JsonText.make(`{"id":${n}}`),
  created_at: start,
  ...fields
})

/** A pending delivery of an event to an integration, in the lane of its first attempt. */
export const pending = (integration: Integration, event: Event): NewDelivery => ({
  integration_id: integration.id,
  lane: laneOf(event.resource_type, 0),
  matched_version: integration.version,
  initial: { state: "pending" }
})

/** An event with a pending delivery to each of some integrations. */
export const record = (event: Event, ...integrations: ReadonlyArray<Integration>): NewEventRecord => ({
  event,
  deliveries: integrations.map((integration) => pending(integration, event))
})

/** Events number `from` to `to`, each with a pending delivery to each of some integrations. */
export const records = (
  from: number,
  to: number,
  ...integrations: ReadonlyArray<Integration>
): ReadonlyArray<NewEventRecord> =>
  Array.from({ length: to - from + 1 }, (_, index) => record(newEvent(from + index), ...integrations))

/** Limits that let a claim take nothing of some integrations. */
export const nothingOf = (...integrations: ReadonlyArray<Integration>): ClaimRequest["limits"] =>
  new Map(integrations.map(({ id }) => [id, 0]))

/** How long a lease lasts in these cases, in milliseconds. */
export const leaseLength = 20_000

/** Claims all that is due, unless told otherwise. */
export const claimRequest = (now: number, fields: Partial<ClaimRequest> = {}): ClaimRequest => ({
  now,
  lease: { token: `lease-at-${now}`, until: now + leaseLength },
  limit: 1_000,
  limitPerIntegration: 1_000,
  limits: new Map(),
  ...fields
})

export const attempt = (number: number, fields: Partial<Attempt> = {}): Attempt => ({
  number,
  started_at: start,
  duration_ms: 12,
  outcome: "acknowledged",
  status: 200,
  response_excerpt: "ok",
  detail: null,
  ...fields
})

const failed = { outcome: "bad_status", status: 500, response_excerpt: "no" } as const

/** How a leased delivery ends: acknowledged, unless told otherwise. */
export const settlement = (delivery: LeasedDelivery, fields: Partial<Settlement> = {}): Settlement => ({
  delivery_id: delivery.id,
  integration_id: delivery.integration.id,
  token: delivery.lease.token,
  attempt: attempt(delivery.attempts + 1, fields.state === undefined || fields.state === "delivered" ? {} : failed),
  state: "delivered",
  reason: null,
  next_attempt_at: null,
  lane: laneOf(delivery.event.resource_type, delivery.attempts + 1),
  gone: false,
  ...fields
})

/** A failed attempt, to be made again at a time. */
export const retryAt = (delivery: LeasedDelivery, next_attempt_at: number): Settlement =>
  settlement(delivery, { state: "retrying", next_attempt_at })

export const createIntegration = Effect.fnUntraced(function* (fields: Partial<NewIntegration> = {}) {
  return yield* (yield* IntegrationStore).create(newIntegration(fields))
})

/** Stores events and answers the ids of their deliveries in one list. */
export const enqueue = Effect.fnUntraced(function* (...items: ReadonlyArray<NewEventRecord>) {
  return (yield* (yield* DeliveryStore).enqueue(items)).flat().map(({ id }) => id)
})

/** Stores an event with one delivery to an integration; answers its id. */
export const enqueueOne = Effect.fnUntraced(function* (event: Event, integration: Integration) {
  return yield* expectPresent("id of the delivery", (yield* enqueue(record(event, integration)))[0])
})

export const claim = Effect.fnUntraced(function* (now: number, fields: Partial<ClaimRequest> = {}) {
  return yield* (yield* DeliveryStore).claim(claimRequest(now, fields))
})

/** Claims the only delivery that is due. */
export const claimOne = Effect.fnUntraced(function* (now: number, fields: Partial<ClaimRequest> = {}) {
  const claimed = yield* claim(now, { limit: 1, ...fields })
  return yield* expectPresent("a claimed delivery", claimed[0])
})

/** For how long integrations may fail in these cases, in milliseconds. */
export const disableAfter = 10_000

export const settleWithConsequences = Effect.fnUntraced(function* (
  now: number,
  ...settlements: ReadonlyArray<Settlement>
) {
  return yield* (yield* DeliveryStore).settle(settlements, now, disableAfter)
})

/** Settles, and answers what was not stale. */
export const settle = Effect.fnUntraced(function* (now: number, ...settlements: ReadonlyArray<Settlement>) {
  return (yield* settleWithConsequences(now, ...settlements)).applied
})

export const findDelivery = Effect.fnUntraced(function* (id: DeliveryId) {
  return yield* expectPresent(`delivery ${id}`, yield* (yield* DeliveryStore).find(id))
})

/** Ids of claimed deliveries, in the order claimed. */
export const idsOf = (items: ReadonlyArray<{ readonly id: DeliveryId }>): ReadonlyArray<DeliveryId> =>
  items.map(({ id }) => id)
