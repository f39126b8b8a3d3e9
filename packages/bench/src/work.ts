/**
 * A worker that delivers from PostgreSQL. Usage: `work.ts URL CONCURRENCY`. Prints `ready`.
 *
 * Runs the same engine as `doorhook worker` without a directory. The command itself has no flag for the concurrency.
 */
import { AllowAllDirectory } from "@doorhook/core"
import { UndiciTransport } from "@doorhook/node"
import { Effect, Layer } from "effect"
import { postgresEngine } from "./harness/Engine.ts"

const [url = "", concurrency = "64"] = process.argv.slice(2)

const announce = Layer.effectDiscard(Effect.sync(() => process.stdout.write("ready\n")))

const engine = postgresEngine(
  url,
  { concurrency: Number(concurrency) },
  UndiciTransport.layer(),
  AllowAllDirectory.layer
)

await Effect.runPromise(Layer.launch(announce.pipe(Layer.provide(engine))))
