/**
 * The memory of the process that owns a file: leases, workers, first due times and counts. Shared by all stores that
 * the process opens on the file.
 *
 * The memory changes in the same transactions as the rows. If a transaction rolls back, the functions passed to `undo`
 * revert its changes.
 */
import type { DeliveryId, DeliveryReason, IntegrationId, Lane } from "@doorhook/core"
import { Effect } from "effect"
import type { Scope } from "effect"
import { codes, storedStates } from "./DeliverySql.ts"
import { identityOf } from "./SqliteFile.ts"

/** A delivery leased to a worker. */
export interface Lease {
  readonly id: DeliveryId
  readonly integration: IntegrationId
  readonly lane: Lane
  readonly attempts: number
  readonly early: number
  readonly created_at: number
  /** Due time in the delivery's row; null if its publisher has kept it since the publication. */
  readonly stored_due_at: number | null
  readonly worker: string
  /** State code in the delivery's row: pending, retrying, or cancelled during the attempt. */
  state: number
  /** Due time after a release. */
  due_at: number
  /** 2 means that a resend was requested during the attempt. The file never contains 2. */
  resend: 0 | 1 | 2
}

/** The waiting deliveries of an integration in a lane. All deliveries up to the cursor are leased. */
export interface Head {
  readonly lane: Lane
  readonly integration: IntegrationId
  cursorDue: number
  cursorId: number
  /** Due time of the first delivery that is not leased; only a lower bound unless `isExact`. */
  next: number
  isExact: boolean
}

/**
 * A cancellation of all open deliveries of an integration up to the id `last`. It exists until all their rows are
 * updated.
 */
export interface Cancellation {
  readonly last: number
  readonly reason: DeliveryReason
}

const keyOf = (lane: Lane, integration: IntegrationId): number => integration * 4 + lane

export const isOpen = (state: number): boolean => state === codes.pending || state === codes.retrying

export class FileOwnerState {
  readonly leases = new Map<DeliveryId, Lease>()
  /** The end of each worker's membership. */
  readonly members = new Map<string, number>()
  readonly heads = new Map<number, Head>()
  readonly cancellations = new Map<IntegrationId, Cancellation>()
  /** Leases of publications whose caller never got the answer. */
  unlearned: Array<DeliveryId> = []
  /** Whether the memory has been loaded from the file. */
  isLoaded = false
  hasHeads = false
  isChanged = false
  event = 0
  delivery = 0
  /** Last event in `events_of`, and last delivery in `deliveries_of`. */
  listedEvent = 0
  listedDelivery = 0
  /** All open deliveries with smaller ids have a due time. */
  low = 0
  private lowFrom = 0
  events = 0
  readonly counts: Array<number> = storedStates.map(() => 0)
  private readonly undone: Array<() => void> = []

  begin(): void {
    this.undone.length = 0
  }

  undo(change: () => void): void {
    this.undone.push(change)
  }

  rollBack(): void {
    for (const change of this.undone.splice(0).toReversed()) change()
    this.hasHeads = false
  }

  count(state: number, change: number): void {
    this.counts[state] = (this.counts[state] ?? 0) + change
    this.isChanged = true
  }

  move(from: number, to: number): void {
    if (from === to) return
    this.count(from, -1)
    this.count(to, 1)
  }

  /** Loads the row of `owner`. */
  load(row: ReadonlyArray<number>): void {
    const [event = 0, delivery = 0, listedEvent = 0, listedDelivery = 0, low = 0, events = 0, ...counts] = row
    Object.assign(this, { event, delivery, listedEvent, listedDelivery, low, events, isChanged: false })
    counts.forEach((count, state) => (this.counts[state] = count))
  }

  /** Returns the new row of `owner`. */
  row(): ReadonlyArray<number> {
    this.isChanged = false
    // A lower bound is enough, so `low` is not updated for each delivery.
    if (this.delivery - this.lowFrom >= 4_096) {
      this.low = this.delivery + 1
      for (const { id, stored_due_at } of this.leases.values())
        if (stored_due_at === null && id < this.low) this.low = id
      this.lowFrom = this.delivery
    }
    const { delivery, event, events, listedDelivery, listedEvent, low } = this
    return [event, delivery, listedEvent, listedDelivery, low, events, ...this.counts]
  }

  readonly lease = (lease: Lease): void => void this.leases.set(lease.id, lease)

  /** Ends leases. A rollback restores them. */
  unlease(leases: ReadonlyArray<Lease>): void {
    for (const { id } of leases) this.leases.delete(id)
    this.undo(() => leases.forEach(this.lease))
  }

  /** Notes that a delivery is due at a time. */
  noteDue(lane: Lane, integration: IntegrationId, due: number, id: number): void {
    if (!this.hasHeads) return
    const head = this.heads.get(keyOf(lane, integration))
    if (head === undefined) {
      this.heads.set(keyOf(lane, integration), {
        lane,
        integration,
        cursorDue: due,
        cursorId: id - 1,
        next: due,
        isExact: true
      })
      return
    }
    if (due < head.next) head.next = due
    if (due < head.cursorDue || (due === head.cursorDue && id <= head.cursorId)) {
      head.cursorDue = due
      head.cursorId = id - 1
    }
  }

  /** Notes that a delivery is no longer due at a time. */
  noteGone(lane: Lane, integration: IntegrationId, due: number): void {
    const head = this.heads.get(keyOf(lane, integration))
    if (head !== undefined && due <= head.next) head.isExact = false
  }

  /** Resets a head's cursor to its beginning. */
  lookAgain(lane: Lane, integration: IntegrationId): void {
    const place = { cursorDue: Number.MIN_SAFE_INTEGER, cursorId: 0, next: Number.NEGATIVE_INFINITY }
    this.heads.set(keyOf(lane, integration), { lane, integration, ...place, isExact: false })
  }

  removeHead({ integration, lane }: Pick<Head, "integration" | "lane">): void {
    this.heads.delete(keyOf(lane, integration))
  }
}

const files = new Map<string, { readonly state: FileOwnerState; users: number }>()

/** Returns a key that identifies a file even after another file has taken its path. */
const nameOf = (location: string): string => {
  const identity = identityOf(location)
  return identity === null ? location : `${identity.dev} ${identity.ino}`
}

/**
 * Provides the state that all users of a file share, for the lifetime of the scope. Each in-memory database has its own
 * state.
 */
export const acquire = (location: string | null): Effect.Effect<FileOwnerState, never, Scope.Scope> =>
  location === null || location === ""
    ? Effect.sync(() => new FileOwnerState())
    : Effect.map(
        Effect.acquireRelease(
          Effect.sync(() => {
            const name = nameOf(location)
            const shared = files.get(name) ?? { state: new FileOwnerState(), users: 0 }
            shared.users++
            files.set(name, shared)
            return { name, shared }
          }),
          ({ name, shared }) =>
            Effect.sync(() => {
              if (--shared.users === 0) files.delete(name)
            })
        ),
        ({ shared }) => shared.state
      )
