/**
 * Storage of doorhook on PostgreSQL. An entry of its own: who stores in a file need not load a client for a server.
 */
export * as PostgresDatabase from "./PostgresDatabase.ts"
export * as PostgresInspection from "./PostgresInspection.ts"
export * as PostgresPublish from "./PostgresPublish.ts"
export * as PostgresStore from "./PostgresStore.ts"
export * as PostgresWakeSignal from "./PostgresWakeSignal.ts"
