/**
 * Versions of doorhook's tables. Each database has its own migrations, and records in a table which of them ran.
 */
import type { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { DatabaseUnusable } from "./DatabaseUnusable.ts"

/** Migrations by number and name (`1_tables`). A released migration is never changed. */
export type Migrations = Readonly<Record<string, Effect.Effect<void, unknown, SqlClient.SqlClient>>>

/** A migration that ran. */
export interface Applied {
  readonly migration_id: number
  readonly name: string
}

/** Reads the migrations that ran, the newest last. */
export const appliedIn = (table: string): string => `SELECT migration_id, name FROM ${table} ORDER BY migration_id`

/** Returns the number of the newest migration. */
export const newestOf = (migrations: Migrations): number =>
  Math.max(...Object.keys(migrations).map((name) => Number.parseInt(name, 10)))

/** Returns the version of tables; 0 without tables. */
export const versionOf = (applied: ReadonlyArray<Applied>): number => applied.at(-1)?.migration_id ?? 0

/** Explains why this doorhook can't use existing tables, and what to do; null if it can. */
export const refusalOf = (
  applied: ReadonlyArray<Applied>,
  migrations: Migrations,
  startAgain: string
): Pick<DatabaseUnusable, "why" | "explanation"> | null => {
  const [first] = applied
  if (first !== undefined && !(`${first.migration_id}_${first.name}` in migrations)) {
    return {
      why: "unreleased_version",
      explanation: `an unreleased build of doorhook made its tables, which no release can read. ${startAgain}`
    }
  }
  const [version, newest] = [versionOf(applied), newestOf(migrations)]
  if (version <= newest) return null
  return {
    why: "newer_version",
    explanation: `a newer doorhook made its tables (version ${version}; this doorhook supports up to ${newest}). Use the newer doorhook, or another database.`
  }
}
