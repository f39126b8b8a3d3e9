/**
 * `doorhook worker`: delivers from a shared database, without HTTP.
 */
import { AgreedSettings, AllowAllDirectory, CommandFailure } from "@doorhook/core"
import { Console, Effect, Layer } from "effect"
import { Command, Flag } from "effect/cli"
import * as FileDirectory from "../directory/FileDirectory.ts"
import { ownerProblem } from "../service/Agreement.ts"
import { defaultDatabase, isPostgres } from "../service/Database.ts"
import { inspect } from "../service/DatabaseInspection.ts"
import { deliveryLayer } from "../service/Engine.ts"
import { forceExitAfterSignal, keepCompiled, logStopped, logStopping, stopOnSighup, untilStopped } from "./Process.ts"
import { deliveryConfigOf, deliveryFlags } from "./deliveryFlags.ts"

/** Fails with what to do instead of delivering without a directory. */
const refuseWithoutDirectory = Effect.fnUntraced(function* (database: string) {
  const stored = (yield* inspect(database))?.agreed ?? null
  const problem = stored === null ? null : ownerProblem(AgreedSettings.decodeAgreed(stored), "none")
  return yield* CommandFailure.usage(
    `worker: no --directory, so this process can't check who may receive an event. ${problem ?? "Give the directory file of the service with --directory."} To deliver without the check, give --without-rights.`
  )
})

export const workerCommand = Command.make(
  "worker",
  {
    ...deliveryFlags,
    withoutRights: Flag.Boolean("without-rights").pipe(
      Flag.withDescription(
        "Without --directory: deliver without checking that the owners still have the right to the events"
      ),
      Flag.withDefault(false)
    )
  },
  Effect.fnUntraced(
    function* (given) {
      const config = yield* deliveryConfigOf(given, ({ directory }) => FileDirectory.check(directory))
      if (config.directory !== undefined && given.withoutRights) {
        return yield* CommandFailure.usage(
          "worker: --without-rights contradicts the directory that --directory or --config names: give one of them."
        )
      }
      const { database = defaultDatabase } = config
      if (!isPostgres(database)) {
        const what = database === "memory" ? "a database in memory" : `the SQLite file ${database}`
        return yield* CommandFailure.usage(
          `worker: only one process can use ${what}, and "doorhook serve" also delivers from it. Give the URL of the service's PostgreSQL database with --database postgres://... or DOORHOOK_DATABASE. Without PostgreSQL, workers are not needed.`
        )
      }
      yield* forceExitAfterSignal(config)
      yield* stopOnSighup(config.directory)
      if (config.directory === undefined && !given.withoutRights) return yield* refuseWithoutDirectory(database)
      const announce = Effect.gen(function* () {
        if (config.directory === undefined) {
          yield* Console.log("--without-rights: users' rights are not rechecked before each attempt")
        }
        yield* Console.log("doorhook worker ready")
        yield* logStopping("doorhook worker")
        yield* keepCompiled
      })
      const directory = config.directory === undefined ? AllowAllDirectory.layer : FileDirectory.layer(config.directory)
      const delivery = Layer.effectDiscard(announce).pipe(
        Layer.provideMerge(deliveryLayer({ ...config, deliver: true }, directory))
      )
      return yield* Layer.launch(delivery).pipe(logStopped("doorhook worker"))
    },
    Effect.scoped,
    untilStopped
  )
).pipe(
  Command.withDescription("Deliver from a shared database, without HTTP; run any number on any number of machines"),
  Command.withExamples([
    {
      command: "doorhook worker --database postgres://doorhook@db.internal/doorhook --directory directory.json",
      description: "Share the deliveries of a service with other workers"
    }
  ])
)
