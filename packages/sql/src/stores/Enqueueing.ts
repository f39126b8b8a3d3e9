/**
 * Stores events with their deliveries.
 */
import type { DeliveryId, Enqueued, Integration, IntegrationId, NewEventRecord } from "@doorhook/core"
import { Standing } from "@doorhook/core"
import { Effect } from "effect"
import type { NewDeliveryRow } from "../DeliveryRows.ts"
import type { DeliveryTables, NewEventRow } from "../DeliveryTables.ts"
import { statusesOf } from "./Moving.ts"
import { Tally } from "./Tally.ts"

type Tables = DeliveryTables["Service"]

const integrationsOf = (records: ReadonlyArray<NewEventRecord>): ReadonlyArray<IntegrationId> => [
  ...new Set(records.flatMap(({ deliveries }) => deliveries.map(({ integration_id }) => integration_id)))
]

/** The rows of events, by what their integrations are, and what there is to count. */
const prepare = (
  records: ReadonlyArray<NewEventRecord>,
  statusOf: (id: IntegrationId) => Integration["status"] | undefined
) => {
  const tally = new Tally()
  tally.add("events", records.length)
  const rows = records.map(({ deliveries, event }) => ({
    event,
    deliveries: deliveries.map((delivery): NewDeliveryRow => {
      const { integration_id } = delivery
      const standing = Standing.begun(delivery, event, statusOf(integration_id))
      tally.add(standing.state, 1)
      return { ...standing, event_id: event.id, integration_id, created_at: event.created_at }
    })
  }))
  return { rows, tally }
}

const answer = (
  rows: ReadonlyArray<NewEventRow>,
  ids: ReadonlyArray<DeliveryId>
): ReadonlyArray<ReadonlyArray<Enqueued>> => {
  let at = 0
  return rows.map(({ deliveries }) =>
    deliveries.flatMap(({ state }): ReadonlyArray<Enqueued> => {
      const id = ids[at++]
      return id === undefined ? [] : [{ id, state }]
    })
  )
}

/** Answers how the deliveries of each event are stored. Runs in a transaction. */
export const enqueueAll = Effect.fnUntraced(function* (tables: Tables, records: ReadonlyArray<NewEventRecord>) {
  const statuses = yield* statusesOf(tables, integrationsOf(records))
  const { rows, tally } = prepare(records, (id) => statuses.get(id))
  return answer(rows, yield* tables.insert(rows, tally.all))
})

/** The same in one statement, as long as all integrations are enabled, which is the rule; null otherwise. */
export const enqueueAtOnce = Effect.fnUntraced(function* (tables: Tables, records: ReadonlyArray<NewEventRecord>) {
  const integrations = integrationsOf(records)
  if (tables.atOnce === null || integrations.length === 0) return null
  const { rows, tally } = prepare(records, () => "enabled")
  const ids = yield* tables.atOnce.insert(rows, integrations, tally.all)
  return ids === null ? null : answer(rows, ids)
})
