/**
 * The `NameResolver` port on the system's resolver, which connections use too.
 */
import { NameResolver } from "@doorhook/core"
import { Effect, Layer } from "effect"
import * as NameLookup from "./NameLookup.ts"

/** Resolves names with the given lookup. */
export const layerOf = (lookup: NameLookup.NameLookup): Layer.Layer<NameResolver> =>
  Layer.succeed(NameResolver, {
    addresses: (host, client) =>
      Effect.tryPromise((signal) => lookup(host, { client, signal })).pipe(
        // A name that can't be resolved has no address yet, which is not a failure.
        Effect.orElseSucceed(() => [])
      )
  })

export const layer: Layer.Layer<NameResolver> = layerOf(NameLookup.system)
