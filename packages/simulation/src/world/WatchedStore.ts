/**
 * The stores of one process. They record every effect in the history, and signal changes of integrations to all
 * processes.
 */
import type {
  ClaimLimits,
  ClaimRequest,
  DeliveryId,
  DeliveryStore,
  Event,
  EventId,
  Heartbeat,
  Integration,
  IntegrationId,
  IntegrationStore,
  IdempotencyConflict,
  LeasedDelivery,
  MatchCandidate,
  NewEventRecord,
  Outcomes,
  PurgeRequest,
  RedeliverRequest,
  IdempotencyRecord,
  StaleMatch,
  StoreError
} from "@doorhook/core"
import { activeStates, callKeyOf, isUrgentLane } from "@doorhook/core"
import type { Stores } from "@doorhook/simulator/testing"
import { Effect } from "effect"
import type { EnqueuedEvent, FinalDelivery, History } from "../History.ts"
import type { Locks, StoreCall } from "./Faults.ts"

/** Context in which the calls of one process are recorded. */
export interface Watching {
  /** Number of the process. */
  readonly engine: number
  readonly call: StoreCall
  readonly history: History
  /** Stored events until they are purged. All processes share this map. */
  readonly events: Map<EventId, Event>
  /**
   * When each worker's membership ends; 0 for a worker that leases without one. All processes on one store share this
   * map.
   */
  readonly members: Map<string, number>
  /** The integrations that get each call, by `callKeyOf`. All processes share this map. */
  readonly calls: Map<string, Set<IntegrationId>>
  /** Shared by all processes; null for a store that a single process has open. */
  readonly locks: Locks | null
  /** Signals to all processes that an integration changed. */
  readonly changed: (integration: IntegrationId) => void
}

const everything = Number.MAX_SAFE_INTEGER

/**
 * Margin beyond the time limit of a purge, in milliseconds. Younger events are not looked up after the purge, because a
 * lookup costs more than the purge.
 */
const nearEnd = 60_000

/** Returns all deliveries that a filter selects, with their attempts. */
export const allDeliveries = Effect.fnUntraced(function* (
  store: DeliveryStore["Service"],
  filter: { readonly integration_id?: IntegrationId } = {}
) {
  const all = yield* store.list({ ...filter, limit: everything })
  const withHistory: Array<FinalDelivery> = []
  for (const { last_attempt: _, resource_type: __, ...delivery } of all) {
    const found = yield* store.find(delivery.id)
    withHistory.push({ ...delivery, history: found?.attempts ?? [] })
  }
  return withHistory
})

