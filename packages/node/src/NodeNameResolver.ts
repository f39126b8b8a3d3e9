/**
 * The `NameResolver` port. It uses the same system resolver as connections.
 */
import { NameResolver } from "@doorhook/core"
import { Effect, Layer } from "effect"
import * as NameLookup from "./NameLookup.ts"

/** Resolves names with the given lookup. */
export const layerOf = (lookup: NameLookup.NameLookup): Layer.Layer<NameResolver> =>
  Layer.succeed(NameResolver, {
    addresses: (host, client) =>
      Effect.tryPromise((signal) => lookup(host, { client, signal })).pipe(
        // Not a failure: the name has no address yet.
        Effect.orElseSucceed(() => [])
      )
  })

export const layer: Layer.Layer<NameResolver> = layerOf(NameLookup.system)
