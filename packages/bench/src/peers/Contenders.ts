/**
 * All contenders by name. Each is loaded only in the process that runs it.
 */
import type { Contender } from "./Contender.ts"

const loaders = {
  "doorhook-sqlite": async () => (await import("./doorhook/Doorhook.ts")).onSqlite,
  "doorhook-postgres": async () => (await import("./doorhook/Doorhook.ts")).onPostgres,
  bullmq: async () => (await import("./bullmq/BullMq.ts")).synced,
  "bullmq-everysec": async () => (await import("./bullmq/BullMq.ts")).unsynced,
  "pg-boss": async () => (await import("./pg-boss/PgBoss.ts")).contender,
  "graphile-worker": async () => (await import("./graphile-worker/GraphileWorker.ts")).contender,
  bare: async () => (await import("./bare/Bare.ts")).contender
} satisfies Record<string, () => Promise<Contender>>

export type ContenderName = keyof typeof loaders

export const loadContender = (name: ContenderName): Promise<Contender> => loaders[name]()
