/**
 * Deliveries in memory. Ended deliveries are kept, as in a database. Nothing survives the end of the process.
 */
import { Effect, Layer } from "effect"
import type { CallMark } from "../model/CallMark.ts"
import { areOfOneCall, callLifetime, callMarkOf } from "../model/CallMark.ts"
import type { DeliveryState, LeasedDelivery } from "../model/Delivery.ts"
import { lanes } from "../model/Delivery.ts"
import type { Event } from "../model/Event.ts"
import type { DeliveryId, IntegrationId } from "../model/Ids.ts"
import { NotificationId } from "../model/Ids.ts"
import type { Integration } from "../model/Integration.ts"
import { callEndType } from "../model/ResourceType.ts"
import type { IntegrationNotification, NewNotification, Notification } from "../model/Notification.ts"
import type {
  ClaimRequest,
  DeliveryFilter,
  Enqueued,
  EventFilter,
  EventPage,
  FigureFilter,
  FigureRow,
  EventPart,
  EventPlace,
  FeedEnd,
  FeedPart,
  FeedPlace,
  FeedRequest,
  Heartbeat,
  ListedDelivery,
  Membership,
  NewEventRecord,
  Outcomes,
  Purged,
  PurgeRequest,
  RedeliverRequest,
  RedeliverResult,
  Settled
} from "../ports/DeliveryStore.ts"
import { DeliveryStore, excerptChars, feedScan, latencyClassOf } from "../ports/DeliveryStore.ts"
import type { IdempotencyRecord } from "../ports/IdempotencyStore.ts"
import { IdempotencyConflict } from "../ports/IdempotencyStore.ts"
import { StoreError } from "../ports/StoreError.ts"
import { ClaimAllowance } from "../delivery/ClaimAllowance.ts"
import type { AppliedSettlement, HealthChange, HealthSubject } from "../delivery/HealthRules.ts"
import { evaluateBatch, evaluateTime, mayChangeHealth, reportOf } from "../delivery/HealthRules.ts"
import { isRecovered, purgePage, redelivered, refused, refusalOf, scopesOf } from "../delivery/StoreRules.ts"
import {
  enqueue,
  claim,
  isCurrent,
  isDue,
  isRecoverable,
  reasonToEnd,
  release,
  resend,
  settle,
  unacknowledgedStates
} from "../delivery/Transitions.ts"
import type { DeliveryTable, StoredDelivery } from "./DeliveryTable.ts"
import { countWhile, toDelivery } from "./DeliveryTable.ts"
import { MemoryState, takenKey } from "./MemoryState.ts"

type State = MemoryState["Service"]

