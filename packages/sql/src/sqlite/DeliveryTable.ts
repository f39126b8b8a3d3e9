/**
 * What the calls of the delivery store have in common: where deliveries stand, and moving them on. Everything here runs
 * inside the transaction of the call.
 */
import type { DeliveryId, DeliveryReason, DeliveryState, Integration, IntegrationId } from "@doorhook/core"
import type { Standing } from "@doorhook/core"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { StandingRow } from "../DeliveryRows.ts"
import * as Statements from "./statements/DeliveryStatements.ts"
import type { Tally } from "./Tally.ts"

export interface StateCount {
  readonly state: DeliveryState
  readonly count: number
}

/** Where some deliveries stand; the unknown ones are left out. */
export const standingsOf = (sql: SqlClient.SqlClient, ids: Iterable<DeliveryId>) =>
  sql.unsafe<StandingRow>(Statements.standings, [JSON.stringify([...ids])])

/** What names a delivery and the token that it was leased under. */
interface Held {
  readonly delivery_id: DeliveryId
  readonly token: string
}

/** Of what names deliveries by their tokens, that whose token is current, with where its delivery stands: one of each. */
export const currentOf = Effect.fnUntraced(function* <A extends Held>(
  sql: SqlClient.SqlClient,
  held: ReadonlyArray<A>
) {
  const standings = yield* standingsOf(
    sql,
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

/** Whether some integrations are enabled; the unknown ones are left out. */
export const statusesOf = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, ids: Iterable<IntegrationId>) {
  const list = JSON.stringify([...ids])
  const rows = yield* sql.unsafe<Pick<Integration, "id" | "status">>(Statements.integrationStatuses, [list])
  return new Map(rows.map(({ id, status }) => [id, status]))
})

/** One delivery, from where it stood to where it stands. */
export interface Move {
  readonly from: StandingRow
  readonly to: Standing.Standing
}

export const move = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, tally: Tally, moves: ReadonlyArray<Move>) {
  for (const { from, to } of moves) tally.move(from.state, to.state, 1)
  yield* Statements.moveDeliveries.run(
    sql,
    moves.map(({ from, to }) => [
      from.id,
      to.state,
      to.reason,
      to.attempts,
      to.lane,
      to.due_at,
      to.lease_token,
      to.resend
    ])
  )
})

/** Ends all active deliveries of an integration that takes no more. */
export const cancelActiveOf = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  tally: Tally,
  integration: IntegrationId,
  reason: DeliveryReason
) {
  const active = yield* sql.unsafe<StateCount>(Statements.countActive, [integration])
  if (active.length === 0) return
  yield* sql.unsafe(Statements.cancelActive, [reason, integration])
  for (const { count, state } of active) tally.move(state, "cancelled", count)
})
