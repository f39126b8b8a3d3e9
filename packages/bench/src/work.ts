/**
 * A worker that delivers from PostgreSQL, with so many places: `work.ts URL CONCURRENCY`. Says when it is ready.
 *
 * The embedded engine as `doorhook worker` runs it without a directory, except for the places: the command has no flag for
 * these.
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
