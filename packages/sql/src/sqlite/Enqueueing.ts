/**
 * Stores events with their deliveries.
 */
import type { Enqueued, NewEventRecord } from "@doorhook/core"
import { Standing } from "@doorhook/core"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { statusesOf } from "./DeliveryTable.ts"
import * as Statements from "./statements/DeliveryStatements.ts"
import type { Value } from "./statements/MultiRow.ts"
import { Tally } from "./Tally.ts"

/** Answers how the deliveries of each event are stored. Runs in a transaction. */
export const enqueueAll = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  records: ReadonlyArray<NewEventRecord>
) {
  const statuses = yield* statusesOf(
    sql,
    new Set(records.flatMap(({ deliveries }) => deliveries.map(({ integration_id }) => integration_id)))
  )
  const seqs = yield* Statements.insertEvents.run(
    sql,
    records.map(({ event }) => [
      event.id,
      event.resource_type,
      event.action,
      event.building_id,
      JSON.stringify(event.tenant_ids),
      event.data,
      event.created_at
    ])
  )
  const tally = new Tally()
  tally.add("events", records.length)
  // Rows are numbered in the order given, but SQLite does not promise to return them in it.
  const seqInOrder = seqs.map(({ seq }) => seq).toSorted((a, b) => a - b)
  const standings = records.map(({ deliveries, event }) =>
    deliveries.map((delivery) => Standing.begun(delivery, event, statuses.get(delivery.integration_id)))
  )
  const rows = records.flatMap(({ deliveries, event }, index) =>
    (standings[index] ?? []).map((standing, position): ReadonlyArray<Value> => {
      tally.add(standing.state, 1)
      const { attempts, due_at, lane, lease_token, reason, resend, state } = standing
      const integration = deliveries[position]?.integration_id ?? null
      const fixed = [seqInOrder[index] ?? null, integration, event.created_at]
      return [...fixed, state, reason, attempts, lane, due_at, lease_token, resend]
    })
  )
  const ids = yield* Statements.insertDeliveries.run(sql, rows)
  yield* tally.write(sql)
  const idInOrder = ids.map(({ id }) => id).toSorted((a, b) => a - b)
  let at = 0
  return standings.map((ofEvent) =>
    ofEvent.flatMap(({ state }): ReadonlyArray<Enqueued> => {
      const id = idInOrder[at++]
      return id === undefined ? [] : [{ id, state }]
    })
  )
})
