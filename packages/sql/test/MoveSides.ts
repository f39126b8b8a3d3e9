/**
 * Opens databases as the source and the target of a move, and moves between them.
 */
import { BuildingMove, Move, SqliteDatabase, SqliteMoveSide, SqliteStore } from "@doorhook/sql"
import type { BuildingSide, MoveSide } from "@doorhook/sql"
import { PostgresDatabase, PostgresMoveSide, PostgresStore } from "@doorhook/sql/postgres"
import { BuildingMoves } from "@doorhook/core"
import type { DatabaseUnusable } from "@doorhook/sql"
import { Effect, Exit, Layer, Redacted, Result } from "effect"
import type { Scope } from "effect"

const isUrl = (database: string): boolean => database.startsWith("postgres")

export const sourceAt = (database: string): Effect.Effect<BuildingSide, DatabaseUnusable, Scope.Scope> =>
  isUrl(database)
    ? PostgresMoveSide.make(Redacted.make(database))
    : SqliteMoveSide.make(database, "source", Effect.void)

/** Creates the tables of a target. */
export const targetAt = (database: string): Effect.Effect<BuildingSide, DatabaseUnusable, Scope.Scope> => {
  const url = Redacted.make(database)
  return isUrl(database)
    ? Effect.andThen(Effect.scoped(Layer.build(PostgresDatabase.layer({ url }))), PostgresMoveSide.make(url))
    : Effect.andThen(
        Effect.scoped(Layer.build(SqliteDatabase.layer({ filename: database }))),
        SqliteMoveSide.make(database, "target", Effect.void)
      )
}

export const move = (from: MoveSide, to: MoveSide) => new Move(from, to, () => Effect.void).run()

/** Makes the move of buildings, like `2-4`, between two databases. */
export const buildingMove = (from: BuildingSide, to: BuildingSide, buildings: string) =>
  new BuildingMove(
    from,
    to,
    { buildings: Result.getOrThrow(BuildingMoves.parseRanges(buildings)), tenants: null },
    () => Effect.void
  )

export const storeAt = (database: string) =>
  isUrl(database) ? PostgresStore.layer({ url: Redacted.make(database) }) : SqliteStore.layer({ filename: database })

/** Whether doorhook starts on a database. */
export const isUsable = (database: string) =>
  Effect.map(Effect.exit(Effect.scoped(Layer.build(Layer.fresh(storeAt(database))))), Exit.isSuccess)
