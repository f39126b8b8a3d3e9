/**
 * An empty Redis server for one round. It syncs its append-only file after each command.
 */
import { freePort } from "@doorhook/testkit/ListeningServer"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import { start } from "./Processes.ts"

/** Returns the version of the installed `redis-server`; null if there is none. */
export const redisVersion = (): string | null =>
  /v=(\S+)/.exec(spawnSync("redis-server", ["--version"], { encoding: "utf8" }).stdout ?? "")?.[1] ?? null

/** Starts a server for the lifetime of the scope. */
export const startRedis = Effect.gen(function* () {
  const dir = yield* temporaryFolder
  const port = yield* Effect.promise(freePort)
  const settings = { port, bind: "127.0.0.1", dir, save: "", appendonly: "yes", appendfsync: "always" }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
  const { pid } = yield* start("redis-server", args, (line) => line.includes("Ready to accept connections"))
  return { url: `redis://127.0.0.1:${port}`, pid }
})
