/**
 * Records attempts and what follows from them.
 */
import type { IntegrationId, Settlement } from "@doorhook/core"
import { Standing } from "@doorhook/core"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { StandingRow } from "../DeliveryRows.ts"
import { cancelActiveOf, currentOf, move } from "./DeliveryTable.ts"
import * as Statements from "./statements/DeliveryStatements.ts"
import { Tally } from "./Tally.ts"

/** Answers the ids of the settlements that were not stale. Runs in a transaction. */
export const settleAll = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  settlements: ReadonlyArray<Settlement>,
  now: number
) {
  const applied = yield* currentOf(sql, settlements)
  const tally = new Tally()
  yield* recordAttempts(sql, applied)
  yield* move(
    sql,
    tally,
    applied.map(({ from, item }) => ({ from, to: Standing.settled(from, item, now) }))
  )
  // Afterwards, so that what was acknowledged in the same batch stays so.
  for (const { from, item } of applied) {
    if (item.disable === null || from.state !== "delivering") continue
    yield* disable(sql, tally, from.integration_id, item.disable, now)
  }
  yield* tally.write(sql)
  return new Set(applied.map(({ from }) => from.id))
})

const recordAttempts = (
  sql: SqlClient.SqlClient,
  applied: ReadonlyArray<{ readonly from: StandingRow; readonly item: Settlement }>
) =>
  Statements.insertAttempts.run(
    sql,
    applied.flatMap(({ from, item: { attempt } }) =>
      attempt === null
        ? []
        : [
            [
              from.id,
              attempt.number,
              attempt.started_at,
              attempt.duration_ms,
              attempt.outcome,
              attempt.status,
              attempt.response_excerpt,
              attempt.detail
            ]
          ]
    )
  )

const disable = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  tally: Tally,
  integration: IntegrationId,
  disabled_reason: NonNullable<Settlement["disable"]>,
  now: number
) {
  const disabled = yield* sql.unsafe(Statements.disableIntegration, [disabled_reason, now, integration])
  if (disabled.length === 0) return
  yield* cancelActiveOf(sql, tally, integration, Standing.reasonOfDisabled({ disabled_reason }))
})
