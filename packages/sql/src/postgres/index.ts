/**
 * Storage on PostgreSQL. A separate entry point, so that hosts on SQLite don't load the PostgreSQL client.
 */
export * as PostgresDatabase from "./PostgresDatabase.ts"
export * as PostgresInspection from "./PostgresInspection.ts"
export * as PostgresMoveSide from "./PostgresMoveSide.ts"
export * as PostgresPublish from "./PostgresPublish.ts"
export * as PostgresStore from "./PostgresStore.ts"
export * as PostgresWakeSignal from "./PostgresWakeSignal.ts"
