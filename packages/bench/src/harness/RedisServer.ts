/**
 * An empty Redis server for one round, with an append-only file.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { freePort } from "@doorhook/testkit/ListeningServer"
import { temporaryFolder } from "./TemporaryFile.ts"

export interface RedisServer {
  readonly url: string
  readonly pid: number
}

/** Returns the version of the installed `redis-server`; null if there is none. */
export const redisVersion = (): string | null =>
  /v=(\S+)/.exec(spawnSync("redis-server", ["--version"], { encoding: "utf8" }).stdout ?? "")?.[1] ?? null

const launch = async (folder: string, fsync: string) => {
  const port = await freePort()
  const settings = { port, bind: "127.0.0.1", dir: folder, save: "", appendonly: "yes", appendfsync: fsync }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
  const child = spawn("redis-server", args, { stdio: ["ignore", "pipe", "inherit"] })
  for await (const line of createInterface(child.stdout)) if (line.includes("Ready to accept connections")) break
  child.stdout.resume()
  return { child, port }
}

/** Starts a server. `fsync` says whether to sync the file after each command or every second. */
export const startRedis = (fsync: "always" | "everysec"): Effect.Effect<RedisServer, never, Scope.Scope> =>
  temporaryFolder.pipe(
    Effect.flatMap((folder) =>
      Effect.acquireRelease(
        Effect.promise(() => launch(folder, fsync)),
        ({ child }) =>
          Effect.promise(async () => {
            const ended = once(child, "close")
            child.kill("SIGKILL")
            await ended
          })
      )
    ),
    Effect.map(({ child, port }) => ({ url: `redis://127.0.0.1:${port}`, pid: child.pid ?? 0 }))
  )
