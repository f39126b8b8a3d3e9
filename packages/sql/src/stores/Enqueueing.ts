/**
 * Stores events with their deliveries.
 */
import type {
  DeliveryId,
  Enqueued,
  IntegrationId,
  NewDelivery,
  NewEventRecord,
  RememberedRequest
} from "@doorhook/core"
import { Standing } from "@doorhook/core"
import { Effect } from "effect"
import type { NewDeliveryRow } from "../DeliveryRows.ts"
import type { DeliveryTables, Matched, NewEventRow } from "../DeliveryTables.ts"
import { takeKeys } from "./Keys.ts"
import { targetsOf } from "./Moving.ts"
import { Tally } from "./Tally.ts"

type Tables = DeliveryTables["Service"]

/** The integrations that events were matched with. Null: one of them at several versions. */
const matchedOf = (records: ReadonlyArray<NewEventRecord>): ReadonlyArray<Matched> | null => {
  const versions = new Map<IntegrationId, number>()
  for (const { deliveries } of records) {
    for (const { integration_id, matched_version } of deliveries) {
      if ((versions.get(integration_id) ?? matched_version) !== matched_version) return null
      versions.set(integration_id, matched_version)
    }
  }
  return Array.from(versions, ([id, version]) => ({ id, version }))
}

/** The rows of events, by what their integrations are, and what there is to count. */
const prepare = (records: ReadonlyArray<NewEventRecord>, targetOf: (delivery: NewDelivery) => Standing.Target) => {
  const tally = new Tally()
  tally.add("events", records.length)
  const rows = records.map(({ deliveries, event }) => ({
    event,
    deliveries: deliveries.map((delivery): NewDeliveryRow => {
      const { integration_id } = delivery
      const standing = Standing.begun(delivery, event, targetOf(delivery))
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
export const enqueueAll = Effect.fnUntraced(function* (
  tables: Tables,
  records: ReadonlyArray<NewEventRecord>,
  keys: ReadonlyArray<RememberedRequest>
) {
  yield* takeKeys(tables, keys)
  const ids = new Set(records.flatMap(({ deliveries }) => deliveries.map(({ integration_id }) => integration_id)))
  const targets = yield* targetsOf(tables, [...ids])
  const { rows, tally } = prepare(records, ({ integration_id }) => targets.get(integration_id))
  return answer(rows, yield* tables.insert(rows, tally.all))
})

/** The same in one statement, as long as all integrations are enabled and as they were, which is the rule; else null. */
export const enqueueAtOnce = Effect.fnUntraced(function* (tables: Tables, records: ReadonlyArray<NewEventRecord>) {
  if (tables.atOnce === null) return null
  const matched = matchedOf(records)
  if (matched === null || matched.length === 0) return null
  const { rows, tally } = prepare(records, ({ matched_version }) => ({ status: "enabled", version: matched_version }))
  const ids = yield* tables.atOnce.insert(rows, matched, tally.all)
  return ids === null ? null : answer(rows, ids)
})
