/**
 * What the calls of the delivery store have in common: where deliveries stand, and moving them on. Everything here runs
 * inside the transaction of the call.
 */
import type { DeliveryId, DeliveryReason, IntegrationId, Standing } from "@doorhook/core"
import { Effect } from "effect"
import type { StandingRow } from "../DeliveryRows.ts"
import type { DeliveryTables } from "../DeliveryTables.ts"
import type { Tally } from "./Tally.ts"

type Tables = DeliveryTables["Service"]

/** What names a delivery and the token that it was leased under. */
interface Held {
  readonly delivery_id: DeliveryId
  readonly token: string
}

/** Of what names deliveries by their tokens, that whose token is current, with where its delivery stands: one of each. */
export const currentOf = Effect.fnUntraced(function* <A extends Held>(tables: Tables, held: ReadonlyArray<A>) {
  const standings = yield* tables.standings(held.map(({ delivery_id }) => delivery_id))
  const unseen = new Map(standings.map((standing) => [standing.id, standing]))
  return held.flatMap((item) => {
    const from = unseen.get(item.delivery_id)
    if (from?.lease_token !== item.token) return []
    unseen.delete(from.id)
    return [{ from, item }]
  })
})

/** Whether some integrations are enabled; the unknown ones are left out. */
export const statusesOf = Effect.fnUntraced(function* (tables: Tables, ids: Iterable<IntegrationId>) {
  const rows = yield* tables.statuses([...ids])
  return new Map(rows.map(({ id, status }) => [id, status]))
})

/** One delivery, from where it stood to where it stands. */
export interface Move {
  readonly from: StandingRow
  readonly to: Standing.Standing
}

export const move = (tables: Tables, tally: Tally, moves: ReadonlyArray<Move>) => {
  for (const { from, to } of moves) tally.move(from.state, to.state, 1)
  return moves.length === 0 ? Effect.void : tables.move(moves.map(({ from: { id }, to }) => ({ ...to, id })))
}

/** Ends all active deliveries of an integration that takes no more. */
export const cancelActiveOf = Effect.fnUntraced(function* (
  tables: Tables,
  tally: Tally,
  integration: IntegrationId,
  reason: DeliveryReason
) {
  for (const { count, state } of yield* tables.cancelActive(integration, reason)) tally.move(state, "cancelled", count)
})
