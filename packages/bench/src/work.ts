/**
 * A worker that delivers from PostgreSQL, with so many places: `work.ts URL CONCURRENCY`. Says when it is ready.
 *
 * The embedded engine as `doorhook worker` runs it, but for the places, which the command has no flag for.
 */
import { Effect, Layer } from "effect"
import { postgresEngine } from "./harness/Engine.ts"

const [url = "", concurrency = "64"] = process.argv.slice(2)

const announce = Layer.effectDiscard(Effect.sync(() => process.stdout.write("ready\n")))

await Effect.runPromise(
  Layer.launch(announce.pipe(Layer.provide(postgresEngine(url, { concurrency: Number(concurrency) }))))
)
