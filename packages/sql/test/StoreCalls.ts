/**
 * Random sequences of calls that must have the same results on all stores. Generated calls are plain data and refer to
 * existing integrations, deliveries and leases by number.
 */
import type {
  LimitReached,
  DeliveryId,
  DeliveryOverrides,
  FeedSource,
  Integration,
  IdempotencyConflict,
  LeasedDelivery,
  RedeliverResult,
  Scope,
  StoreError
} from "@doorhook/core"
import {
  BuildingId,
  callEndType,
  callMarkOf,
  deliveryStates,
  DeliveryStore,
  IdempotencyStore,
  IntegrationId,
  GrantId,
  IntegrationStore,
  JsonText,
  statusFilters,
  TenantId
} from "@doorhook/core"
import type { StoreSuite } from "@doorhook/core/testing"
import { StoreFixtures } from "@doorhook/core/testing"
import { Effect, Layer } from "effect"
import * as fc from "fast-check"

const { attempt, building, newEvent, newIntegration, start, tenant } = StoreFixtures

/** Time after which a failing integration is disabled, in milliseconds. */
const disableAfter = 30

const subscriptionOf = (grant: string) => ({
  id: "sub_1",
  name: "call.create",
  grant_id: GrantId.make(grant),
  expires_at: start,
  cursor: "cursor"
})

/** An index into a list of any length, used modulo that length. */
const place = fc.nat(1_000)
const scopeAt = (index: number): Scope => [building(1), building(2), tenant(1), tenant(2)][index] ?? building(1)

const at = <A>(list: ReadonlyArray<A>, index: number): A | undefined => list[index % Math.max(1, list.length)]

const worker = fc.constantFrom("a", "B", "c")
const initial = fc.constantFrom("pending", "delivering", "skipped")
const ending = fc.constantFrom("delivered", "exhausted", "expired", "cancelled", "retrying")

