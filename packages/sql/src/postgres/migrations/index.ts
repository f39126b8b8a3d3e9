/**
 * The versions of the tables on PostgreSQL.
 */
import { Context } from "effect"
import type { Migrations } from "../../Migrations.ts"
import { tables } from "./0001_Tables.ts"

export const PostgresMigrations = Context.Reference<Migrations>("@doorhook/sql/PostgresMigrations", {
  defaultValue: () => ({ "1_tables": tables })
})

/** The table that records the migrations that ran, in doorhook's schema. */
export const table = "migrations"

/** How to start again without the data of a build that was never released. */
export const startAgain =
  "Use another database, or delete the tables with DROP SCHEMA doorhook CASCADE; the next start creates new ones."
