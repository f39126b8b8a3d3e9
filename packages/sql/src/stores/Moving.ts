/**
 * What the calls of the delivery store have in common: where deliveries stand, and moving them on. Everything here runs
 * inside the transaction of the call.
 */
import type { Attempt, DeliveryId, DeliveryReason, IntegrationId, Standing } from "@doorhook/core"
import { Effect } from "effect"
import type { AttemptRow, EndedRow, StandingRow } from "../DeliveryRows.ts"
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

/** Ends all active deliveries of an integration that takes no more. */
export const cancelActiveOf = Effect.fnUntraced(function* (
  tables: Tables,
  tally: Tally,
  integration: IntegrationId,
  reason: DeliveryReason
) {
  for (const { count, state } of yield* tables.cancelActive(integration, reason)) tally.move(state, "cancelled", count)
})
