/**
 * The versions of the tables on SQLite.
 */
import { Context } from "effect"
import type { Migrations } from "../../Migrations.ts"
import { tables } from "./0001_Tables.ts"

export const SqliteMigrations = Context.Reference<Migrations>("@doorhook/sql/SqliteMigrations", {
  defaultValue: () => ({ "1_tables": tables })
})

/** The table that records the migrations that ran. */
export const table = "doorhook_migrations"

/** How to start again without the data of a build that was never released. */
export const startAgain = "Move the file away; the next start creates a new one."
