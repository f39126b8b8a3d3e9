/**
 * Deletes old events whose deliveries have all ended, with these. Everything here runs in one transaction.
 */
import type { Purged, PurgeRequest } from "@doorhook/core"
import { Effect } from "effect"
import type { SqlError } from "effect/sql"
import type { DeliveryTables } from "../DeliveryTables.ts"
import { endNow } from "./Moving.ts"
import { Tally } from "./Tally.ts"

export const purgeOld = Effect.fnUntraced(function* (
  tables: DeliveryTables["Service"],
  { after, before, limit }: PurgeRequest
): Effect.fn.Return<Purged, SqlError.SqlError> {
  yield* tables.deleteNotices(before, limit)
  // One more says whether there is anything to go on with.
  const found = yield* tables.oldEvents(after, limit + 1)
  const looked = found.slice(0, limit)
  // A clock may have been wrong: old ones may be stored behind a younger one.
  const old = looked.filter(({ created_at }) => created_at < before)
  if (old.length === 0) return { events: 0, deliveries: 0, next: null }
  const next = found.length > limit ? (looked.at(-1)?.seq ?? null) : null
  // What an ending has cancelled is as settled as the rest.
  const ended = yield* tables.endedOf(old)
  if (ended.length > 0) yield* endNow(tables, ended)
  const active = new Set(yield* tables.withActive(old))
  const done = old.filter(({ id }) => !active.has(id))
  if (done.length === 0) return { events: 0, deliveries: 0, next }
  const counts = yield* tables.deleteEvents(done)
  const tally = new Tally()
  tally.add("events", -done.length)
  for (const { count, state } of counts) tally.add(state, -count)
  yield* tally.write(tables)
  return { events: done.length, deliveries: counts.reduce((sum, { count }) => sum + count, 0), next }
})