const make = Effect.gen(function* () {
  const state = yield* MemoryState
  const { deliveries, integrations } = state
  /** When each worker's membership ends. */
  const members = new Map<string, number>()

  return DeliveryStore.of({
    enqueue: (records, given?: ReadonlyArray<IdempotencyRecord>) =>
      Effect.suspend((): Effect.Effect<ReadonlyArray<ReadonlyArray<Enqueued>>, StoreError | IdempotencyConflict> => {
        const keys = given ?? []
        const taken = takenKey(state, keys)
        if (taken !== undefined) return Effect.fail(new IdempotencyConflict({ key: taken }))
        const repeated = repeatedEvent(deliveries, records)
        if (repeated !== undefined) {
          const cause = new Error(`Event ${repeated} is stored already.`)
          return Effect.fail(new StoreError({ operation: "DeliveryStore.enqueue", cause }))
        }
        for (const key of keys) state.keys.set(key.key, key)
        const stored = records.map(({ call, deliveries: wanted, event }) => {
          const others = call === undefined ? [] : relatedCalls(deliveries, event, call)
          if (call?.isEnd === true) for (const { id } of others) deliveries.cancelEvent(id, "call_ended")
          const hasEnded = call?.isEnd === false && others.length > 0
          return deliveries.addEvent(event, wanted, (delivery) =>
            enqueue(delivery, event, integrations.get(delivery.integration_id), hasEnded)
          )
        })
        // The worker learns only of deliveries that are not cancelled, so it could not end the other leases.
        for (const delivery of stored.flat())
          if (delivery.standing.state === "cancelled") deliveries.move(delivery, { ...delivery.standing, worker: null })
        return Effect.succeed(stored.map((each) => each.map(({ id, standing }) => ({ id, state: standing.state }))))
      }),

    claim: (request) => Effect.sync(() => ({ deliveries: claimFrom(state, request), next_due: deliveries.nextDue() })),

    settle: (outcomes, now, disableAfter) => Effect.sync(() => settleAll(state, outcomes, now, disableAfter)),

    heartbeat: (beat) => Effect.sync(() => beatOf(deliveries, members, beat)),

    redeliver: (request, now) => Effect.sync(() => redeliverFrom(state, request, now)),

    warn: (now, disableAfter, limit) => Effect.sync(() => warnAll(state, now, disableAfter, limit)),

    addNotification: (notification) => Effect.sync(() => keep(state, notification)),

    find: (id) =>
      Effect.sync(() => {
        const stored = deliveries.get(id)
        return stored === undefined
          ? null
          : { delivery: toDelivery(stored), event: stored.event, attempts: [...stored.history] }
      }),

    findEvent: (id) => Effect.sync(() => deliveries.events.get(id)?.event ?? null),

    list: (filter) => Effect.sync(() => select(deliveries, filter).map(toListed)),

    excerpts: (ids) =>
      Effect.sync(() =>
        [...new Set(ids)].flatMap((id) => {
          const event = deliveries.events.get(id)?.event
          if (event === undefined) return []
          const { action, created_at, data } = event
          return [{ id, action, created_at, data: data.slice(0, excerptChars) }]
        })
      ),

    feed: ({ integration_id, ...request }) =>
      Effect.sync(() => {
        const all = deliveries.byIntegration.get(integration_id) ?? []
        const { items, ...part } = feedPart(all, ({ id }) => id, request)
        return { ...part, items: items.map((stored) => ({ delivery: toDelivery(stored), event: stored.event })) }
      }),

    eventFeed: ({ scope, ...request }) =>
      Effect.sync(() => feedPart(deliveries.feedOf(scope), ({ seq }) => seq, request)),

    feedPlace: ({ after, since, source }) =>
      Effect.sync(() => {
        if (source.type !== "integration") return firstSince(deliveries.feedOf(source), ({ seq }) => seq, after, since)
        return firstSince(deliveries.byIntegration.get(source.id) ?? [], ({ id }) => id, after, since)
      }),

    feedEnds: Effect.sync(() => {
      const last = deliveries.lastIds()
      const endAt = (id: number): FeedEnd => ({ complete: id, assigned: id })
      return { deliveries: endAt(last.deliveries), events: endAt(last.events) }
    }),

    lastPurged: ({ source, types }) => Effect.sync(() => deliveries.lastPurged(source, types)),

    newScopes: ({ after, limit }) =>
      Effect.sync(() => {
        if (deliveries.lastIds().events <= after) return { scopes: [], upTo: after, more: false }
        const found = deliveries.storedAfter(after, limit)
        const scopes = scopesOf(found.map(({ event }) => event))
        return { scopes, upTo: found.at(-1)?.seq ?? after, more: found.length === limit }
      }),

    events: (filter) => Effect.sync(() => pageOfEvents(deliveries, filter)),

    eventsFrom: ({ from, limit, maxBytes, resource_type, scope, since = Number.MIN_SAFE_INTEGER }) =>
      Effect.sync(() => {
        const rest = deliveries
          .eventsOf(scope, resource_type)
          .filter((event) => event.created_at >= since && !isAfter(deliveries, event, from))
        return partOf(deliveries, rest.slice(-limit).toReversed(), maxBytes)
      }),

    notifications: ({ after, integration_id, limit, order }) =>
      Effect.sync(() =>
        (order === "newest" ? state.notifications.toReversed() : state.notifications)
          .filter(({ id }) => after === undefined || (order === "newest" ? id < after : id > after))
          .filter((notification) => integration_id === undefined || notification.integration_id === integration_id)
          .slice(0, limit)
      ),

    purge: (request) => Effect.sync(() => purgeOld(state, request)),

    figures: (filter) => Effect.sync(() => figuresOf(deliveries, filter)),

    summary: (now) =>
      Effect.sync(() => {
        const due = deliveries.nextDue()
        return {
          events: deliveries.events.size,
          states: { ...deliveries.counts },
          oldest_due_at: due !== null && due <= now ? due : null
        }
      })
  })
})

