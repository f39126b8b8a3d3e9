/**
 * The `NameResolver` port on the system's resolver, the same that connecting uses.
 */
import { NameResolver } from "@doorhook/core"
import { Effect, Layer } from "effect"
import * as NameLookup from "./NameLookup.ts"

/** How long saving an integration waits for its name to resolve. A name that takes longer counts as not set up yet. */
const patience = "2 seconds"

export const layer: Layer.Layer<NameResolver> = Layer.succeed(NameResolver, {
  addresses: (host) =>
    Effect.tryPromise(() => NameLookup.system(host)).pipe(
      Effect.timeout(patience),
      // A name that can't be looked up has no address yet: that is an answer, not a failure.
      Effect.orElseSucceed(() => [])
    )
})
