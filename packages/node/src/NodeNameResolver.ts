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
        // A failed lookup is not an error here, because the name might get an address later.
        Effect.orElseSucceed(() => [])
      )
  })

export const layer: Layer.Layer<NameResolver> = layerOf(NameLookup.system)
