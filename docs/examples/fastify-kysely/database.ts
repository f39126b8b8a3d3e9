/**
 * The backend's own tables, with one building and one administrator.
 */
import { hashPassword } from "doorhook"
import type { Generated } from "kysely"
import { Kysely, PostgresDialect } from "kysely"
import pg from "pg"

interface Tables {
  users: { id: string; login: string; password_hash: string }
  buildings: { id: number; name: string; administrator: string }
  rings: { id: Generated<number>; building_id: number }
}

export const databaseUrl = process.env["DATABASE_URL"] ?? "postgres://postgres@localhost:5432/postgres"

const pool = new pg.Pool({ connectionString: databaseUrl })
const log = ({ message }: Error) => process.stderr.write(`${message}\n`)
// Without error listeners, a lost connection ends the process, whether the connection is idle or in use.
pool.on("error", log)
pool.on("connect", (client) => client.on("error", log))

export const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })

/** Creates missing tables. */
export const prepare = async (): Promise<void> => {
  const { schema } = db
  await schema
    .createTable("users")
    .ifNotExists()
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("login", "text", (column) => column.unique().notNull())
    .addColumn("password_hash", "text", (column) => column.notNull())
    .execute()
  await schema
    .createTable("buildings")
    .ifNotExists()
    .addColumn("id", "integer", (column) => column.primaryKey())
    .addColumn("name", "text", (column) => column.notNull())
    .addColumn("administrator", "text", (column) => column.notNull().references("users.id"))
    .execute()
  await schema
    .createTable("rings")
    .ifNotExists()
    .addColumn("id", "integer", (column) => column.generatedAlwaysAsIdentity().primaryKey())
    .addColumn("building_id", "integer", (column) => column.notNull().references("buildings.id"))
    .execute()
  const password_hash = await hashPassword("correct horse")
  await db
    .insertInto("users")
    .values({ id: "ada", login: "ada@example.com", password_hash })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  await db
    .insertInto("buildings")
    .values({ id: 1, name: "North Tower", administrator: "ada" })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}
