/**
 * Storage in SQL databases. PostgreSQL has its own entry point, `@doorhook/sql/postgres`.
 */
export * from "./DatabaseUnusable.ts"
export * from "./Inspection.ts"
export * as PostgresUrl from "./postgres/PostgresUrl.ts"
export { openDatabase } from "./sqlite/NodeSqlite.ts"
export { currentRole, publishCall, publishRemedyFor } from "./HostPublish.ts"
export { Move } from "./move/Move.ts"
export type { MovedCount, MoveSide, Progress } from "./move/Move.ts"
export * as SecretBox from "./SecretBox.ts"
export * as SqliteClient from "./sqlite/SqliteClient.ts"
export * as SqliteDatabase from "./sqlite/SqliteDatabase.ts"
export * as SqliteFile from "./sqlite/SqliteFile.ts"
export * as SqliteInspection from "./sqlite/SqliteInspection.ts"
export * as SqliteMoveSide from "./sqlite/SqliteMoveSide.ts"
export * as SqliteResult from "./sqlite/SqliteResult.ts"
export * as SqliteStore from "./sqlite/SqliteStore.ts"
