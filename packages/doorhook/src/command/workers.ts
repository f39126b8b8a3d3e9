/**
 * The workers of `doorhook serve --workers N`: `doorhook worker` processes over the same database, restarted when they end.
 */
import { Clock, Console, Effect, Result } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import type { InvalidConfig } from "../config/ReadingSettings.ts"
import { invalid } from "../config/ReadingSettings.ts"
import { defaultDatabase, isPostgres } from "../service/Database.ts"
import { onSighup } from "../service/Sighup.ts"

/** Environment variable for the database. An argument would show a password in the URL to other users of the machine. */
const databaseVariable = "DOORHOOK_DATABASE"

/**
 * First delay before a worker is restarted, in milliseconds. The delay doubles each time a worker ends soon after its
 * start.
 */
const firstPause = 500
const longestPause = 30_000

/** Run time in milliseconds after which the restart delay is reset to `firstPause`. */
const longLife = 60_000

/** Runs a worker until it ends, and returns how it ended. An interruption stops the worker gracefully. */
const runWorker = (args: ReadonlyArray<string>, database: string, publicUrl: string) =>
  Effect.acquireUseRelease(
    Effect.sync(() =>
      spawn(process.execPath, [...process.execArgv, process.argv[1] ?? "", "worker", ...args], {
        // If this process is killed, its workers finish their attempts and end. A restarted service starts new workers.
        env: {
          ...process.env,
          [databaseVariable]: database,
          DOORHOOK_PUBLIC_URL: publicUrl,
          DOORHOOK_LIFELINE: "3",
          DOORHOOK_LIFELINE_SIGNAL: "SIGTERM"
        },
        stdio: ["ignore", "inherit", "inherit", "pipe"]
      })
    ),
    (child) =>
      Effect.scoped(
        Effect.gen(function* () {
          // Passes SIGHUP on, so that the worker reads the directory again. The signal ends a worker that has no
          // handler yet, and its replacement reads the current directory.
          yield* onSighup(() => child.kill("SIGHUP"))
          yield* Console.log(`worker process ${child.pid}`)
          return yield* Effect.promise(() =>
            once(child, "exit").then(
              ([code, signal]: ReadonlyArray<unknown>) =>
                `worker process ${child.pid} ended (${typeof signal === "string" ? signal : `exit code ${String(code)}`})`,
              (cause: unknown) => `a worker can't be started (${String(cause)})`
            )
          )
        })
      ),
    (child) =>
      Effect.promise(async () => {
        if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
        const ended = once(child, "exit")
        child.kill("SIGTERM")
        await ended
      })
  )

const keepWorker = Effect.fnUntraced(function* (args: ReadonlyArray<string>, database: string, publicUrl: string) {
  for (let pause = firstPause; ;) {
    const began = yield* Clock.currentTimeMillis
    const how = yield* runWorker(args, database, publicUrl)
    if ((yield* Clock.currentTimeMillis) - began >= longLife) pause = firstPause
    yield* Console.error(`${how}; restarting in ${pause} ms`)
    yield* Effect.sleep(pause)
    pause = Math.min(2 * pause, longestPause)
  }
})

/** Fails if several processes would deliver from a database that only one may use. */
export const checkShared = (
  count: number = 0,
  database: string = defaultDatabase
): Result.Result<number, InvalidConfig> =>
  count === 0 || isPostgres(database)
    ? Result.succeed(count)
    : invalid(
        "workers: only PostgreSQL can be shared by several processes; give --database postgres://... or leave out workers"
      )

/**
 * Keeps this many workers running. `args` are the service's flags that apply to workers, and `publicUrl` is its address,
 * for links in webhooks.
 */
export const keepWorkers = (
  count: number,
  database: string,
  args: ReadonlyArray<string>,
  publicUrl: string
): Effect.Effect<never> =>
  count === 0
    ? Effect.never
    : Effect.all(
        Array.from({ length: count }, () => keepWorker(args, database, publicUrl)),
        { concurrency: "unbounded", discard: true }
      ).pipe(Effect.andThen(Effect.never))
