/**
 * Runs in the process that owns a file. Keeps the owner's memory consistent with the file, and manages workers and
 * leases.
 *
 * Leases are in memory only. After a crash, leased deliveries are due again.
 */
import type { DeliveryId, DeliveryStore, Heartbeat, IntegrationId, Membership, StoreError } from "@doorhook/core"
import { DeliveryReason, lanes, Transitions } from "@doorhook/core"
import { Effect, Schema } from "effect"
import type { Scope } from "effect"
import type { SqlError } from "effect/sql"
import { failAs } from "../StoreFailure.ts"
import { integrationId } from "./Columns.ts"
import * as Sql from "./DeliverySql.ts"
import { codes } from "./DeliverySql.ts"
import { IntegrationCache } from "./IntegrationCache.ts"
import type { Lease, FileOwnerState } from "./FileOwnerState.ts"
import { acquire, isOpen } from "./FileOwnerState.ts"
import { SqliteTurns } from "./SqliteTurns.ts"

export interface FileOwner {
  readonly turns: SqliteTurns["Service"]
  readonly known: IntegrationCache["Service"]
  readonly state: FileOwnerState
  /** Runs a read after the memory has been synchronized with the file. */
  readonly read: <A>(run: () => A, isRefusedWithChanges?: boolean) => Effect.Effect<A, SqlError.SqlError>
  /** Runs a durable change. */
  readonly change: <A>(
    operation: keyof DeliveryStore["Service"],
    run: () => A,
    rows?: number
  ) => Effect.Effect<A, StoreError>
  readonly loadCancellations: () => void
  /** Notes that a transaction of the SQL client may have changed an integration and its deliveries. */
  readonly noteUncertain: (id: IntegrationId) => void
  /** Makes a delivery wait until its due time. */
  readonly wait: (id: DeliveryId, integration: IntegrationId, to: Transitions.QueueEntry) => void
  /**
   * Releases leases. Each delivery is due at `dueAt` if given, or at its former due time. A cancelled delivery stays
   * cancelled.
   */
  readonly release: (leases: ReadonlyArray<Lease>, dueAt?: number) => void
  readonly heartbeat: (heart: Heartbeat) => Effect.Effect<Membership, StoreError>
}

