/**
 * The `NameResolver` port on the system's resolver, the same that connecting uses.
 */
import { NameResolver } from "@doorhook/core"
import { Effect, Layer } from "effect"
import * as NameLookup from "./NameLookup.ts"

export const layer: Layer.Layer<NameResolver> = Layer.succeed(NameResolver, {
  addresses: (host) =>
    Effect.tryPromise(() => NameLookup.system(host)).pipe(
      // A name that can't be looked up has no address yet: that is an answer, not a failure.
      Effect.orElseSucceed(() => [])
    )
})
