/**
 * The workers that `doorhook serve --workers N` runs beside itself: `doorhook worker` processes over the same database,
 * started again when they end.
 */
import { CommandFailure } from "@doorhook/core"
import { Console, Effect, Schedule } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { isPostgres } from "../service/Database.ts"

/** Environment variable that hands the database on, because a URL may carry a password. */
const databaseVariable = "DOORHOOK_DATABASE"

/** Runs one worker until it ends, or until interrupted: then it drains and ends too. */
const runWorker = (args: ReadonlyArray<string>, database: string) =>
  Effect.acquireUseRelease(
    Effect.sync(() =>
      spawn(process.execPath, [...process.execArgv, process.argv[1] ?? "", "worker", ...args], {
        env: { ...process.env, [databaseVariable]: database },
        stdio: ["ignore", "inherit", "inherit"]
      })
    ),
    (child) =>
      Effect.andThen(
        Console.log(`worker process ${child.pid}`),
        Effect.promise(() => once(child, "exit"))
      ),
    (child) =>
      Effect.promise(async () => {
        if (child.exitCode !== null || child.signalCode !== null) return
        const ended = once(child, "exit")
        child.kill("SIGTERM")
        await ended
      })
  )

/** Keeps so many workers running. `args` are the delivery flags that they share with the service. */
export const keepWorkers = Effect.fnUntraced(function* (
  count: number,
  database: string | undefined,
  args: ReadonlyArray<string>
) {
  if (count === 0) return yield* Effect.never
  if (database === undefined || !isPostgres(database)) {
    return yield* CommandFailure.usage(
      "--workers: more than one process can deliver from PostgreSQL only; give --database postgres://... or leave --workers out"
    )
  }
  const one = runWorker(args, database).pipe(
    Effect.andThen(Console.error("a worker ended; another is started")),
    Effect.repeat(Schedule.spaced("1 second"))
  )
  return yield* Effect.all(
    Array.from({ length: count }, () => one),
    { concurrency: "unbounded", discard: true }
  )
})
