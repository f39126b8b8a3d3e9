/**
 * The workers that `doorhook serve --workers N` runs beside itself: `doorhook worker` processes over the same database,
 * started again when they end.
 */
import { Clock, Console, Effect, Result } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import type { InvalidConfig } from "../config/ReadingSettings.ts"
import { invalid } from "../config/ReadingSettings.ts"
import { defaultDatabase, isPostgres } from "../service/Database.ts"
import { onSighup } from "../service/Sighup.ts"

/** Environment variable that hands the database on, because a URL may carry a password. */
const databaseVariable = "DOORHOOK_DATABASE"

/** How long to wait before a worker is started again, in milliseconds: doubled each time it ends soon after its start. */
const firstPause = 500
const longestPause = 30_000

/** A worker that lives so long, in milliseconds, does not end because of how it was started. */
const longLife = 60_000

/** Runs one worker until it ends, and says how it did; or until interrupted: then it drains and ends too. */
const runWorker = (args: ReadonlyArray<string>, database: string) =>
  Effect.acquireUseRelease(
    Effect.sync(() =>
      spawn(process.execPath, [...process.execArgv, process.argv[1] ?? "", "worker", ...args], {
        // When this process is killed, its workers drain and end: whoever starts it again starts workers too.
        env: {
          ...process.env,
          [databaseVariable]: database,
          DOORHOOK_LIFELINE: "3",
          DOORHOOK_LIFELINE_SIGNAL: "SIGTERM"
        },
        stdio: ["ignore", "inherit", "inherit", "pipe"]
      })
    ),
    (child) =>
      Effect.scoped(
        Effect.gen(function* () {
          // It has read the directory itself. One that does not listen yet ends by this, and the next reads what is there then.
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

const keepWorker = Effect.fnUntraced(function* (args: ReadonlyArray<string>, database: string) {
  for (let pause = firstPause; ;) {
    const began = yield* Clock.currentTimeMillis
    const how = yield* runWorker(args, database)
    if ((yield* Clock.currentTimeMillis) - began >= longLife) pause = firstPause
    yield* Console.error(`${how}; another is started in ${pause} ms`)
    yield* Effect.sleep(pause)
    pause = Math.min(2 * pause, longestPause)
  }
})

/** Fails when more than one process is to deliver from a database that belongs to one alone. */
export const checkShared = (
  count: number = 0,
  database: string = defaultDatabase
): Result.Result<number, InvalidConfig> =>
  count === 0 || isPostgres(database)
    ? Result.succeed(count)
    : invalid(
        "workers: more than one process can deliver from PostgreSQL only; give --database postgres://... or leave workers out"
      )

/** Keeps so many workers running. `args` are the flags that they share with the service. */
export const keepWorkers = (count: number, database: string, args: ReadonlyArray<string>): Effect.Effect<never> =>
  count === 0
    ? Effect.never
    : Effect.all(
        Array.from({ length: count }, () => keepWorker(args, database)),
        { concurrency: "unbounded", discard: true }
      ).pipe(Effect.andThen(Effect.never))
