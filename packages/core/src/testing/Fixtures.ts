/**
 * Integrations, events and attempts that fill a store, with helpers.
 */
import { Effect, Redacted } from "effect"
import type { Attempt, Lane, LeasedDelivery } from "../model/Delivery.ts"
import { laneOf } from "../model/Delivery.ts"
import type { Event } from "../model/Event.ts"
import { BuildingId, ClientId, EventId, TenantId, UserId } from "../model/Ids.ts"
import type { DeliveryId, IntegrationId } from "../model/Ids.ts"
import type { Integration, Scope } from "../model/Integration.ts"
import { JsonText } from "../model/JsonText.ts"
import { builtInTable } from "../model/ResourceType.ts"
import type { ResourceType } from "../model/ResourceType.ts"
import type {
  ClaimRequest,
  NewDelivery,
  NewEventRecord,
  Outcomes,
  RedeliverRequest,
  Release,
  Settled,
  Settlement
} from "../ports/DeliveryStore.ts"
import { DeliveryStore } from "../ports/DeliveryStore.ts"
import type { NewIntegration } from "../ports/IntegrationStore.ts"
import { IntegrationStore } from "../ports/IntegrationStore.ts"
import { expectPresent } from "./SuiteCase.ts"

/** Start time of the cases. It is far from the system time, so a store that reads the system clock fails. */
export const start = 5_000_000

export const building = (id: number): Scope => ({ type: "building", id: BuildingId.make(id) })
export const tenant = (id: number): Scope => ({ type: "tenant", id: TenantId.make(id) })