const call = fc.oneof(
  fc.record({
    op: fc.constant("create"),
    scope: fc.nat(3),
    enabled: fc.boolean(),
    grant: fc.option(fc.constantFrom("g", "h"), { nil: undefined })
  }),
  fc.record({
    op: fc.constant("subscriptions"),
    grant: fc.constantFrom("", "g", "h"),
    integration: place,
    limit: fc.integer({ min: 1, max: 3 })
  }),
  fc.record({
    op: fc.constant("update"),
    integration: place,
    enabled: fc.boolean(),
    outdated: fc.boolean(),
    rotate: fc.boolean(),
    overrides: fc.constantFrom<DeliveryOverrides>({}, { acknowledge: "2xx", retry: { call: [1_000] } })
  }),
  fc.record({ op: fc.constant("remove"), integration: place }),
  fc.record({
    op: fc.constant("enqueue"),
    repeat: fc.integer({ min: 0, max: 9 }),
    keys: fc.array(fc.record({ name: fc.constantFrom("a", "b", "c"), lifetime: fc.nat(60) }), { maxLength: 2 }),
    outdated: fc.boolean(),
    worker,
    events: fc.array(
      fc.record({
        type: fc.constantFrom("access_log", "access_log", "call", "call", callEndType),
        /** The call that begins or ends, of several that share their ids. */
        call: fc.nat(4),
        delay: fc.integer({ min: -20, max: 20 }),
        deliveries: fc.array(fc.record({ integration: place, initial }), { maxLength: 4 })
      }),
      { maxLength: 5 }
    )
  }),
  fc.record({
    op: fc.constant("claim"),
    limit: fc.integer({ min: 0, max: 8 }),
    limitPerIntegration: fc.integer({ min: 1, max: 4 }),
    limits: fc.array(fc.tuple(place, fc.nat(3)), { maxLength: 2 }),
    urgent: fc.option(
      fc.record({
        limit: fc.nat(8),
        limitPerIntegration: fc.nat(4),
        limits: fc.array(fc.tuple(place, fc.nat(3)), { maxLength: 2 })
      }),
      { nil: undefined }
    ),
    worker,
    early: fc.option(place, { nil: undefined, freq: 3 })
  }),
  fc.record({
    op: fc.constant("settle"),
    settlements: fc.array(
      fc.record({
        leased: place,
        ending,
        attempted: fc.boolean(),
        delay: fc.integer({ min: 0, max: 30 }),
        // Result of the attempt: acknowledged, failed, or gone.
        shows: fc.constantFrom("acknowledged", "acknowledged", "bad_status", "timeout", "gone")
      }),
      { maxLength: 6 }
    ),
    released: fc.array(fc.record({ leased: place, delay: fc.nat(20) }), { maxLength: 3 })
  }),
  fc.record({ op: fc.constant("warn"), limit: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ op: fc.constant("resend"), delivery: place }),
  fc.record({ op: fc.constant("resend leased"), leased: place }),
  fc.record({ op: fc.constant("recover"), integration: place, since: fc.integer({ min: -50, max: 50 }) }),
  fc.record({ op: fc.constant("probe"), integration: place }),
  fc.record({ op: fc.constant("feed"), integration: place, after: place, limit: fc.integer({ min: 1, max: 5 }) }),
  fc.record({
    op: fc.constant("event feed"),
    scope: fc.nat(3),
    after: fc.nat(3),
    limit: fc.integer({ min: 1, max: 4 }),
    types: fc.constantFrom(undefined, ["call"] as const, ["access_log"] as const)
  }),
  fc.record({
    op: fc.constant("place"),
    scope: fc.nat(3),
    integration: fc.option(place, { nil: undefined }),
    since: fc.integer({ min: -50, max: 200 })
  }),
  fc.record({
    op: fc.constant("last purged"),
    scope: fc.nat(3),
    integration: fc.option(place, { nil: undefined }),
    types: fc.constantFrom(undefined, ["call"] as const)
  }),
  fc.record({
    op: fc.constant("events"),
    scope: fc.nat(3),
    urgent: fc.boolean(),
    since: fc.option(fc.integer({ min: -50, max: 200 }), { nil: undefined }),
    until: fc.option(fc.integer({ min: -50, max: 200 }), { nil: undefined }),
    offset: fc.nat(3),
    limit: fc.integer({ min: 1, max: 4 }),
    countUpTo: fc.integer({ min: 4, max: 8 })
  }),
  fc.record({ op: fc.constant("purge"), age: fc.integer({ min: -5, max: 30 }), limit: fc.integer({ min: 1, max: 6 }) }),
  fc.record({ op: fc.constant("purge keys"), limit: fc.constant(10) }),
  fc.record({
    op: fc.constant("heartbeat"),
    worker,
    lifetime: fc.option(fc.nat(60), { nil: null, freq: 4 }),
    holds: fc.option(fc.record({ leased: fc.array(place, { maxLength: 3 }), age: fc.integer({ min: -5, max: 30 }) }), {
      nil: undefined,
      freq: 3
    })
  })
)
type Call = typeof call extends fc.Arbitrary<infer A> ? A : never

/** A current or former lease of a delivery. */
interface Lease {
  readonly worker: string
  readonly delivery: LeasedDelivery
}

/** Number of the last leases that calls use, so that most of these leases are current. */
const recent = 8

/** A call, and the time in milliseconds that passes before it. */
const step = fc.record({ after: fc.nat(15), call })

export const callSequence = fc.array(step, { minLength: 1, maxLength: 60, size: "max" })
type Sequence = typeof callSequence extends fc.Arbitrary<infer A> ? A : never

