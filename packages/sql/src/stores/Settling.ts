/**
 * Records attempts and what follows from them.
 */
import type { Settlement } from "@doorhook/core"
import { Standing } from "@doorhook/core"
import { Effect } from "effect"
import type { DeliveryTables } from "../DeliveryTables.ts"
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
  const attempts = applied.flatMap(({ from, item: { attempt } }) =>
    attempt === null ? [] : [{ delivery_id: from.id, ...attempt }]
  )
  if (attempts.length > 0) yield* tables.insertAttempts(attempts)
  yield* move(
    tables,
    tally,
    applied.map(({ from, item }) => ({ from, to: Standing.settled(from, item, now) }))
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
