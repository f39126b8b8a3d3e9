/**
 * What the calls of the delivery store have in common: where deliveries stand, and moving them on. Everything here runs
 * inside the transaction of the call.
 */
import type { Attempt, DeliveryId, IntegrationId, Standing } from "@doorhook/core"
import { Effect } from "effect"
import type { AttemptRow, EndedRow, StandingRow } from "../DeliveryRows.ts"
import type { DeliveryTables } from "../DeliveryTables.ts"
import { Tally } from "./Tally.ts"

type Tables = DeliveryTables["Service"]

/** What names a delivery and the token that it was leased under. */
interface Held {
  readonly delivery_id: DeliveryId
  readonly token: string
}

/** Moves deliveries that an ending has cancelled already, and counts them as what they are. */
export const endNow = Effect.fnUntraced(function* (tables: Tables, ids: ReadonlyArray<DeliveryId>) {
  const tally = new Tally()
  for (const { count, state } of yield* tables.endThese(ids)) tally.move(state, "cancelled", count)
  yield* tally.write(tables)
})

/**
 * Where some deliveries stand, until the transaction ends. The unknown ones are left out. What is active is locked before
 * what has ended: one that moves between the two meanwhile is either waited for, or was revived, and no lease of it is
 * current.
 */
export const standingsOf = Effect.fnUntraced(function* (tables: Tables, ids: ReadonlyArray<DeliveryId>) {
  const queued = yield* tables.queuedStandings(ids)
  const cancelled = queued.filter(({ ending }) => Boolean(ending)).map(({ id }) => id)
  if (cancelled.length > 0) yield* endNow(tables, cancelled)
  const active: ReadonlyArray<StandingRow> = queued.filter(({ ending }) => !ending)
  const found = new Set(active.map(({ id }) => id))
  const others = ids.filter((id) => !found.has(id))
  return others.length === 0 ? active : [...active, ...(yield* tables.endedStandings(others))]
})

/** Of what names deliveries by their tokens, that whose token is current, with where its delivery stands: one of each. */
export const currentOf = Effect.fnUntraced(function* <A extends Held>(tables: Tables, held: ReadonlyArray<A>) {
  const standings = yield* standingsOf(
    tables,
    held.map(({ delivery_id }) => delivery_id)
  )
  const unseen = new Map(standings.map((standing) => [standing.id, standing]))
  return held.flatMap((item) => {
    const from = unseen.get(item.delivery_id)
    if (from?.lease_token !== item.token) return []
    unseen.delete(from.id)
    return [{ from, item }]
  })
})

/** What some integrations are; the unknown ones are left out. */
export const targetsOf = Effect.fnUntraced(function* (tables: Tables, ids: ReadonlyArray<IntegrationId>) {
  return new Map((yield* tables.targets(ids)).map((target) => [target.id, target]))
})

/** One delivery, from where it stood to where it stands, and the attempt that was made, if any. */
export interface Move {
  readonly from: StandingRow
  readonly to: Standing.Standing
  readonly attempt?: Attempt | null
}

const isActive = ({ due_at }: Pick<Standing.Standing, "due_at">): boolean => due_at !== null

/** Moves deliveries on: within what is active or within what has ended, or from the one to the other. */
export const move = Effect.fnUntraced(function* (tables: Tables, tally: Tally, moves: ReadonlyArray<Move>) {
  const requeued: Array<StandingRow> = []
  const revived: Array<StandingRow> = []
  const ended: Array<EndedRow> = []
  const amended: Array<EndedRow> = []
  const attempts: Array<AttemptRow> = []
  for (const { attempt = null, from, to } of moves) {
    tally.move(from.state, to.state, 1)
    const row = { ...from, ...to }
    if (isActive(to)) {
      const rows = isActive(from) ? requeued : revived
      rows.push(row)
      if (attempt !== null) attempts.push({ delivery_id: from.id, ...attempt })
    } else {
      const rows = isActive(from) ? ended : amended
      rows.push({ ...row, attempt })
    }
  }
  if (requeued.length > 0) yield* tables.requeue(requeued)
  if (ended.length > 0) yield* tables.end(ended)
  if (amended.length > 0) yield* tables.amend(amended)
  if (revived.length > 0) yield* tables.revive(revived)
  if (attempts.length > 0) yield* tables.insertAttempts(attempts)
})