/** Runs calls, and returns the result of each call and the final state. */
const carryOut = Effect.fnUntraced(function* (steps: Sequence) {
  const store = yield* DeliveryStore
  const integrationStore = yield* IntegrationStore
  const keyStore = yield* IdempotencyStore
  const integrations: Array<IntegrationId> = [IntegrationId.make(99)]
  const deliveries: Array<DeliveryId> = []
  const leases: Array<Lease> = []
  const answers: Array<unknown> = []
  let now = start
  let events = 0

  /** Identifies a delivery by its index among all deliveries, because stores may skip ids. */
  const placeOf = (id: DeliveryId): number => deliveries.indexOf(id)
  const inPlaces = <A extends { readonly id: DeliveryId }>(items: ReadonlyArray<A>) =>
    items.map((item) => ({ ...item, id: placeOf(item.id) }))

  const redelivered = (result: RedeliverResult) =>
    result._tag === "Refused" ? result.why : [result.count, result.delivery_id && placeOf(result.delivery_id)]

  const integrationAt = (index: number): IntegrationId => at(integrations, index) ?? IntegrationId.make(99)

  const make = Effect.fnUntraced(function* (call: Call) {
    switch (call.op) {
      case "create": {
        const scope = [building(1), building(2), tenant(1), tenant(2)][call.scope]
        const fields = call.enabled ? {} : ({ status: "disabled", disabled_reason: "manual" } as const)
        const subscription = call.grant === undefined ? {} : { subscription: subscriptionOf(call.grant) }
        const created = yield* integrationStore.create(
          newIntegration({ ...(scope && { scope }), ...fields, ...subscription })
        )
        integrations.push(created.id)
        return created
      }
      case "subscriptions": {
        const grant_id = call.grant === "" ? call.grant : GrantId.make(call.grant)
        return yield* integrationStore.subscriptions({ grant_id, id: integrationAt(call.integration) }, call.limit)
      }
      case "update": {
        const found = yield* integrationStore.find(integrationAt(call.integration))
        if (found === null) return found
        const changed: Integration = {
          ...found,
          status: call.enabled ? "enabled" : "disabled",
          disabled_reason: call.enabled ? null : "manual",
          previous_secrets: call.rotate
            ? [{ secret: found.signing_secret, until: now + 100 }, ...found.previous_secrets]
            : found.previous_secrets,
          overrides: call.overrides,
          version: found.version + 1,
          updated_at: now
        }
        return yield* integrationStore.update(changed, call.outdated ? found.version - 1 : found.version)
      }
      case "remove": {
        const gone = { id: integrationAt(call.integration), version: 0 }
        return yield* integrationStore.remove((yield* integrationStore.find(gone.id)) ?? gone)
      }
      case "enqueue": {
        const { worker } = call
        const versions = new Map<IntegrationId, number>()
        for (const id of integrations) {
          const version = (yield* integrationStore.find(id))?.version ?? 1
          versions.set(id, call.outdated ? version - 1 : version)
        }
        const records = call.events.map((wanted) => {
          const { type } = wanted
          const data = JsonText.JsonText.make(`{"id":${wanted.call},"call_id":"${wanted.call}"}`)
          const tenant_ids = wanted.deliveries.map(({ integration }) => TenantId.make((integration % 2) + 1))
          const building_id = BuildingId.make((events % 2) + 1)
          const fields = { resource_type: type, created_at: now + wanted.delay, building_id, tenant_ids, data } as const
          const event = newEvent(++events, fields)
          const mark = callMarkOf(event)
          return {
            event,
            ...(mark !== null && { call: mark }),
            deliveries: wanted.deliveries.map((each) => ({
              integration_id: integrationAt(each.integration),
              lane: StoreFixtures.laneFor(type, 0),
              matched_version: versions.get(integrationAt(each.integration)) ?? 1,
              initial:
                each.initial === "pending"
                  ? ({ state: "pending" } as const)
                  : each.initial === "delivering"
                    ? ({ state: "delivering", worker } as const)
                    : ({ state: "skipped", reason: "integration_disabled" } as const)
            }))
          }
        })
        // Sometimes adds the first event twice, which makes the call fail.
        if (call.repeat === 0 && records[0] !== undefined) records.push(records[0])
        const keys = call.keys.map(({ lifetime, name }) => ({
          key: name,
          fingerprint: `at ${now}`,
          answer: String(events),
          created_at: now,
          expires_at: now + lifetime
        }))
        const ids = yield* store.enqueue(records, keys)
        records.forEach(({ event, deliveries: stored }, index) =>
          stored.forEach(({ initial, integration_id, lane }, position) => {
            const id = ids[index]?.[position]?.id
            if (id === undefined) return
            deliveries.push(id)
            const integration = { id: integration_id, ...newIntegration() }
            const first = { attempts: 0, early: 0, early_due_at: null, resend: false }
            if (initial.state === "delivering")
              leases.push({ worker, delivery: { id, lane, ...first, event, integration } })
          })
        )
        return ids.map(inPlaces)
      }
      case "claim": {
        const { early, limit, limitPerIntegration, urgent, worker } = call
        const limitsOf = (limits: ReadonlyArray<readonly [index: number, most: number]>) =>
          new Map(limits.map(([index, most]) => [integrationAt(index), most]))
        const { deliveries: claimed, next_due } = yield* store.claim({
          worker,
          now,
          limit,
          limitPerIntegration,
          limits: limitsOf(call.limits),
          ...(urgent !== undefined && { urgent: { ...urgent, limits: limitsOf(urgent.limits) } }),
          ...(early !== undefined && { earlyOf: integrationAt(early) })
        })
        leases.push(...claimed.map((delivery) => ({ worker, delivery })))
        return { claimed: inPlaces(claimed), next_due }
      }
      case "settle": {
        // One worker settles the whole batch: the holder of its first lease.
        const known = leases.slice(-recent)
        const worker = at(known, call.settlements[0]?.leased ?? call.released[0]?.leased ?? 0)?.worker ?? "a"
        const settlements = call.settlements.flatMap((wanted) => {
          const leased = at(known, wanted.leased)?.delivery
          if (leased === undefined) return []
          const retrying = wanted.ending === "retrying"
          const shown =
            wanted.shows === "gone" ? ({ outcome: "bad_status", status: 410 } as const) : { outcome: wanted.shows }
          return [
            {
              delivery_id: leased.id,
              integration_id: leased.integration.id,
              attempt: wanted.attempted ? attempt(leased.attempts + 1, { started_at: now, ...shown }) : null,
              state: wanted.ending,
              reason: null,
              next_attempt_at: retrying ? now + wanted.delay : null,
              lane: StoreFixtures.laneFor(leased.event.resource_type, leased.attempts + 1),
              early: leased.early + (leased.early_due_at === null ? 0 : 1),
              retry_after: retrying && wanted.delay % 2 === 0 ? now + wanted.delay : null,
              gone: wanted.shows === "gone"
            }
          ]
        })
        const releases = call.released.flatMap(({ delay, leased }) => {
          const id = at(known, leased)?.delivery.id
          return id === undefined ? [] : [{ delivery_id: id, due_at: now + delay }]
        })
        // Never releases a delivery that the same batch settles.
        const settledIds = new Set(settlements.map(({ delivery_id }) => delivery_id))
        const { applied, changed, hasDueDeliveries, notifications, recovered } = yield* store.settle(
          { worker, settlements, releases: releases.filter(({ delivery_id }) => !settledIds.has(delivery_id)) },
          now,
          disableAfter
        )
        return {
          changed,
          hasDueDeliveries,
          notifications,
          recovered,
          applied: Array.from(applied, placeOf).toSorted((a, b) => a - b)
        }
      }
      case "warn":
        return yield* store.warn(now, disableAfter, call.limit)
      case "resend": {
        const id = at(deliveries, call.delivery)
        return id === undefined ? "no delivery" : redelivered(yield* store.redeliver({ type: "delivery", id }, now))
      }
      case "resend leased": {
        const id = at(leases.slice(-recent), call.leased)?.delivery.id
        return id === undefined ? "no lease" : redelivered(yield* store.redeliver({ type: "delivery", id }, now))
      }
      case "recover": {
        const request = { type: "integration", id: integrationAt(call.integration), since: start + call.since } as const
        return redelivered(yield* store.redeliver(request, now))
      }
      case "probe":
        return redelivered(yield* store.redeliver({ type: "probe", id: integrationAt(call.integration) }, now))
      case "feed": {
        const after = at(deliveries, call.after) ?? 0
        const { items } = yield* store.feed({
          integration_id: integrationAt(call.integration),
          after,
          limit: call.limit
        })
        return items.map(({ delivery, event }) => ({ event, delivery: { ...delivery, id: placeOf(delivery.id) } }))
      }
      case "event feed": {
        const scope = scopeAt(call.scope)
        const types = call.types === undefined ? {} : { types: call.types }
        const all = yield* store.eventFeed({ scope, after: 0, limit: 1_000 })
        const after = all.items[call.after]?.seq ?? 0
        const { items } = yield* store.eventFeed({ scope, after, limit: call.limit, ...types })
        return [all.items, items].map((each) => each.map(({ event }) => event))
      }
      case "place": {
        const integration = call.integration === undefined ? null : integrationAt(call.integration)
        const source: FeedSource = integration === null ? scopeAt(call.scope) : { type: "integration", id: integration }
        return (yield* store.feedPlace({ source, after: 0, since: start + call.since }))?.created_at ?? null
      }
      case "last purged": {
        const integration = call.integration === undefined ? null : integrationAt(call.integration)
        const source: FeedSource = integration === null ? scopeAt(call.scope) : { type: "integration", id: integration }
        const types = call.types === undefined ? {} : { types: call.types }
        return (yield* store.lastPurged({ source, ...types }))?.created_at ?? null
      }
      case "events": {
        const scope = scopeAt(call.scope)
        const { countUpTo, limit, offset } = call
        return yield* store.events({
          scope,
          resource_type: call.urgent ? "call" : "access_log",
          ...(call.since !== undefined && { since: start + call.since }),
          ...(call.until !== undefined && { until: start + call.until }),
          limit,
          offset,
          countUpTo
        })
      }
      case "purge": {
        // Only the presence of `next` is compared, because stores number events differently.
        const {
          deliveries: count,
          events: purged,
          next
        } = yield* store.purge({
          before: now - call.age,
          now,
          after: 0,
          limit: call.limit
        })
        return { count, purged, more: next !== null }
      }
      case "purge keys":
        return yield* keyStore.purgeExpired(now, call.limit)
      case "heartbeat": {
        const { holds, lifetime, worker } = call
        const held = holds?.leased.flatMap((index) => at(leases.slice(-recent), index)?.delivery.id ?? [])
        return yield* store.heartbeat({
          worker,
          now,
          until: lifetime === null ? null : now + lifetime,
          ...(holds !== undefined && held !== undefined && { holds: { ids: held, before: now - holds.age } })
        })
      }
    }
  })

  const onFailure = (error: StoreError | IdempotencyConflict | LimitReached) =>
    error._tag === "StoreError" ? error.operation : error.message
  for (const { after, call } of steps) {
    now += after
    answers.push(yield* Effect.match(make(call), { onFailure, onSuccess: (a) => a }))
    const { next_due } = yield* store.claim(StoreFixtures.claimRequest(now, { limit: 0 }))
    answers.push(next_due, yield* store.summary(now), yield* keyStore.find(["a", "b", "c"], now))
  }

  const all = yield* store.list({ limit: 10_000 })
  const lists = yield* Effect.forEach([...deliveryStates, undefined], (state) =>
    Effect.forEach([...integrations, undefined], (integration_id) =>
      store
        .list({
          ...(state !== undefined && { states: [state] as const }),
          ...(integration_id !== undefined && { integration_id }),
          limit: 5
        })
        .pipe(Effect.map(inPlaces))
    )
  )
  const histories = yield* Effect.forEach(all, ({ id }) =>
    Effect.map(store.find(id), (found) => found && { ...found, delivery: null })
  )
  const kept = yield* Effect.forEach(integrations, (id) => integrationStore.find(id))
  const surveyed = yield* Effect.forEach([...statusFilters, undefined], (status) =>
    integrationStore.listAll({ ...(status && { status }), after: 0, limit: 100 })
  )
  // Notifications are not compared after a purge, because stores purge them in batches of different sizes.
  const notifications = steps.some(({ call }) => call.op === "purge")
    ? []
    : yield* store.notifications({ limit: 1_000 })
  return { answers, all: inPlaces(all), lists, histories, kept, surveyed, notifications }
})

/** Runs a sequence of calls on a new store. */
export const carryOutOn = (layer: Layer.Layer<StoreSuite.Stores, unknown>, steps: Sequence) =>
  Effect.runPromise(Effect.scoped(carryOut(steps).pipe(Effect.provide(Layer.fresh(layer)))))
