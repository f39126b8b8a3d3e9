/**
 * Opens databases as the source and the target of a move, and moves between them.
 */
import { Move, SqliteDatabase, SqliteMoveSide, SqliteStore } from "@doorhook/sql"
import type { MoveSide } from "@doorhook/sql"
import { PostgresDatabase, PostgresMoveSide, PostgresStore } from "@doorhook/sql/postgres"
import { Effect, Exit, Layer, Redacted } from "effect"

const isUrl = (database: string): boolean => database.startsWith("postgres")

export const sourceAt = (database: string) =>
  isUrl(database)
    ? PostgresMoveSide.make(Redacted.make(database))
    : SqliteMoveSide.make(database, "source", Effect.void)

/** Creates the tables of a target. */
export const targetAt = (database: string) => {
  const url = Redacted.make(database)
  return isUrl(database)
    ? Effect.andThen(Effect.scoped(Layer.build(PostgresDatabase.layer({ url }))), PostgresMoveSide.make(url))
    : Effect.andThen(
        Effect.scoped(Layer.build(SqliteDatabase.layer({ filename: database }))),
        SqliteMoveSide.make(database, "target", Effect.void)
      )
}

export const move = (from: MoveSide, to: MoveSide) => new Move(from, to, () => Effect.void).run()

export const storeAt = (database: string) =>
  isUrl(database) ? PostgresStore.layer({ url: Redacted.make(database) }) : SqliteStore.layer({ filename: database })

/** Whether doorhook starts on a database. */
export const isUsable = (database: string) =>
  Effect.map(Effect.exit(Effect.scoped(Layer.build(Layer.fresh(storeAt(database))))), Exit.isSuccess)