export const makeFileOwner: Effect.Effect<FileOwner, SqlError.SqlError, SqliteTurns | IntegrationCache | Scope.Scope> =
  Effect.gen(function* () {
    const turns = yield* SqliteTurns
    const known = yield* IntegrationCache
    const state = yield* acquire(turns.location)
    const { cancellations, leases, members } = state
    const q = {
      owner: turns.prepare(Sql.owner),
      setOwner: turns.prepare(Sql.setOwner),
      cancellations: turns.prepare(Sql.cancellations),
      recoverLeases: turns.prepare(Sql.recoverLeases),
      standing: turns.prepare(Sql.standing),
      wait: turns.prepare(Sql.wait),
      renewOwner: turns.prepare(Sql.renewOwner)
    }

    // ---- The memory and the file

    const loadCancellations = () => {
      cancellations.clear()
      for (const [id, last, reason] of q.cancellations.all().map(Object.values))
        cancellations.set(integrationId(id), {
          last: Number(last),
          reason: isReason(reason) ? reason : "integration_disabled"
        })
    }

    const load = () => {
      state.load(Object.values(q.owner.get() ?? {}).map(Number))
      loadCancellations()
    }

    /** Makes due the deliveries that an ended process had kept. */
    const recover = () => {
      load()
      q.recoverLeases.run(state.low)
      state.low = state.delivery + 1
      state.isChanged = true
      state.isLoaded = true
    }

    const uncertain = new Set<IntegrationId>()

    /**
     * Synchronizes the memory with the file, which other connections and the SQL client's transactions may have
     * changed.
     */
    const refresh = () => {
      known.refresh()
      if (uncertain.size === 0) return
      load()
      for (const lease of leases.values())
        if (uncertain.has(lease.integration)) lease.state = Number(q.standing.get(lease.id)?.[1] ?? codes.cancelled)
      for (const id of uncertain) {
        known.forget(id)
        for (const lane of lanes) state.lookAgain(lane, id)
      }
      uncertain.clear()
    }

    // ---- Leases

    const wait = (id: DeliveryId, integration: IntegrationId, to: Transitions.QueueEntry) => {
      const due = to.due_at ?? 0
      q.wait.run(codeOf(to), to.lane, to.attempts, to.early, to.resend, due, id)
      state.noteDue(to.lane, integration, due, id)
    }

    const releaseLease = (lease: Lease, dueAt: number) => {
      if (!isOpen(lease.state)) return
      const to = Transitions.release(entryOf(lease), dueAt)
      const isAsStored = dueAt === lease.stored_due_at && codeOf(to) === lease.state && lease.resend !== 2
      if (isAsStored) return state.noteDue(lease.lane, lease.integration, dueAt, lease.id)
      state.move(lease.state, codeOf(to))
      wait(lease.id, lease.integration, to)
    }

    const release = (held: ReadonlyArray<Lease>, dueAt?: number) => {
      state.unlease(held)
      for (const lease of held) releaseLease(lease, dueAt ?? lease.due_at)
    }

    /** Releases leases of publications whose caller never got the answer. */
    const releaseUnlearned = () => {
      const ids = state.unlearned
      if (ids.length === 0) return
      state.unlearned = []
      state.undo(() => state.unlearned.push(...ids))
      release(ids.flatMap((id) => leases.get(id) ?? []))
    }

    // ---- Workers

    /** Renews or ends a membership. Returns the leases to release. */
    const renew = ({ holds, now, spares = false, until, worker }: Heartbeat) => {
      const before = [...members]
      for (const [name, end] of before) if (end <= now && !spares) members.delete(name)
      const continued = members.has(worker)
      const held = holds === undefined ? null : new Set(holds.ids)
      const freed: Array<Lease> = []
      for (const lease of leases.values()) {
        const isOwn = lease.worker === worker
        const isLost = isOwn && held !== null && !held.has(lease.id) && lease.created_at < (holds?.before ?? 0)
        // Includes deliveries that a worker claimed after its membership had lapsed.
        if (!members.has(lease.worker) || (isOwn && until === null) || isLost) freed.push(lease)
      }
      if (until === null) members.delete(worker)
      else members.set(worker, until)
      state.undo(() => {
        members.clear()
        for (const [name, end] of before) members.set(name, end)
      })
      let rank = 0
      for (const name of members.keys()) if (name < worker) rank++
      return { membership: { workers: members.size, rank, continued }, freed }
    }

    const heartbeat = (heart: Heartbeat): Membership => {
      const { freed, membership } = renew(heart)
      release(freed)
      // Without traffic this is the only write, and it detects a full disk before an event arrives.
      q.renewOwner.run(heart.now)
      return membership
    }

    turns.surround({
      begin: () => {
        state.begin()
        refresh()
        releaseUnlearned()
      },
      end: () => {
        if (state.isChanged) q.setOwner.run(...state.row())
      },
      rolledBack: () => {
        state.rollBack()
        load()
        known.forgetAll()
      }
    })
    if (!state.isLoaded) yield* turns.change({ run: recover, isDurable: false, rows: 1 })

    return {
      turns,
      known,
      state,
      read: (run, isRefusedWithChanges) =>
        turns.read(() => {
          refresh()
          return run()
        }, isRefusedWithChanges),
      change: (operation, run, rows = 1) =>
        failAs(`DeliveryStore.${operation}`)(turns.change({ run, isDurable: true, rows })),
      loadCancellations,
      noteUncertain: (id) => {
        refresh()
        uncertain.add(id)
        known.forget(id)
      },
      wait,
      release,
      heartbeat: (heart) =>
        failAs("DeliveryStore.heartbeat")(turns.change({ run: () => heartbeat(heart), isDurable: false, rows: 1 }))
    }
  })

const isReason = Schema.is(DeliveryReason)

/** Returns the stored code of a delivery's state. */
export const codeOf = ({ state }: Pick<Transitions.QueueEntry, "state">): number =>
  codes[state === "delivering" ? "pending" : state]

/** Returns the queue entry of a leased delivery. */
export const entryOf = (lease: Lease): Transitions.QueueEntry => ({
  state: isOpen(lease.state) ? "delivering" : "cancelled",
  reason: null,
  attempts: lease.attempts,
  early: lease.early,
  lane: lease.lane,
  due_at: isOpen(lease.state) ? lease.due_at : null,
  worker: lease.worker,
  resend: lease.resend
})
