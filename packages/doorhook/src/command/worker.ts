/**
 * `doorhook worker`: delivers from a shared database, without HTTP.
 */
import { AllowAllDirectory, CommandFailure } from "@doorhook/core"
import { Console, Effect, Layer } from "effect"
import { Command } from "effect/cli"
import * as FileDirectory from "../directory/FileDirectory.ts"
import { defaultDatabase, isPostgres } from "../service/Database.ts"
import { deliveryLayer } from "../service/Engine.ts"
import { keepCompiled } from "./compileCache.ts"
import { deliveryConfigOf, deliveryFlags } from "./deliveryFlags.ts"
import { forceExitAfterSignal } from "./forceExit.ts"
import { stopOnSighup, logStopped, logStopping } from "./shutdown.ts"
import { untilStopped } from "./untilStopped.ts"

export const workerCommand = Command.make(
  "worker",
  deliveryFlags,
  Effect.fnUntraced(
    function* (given) {
      const config = yield* deliveryConfigOf(given, undefined, ({ directory }) => FileDirectory.check(directory))
      const { database = defaultDatabase } = config
      if (!isPostgres(database)) {
        const what = database === "memory" ? "a database in memory" : `the SQLite file ${database}`
        return yield* CommandFailure.usage(
          `worker: only one process can use ${what}, and "doorhook serve" also delivers from it. Give the URL of the service's PostgreSQL database with --database postgres://... or DOORHOOK_DATABASE. Without PostgreSQL, workers are not needed.`
        )
      }
      yield* forceExitAfterSignal(config)
      yield* stopOnSighup(config.directory)
      const announce = Effect.gen(function* () {
        if (config.directory === undefined) {
          yield* Console.log("no --directory: users' rights are not rechecked before each attempt")
        }
        yield* Console.log("doorhook worker ready")
        yield* logStopping("doorhook worker")
        yield* keepCompiled
      })
      const directory = config.directory === undefined ? AllowAllDirectory.layer : FileDirectory.layer(config.directory)
      const delivery = Layer.effectDiscard(announce).pipe(Layer.provideMerge(deliveryLayer(config, directory)))
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