export const newIntegration = (fields: Partial<NewIntegration> = {}): NewIntegration => ({
  scope: building(1),
  integrator: "webhook",
  configuration: { url: "https://receiver.example/hook", method: "post" },
  bindings: [{ resource_type: "access_log", actions: ["create"] }],
  name: null,
  description: null,
  detail: "full",
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

/** Returns the id of event number `n`. */
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

/** Makes an event whose data has a pseudo-random length, up to 64 KiB. Most are short. */
export const sizedEvent = (n: number, fields: Partial<Event> = {}): Event => {
  const random = ((n * 2_654_435_761) % 4_294_967_296) / 4_294_967_296
  const data = JsonText.make(`{"id":${n},"text":"${(n % 2 === 0 ? "x" : "ü").repeat(2 ** (random * 15))}"}`)
  return newEvent(n, { data, ...fields })
}

/** Returns the lane of a delivery of a built-in type after this many attempts. */
export const laneFor = (type: ResourceType, attempts: number): Lane =>
  laneOf({ urgent: builtInTable.get(type)?.urgent ?? false }, attempts)

/** Makes a pending delivery of an event to an integration, in the lane of its first attempt. */
export const pending = (integration: Integration, event: Event): NewDelivery => ({
  integration_id: integration.id,
  lane: laneFor(event.resource_type, 0),
  matched_version: integration.version,
  initial: { state: "pending" }
})

/** Makes an event with a pending delivery to each of the integrations. */
export const record = (event: Event, ...integrations: ReadonlyArray<Integration>): NewEventRecord => ({
  event,
  deliveries: integrations.map((integration) => pending(integration, event))
})

/** Makes events number `from` to `to`, each with a pending delivery to each of the integrations. */
export const records = (
  from: number,
  to: number,
  ...integrations: ReadonlyArray<Integration>
): ReadonlyArray<NewEventRecord> =>
  Array.from({ length: to - from + 1 }, (_, index) => record(newEvent(from + index), ...integrations))

/** Returns claim limits of 0 for these integrations. */
export const nothingOf = (...integrations: ReadonlyArray<Integration>): ClaimRequest["limits"] =>
  new Map(integrations.map(({ id }) => [id, 0]))

/** Name of the worker in cases with a single worker. */
export const worker = "worker"

/** Makes a claim request, by default for all due deliveries. */
export const claimRequest = (now: number, fields: Partial<ClaimRequest> = {}): ClaimRequest => ({
  worker,
  now,
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

/** Makes a settlement of a leased delivery, acknowledged by default. */
export const settlement = (delivery: LeasedDelivery, fields: Partial<Settlement> = {}): Settlement => ({
  delivery_id: delivery.id,
  integration_id: delivery.integration.id,
  attempt: attempt(delivery.attempts + 1, fields.state === undefined || fields.state === "delivered" ? {} : failed),
  state: "delivered",
  reason: null,
  next_attempt_at: null,
  lane: laneFor(delivery.event.resource_type, delivery.attempts + 1),
  early: delivery.early,
  retry_after: null,
  gone: false,
  ...fields
})

/** Makes a settlement for a failed attempt whose retry is due at `next_attempt_at`. */
export const retryAt = (delivery: LeasedDelivery, next_attempt_at: number): Settlement =>
  settlement(delivery, { state: "retrying", next_attempt_at })

export const createIntegration = Effect.fnUntraced(function* (fields: Partial<NewIntegration> = {}) {
  return yield* (yield* IntegrationStore).create(newIntegration(fields))
})

/** Stores events and returns the ids of their deliveries in one list. */
export const enqueue = Effect.fnUntraced(function* (...items: ReadonlyArray<NewEventRecord>) {
  return (yield* (yield* DeliveryStore).enqueue(items)).flat().map(({ id }) => id)
})

/** Stores an event with one delivery to an integration, and returns the delivery's id. */
export const enqueueOne = Effect.fnUntraced(function* (event: Event, integration: Integration) {
  return yield* expectPresent("id of the delivery", (yield* enqueue(record(event, integration)))[0])
})

export const claim = Effect.fnUntraced(function* (now: number, fields: Partial<ClaimRequest> = {}) {
  return (yield* (yield* DeliveryStore).claim(claimRequest(now, fields))).deliveries
})

/** Claims one due delivery. */
export const claimOne = Effect.fnUntraced(function* (now: number, fields: Partial<ClaimRequest> = {}) {
  const claimed = yield* claim(now, { limit: 1, ...fields })
  return yield* expectPresent("a claimed delivery", claimed[0])
})

/** Returns when the next delivery is due, from a claim with limit 0. */
export const nextDue = Effect.fnUntraced(function* (now: number) {
  return (yield* (yield* DeliveryStore).claim(claimRequest(now, { limit: 0 }))).next_due
})

/** Length of a membership in these cases, in milliseconds. */
export const membershipLength = 20_000

/** Sends the first or a further heartbeat of a worker. */
export const heartbeat = Effect.fnUntraced(function* (now: number, by = worker) {
  return yield* (yield* DeliveryStore).heartbeat({ worker: by, now, until: now + membershipLength })
})

/** Time after which a failing integration is disabled in these cases, in milliseconds. */
export const disableAfter = 10_000

/** Records outcomes. Repeats those that the store postpones, as a dispatcher does, and adds up the answers. */
export const settleOutcomes = Effect.fnUntraced(function* (now: number, outcomes: Partial<Outcomes>) {
  const store = yield* DeliveryStore
  const all: Outcomes = { worker, settlements: [], releases: [], ...outcomes }
  let settled = yield* store.settle(all, now, disableAfter)
  while (settled.postponed.size > 0) {
    const before: Settled = settled
    yield* Effect.yieldNow
    const isPostponed = (each: { readonly delivery_id: DeliveryId }) => before.postponed.has(each.delivery_id)
    const [settlements, releases] = [all.settlements.filter(isPostponed), all.releases.filter(isPostponed)]
    const next: Settled = yield* store.settle({ ...all, settlements, releases }, now, disableAfter)
    settled = {
      applied: new Set([...before.applied, ...next.applied]),
      changed: [...before.changed, ...next.changed],
      recovered: [...before.recovered, ...next.recovered],
      notifications: [...before.notifications, ...next.notifications],
      hasDueDeliveries: before.hasDueDeliveries || next.hasDueDeliveries,
      postponed: next.postponed
    }
  }
  return settled
})

export const settleWithConsequences = (now: number, ...settlements: ReadonlyArray<Settlement>) =>
  settleOutcomes(now, { settlements })

/** Settles deliveries as the worker `by`, and returns the ids of the deliveries that were settled. */
export const settleAs = Effect.fnUntraced(function* (
  by: string,
  now: number,
  ...settlements: ReadonlyArray<Settlement>
) {
  return (yield* settleOutcomes(now, { worker: by, settlements })).applied
})

/** Settles deliveries, and returns the ids of the deliveries that were settled. */
export const settle = (now: number, ...settlements: ReadonlyArray<Settlement>) => settleAs(worker, now, ...settlements)

/** Releases deliveries and makes them due at `due_at`. */
export const release = (
  now: number,
  due_at: number,
  deliveries: ReadonlyArray<{ readonly id: DeliveryId }>,
  by = worker
) =>
  settleOutcomes(now, {
    worker: by,
    releases: deliveries.map(({ id }): Release => ({ delivery_id: id, due_at }))
  })

const redeliver = Effect.fnUntraced(function* (request: RedeliverRequest, now: number) {
  const result = yield* (yield* DeliveryStore).redeliver(request, now)
  return result._tag === "Refused" ? result.why : ([result.count, result.delivery_id] as const)
})

/** Resends a delivery. Returns the number of resent deliveries and the delivery's id, or the reason for a refusal. */
export const resend = (id: DeliveryId, now: number) => redeliver({ type: "delivery", id }, now)

/**
 * Resends the unacknowledged deliveries of an integration that were created at `since` or later. Returns the number of
 * resent deliveries and null, or the reason for a refusal. `since_of` has later times for some resource types.
 */
export const recover = (
  id: IntegrationId,
  since: number,
  now: number,
  since_of: Readonly<Record<string, number>> = {}
) => redeliver({ type: "integration", id, since, since_of }, now)

/** Probes an integration. Returns the number of sent deliveries and the delivery's id, or the reason for a refusal. */
export const probe = (id: IntegrationId, now: number) => redeliver({ type: "probe", id }, now)

const find = Effect.fnUntraced(function* (id: DeliveryId) {
  return yield* expectPresent(`delivery ${id}`, yield* (yield* DeliveryStore).find(id))
})

export const findDelivery = Effect.fnUntraced(function* (id: DeliveryId) {
  return (yield* find(id)).delivery
})

/** Returns all attempts of a delivery. */
export const attemptsOf = Effect.fnUntraced(function* (id: DeliveryId) {
  return (yield* find(id)).attempts
})

/** Finds a stored event among the events of its building; undefined if it is not stored. */
export const keptEvent = Effect.fnUntraced(function* ({ building_id, id, resource_type }: Event) {
  const scope = building(building_id)
  const all = { offset: 0, limit: 10_000, countUpTo: 10_000 }
  const { items } = yield* (yield* DeliveryStore).events({ scope, resource_type, ...all })
  return items.find((event) => event.id === id)
})

/** Returns the ids of claimed deliveries, in the order of the claim. */
export const idsOf = (items: ReadonlyArray<{ readonly id: DeliveryId }>): ReadonlyArray<DeliveryId> =>
  items.map(({ id }) => id)

/** Returns the state of a delivery, its number of attempts, and when its next attempt is due. */
export const standing = Effect.fnUntraced(function* (id: DeliveryId) {
  const { attempts, next_attempt_at, state } = yield* findDelivery(id)
  return [state, attempts, next_attempt_at]
})
