/**
 * The directory of `doorhook serve`: one JSON file, read at the start and again at each SIGHUP.
 */
import type { Crypto, Directory } from "@doorhook/core"
import { DirectoryDocument, DocumentDirectory } from "@doorhook/core"
import { Console, Effect, FileSystem, Layer, Queue } from "effect"
import { InvalidConfig } from "../config/EngineConfig.ts"

const read = Effect.fnUntraced(function* (file: string) {
  const files = yield* FileSystem.FileSystem
  const text = yield* files
    .readFileString(file)
    .pipe(Effect.mapError(() => new InvalidConfig({ message: `directory: ${file} can't be read` })))
  return yield* Effect.fromResult(DirectoryDocument.fromText(text)).pipe(
    Effect.mapError((error) => new InvalidConfig({ message: `directory ${file}: ${error.message}` }))
  )
})

const hangups = Effect.acquireRelease(
  Effect.gen(function* () {
    const queue = yield* Queue.sliding<void>(1)
    const listener = (): void => void Queue.offerUnsafe(queue, undefined)
    process.on("SIGHUP", listener)
    return { queue, listener }
  }),
  ({ listener }) => Effect.sync(() => process.off("SIGHUP", listener))
)

/** A file that has become wrong is reported, and what was read before stays in force. */
const rereadOnHangup = (file: string) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const directory = yield* DocumentDirectory
      const { queue } = yield* hangups
      yield* Queue.take(queue).pipe(
        Effect.andThen(read(file)),
        Effect.flatMap(directory.replace),
        Effect.andThen(Console.log(`directory ${file} read again`)),
        Effect.catchTag("InvalidConfig", ({ message }) => Console.error(`${message}; the old one stays in force`)),
        Effect.forever,
        Effect.forkScoped
      )
    })
  )

/** The directory in a file; fails with every problem of the file. */
export const layer = (file: string): Layer.Layer<Directory, InvalidConfig, Crypto | FileSystem.FileSystem> =>
  Layer.unwrap(
    Effect.map(read(file), (document) =>
      rereadOnHangup(file).pipe(Layer.provideMerge(DocumentDirectory.layer(document)))
    )
  )

/** A directory with nobody in it. */
export const layerEmpty: Layer.Layer<Directory, never, Crypto> = DocumentDirectory.layer({
  clients: [],
  users: [],
  buildings: [],
  tenants: []
})
