/**
 * The stores as one process sees them. What takes effect is written down, and told to all processes where it changes
 * an integration.
 */
import type {
  ClaimRequest,
  DeliveryStore,
  Event,
  EventId,
  IdempotencyStore,
  IntegrationId,
  IntegrationStore,
  NewEventRecord,
  PurgeRequest,
  RememberedRequest,
  Settlement,
  StoreError,
  TokenStore
} from "@doorhook/core"
import { Effect } from "effect"
import type { EnqueuedEvent, FinalDelivery, History } from "../History.ts"
import type { StoreCall } from "./StoreCalls.ts"
import { watchedIntegrations } from "./WatchedIntegrations.ts"

/** All stores over one state. */
export interface Stores {
  readonly deliveries: DeliveryStore["Service"]
  readonly integrations: IntegrationStore["Service"]
  readonly keys: IdempotencyStore["Service"]
  readonly tokens: TokenStore["Service"]
}

/** What watches the calls of one process. */
export interface Watching {
  /** The number of the process. */
  readonly engine: number
  readonly call: StoreCall
  readonly history: History
  /** What was stored, until it is purged. All processes share it. */
  readonly events: Map<EventId, Event>
  /** Tells everybody that an integration changed. */
  readonly changed: (integration: IntegrationId) => void
}

const everything = Number.MAX_SAFE_INTEGER

/** How near to its end an event is looked at before a purge, in milliseconds: looking costs more than purging. */
const nearEnd = 60_000

/** All deliveries that a filter selects, with their attempts. */
export const allDeliveries = Effect.fnUntraced(function* (
  store: DeliveryStore["Service"],
  filter: { readonly integration_id?: IntegrationId } = {}
) {
  const all = yield* store.list({ ...filter, limit: everything })
  const withHistory: Array<FinalDelivery> = []
  for (const delivery of all) withHistory.push({ ...delivery, history: yield* store.attempts(delivery.id) })
  return withHistory
})

