/**
 * Stores events with their deliveries.
 */
import type {
  CallMark,
  DeliveryId,
  DeliveryStore,
  Enqueued,
  Event,
  IntegrationId,
  NewEventRecord,
  IdempotencyRecord
} from "@doorhook/core"
import {
  areOfOneCall,
  callEndType,
  callLifetime,
  callMarkOf,
  isUrgentLane,
  IdempotencyConflict,
  JsonText,
  Transitions
} from "@doorhook/core"
import { Effect } from "effect"
import { sqlite } from "../Dialect.ts"
import { keyStatements } from "../stores/SqlIdempotencyStore.ts"
import { failAsUnlessTaken } from "../StoreFailure.ts"
import { deliveryId, integrationId, laneOf } from "./Columns.ts"
import * as Sql from "./DeliverySql.ts"
import { codes } from "./DeliverySql.ts"
import type { FileOwner } from "./FileOwner.ts"
import { codeOf } from "./FileOwner.ts"
import { isOpen } from "./FileOwnerState.ts"

/** Number of new events after which `listNew` runs. */
const listEvery = 4_096

export interface Enqueue {
  readonly enqueue: DeliveryStore["Service"]["enqueue"]
  /**
   * Adds all new events to the lists of scopes, and all new deliveries to the lists of integrations. Runs inside a
   * change.
   */
  readonly listNew: () => void
}

