/**
 * Records attempts and what follows from them.
 */
import type { Settlement } from "@doorhook/core"
import { Standing } from "@doorhook/core"
import { Effect } from "effect"
import type { DeliveryTables, SettledRow } from "../DeliveryTables.ts"
import { cancelActiveOf, currentOf, move } from "./Moving.ts"
import { Tally } from "./Tally.ts"

/** Answers the ids of the settlements that were not stale. Runs in a transaction. */
export const settleAll = Effect.fnUntraced(function* (
  tables: DeliveryTables["Service"],
  settlements: ReadonlyArray<Settlement>,
  now: number
) {
  const disabling = settlements.filter(({ disable }) => disable !== null).map(({ delivery_id }) => delivery_id)
  if (disabling.length > 0) {
    yield* tables.lockIntegrationsOf(disabling)
    yield* tables.lockWithActive(
      settlements.map(({ delivery_id }) => delivery_id),
      disabling
    )
  }
  const applied = yield* currentOf(tables, settlements)
  const tally = new Tally()
  yield* move(
    tables,
    tally,
    applied.map(({ from, item }) => ({ from, to: Standing.settled(from, item, now), attempt: item.attempt }))
  )
  // Afterwards, so that what was acknowledged in the same batch stays so.
  for (const { from, item } of applied) {
    if (item.disable === null || from.state !== "delivering") continue
    if (!(yield* tables.disableIntegration(from.integration_id, item.disable, now))) continue
    const reason = Standing.reasonOfDisabled({ disabled_reason: item.disable })
    yield* cancelActiveOf(tables, tally, from.integration_id, reason)
  }
  yield* tally.write(tables)
  return new Set(applied.map(({ from }) => from.id))
})

/** A delivery under lease that nothing happened to since, which is the rule. */
const underLease = ({ lane, token }: Settlement): Standing.Standing => ({
  state: "delivering",
  reason: null,
  attempts: 0,
  lane,
  due_at: 0,
  lease_token: token,
  resend: 0
})

/** The same in one statement, as long as all settlements are of that kind and disable nothing; null otherwise. */
export const settleAtOnce = Effect.fnUntraced(function* (
  tables: DeliveryTables["Service"],
  settlements: ReadonlyArray<Settlement>,
  now: number
) {
  const ids = new Set(settlements.map(({ delivery_id }) => delivery_id))
  if (tables.atOnce === null || ids.size < settlements.length) return null
  const tally = new Tally()
  const rows: Array<SettledRow> = []
  for (const settlement of settlements) {
    const { attempt, delivery_id: id, disable, token } = settlement
    if (attempt === null || disable !== null) return null
    const to = Standing.settled(underLease(settlement), settlement, now)
    tally.move("delivering", to.state, 1)
    rows.push({ id, token, to, attempt })
  }
  return (yield* tables.atOnce.settle(rows, tally.all)) ? ids : null
})
