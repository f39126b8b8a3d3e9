/**
 * Whatever goes wrong in a database becomes the one error of the storage ports, which names the operation.
 */
import { StoreError } from "@doorhook/core"
import { Effect } from "effect"

export const failAs =
  (operation: string) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, StoreError, R> =>
    Effect.mapError(self, (cause) => new StoreError({ operation, cause }))
