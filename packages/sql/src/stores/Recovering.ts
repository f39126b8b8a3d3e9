/**
 * Makes due again what an integration did not acknowledge: some at a time, each part in a transaction of its own, because
 * there may be a million.
 */
import type { DeliveryId, IntegrationId } from "@doorhook/core"
import { Standing } from "@doorhook/core"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { DeliveryTables } from "../DeliveryTables.ts"
import { move, standingsOf, targetsOf } from "./Moving.ts"
import { Tally } from "./Tally.ts"

type Tables = DeliveryTables["Service"]

/** The most deliveries that are recovered in one transaction: some ten milliseconds. */
const batch = 1_000

/** Recovers some deliveries after one; says how many, and after which there may be more. In a transaction. */
const recoverSome = Effect.fnUntraced(function* (
  tables: Tables,
  integration: IntegrationId,
  since: number,
  now: number,
  after: DeliveryId | 0
) {
  const nothing = { count: 0, next: undefined }
  if ((yield* targetsOf(tables, [integration])).get(integration)?.status !== "enabled") return nothing
  const found = yield* tables.recoverable({ integration, after, limit: batch })
  const ids = found.filter(({ created_at }) => created_at >= since).map(({ id }) => id)
  const next = found.length === batch ? found.at(-1)?.id : undefined
  if (ids.length === 0) return { count: 0, next }
  // Those that somebody else has sent or revived meanwhile are not among them any more.
  const rows = (yield* standingsOf(tables, ids)).filter(Standing.isRecoverable)
  const tally = new Tally()
  yield* move(
    tables,
    tally,
    rows.map((from) => ({ from, to: Standing.resent(from, now) }))
  )
  yield* tally.write(tables)
  return { count: rows.length, next }
})

/**
 * Recovers all there is since a time, in the order of ids, and says how many. `noteBegun` hears of
 * each part that is committed: when a later one fails, it stays.
 */
export const recoverAll = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  tables: Tables,
  integration: IntegrationId,
  since: number,
  now: number,
  noteBegun: () => void
) {
  let recovered = 0
  let after: DeliveryId | 0 | undefined = 0
  while (after !== undefined) {
    const part: { readonly count: number; readonly next: DeliveryId | undefined } = yield* sql.withTransaction(
      recoverSome(tables, integration, since, now, after)
    )
    recovered += part.count
    if (part.count > 0) noteBegun()
    after = part.next
    // By turns with everything else that waits for the connection.
    yield* Effect.yieldNow
  }
  return recovered
})
