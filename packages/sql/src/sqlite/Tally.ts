/**
 * Counts of events, and of deliveries by state: kept by each transaction that moves any, because counting a hundred
 * million rows takes too long.
 */
import type { DeliveryState } from "@doorhook/core"
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { addToTallies, tallies } from "./statements/DeliveryStatements.ts"

type Name = "events" | DeliveryState

/** What one transaction changes, written once at its end. */
export class Tally {
  private readonly changes = new Map<Name, number>()

  add(name: Name, count: number): void {
    this.changes.set(name, (this.changes.get(name) ?? 0) + count)
  }

  move(from: DeliveryState, to: DeliveryState, count: number): void {
    this.add(from, -count)
    this.add(to, count)
  }

  write(sql: SqlClient.SqlClient): Effect.Effect<void, SqlError.SqlError> {
    const rows = [...this.changes].filter(([, count]) => count !== 0)
    return rows.length === 0 ? Effect.void : Effect.asVoid(addToTallies.run(sql, rows))
  }
}

/** All counts. */
export const readTallies = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const rows = yield* sql.unsafe<{ readonly name: Name; readonly count: number }>(tallies)
  const counts: Record<Name, number> = {
    events: 0,
    pending: 0,
    delivering: 0,
    retrying: 0,
    delivered: 0,
    exhausted: 0,
    expired: 0,
    cancelled: 0,
    skipped: 0
  }
  for (const { count, name } of rows) counts[name] = count
  return counts
})
