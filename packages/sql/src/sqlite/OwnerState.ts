/**
 * What the process that owns a file keeps in memory: leases, workers, what is due first, and counts. All stores that a
 * process opens on a file share it.
 *
 * It is changed together with the rows. A transaction that is rolled back takes its changes back by `undo`.
 */
import type { DeliveryId, DeliveryReason, IntegrationId, Lane } from "@doorhook/core"
import { Effect } from "effect"
import type { Scope } from "effect"
import { codes, storedStates } from "./DeliverySql.ts"
import { identityOf } from "./SqliteFile.ts"

/** A delivery that a worker holds. */
export interface Lease {
  readonly id: DeliveryId
  readonly integration: IntegrationId
  readonly lane: Lane
  readonly attempts: number
  readonly early: number
  readonly created_at: number
  /** When its row says that it is due; null since a publication that handed it over. */
  readonly stored_due_at: number | null
  readonly worker: string
  /** Of its row: pending, retrying, or cancelled during the attempt. */
  state: number
  /** When it is due without the lease. */
  due_at: number
  /** 2: it was asked for during the attempt. Only in memory. */
  resend: 0 | 1 | 2
}

/** What waits of an integration in a lane. Everything up to the place of the cursor is leased. */
export interface Head {
  readonly lane: Lane
  readonly integration: IntegrationId
  cursorDue: number
  cursorId: number
  /** When the first that is not leased is due, or earlier unless it is exact. */
  next: number
  isExact: boolean
}

/** Cancelled deliveries whose rows do not say so yet: all open ones of an integration up to an id. */
export interface Cancellation {
  readonly last: number
  readonly reason: DeliveryReason
}

const keyOf = (lane: Lane, integration: IntegrationId): number => integration * 4 + lane

export const isOpen = (state: number): boolean => state === codes.pending || state === codes.retrying

export class OwnerState {
  readonly leases = new Map<DeliveryId, Lease>()
  /** Until when each worker is a member. */
  readonly members = new Map<string, number>()
  readonly heads = new Map<number, Head>()
  readonly cancellations = new Map<IntegrationId, Cancellation>()
  /** Leases of publications whose caller never learned the ids. */
  unlearned: Array<DeliveryId> = []
  /** Whether the rest was read from the file. */
  isLoaded = false
  hasHeads = false
  isChanged = false
  event = 0
  delivery = 0
  /** The last event in `events_of`, and the last delivery in `deliveries_of`. */
  listedEvent = 0
  listedDelivery = 0
  /** No delivery before this one is without a due time while it is open. */
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

  /** Reads what the row of the owner says. */
  load(row: ReadonlyArray<number>): void {
    const [event = 0, delivery = 0, listedEvent = 0, listedDelivery = 0, low = 0, events = 0, ...counts] = row
    Object.assign(this, { event, delivery, listedEvent, listedDelivery, low, events, isChanged: false })
    counts.forEach((count, state) => (this.counts[state] = count))
  }

  /** What the row of the owner is to say. */
  row(): ReadonlyArray<number> {
    this.isChanged = false
    // A lower bound does: it need not follow each delivery.
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

  /** Ends leases; they are there again if the transaction is rolled back. */
  unlease(leases: ReadonlyArray<Lease>): void {
    for (const { id } of leases) this.leases.delete(id)
    this.undo(() => leases.forEach(this.lease))
  }

  /** A delivery is due at a time, or an unknown one is, by any time. */
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

  /** A delivery that waited until a time waits no more, or until another time. */
  noteGone(lane: Lane, integration: IntegrationId, due: number): void {
    const head = this.heads.get(keyOf(lane, integration))
    if (head !== undefined && due <= head.next) head.isExact = false
  }

  /** Something may wait of an integration in a lane: it is looked up from the beginning. */
  lookAgain(lane: Lane, integration: IntegrationId): void {
    const place = { cursorDue: Number.MIN_SAFE_INTEGER, cursorId: 0, next: Number.NEGATIVE_INFINITY }
    this.heads.set(keyOf(lane, integration), { lane, integration, ...place, isExact: false })
  }

  removeHead({ integration, lane }: Pick<Head, "integration" | "lane">): void {
    this.heads.delete(keyOf(lane, integration))
  }
}

const files = new Map<string, { readonly state: OwnerState; users: number }>()

/** What identifies a file, also after another has taken its place. */
const nameOf = (location: string): string => {
  const identity = identityOf(location)
  return identity === null ? location : `${identity.dev} ${identity.ino}`
}

/** The state of a file, for as long as the scope lives; of its own in memory. */
export const acquire = (location: string | null): Effect.Effect<OwnerState, never, Scope.Scope> =>
  location === null || location === ""
    ? Effect.sync(() => new OwnerState())
    : Effect.map(
        Effect.acquireRelease(
          Effect.sync(() => {
            const name = nameOf(location)
            const shared = files.get(name) ?? { state: new OwnerState(), users: 0 }
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