/** Requires the state shared by the memory stores. */
export const layer: Layer.Layer<DeliveryStore, never, MemoryState> = Layer.effect(DeliveryStore, make)

/** Returns the calls that an event ends, or the events that have ended its call. */
const relatedCalls = (deliveries: DeliveryTable, event: Event, call: CallMark): ReadonlyArray<Event> => {
  const others = deliveries.eventsOf({ type: "building", id: event.building_id }, call.isEnd ? "call" : callEndType)
  const first = countWhile(others, ({ created_at }) => created_at <= event.created_at - callLifetime)
  return others.slice(first).filter((each) => {
    const other = callMarkOf(each)
    return other !== null && areOfOneCall({ ...event, call }, { ...each, call: other })
  })
}

/** Returns the first event id that is already stored or occurs twice. */
const repeatedEvent = (deliveries: DeliveryTable, records: ReadonlyArray<NewEventRecord>): string | undefined => {
  const found = records.find(({ event }) => deliveries.events.has(event.id))
  if (found !== undefined || records.length < 2) return found?.event.id
  const seen = new Set<string>()
  return records.find(({ event }) => seen.size === seen.add(event.id).size)?.event.id
}

const claimFrom = ({ deliveries, integrations }: State, request: ClaimRequest): ReadonlyArray<LeasedDelivery> => {
  const leased: Array<LeasedDelivery> = []
  const taken =
    request.earlyOf === undefined ? dueOf(deliveries, request) : retriesOf(deliveries, request.earlyOf, request)
  for (const delivery of taken) {
    deliveries.move(delivery, claim(delivery.standing, request.worker))
    const { event, id, integration_id, standing } = delivery
    const integration = integrations.get(integration_id)
    if (integration === undefined) continue
    const { attempts, due_at, early, lane, resend } = standing
    const early_due_at = request.earlyOf === undefined ? null : due_at
    leased.push({ id, lane, attempts, early, early_due_at, resend: resend > 0, event, integration })
  }
  return leased
}

/**
 * Yields due deliveries lane by lane. Within a lane, each round takes one delivery per integration, earliest due first.
 * Only the heads of the queues are read. The caller must therefore remove each delivery from its queue before it
 * requests the next one.
 */
const dueOf = function* (deliveries: DeliveryTable, request: ClaimRequest): Iterable<StoredDelivery> {
  const allowance = new ClaimAllowance(request)
  for (const lane of lanes) {
    let heads = allowance.room(lane) > 0 ? deliveries.heads(lane) : []
    while (heads.length > 0) {
      const next: Array<StoredDelivery> = []
      const round = heads.filter(
        ({ integration_id, standing }) => isDue(standing, request.now) && allowance.roomOf(integration_id, lane) > 0
      )
      for (const delivery of round.toSorted(byDue)) {
        if (allowance.room(lane) <= 0) break
        const { integration_id } = delivery
        allowance.take(integration_id)
        yield delivery
        const head = deliveries.head(lane, integration_id)
        if (head !== undefined) next.push(head)
      }
      heads = next
    }
  }
}

const byDue = (a: StoredDelivery, b: StoredDelivery): number =>
  (a.standing.due_at ?? 0) - (b.standing.due_at ?? 0) || a.integration_id - b.integration_id

/** Returns the retries of an integration that are not yet due, oldest delivery first. */
const retriesOf = (
  deliveries: DeliveryTable,
  integration: IntegrationId,
  { limit, limitPerIntegration, limits, now }: ClaimRequest
): ReadonlyArray<StoredDelivery> => {
  const places = Math.min(limit, limits.get(integration) ?? limitPerIntegration)
  const oldest: Array<StoredDelivery> = []
  for (const delivery of deliveries.waitingOf(integration)) {
    if (oldest.length >= places && delivery.id > (oldest.at(-1)?.id ?? 0)) continue
    if (delivery.standing.state !== "retrying" || isDue(delivery.standing, now)) continue
    oldest.splice(
      countWhile(oldest, ({ id }) => id < delivery.id),
      0,
      delivery
    )
    if (oldest.length > places) oldest.pop()
  }
  return oldest
}

