/**
 * The `NameResolver` port on the system's resolver, the same that connecting uses.
 */
import { NameResolver } from "@doorhook/core"
import { Effect, Layer } from "effect"
import * as NameLookup from "./NameLookup.ts"

/** Asks `lookup`. */
export const layerOf = (lookup: NameLookup.NameLookup): Layer.Layer<NameResolver> =>
  Layer.succeed(NameResolver, {
    addresses: (host, client) =>
      Effect.tryPromise((signal) => lookup(host, { client, signal })).pipe(
        // A name that can't be looked up, or not now, has no address yet: that is an answer, not a failure.
        Effect.orElseSucceed(() => [])
      )
  })

export const layer: Layer.Layer<NameResolver> = layerOf(NameLookup.system)