export const makeEnqueue = ({ known, state, turns }: FileOwner): Enqueue => {
  const { cancellations, leases } = state
  const q = {
    findKey: turns.prepare(Sql.findKey),
    insertKey: turns.prepare(keyStatements(sqlite).insert),
    insertEvent: turns.prepare(Sql.insertEvent),
    insertHeld: turns.prepare(Sql.insertHeld),
    insertDelivery: turns.prepare(Sql.insertDelivery),
    listByBuilding: turns.prepare(Sql.listByBuilding),
    listByTenant: turns.prepare(Sql.listByTenant),
    listByIntegration: turns.prepare(Sql.listByIntegration),
    eventsOf: turns.prepare(Sql.eventsOf),
    rangeOfEvent: turns.prepare(Sql.rangeOfEvent),
    deliveriesOfEvent: turns.prepare(Sql.deliveriesOfEvent),
    standing: turns.prepare(Sql.standing),
    cancelOne: turns.prepare(Sql.cancelOne)
  }

  const listNew = () => {
    if (state.event === state.listedEvent) return
    q.listByBuilding.run(state.listedEvent, state.event)
    q.listByTenant.run(state.listedEvent, state.event)
    q.listByIntegration.run(state.listedDelivery, state.delivery)
    state.listedEvent = state.event
    state.listedDelivery = state.delivery
    state.isChanged = true
  }

  /** Returns the ids of the calls that an event ends, or of the events that have ended its call. */
  const relatedCalls = (event: Event, call: CallMark): ReadonlyArray<string> => {
    listNew()
    const type = call.isEnd ? "call" : callEndType
    const since = event.created_at - callLifetime
    const scope = ["building", event.building_id, type, since] as const
    const rows = q.eventsOf.all(...scope, Number.MAX_SAFE_INTEGER, 0, Number.MAX_SAFE_INTEGER)
    return rows.flatMap((row) => {
      const other = callMarkOf({ resource_type: type, data: JsonText.JsonText.make(String(row[5])) })
      const isSame = other !== null && areOfOneCall({ ...event, call }, { created_at: Number(row[6]), call: other })
      return isSame ? [String(row[0])] : []
    })
  }

  /** Cancels the active deliveries of a call that has ended. Leases last until their attempts end. */
  const cancelCall = (event: string, onCancel: (id: DeliveryId) => void) => {
    const [seq, first, last] = Object.values(q.rangeOfEvent.get(event) ?? {}).map(Number)
    for (const row of q.deliveriesOfEvent.all(first ?? 0, last ?? 0, seq ?? 0)) {
      const [id, integration, from] = [deliveryId(row[0]), integrationId(row[1]), Number(row[2])]
      const isCancelled = id <= (cancellations.get(integration)?.last ?? 0)
      if (!isOpen(from) || isCancelled) continue
      const lease = leases.get(id)
      if (lease === undefined) {
        const [, , , lane, , , , due] = Object.values(q.standing.get(id) ?? {})
        state.noteGone(laneOf(lane), integration, Number(due))
      } else {
        state.undo(() => (lease.state = from))
        lease.state = codes.cancelled
      }
      q.cancelOne.run("call_ended", id)
      state.move(from, codes.cancelled)
      onCancel(id)
    }
  }

  /** Stores idempotency keys. If a key is in use, returns a conflict and writes nothing. */
  const storeKeys = (keys: ReadonlyArray<IdempotencyRecord>): IdempotencyConflict | null => {
    const taken = keys.find(({ created_at, key }) => q.findKey.get(key, created_at) !== undefined)
    if (taken !== undefined) return new IdempotencyConflict({ key: taken.key })
    const each = new Map(keys.map((request) => [request.key, request]))
    for (const { answer, created_at, expires_at, fingerprint, key } of each.values())
      q.insertKey.run(key, fingerprint, answer, created_at, expires_at)
    return null
  }

  const storeEvents = (records: ReadonlyArray<NewEventRecord>): ReadonlyArray<ReadonlyArray<Enqueued>> => {
    const held: Array<DeliveryId> = []
    const cancelled = new Set<DeliveryId>()
    state.undo(() => held.forEach((id) => leases.delete(id)))
    const targets = new Map<IntegrationId, Transitions.Target>()
    const targetOf = (id: IntegrationId): Transitions.Target => {
      if (targets.has(id)) return targets.get(id)
      const row = known.get(id)?.row
      const status = row?.status === "disabled" ? "disabled" : "enabled"
      const target: Transitions.Target = row && { status, version: row.version }
      targets.set(id, target)
      return target
    }
    const stored = records.map(({ call, deliveries, event }) => {
      const others = call === undefined ? [] : relatedCalls(event, call)
      if (call?.isEnd === true) for (const each of others) cancelCall(each, (id) => cancelled.add(id))
      const hasEnded = call?.isEnd === false && others.length > 0
      const seq = ++state.event
      const first = state.delivery + 1
      const { action, building_id, created_at, data, resource_type, tenant_ids } = event
      const ids = deliveries.map((delivery): Enqueued => {
        const { integration_id: integration, lane } = delivery
        const to = Transitions.enqueue(delivery, event, targetOf(integration), hasEnded)
        const id = deliveryId(++state.delivery)
        const code = codeOf(to)
        state.count(code, 1)
        if (to.worker === null) {
          q.insertDelivery.run(id, seq, integration, code, to.reason, lane, to.due_at)
          if (to.due_at !== null) state.noteDue(lane, integration, to.due_at, id)
        } else {
          q.insertHeld.run(id, seq, integration, lane)
          held.push(id)
          state.lease({
            id,
            integration,
            lane,
            attempts: 0,
            early: 0,
            created_at,
            due_at: created_at,
            stored_due_at: null,
            worker: to.worker,
            state: codes.pending,
            resend: 0
          })
        }
        return { id, state: to.state }
      })
      const [from, last] = ids.length === 0 ? [null, null] : [first, state.delivery]
      const tenants = JSON.stringify(tenant_ids)
      q.insertEvent.run(seq, event.id, resource_type, action, building_id, tenants, created_at, from, last, data)
      return ids
    })
    state.events += records.length
    state.isChanged = true
    if (state.event - state.listedEvent >= listEvery) listNew()
    if (cancelled.size === 0) return stored
    // The worker learns only of deliveries that are not cancelled, so it could not end the other leases.
    for (const id of held) if (cancelled.has(id)) leases.delete(id)
    return stored.map((each) => each.map((one) => (cancelled.has(one.id) ? { ...one, state: "cancelled" } : one)))
  }

  const enqueue = (records: ReadonlyArray<NewEventRecord>, keys: ReadonlyArray<IdempotencyRecord> = []) => {
    if (records.length === 0 && keys.length === 0) return Effect.succeed([])
    return turns
      .change({
        run: () => storeKeys(keys) ?? storeEvents(records),
        isDurable: true,
        isUrgent: records.some(({ deliveries }) => deliveries.some(({ lane }) => isUrgentLane(lane))),
        rows: records.reduce((sum, { deliveries }) => sum + 1 + deliveries.length, 0),
        onLost: (stored) => {
          if (stored instanceof IdempotencyConflict) return
          for (const each of stored)
            for (const { id, state: to } of each) if (to === "delivering") state.unlearned.push(id)
        }
      })
      .pipe(
        Effect.flatMap((stored) =>
          stored instanceof IdempotencyConflict ? Effect.fail(stored) : Effect.succeed(stored)
        ),
        failAsUnlessTaken("DeliveryStore.enqueue")
      )
  }

  return { enqueue, listNew }
}