export const watchedStores = (stores: Stores, watching: Watching): Stores => {
  const { call, calls, changed, engine, events, history, locks, members } = watching
  const { deliveries, integrations, keys, tokens } = stores

  const leasedBy = (worker: string): void => {
    if (!members.has(worker)) members.set(worker, 0)
  }

  type Stored = Effect.Success<ReturnType<typeof deliveries.enqueue>>

  function enqueue(
    records: ReadonlyArray<NewEventRecord>,
    remembered?: ReadonlyArray<IdempotencyRecord>
  ): Effect.Effect<Stored, StoreError | IdempotencyConflict>
  function enqueue(
    records: ReadonlyArray<NewEventRecord>,
    remembered: ReadonlyArray<IdempotencyRecord>,
    candidates: ReadonlyArray<MatchCandidate>
  ): Effect.Effect<Stored, StoreError | IdempotencyConflict | StaleMatch>
  function enqueue(
    records: ReadonlyArray<NewEventRecord>,
    remembered: ReadonlyArray<IdempotencyRecord> = [],
    candidates?: ReadonlyArray<MatchCandidate>
  ): Effect.Effect<Stored, StoreError | IdempotencyConflict | StaleMatch> {
    const storing: Effect.Effect<Stored, StoreError | IdempotencyConflict | StaleMatch> =
      candidates === undefined
        ? deliveries.enqueue(records, remembered)
        : deliveries.enqueue(records, remembered, candidates)
    const noted = Effect.tap(storing, (stored) =>
      Effect.sync(() => {
        for (const { deliveries: wanted } of records)
          for (const { initial } of wanted) if (initial.state === "delivering") leasedBy(initial.worker)
        history.add({ kind: "enqueued", engine, events: enqueuedOf(records, stored), keys: remembered })
        for (const { event } of records) events.set(event.id, event)
        signalEnds(records)
      })
    )
    return Effect.tap(call("enqueue", noted), (stored) =>
      Effect.sync(() => {
        const byWorker = Map.groupBy(
          enqueuedOf(records, stored).flatMap(({ deliveries }) => deliveries),
          ({ worker }) => worker
        )
        for (const [worker, all] of byWorker) if (worker !== null) receiveLeases(worker, all)
      })
    )
  }

  /** Signals to all processes that the calls which these events end are not to be sent. */
  const signalEnds = (records: ReadonlyArray<NewEventRecord>): void => {
    for (const { call, deliveries: wanted, event } of records) {
      if (call === undefined) continue
      const key = callKeyOf(event, call)
      if (call.isEnd) for (const integration of calls.get(key) ?? []) changed(integration)
      else for (const { integration_id } of wanted) calls.set(key, (calls.get(key) ?? new Set()).add(integration_id))
    }
  }

  const receiveLeases = (worker: string, deliveries: ReadonlyArray<{ readonly id: DeliveryId }>): void =>
    history.add({ kind: "leases_received", engine, worker, ids: deliveries.map(({ id }) => id) })

  const claim = (request: ClaimRequest) =>
    Effect.tap(deliveries.claim(request), (claimed) =>
      Effect.sync(() => {
        if (claimed.deliveries.length === 0) return
        const { now, worker } = request
        leasedBy(worker)
        const taken = claimed.deliveries.map(({ early_due_at, id }) => ({ id, early_due_at }))
        history.add({
          kind: "claimed",
          engine,
          worker,
          now,
          deliveries: taken,
          excess: excessOf(claimed.deliveries, request)
        })
      })
    )

  /** Settles outcomes, and records the integrations that were disabled or enabled. */
  const settle = Effect.fnUntraced(function* (outcomes: Outcomes, now: number, disableAfter: number) {
    const { releases, worker } = outcomes
    const settlements = outcomes.settlements.filter(({ integration_id }) => locks?.isHeld(integration_id) !== true)
    const settled = yield* deliveries.settle({ ...outcomes, settlements }, now, disableAfter)
    const { applied, notifications } = settled
    history.add({ kind: "settled", engine, worker, now, settlements, applied: [...applied], notifications })
    for (const id of settled.changed) {
      const integration = yield* integrations.find(id)
      if (integration === null) continue
      history.add({ kind: "integration", what: "settled", integration, key: null })
      changed(id)
    }
    if (releases.length > 0) {
      const ids = releases.map(({ delivery_id }) => delivery_id)
      history.add({ kind: "released", engine, worker, why: "given_back", ids })
    }
    if (settlements.length === outcomes.settlements.length) return settled
    const free = new Set(settlements)
    const held = outcomes.settlements.filter((settlement) => !free.has(settlement))
    return { ...settled, postponed: new Set(held.map(({ delivery_id }) => delivery_id)) }
  })

  /** What a process that vanishes in this transaction leaves behind: locks. */
  const holding = ({ settlements }: Outcomes) =>
    settlements.length === 0
      ? undefined
      : () => locks?.hold(engine, [...new Set(settlements.map(({ integration_id }) => integration_id))])

  const warn: DeliveryStore["Service"]["warn"] = (now, disableAfter, limit) =>
    Effect.tap(deliveries.warn(now, disableAfter, limit), (notifications) =>
      Effect.sync(() =>
        notifications.length > 0 ? history.add({ kind: "warned", engine, now, notifications }) : undefined
      )
    )

  const idsIn = (filter: Omit<Parameters<typeof deliveries.list>[0], "limit">) =>
    Effect.map(deliveries.list({ ...filter, limit: everything }), (all): ReadonlyArray<DeliveryId> =>
      all.map(({ id }) => id)
    )

  /** Records a heartbeat and the leases that it released. Nothing else ends the leases of other workers. */
  const heartbeat = Effect.fnUntraced(function* (beat: Heartbeat) {
    const { holds, now, spares = false, until, worker } = beat
    const mayRelease =
      until === null ||
      holds !== undefined ||
      !members.has(worker) ||
      [...members.values()].some((membership) => membership <= now)
    const leased = new Map<DeliveryId, number>()
    if (mayRelease)
      for (const { attempts, id } of yield* deliveries.list({ states: ["delivering"], limit: everything }))
        leased.set(id, attempts)
    const membership = yield* deliveries.heartbeat(beat)
    const { continued } = membership
    const ended = [...members].filter(([name, end]) => (end <= now && !spares) || (until === null && name === worker))
    for (const [name] of ended) members.delete(name)
    if (until !== null) members.set(worker, until)
    const names = ended.map(([name]) => name)
    history.add({ kind: "heartbeat", engine, worker, now, until, continued, ended: names, holds: holds?.ids ?? null })
    if (leased.size > 0) {
      // An outcome may have been recorded at the same moment. The delivery then has one more attempt, or has ended.
      const ids: Array<DeliveryId> = []
      for (const [id, attempts] of leased) {
        const delivery = (yield* deliveries.find(id))?.delivery
        const isWaiting = delivery?.state === "pending" || delivery?.state === "retrying"
        if (isWaiting && delivery.attempts === attempts) ids.push(id)
      }
      if (ids.length > 0) history.add({ kind: "released", engine, worker, why: "lapsed", ids })
    }
    return membership
  })

  /** Runs an effect, and returns which deliveries of an integration it queued. */
  const queuedBy = Effect.fnUntraced(function* <A>(
    integration_id: IntegrationId,
    effect: Effect.Effect<A, StoreError>
  ) {
    const [waiting, active] = [
      idsIn({ integration_id, states: ["pending"] }),
      idsIn({ integration_id, states: activeStates })
    ]
    const [waited, wereActive] = [new Set(yield* waiting), new Set(yield* active)]
    const answer = yield* effect
    const queued = new Set((yield* waiting).filter((id) => !waited.has(id)))
    // A delivery that was cancelled during an attempt stays leased to the worker, so it becomes active without being
    // pending.
    for (const id of yield* active) if (!wereActive.has(id)) queued.add(id)
    return { answer, ids: [...queued] }
  })

  const redeliver = Effect.fnUntraced(function* (request: RedeliverRequest, now: number) {
    const effect = deliveries.redeliver(request, now)
    if (request.type === "delivery") {
      const answer = yield* effect
      if (answer._tag === "Redelivered") history.add({ kind: "resent", now, ids: [request.id] })
      return answer
    }
    const { answer, ids } = yield* queuedBy(request.id, effect)
    if (request.type === "integration") {
      if (ids.length > 0) history.add({ kind: "resent", now, ids })
    } else if (answer._tag === "Redelivered") history.add({ kind: "probed", now, integration_id: request.id, ids })
    return answer
  })

  /** Whether an event is still in the list of its building. */
  const isKept = ({ building_id, created_at, id, resource_type }: Event) =>
    Effect.map(
      deliveries.events({
        scope: { type: "building", id: building_id },
        resource_type,
        since: created_at,
        until: created_at + 1,
        offset: 0,
        limit: 10_000,
        countUpTo: 10_000
      }),
      ({ items }) => items.some((event) => event.id === id)
    )

  /** Purges, and looks up which events near the limit are gone. Does not rely on the store's answer. */
  const purge = Effect.fnUntraced(function* (request: PurgeRequest) {
    const isOld = ({ created_at }: { readonly created_at: number }) => created_at < request.before + nearEnd
    const old = [...events.values()].filter(isOld)
    const before = old.length === 0 ? [] : yield* allDeliveries(deliveries)
    const answer = yield* deliveries.purge(request)
    const gone: Array<Event> = []
    for (const event of old) if (!(yield* isKept(event))) gone.push(event)
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
      enqueue,
      claim: (request) =>
        Effect.tap(call("claim", claim(request)), ({ deliveries: claimed }) =>
          Effect.sync(() => (claimed.length > 0 ? receiveLeases(request.worker, claimed) : undefined))
        ),
      settle: (outcomes, now, disableAfter) =>
        call("settle", settle(outcomes, now, disableAfter), holding(outcomes)).pipe(
          Effect.tap(({ changed, notifications }) =>
            Effect.sync(() => {
              for (const integration_id of changed) history.add({ kind: "change_received", engine, integration_id })
              if (notifications.length > 0) history.add({ kind: "notifications_received", engine, notifications })
            })
          )
        ),
      heartbeat: (beat) =>
        call("heartbeat", heartbeat(beat)).pipe(
          Effect.tap(({ continued }) =>
            Effect.sync(() =>
              history.add({ kind: "member", engine, worker: beat.worker, until: beat.until, continued })
            )
          )
        ),
      warn: (now, disableAfter, limit) =>
        call("warn", warn(now, disableAfter, limit)).pipe(
          Effect.tap((notifications) =>
            Effect.sync(() =>
              notifications.length > 0
                ? history.add({ kind: "notifications_received", engine, notifications })
                : undefined
            )
          )
        ),
      redeliver: (request, now) => call("redeliver", redeliver(request, now)),
      feed: (request) => call("feed", deliveries.feed(request)),
      purge: (request) => call("purge", purge(request))
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
      const worker = wanted.initial.state === "delivering" && state === "delivering" ? wanted.initial.worker : null
      return [{ id, integration_id: wanted.integration_id, state, worker }]
    })
  }))

