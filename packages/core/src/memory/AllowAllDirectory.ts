/**
 * The directory of a process that has none and takes no requests: it knows nobody who could log in, and leaves every right
 * as it was when an event was matched.
 */
import { Effect, Layer } from "effect"
import { Directory } from "../ports/Directory.ts"

export const layer: Layer.Layer<Directory> = Layer.succeed(Directory, {
  client: () => Effect.succeed(null),
  authenticate: () => Effect.succeed(null),
  isActive: () => Effect.succeed(true),
  administers: () => Effect.succeed(true),
  isTenant: () => Effect.succeed(true),
  buildings: () => Effect.succeed([]),
  tenants: () => Effect.succeed([])
})