const settleAll = (
  state: State,
  { releases, settlements, worker }: Outcomes,
  now: number,
  disableAfter: number
): Settled => {
  const { deliveries, failing, integrations } = state
  const applied = new Set<DeliveryId>()
  const steps = new Map<IntegrationId, Array<AppliedSettlement>>()
  /** Integrations whose health may change. */
  const subjects = new Map<IntegrationId, HealthSubject>()
  let hasDueDeliveries = false
  for (const settlement of settlements) {
    const delivery = deliveries.get(settlement.delivery_id)
    if (delivery === undefined || !isCurrent(delivery.standing, settlement, worker)) continue
    const { integration_id, standing: from } = delivery
    const integration = integrations.get(integration_id)
    const to = settle(from, settlement, now, reasonToEnd(integration))
    if (settlement.attempt !== null) delivery.history.push(settlement.attempt)
    deliveries.move(delivery, to)
    applied.add(delivery.id)
    const batch = steps.get(integration_id)
    if (batch === undefined) steps.set(integration_id, [{ settlement, from, to }])
    else batch.push({ settlement, from, to })
    if (integration !== undefined) {
      const subject = { integration, failing: failing.get(integration_id) ?? null }
      if (mayChangeHealth(subject, [settlement])) subjects.set(integration_id, subject)
    }
    hasDueDeliveries ||= to.state === "pending"
  }
  for (const { delivery_id, due_at } of releases) {
    const delivery = deliveries.get(delivery_id)
    if (delivery?.standing.worker === worker) deliveries.move(delivery, release(delivery.standing, due_at))
  }
  const report = applyChanges(state, evaluateBatch(subjects, steps, now, disableAfter), now)
  return { applied, ...report, hasDueDeliveries, postponed: new Set() }
}

/** Applies changes of integrations, and stores their notifications. */
const applyChanges = (state: State, changes: ReadonlyArray<HealthChange>, now: number) => {
  const { deliveries, failing, integrations } = state
  const switchTo = (id: IntegrationId, to: Pick<Integration, "status" | "disabled_reason">): void => {
    const integration = integrations.get(id)
    if (integration === undefined) return
    integrations.set(id, { ...integration, ...to, version: integration.version + 1, updated_at: now })
  }
  for (const change of changes) {
    const { integration_id: id, type } = change
    if (type === "set" && change.failing === null) failing.delete(id)
    else if (type === "set" && change.failing !== null) failing.set(id, change.failing)
    else if (type === "disable") switchTo(id, { status: "disabled", disabled_reason: change.reason })
    else if (type === "enable") switchTo(id, { status: "enabled", disabled_reason: null })
    else if (type === "cancel") deliveries.cancelActive(id, change.reason)
  }
  const report = reportOf(changes)
  return { ...report, notifications: report.notifications.map((notification) => keep(state, notification)) }
}

const beatOf = (
  deliveries: DeliveryTable,
  members: Map<string, number>,
  { holds, now, spares = false, until, worker }: Heartbeat
): Membership => {
  for (const [member, end] of members) if (end <= now && !spares) members.delete(member)
  const continued = members.has(worker)
  const releaseLease = (delivery: StoredDelivery): void => deliveries.move(delivery, release(delivery.standing))
  // Releases all leases of workers without a membership, even leases claimed after the membership had expired.
  for (const holder of deliveries.holders())
    if (!members.has(holder) || (holder === worker && until === null)) deliveries.heldBy(holder).forEach(releaseLease)
  if (until === null) members.delete(worker)
  else members.set(worker, until)
  if (holds !== undefined) {
    const held = new Set(holds.ids)
    for (const delivery of deliveries.heldBy(worker))
      if (!held.has(delivery.id) && delivery.event.created_at < holds.before) releaseLease(delivery)
  }
  let rank = 0
  for (const member of members.keys()) if (member < worker) rank++
  return { workers: members.size, rank, continued }
}

const unacknowledged: ReadonlySet<DeliveryState> = new Set(unacknowledgedStates)

const redeliverFrom = (
  { deliveries, integrations }: State,
  request: RedeliverRequest,
  now: number
): RedeliverResult => {
  const resendNow = (delivery: StoredDelivery): void => deliveries.move(delivery, resend(delivery.standing, now))
  if (request.type === "delivery") {
    const delivery = deliveries.get(request.id)
    if (delivery === undefined) return refused("not_found")
    const refusal = refusalOf(request.type, integrations.get(delivery.integration_id))
    if (refusal !== null) return refused(refusal)
    resendNow(delivery)
    return redelivered(1, delivery.id)
  }
  const refusal = refusalOf(request.type, integrations.get(request.id))
  if (refusal !== null) return refused(refusal)
  const all = deliveries.byIntegration.get(request.id) ?? []
  if (request.type === "integration") {
    const missed = all.filter(({ event, standing }) => isRecoverable(standing) && isRecovered(request, event))
    missed.forEach(resendNow)
    return redelivered(missed.length, null)
  }
  const newest = all.findLast(({ standing }) => standing.worker === null && unacknowledged.has(standing.state))
  if (newest === undefined) return refused("nothing_to_send")
  resendNow(newest)
  return redelivered(1, newest.id)
}