const watchedIntegrations = (
  integrations: IntegrationStore["Service"],
  { call, changed, history }: Watching
): IntegrationStore["Service"] => {
  const note = (what: "created" | "saved" | "deleted", integration: Integration, key: string | null = null) =>
    Effect.sync(() => {
      history.add({ kind: "integration", what, integration, key })
      if (what !== "created") changed(integration.id)
    })
  return {
    ...integrations,
    create: (fields, key, limit) =>
      call(
        "create",
        Effect.tap(integrations.create(fields, key, limit), (made) => note("created", made, key?.key ?? null))
      ),
    find: (id) => call("find", integrations.find(id)),
    findRef: (id) => call("findRef", integrations.findRef(id)),
    update: (integration, version) =>
      call(
        "update",
        Effect.tap(integrations.update(integration, version), (done) =>
          done ? note("saved", integration) : Effect.void
        )
      ),
    remove: (found) =>
      call(
        "remove",
        Effect.gen(function* () {
          const integration = yield* integrations.find(found.id)
          const done = yield* integrations.remove(found)
          if (done && integration !== null) yield* note("deleted", integration)
          return done
        })
      ),
    findByScopes: (scopes) => call("findByScopes", integrations.findByScopes(scopes)),
    listAll: (filter) => call("listAll", integrations.listAll(filter)),
    findWithHealth: (id) => call("findWithHealth", integrations.findWithHealth(id))
  }
}

/** Returns the largest number of deliveries claimed beyond a limit, in total or for one integration; 0 if none. */
const excessOf = (claimed: ReadonlyArray<LeasedDelivery>, request: ClaimRequest): number => {
  const { urgent = request } = request
  const excessIn = (deliveries: ReadonlyArray<LeasedDelivery>, limitIn: (limits: ClaimLimits) => number): number => {
    const { length } = deliveries
    const others = deliveries.filter(({ lane }) => !isUrgentLane(lane)).length
    return Math.max(
      Math.min(others, length - limitIn(request)),
      length - others - Math.max(limitIn(request), limitIn(urgent))
    )
  }
  const byIntegration = Map.groupBy(claimed, ({ integration }) => integration.id)
  const ofOne = Array.from(byIntegration, ([id, deliveries]) =>
    excessIn(deliveries, ({ limitPerIntegration, limits }) => limits.get(id) ?? limitPerIntegration)
  )
  return Math.max(
    0,
    excessIn(claimed, ({ limit }) => limit),
    ...ofOne
  )
}
