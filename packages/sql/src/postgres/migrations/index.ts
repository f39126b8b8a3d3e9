/**
 * The versions of the tables on PostgreSQL.
 */
import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Migrations } from "../../Migrations.ts"
import { tables } from "./0001_Tables.ts"
import { publishFunctions } from "./PublishFunction.ts"

/** Adds the texts that describe an integration to people. */
const labels = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe("ALTER TABLE integrations ADD COLUMN name text").unprepared
  yield* sql.unsafe("ALTER TABLE integrations ADD COLUMN description text").unprepared
})

/** Replaces the functions by those that know calls that end. */
const callEnds = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of publishFunctions) yield* sql.unsafe(statement).unprepared
})

export const PostgresMigrations = Context.Reference<Migrations>("@doorhook/sql/PostgresMigrations", {
  defaultValue: () => ({ "1_tables": tables, "2_labels": labels, "3_call_ends": callEnds })
})

/** The table that records the migrations that ran, in doorhook's schema. */
export const table = "migrations"

/** How to start again without the data of a build that was never released. */
export const startAgain =
  "Use another database, or delete the tables with DROP SCHEMA doorhook CASCADE; the next start creates new ones."