/** Stores notifications of integrations whose failure has crossed a warning threshold. */
const warnAll = (
  state: State,
  now: number,
  disableAfter: number,
  limit: number
): ReadonlyArray<Notification<IntegrationNotification>> => {
  const notifications: Array<Notification<IntegrationNotification>> = []
  for (const [id, failing] of [...state.failing].toSorted(([a], [b]) => a - b)) {
    if (notifications.length >= limit) break
    const integration = state.integrations.get(id)
    if (integration === undefined) continue
    const changes = evaluateTime({ integration, failing }, now, disableAfter)
    notifications.push(...applyChanges(state, changes, now).notifications)
  }
  return notifications
}

const keep = <Kind extends NewNotification>(state: State, notification: Kind): Notification<Kind> => {
  const kept = { ...notification, id: NotificationId.make(++state.lastNotification) }
  state.notifications.push(kept)
  return kept
}

const figuresOf = (deliveries: DeliveryTable, { before, from, integration_id, step }: FigureFilter) => {
  const rows = new Map<string, FigureRow>()
  const of = integration_id === undefined ? {} : { integration_id }
  for (const stored of candidates(deliveries, { ...of, limit: Number.MAX_SAFE_INTEGER })) {
    if (stored.id < from || stored.id >= before) continue
    const { created_at, state } = toDelivery(stored)
    const last = stored.history.at(-1)
    const row = {
      at: Math.floor(created_at / step) * step,
      state: state === "delivering" ? "pending" : state,
      latency: state === "delivered" && last !== undefined ? latencyClassOf(last.duration_ms) : -1
    } as const
    const key = Object.values(row).join()
    rows.set(key, { ...row, count: (rows.get(key)?.count ?? 0) + 1 })
  }
  return [...rows.values()]
}

const toListed = (stored: StoredDelivery): ListedDelivery => {
  const listed = { ...toDelivery(stored), resource_type: stored.event.resource_type }
  const last = stored.history.at(-1)
  if (last === undefined) return { ...listed, last_attempt: null }
  const { response_excerpt: _, ...last_attempt } = last
  return { ...listed, last_attempt }
}

/** Returns the deliveries that match a filter. Searches the smallest index that contains them all. */
const select = (deliveries: DeliveryTable, filter: DeliveryFilter): ReadonlyArray<StoredDelivery> => {
  const found: Array<StoredDelivery> = []
  for (const delivery of candidates(deliveries, filter)) {
    if (found.length === filter.limit) break
    if (filter.states?.includes(delivery.standing.state) === false) continue
    if (filter.integration_id !== undefined && delivery.integration_id !== filter.integration_id) continue
    found.push(delivery)
  }
  return found
}

const candidates = (
  deliveries: DeliveryTable,
  { after, event_id, integration_id, order }: DeliveryFilter
): Iterable<StoredDelivery> => {
  const narrow =
    event_id !== undefined
      ? (deliveries.events.get(event_id)?.deliveries ?? [])
      : integration_id !== undefined
        ? (deliveries.byIntegration.get(integration_id) ?? [])
        : null
  if (order === "newest") {
    if (narrow === null) return deliveries.until(after)
    return (after === undefined ? narrow : narrow.filter(({ id }) => id < after)).toReversed()
  }
  return narrow === null ? deliveries.since(after ?? 0) : sliceAfter(narrow, after ?? 0)
}

/** Returns the deliveries after the given id, from a list ordered by id. */
const sliceAfter = (list: ReadonlyArray<StoredDelivery>, after: DeliveryId | 0): ReadonlyArray<StoredDelivery> =>
  list.slice(countWhile(list, ({ id }) => id <= after))

const encoder = new TextEncoder()

