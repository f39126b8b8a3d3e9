/**
 * Chooses due deliveries and leases them to workers.
 */
import type { Claimed, ClaimRequest, DeliveryId, DeliveryStore, IntegrationId, LeasedDelivery } from "@doorhook/core"
import { ClaimAllowance, Event, lanes } from "@doorhook/core"
import { Cause, Effect, Exit, Schema } from "effect"
import * as SchemaJITCompiler from "effect/schema/SchemaJITCompiler"
import type { SqlError } from "effect/sql"
import { failAs } from "../StoreFailure.ts"
import type { Unsendable } from "../UnreadableRows.ts"
import { logUnsendable } from "../UnreadableRows.ts"
import { deliveryId, eventFrom, eventIdOf, integrationId, laneOf } from "./Columns.ts"
import * as Sql from "./DeliverySql.ts"
import { codes } from "./DeliverySql.ts"
import type { FileOwner } from "./FileOwner.ts"
import type { Head, Lease } from "./FileOwnerState.ts"
import { isOpen } from "./FileOwnerState.ts"

/** Maximum number of times that a claim chooses other deliveries in place of unreadable ones. */
const refills = 3

const Events = Schema.Array(Event)
// Compiled for speed, because this schema decodes every claimed delivery. Schemas with transformations can't be
// compiled, so the JSON is parsed first.
SchemaJITCompiler.enable(Events.ast)
const decodeEvents = Schema.decodeUnknownExit(Events)

/** A delivery that a claim has chosen. */
interface Chosen {
  readonly id: DeliveryId
  readonly due: number
}

/** A leased delivery that can't be sent. */
interface Unreadable extends Unsendable {
  readonly lease: Lease
  readonly isIntegration: boolean
}

export interface Claim {
  readonly claim: DeliveryStore["Service"]["claim"]
  /** Returns when the first delivery that is not leased becomes due; null without one. */
  readonly nextDue: () => number | null
}

