/**
 * Stores events with their deliveries.
 */
import type { Enqueued, NewEventRecord } from "@doorhook/core"
import { Standing } from "@doorhook/core"
import { Effect } from "effect"
import type { DeliveryTables, NewDeliveryRow } from "../DeliveryTables.ts"
import { statusesOf } from "./Moving.ts"
import { Tally } from "./Tally.ts"

/** Answers how the deliveries of each event are stored. Runs in a transaction. */
export const enqueueAll = Effect.fnUntraced(function* (
  tables: DeliveryTables["Service"],
  records: ReadonlyArray<NewEventRecord>
) {
  const statuses = yield* statusesOf(
    tables,
    new Set(records.flatMap(({ deliveries }) => deliveries.map(({ integration_id }) => integration_id)))
  )
  const seqs = yield* tables.insertEvents(records.map(({ event }) => event))
  const tally = new Tally()
  tally.add("events", records.length)
  const rows = records.map(({ deliveries, event }, index) =>
    deliveries.map((delivery): NewDeliveryRow => {
      const { integration_id } = delivery
      const standing = Standing.begun(delivery, event, statuses.get(integration_id))
      tally.add(standing.state, 1)
      return { ...standing, event_seq: seqs[index] ?? 0, integration_id, created_at: event.created_at }
    })
  )
  const ids = yield* tables.insertDeliveries(rows.flat())
  yield* tally.write(tables)
  let at = 0
  return rows.map((ofEvent) =>
    ofEvent.flatMap(({ state }): ReadonlyArray<Enqueued> => {
      const id = ids[at++]
      return id === undefined ? [] : [{ id, state }]
    })
  )
})
