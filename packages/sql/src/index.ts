/**
 * Storage of doorhook in SQL databases.
 */
export * from "./DatabaseUnusable.ts"
export * as PostgresDatabase from "./postgres/PostgresDatabase.ts"
export * as PostgresPublish from "./postgres/PostgresPublish.ts"
export * as PostgresStore from "./postgres/PostgresStore.ts"
export * as PostgresWake from "./postgres/PostgresWake.ts"
export * as SecretBox from "./SecretBox.ts"
export * as SqliteClient from "./sqlite/SqliteClient.ts"
export * as SqliteDatabase from "./sqlite/SqliteDatabase.ts"
export * as SqliteStore from "./sqlite/SqliteStore.ts"