export const makeClaim = ({ known, read, state, turns }: FileOwner): Claim => {
  const { cancellations, leases } = state
  const q = {
    heads: turns.prepare(Sql.heads),
    dueAfter: turns.prepare(Sql.dueAfter),
    retries: turns.prepare(Sql.retries),
    claimed: turns.prepare(Sql.claimed),
    cancelOne: turns.prepare(Sql.cancelOne)
  }

  const loadHeads = () => {
    if (state.hasHeads) return
    state.heads.clear()
    for (const [lane, integration] of q.heads.all().map(Object.values))
      state.lookAgain(laneOf(lane), integrationId(integration))
    state.hasHeads = true
  }

  /**
   * Returns the first due deliveries of a head that are not leased. Also moves the head's cursor past the leased
   * deliveries at the start.
   */
  const peek = (head: Head, now: number, most: number): ReadonlyArray<Chosen> => {
    const found: Array<Chosen> = []
    const { integration, lane } = head
    let isEmpty = true
    for (const row of q.dueAfter.iterate(lane, integration, head.cursorDue, head.cursorId)) {
      const [due, id] = [Number(row[0]), deliveryId(row[1])]
      if (leases.has(id)) {
        if (isEmpty) Object.assign(head, { cursorDue: due, cursorId: id })
        continue
      }
      if (isEmpty) Object.assign(head, { next: due, isExact: true })
      isEmpty = false
      if (due > now) break
      found.push({ id, due })
      if (found.length >= most) break
    }
    if (isEmpty) state.removeHead(head)
    return found
  }

  /** Returns the heads with claimable deliveries, except heads of integrations whose deliveries are cancelled. */
  const exactHeads = (): ReadonlyArray<Head> => {
    loadHeads()
    const heads: Array<Head> = []
    for (const head of state.heads.values()) {
      if (cancellations.has(head.integration)) continue
      if (!head.isExact) peek(head, Number.NEGATIVE_INFINITY, 1)
      if (head.isExact) heads.push(head)
    }
    return heads
  }

  const nextDue = (): number | null => {
    let next: number | null = null
    for (const head of exactHeads()) if (next === null || head.next < next) next = head.next
    return next
  }

  /**
   * Chooses deliveries lane by lane. Each round within a lane takes one delivery per integration, the earliest due
   * first.
   */
  const choose = (allowance: ClaimAllowance, now: number): ReadonlyArray<Chosen> => {
    const chosen: Array<Chosen> = []
    for (const lane of lanes) {
      const room = allowance.room(lane)
      if (room <= 0) break
      const roomOf = ({ integration }: Head): number => allowance.roomOf(integration, lane)
      const open = exactHeads().filter((head) => head.lane === lane && head.next <= now && roomOf(head) > 0)
      if (open.length === 0) continue
      const byDue = (a: Head, b: Head): number => a.next - b.next || a.integration - b.integration
      // If there is room for fewer deliveries than integrations, the claim takes one delivery each from the
      // integrations whose first deliveries are due earliest.
      const wanted = open.length > room ? open.toSorted(byDue).slice(0, room) : open
      const deepest = Math.max(...wanted.map(roomOf))
      let rounds: ReadonlyArray<readonly [Head, Chosen]> = []
      for (let depth = Math.ceil(room / wanted.length); ; depth *= 4) {
        const most = Math.min(depth, deepest)
        rounds = inRounds(wanted.map((head) => [head, peek(head, now, Math.min(most, roomOf(head)))] as const))
        if (rounds.length >= room || most >= deepest) break
      }
      for (const [head, each] of rounds.slice(0, room)) {
        allowance.take(head.integration)
        Object.assign(head, { cursorDue: each.due, cursorId: each.id, isExact: false })
        chosen.push(each)
      }
    }
    return chosen
  }

  const chooseEarly = (integration: IntegrationId, allowance: ClaimAllowance, now: number): ReadonlyArray<Chosen> => {
    // Urgent limits don't apply to early retries.
    const most = allowance.roomOf(integration, 3)
    const chosen: Array<Chosen> = []
    if (cancellations.has(integration)) return chosen
    for (const row of most > 0 ? q.retries.iterate(integration) : []) {
      const each = { due: Number(row[0]), id: deliveryId(row[1]) }
      if (each.due <= now || leases.has(each.id)) continue
      allowance.take(integration)
      chosen.push(each)
      if (chosen.length === most) break
    }
    return chosen
  }

  /** Leases chosen deliveries, including unreadable ones, and reads their events and integrations. */
  const leaseAll = (chosen: ReadonlyArray<Chosen>, { earlyOf, worker }: ClaimRequest) => {
    const rows = chosen.flatMap(({ id }) => {
      const row = q.claimed.get(id)
      return row === undefined ? [] : [{ id, row }]
    })
    const sent = rows.filter(({ row }) => row[7] !== null)
    const all = decodeEvents(sent.map(({ row }) => eventFrom(row, 7)))
    const each = Exit.isSuccess(all) ? null : sent.map(({ row }) => decodeEvents([eventFrom(row, 7)]))
    const sendable: Array<LeasedDelivery> = []
    const unsendable: Array<Unreadable> = []
    let at = 0
    for (const { id, row } of rows) {
      const lease: Lease = {
        id,
        integration: integrationId(row[0]),
        lane: laneOf(row[2]),
        attempts: Number(row[3]),
        early: Number(row[4]),
        created_at: Number(row[13] ?? 0),
        due_at: Number(row[6]),
        stored_due_at: Number(row[6]),
        worker,
        state: Number(row[1]),
        resend: row[5] === 1 ? 1 : 0
      }
      state.lease(lease)
      state.noteGone(lease.lane, lease.integration, lease.due_at)
      const read = row[7] === null ? null : (each?.[at] ?? all)
      const event = read !== null && Exit.isSuccess(read) ? read.value[each === null ? at : 0] : undefined
      if (row[7] !== null) at++
      const integration = known.get(lease.integration)?.integration
      if (event === undefined) {
        const name = `event ${row[7] === null ? eventIdOf(row[14]) : String(row[7])}`
        const cause = read !== null && Exit.isFailure(read) ? Cause.squash(read.cause) : undefined
        unsendable.push({ id, lease, row: name, cause, isIntegration: false })
      } else if (integration === undefined || Exit.isFailure(integration)) {
        const cause = integration === undefined ? undefined : Cause.squash(integration.cause)
        unsendable.push({ id, lease, row: `integration ${lease.integration}`, cause, isIntegration: true })
      } else {
        sendable.push({
          id,
          lane: lease.lane,
          attempts: lease.attempts,
          early: lease.early,
          early_due_at: earlyOf === undefined ? null : lease.due_at,
          resend: lease.resend > 0,
          event,
          integration: integration.value
        })
      }
    }
    return { sendable, unsendable }
  }

  const claimNow = (request: ClaimRequest) => {
    const sendable: Array<LeasedDelivery> = []
    const unsendable: Array<Unreadable> = []
    const allowance = new ClaimAllowance(request)
    // Replaces unreadable deliveries by others, because a caller that gets fewer than its limit assumes that nothing
    // else is due.
    for (let more = refills; more >= 0; more--) {
      loadHeads()
      const { earlyOf, now } = request
      const chosen = earlyOf === undefined ? choose(allowance, now) : chooseEarly(earlyOf, allowance, now)
      const leased = leaseAll(chosen, request)
      sendable.push(...leased.sendable)
      unsendable.push(...leased.unsendable)
      if (leased.unsendable.length === 0) break
      for (const { isIntegration, lease } of leased.unsendable) {
        allowance.giveBack(lease.integration)
        if (isIntegration) allowance.exclude(lease.integration)
      }
    }
    return { claimed: { deliveries: sendable, next_due: nextDue() }, unsendable }
  }

  /** Ends leased deliveries that can't be sent. */
  const cancel = (unsendable: ReadonlyArray<Unreadable>) => {
    const held = unsendable.flatMap(({ lease }) => (leases.get(lease.id) === lease ? [lease] : []))
    const run = () => {
      state.unlease(held)
      for (const lease of held) {
        if (!isOpen(lease.state)) continue
        q.cancelOne.run("row_unreadable", lease.id)
        state.move(lease.state, codes.cancelled)
      }
    }
    return Effect.andThen(turns.change({ run, isDurable: false, rows: unsendable.length }), logUnsendable(unsendable))
  }

  return {
    claim: (request) =>
      read(() => claimNow(request), Math.max(request.limit, request.urgent?.limit ?? 0) > 0).pipe(
        Effect.flatMap(({ claimed, unsendable }): Effect.Effect<Claimed, SqlError.SqlError> => {
          if (unsendable.length === 0) return Effect.succeed(claimed)
          return Effect.as(cancel(unsendable), claimed)
        }),
        failAs("DeliveryStore.claim")
      ),
    nextDue
  }
}

/** Merges lists by rounds. Each list is in order of due time. */
const inRounds = (
  lists: ReadonlyArray<readonly [Head, ReadonlyArray<Chosen>]>
): ReadonlyArray<readonly [Head, Chosen]> => {
  const chosen: Array<readonly [Head, Chosen]> = []
  for (let round = 0; ; round++) {
    const members = lists.flatMap(([head, due]) => {
      const each = due[round]
      return each === undefined ? [] : [[head, each] as const]
    })
    if (members.length === 0) return chosen
    members.sort(([a, one], [b, other]) => one.due - other.due || a.integration - b.integration)
    chosen.push(...members)
  }
}