/** Returns how many of the items a part has that ends with the item whose data reaches a number of bytes. */
const countUpToBytes = <A>(items: ReadonlyArray<A>, most = Number.MAX_SAFE_INTEGER, eventOf: (item: A) => Event) => {
  let bytes = 0
  const last = items.findIndex((item) => (bytes += encoder.encode(eventOf(item).data).length) >= most)
  return last === -1 ? items.length : last + 1
}

/** Returns the items of a list that follow a position, in order. */
const itemsAfter = <A>(all: ReadonlyArray<A>, positionOf: (item: A) => number, after: number): ReadonlyArray<A> =>
  all.slice(countWhile(all, (item) => positionOf(item) <= after))

/** Returns part of a feed whose items are given in order. */
const feedPart = <A extends { readonly event: Event }>(
  all: ReadonlyArray<A>,
  positionOf: (item: A) => number,
  { after, limit, maxBytes, types }: FeedRequest
): FeedPart<A> => {
  const later = itemsAfter(all, positionOf, after)
  const examined = types === undefined ? later : later.slice(0, feedScan)
  const matching = examined.filter(({ event }) => types?.includes(event.resource_type) !== false)
  const items = matching.slice(
    0,
    Math.min(
      limit,
      countUpToBytes(matching, maxBytes, ({ event }) => event)
    )
  )
  const isWhole = items.length === matching.length
  const last = (isWhole ? examined : items).at(-1)
  return {
    items,
    upTo: last === undefined ? after : positionOf(last),
    more: !isWhole || examined.length < later.length
  }
}

/** Returns the first item after a position that was published at a time or later. */
const firstSince = <A extends { readonly event: Event }>(
  all: ReadonlyArray<A>,
  positionOf: (item: A) => number,
  after: number,
  since: number
): FeedPlace | null => {
  const found = itemsAfter(all, positionOf, after).find(({ event }) => event.created_at >= since)
  return found === undefined ? null : { position: positionOf(found), created_at: found.event.created_at }
}

const seqOf = (deliveries: DeliveryTable, { id }: Event): number => deliveries.events.get(id)?.seq ?? 0

/** Whether an event is after a place in the order of publication. */
const isAfter = (deliveries: DeliveryTable, event: Event, { created_at, seq }: EventPlace): boolean =>
  event.created_at > created_at || (event.created_at === created_at && seqOf(deliveries, event) > seq)

/** Returns the first part of some events, latest first. */
const partOf = (deliveries: DeliveryTable, events: ReadonlyArray<Event>, maxBytes: number | undefined): EventPart => {
  const items = events.slice(
    0,
    countUpToBytes(events, maxBytes, (event) => event)
  )
  const next = events[items.length]
  return {
    items,
    next: next === undefined ? null : { created_at: next.created_at, seq: seqOf(deliveries, next) }
  }
}

/** Returns a page of the list of a scope, which is in order of publication. */
const pageOfEvents = (
  deliveries: DeliveryTable,
  { countUpTo, limit, maxBytes, offset, resource_type, scope, since, until }: EventFilter
): EventPage => {
  const list = deliveries.eventsOf(scope, resource_type)
  const from = since === undefined ? 0 : countWhile(list, ({ created_at }) => created_at < since)
  const to = until === undefined ? list.length : countWhile(list, ({ created_at }) => created_at < until)
  const count = Math.max(0, to - from)
  const end = Math.max(from, to - offset)
  return {
    ...partOf(deliveries, list.slice(Math.max(from, end - limit), end).toReversed(), maxBytes),
    total: Math.min(count, countUpTo),
    isCapped: count > countUpTo
  }
}

const purgeOld = (state: State, request: PurgeRequest): Purged => {
  const { deliveries } = state
  const { after, before, limit } = request
  state.notifications = state.notifications.filter(({ at }) => at >= before)
  const touched = new Set<IntegrationId>()
  const deleted: Array<Event> = []
  let purged = 0
  const { next, old } = purgePage(deliveries.storedAfter(after, limit + 1), request)
  for (const { deliveries: own, event } of old) {
    if (own.some(({ standing }) => standing.due_at !== null)) continue
    deleted.push(event)
    purged += own.length
    for (const { integration_id } of own) touched.add(integration_id)
    deliveries.removeEvent(event.id)
  }
  deliveries.forget(deleted, touched)
  return { events: deleted.length, deliveries: purged, next }
}