export const watchedStores = (stores: Stores, watching: Watching): Stores => {
  const { call, changed, engine, events, history } = watching
  const { deliveries, integrations, keys, tokens } = stores

  const enqueue = (records: ReadonlyArray<NewEventRecord>, remembered: ReadonlyArray<RememberedRequest> = []) =>
    Effect.tap(deliveries.enqueue(records, remembered), (stored) =>
      Effect.sync(() => {
        history.add({ kind: "enqueued", engine, events: enqueuedOf(records, stored), keys: remembered })
        for (const { event } of records) events.set(event.id, event)
      })
    )

  const claim = (request: ClaimRequest) =>
    Effect.tap(deliveries.claim(request), (claimed) =>
      Effect.sync(() => {
        if (claimed.length === 0) return
        history.add({ kind: "claimed", engine, lease: request.lease, ids: claimed.map(({ id }) => id) })
      })
    )

  /** Settles, and writes down which integrations are disabled or enabled by it. */
  const settle = Effect.fnUntraced(function* (
    settlements: ReadonlyArray<Settlement>,
    now: number,
    disableAfter: number
  ) {
    const settled = yield* deliveries.settle(settlements, now, disableAfter)
    const { applied, notices } = settled
    history.add({ kind: "settled", engine, now, settlements, applied: [...applied], notices })
    for (const id of settled.changed) {
      const integration = yield* integrations.find(id)
      if (integration === null) continue
      history.add({ kind: "integration", what: "settled", integration, key: null })
      changed(id)
    }
    return settled
  })

  const warn: DeliveryStore["Service"]["warn"] = (now, disableAfter, limit) =>
    Effect.tap(deliveries.warn(now, disableAfter, limit), (notices) =>
      Effect.sync(() => (notices.length > 0 ? history.add({ kind: "warned", engine, now, notices }) : undefined))
    )

  /** Does something, and says which deliveries of an integration wait to be sent since then. */
  const queuedBy = Effect.fnUntraced(function* <A>(
    integration_id: IntegrationId,
    effect: Effect.Effect<A, StoreError>
  ) {
    const waiting = Effect.map(deliveries.list({ integration_id, states: ["pending"], limit: everything }), (all) =>
      all.map(({ id }) => id)
    )
    const before = new Set(yield* waiting)
    const answer = yield* effect
    return { answer, ids: (yield* waiting).filter((id) => !before.has(id)) }
  })

  const recover: DeliveryStore["Service"]["recover"] = Effect.fnUntraced(function* (integration_id, since, now) {
    const { answer, ids } = yield* queuedBy(integration_id, deliveries.recover(integration_id, since, now))
    if (ids.length > 0) history.add({ kind: "resent", ids })
    return answer
  })

  const probe: DeliveryStore["Service"]["probe"] = Effect.fnUntraced(function* (integration_id, now, lease) {
    const { answer, ids } = yield* queuedBy(integration_id, deliveries.probe(integration_id, now, lease))
    if (typeof answer === "number") history.add({ kind: "probed", integration_id, ids })
    return answer
  })

  /** Purges, and writes down what is gone by it: of events near to their end, whatever the store says. */
  const purge = Effect.fnUntraced(function* (request: PurgeRequest) {
    const isOld = ({ created_at }: { readonly created_at: number }) => created_at < request.before + nearEnd
    const old = [...events.values()].filter(isOld)
    const before = old.length === 0 ? [] : yield* allDeliveries(deliveries)
    const answer = yield* deliveries.purge(request)
    const gone: Array<Event> = []
    for (const event of old) if ((yield* deliveries.findEvent(event.id)) === null) gone.push(event)
    const lost: Array<FinalDelivery> = []
    for (const row of before) if ((yield* deliveries.find(row.id)) === null) lost.push(row)
    if (answer.events > 0 || gone.length > 0 || lost.length > 0)
      history.add({ kind: "purged", engine, request, answer, events: gone, deliveries: lost })
    for (const { id } of gone) events.delete(id)
    return answer
  })

  return {
    deliveries: {
      ...deliveries,
      enqueue: (records, remembered) => call("enqueue", enqueue(records, remembered)),
      claim: (request) => call("claim", claim(request)),
      settle: (settlements, now, disableAfter) =>
        call("settle", settle(settlements, now, disableAfter)).pipe(
          Effect.tap(({ changed, notices }) =>
            Effect.sync(() => {
              for (const integration_id of changed) history.add({ kind: "told", engine, integration_id })
              if (notices.length > 0) history.add({ kind: "noted", engine, notices })
            })
          )
        ),
      warn: (now, disableAfter, limit) =>
        call("warn", warn(now, disableAfter, limit)).pipe(
          Effect.tap((notices) =>
            Effect.sync(() => (notices.length > 0 ? history.add({ kind: "noted", engine, notices }) : undefined))
          )
        ),
      release: (leases, dueAt) =>
        call(
          "release",
          Effect.tap(deliveries.release(leases, dueAt), () =>
            Effect.sync(() =>
              history.add({ kind: "released", engine, ids: leases.map(({ delivery_id }) => delivery_id) })
            )
          )
        ),
      nextDue: call("nextDue", deliveries.nextDue),
      resend: (id, now) =>
        call(
          "resend",
          Effect.tap(deliveries.resend(id, now), (result) =>
            Effect.sync(() => (result === "resent" ? history.add({ kind: "resent", ids: [id] }) : undefined))
          )
        ),
      recover: (id, since, now) => call("recover", recover(id, since, now)),
      probe: (id, now, lease) => call("probe", probe(id, now, lease)),
      feed: (request) => call("feed", deliveries.feed(request)),
      purge: (request) => call("purge", purge(request)),
      beat: (worker, now, until) => call("beat", deliveries.beat(worker, now, until)),
      leave: (worker) => call("leave", deliveries.leave(worker))
    },
    integrations: watchedIntegrations(integrations, watching),
    keys: {
      find: (wanted, now) => call("findKeys", keys.find(wanted, now)),
      purgeExpired: (now, limit) => call("purgeKeys", keys.purgeExpired(now, limit))
    },
    tokens
  }
}

const enqueuedOf = (
  records: ReadonlyArray<NewEventRecord>,
  stored: ReadonlyArray<ReadonlyArray<Pick<EnqueuedEvent["deliveries"][number], "id" | "state">>>
): ReadonlyArray<EnqueuedEvent> =>
  records.map(({ deliveries, event }, at) => ({
    event,
    deliveries: (stored[at] ?? []).flatMap(({ id, state }, nth) => {
      const wanted = deliveries[nth]
      if (wanted === undefined) return []
      const lease = wanted.initial.state === "delivering" && state === "delivering" ? wanted.initial.lease : null
      return [{ id, integration_id: wanted.integration_id, state, lease }]
    })
  }))
