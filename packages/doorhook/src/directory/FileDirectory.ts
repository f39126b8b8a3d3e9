/**
 * The directory of `doorhook serve`: a JSON file, read at the start and again at each SIGHUP.
 */
import type { Crypto, Problem } from "@doorhook/core"
import {
  Directory,
  DirectoryDocument,
  DirectoryError,
  DocumentDirectory,
  fileTrouble,
  unknownMembers
} from "@doorhook/core"
import { Console, Effect, FileSystem, Layer, Queue } from "effect"
import { InvalidConfig } from "../config/ReadingSettings.ts"
import { onSighup } from "../service/Sighup.ts"

const unusable = (file: string, why: string): InvalidConfig =>
  new InvalidConfig({ message: `directory: ${file}${why}` })

const said = ({ detail, pointer }: Problem): string => (pointer === "" ? detail : `${pointer} ${detail}`)

/**
 * Reads the file. Returns its document, and warnings about unused members, which are mostly typos. Fails with all
 * problems of the file.
 */
export const read = Effect.fnUntraced(function* (file: string) {
  const files = yield* FileSystem.FileSystem
  const text = yield* files
    .readFileString(file)
    .pipe(Effect.mapError((error) => unusable(file, ` can't be read: ${fileTrouble(error)}`)))
  const document = yield* Effect.fromResult(DirectoryDocument.fromText(text)).pipe(
    Effect.mapError(({ problems }) => unusable(file, `: ${problems.map(said).join("; ")}`))
  )
  return { document, oversights: unknownMembers(JSON.parse(text)).map(({ detail, pointer }) => `${pointer} ${detail}`) }
})

/** Finds the problems of the directory file, if one is given. */
export const check = (file: string | undefined) =>
  file === undefined ? Effect.succeed([]) : Effect.map(Effect.result(read(file)), (result) => [result])

/** Reads the file and logs a warning for each unused member. */
const readWithWarnings = Effect.fnUntraced(function* (file: string) {
  const { document, oversights } = yield* read(file)
  for (const oversight of oversights) yield* Effect.logWarning(`directory ${file}: ${oversight}`)
  return document
})

/** Reads the file again at SIGHUP. If it is invalid, logs the problem and keeps the earlier directory. */
const rereadOnHangup = (file: string) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const directory = yield* DocumentDirectory
      const hangups = yield* Queue.sliding<void>(1)
      yield* onSighup(() => Queue.offerUnsafe(hangups, undefined))
      yield* Queue.take(hangups).pipe(
        Effect.andThen(readWithWarnings(file)),
        Effect.flatMap(directory.replace),
        Effect.andThen(Console.log(`directory ${file} reloaded`)),
        Effect.catchTag("InvalidConfig", ({ message }) =>
          Console.error(`${message}; the earlier directory stays in use`)
        ),
        Effect.forever,
        Effect.forkScoped
      )
    })
  )

/** Provides the directory from a file. Fails with all problems of the file. */
export const layer = (file: string): Layer.Layer<Directory, InvalidConfig, Crypto | FileSystem.FileSystem> =>
  Layer.unwrap(
    Effect.map(readWithWarnings(file), (document) =>
      rereadOnHangup(file).pipe(Layer.provideMerge(DocumentDirectory.layer(document)))
    )
  )

const withoutDirectory = "The service was started without a directory. Restart it with --directory and the file."

const unknown = (operation: string): Effect.Effect<never, DirectoryError> =>
  Effect.fail(new DirectoryError({ operation, cause: new Error(withoutDirectory) }))

/**
 * The directory of a service that was started without a directory file. Nobody can log in. Rights are unknown rather
 * than denied, so deliveries wait for a directory instead of being cancelled.
 */
export const layerNone: Layer.Layer<Directory> = Layer.succeed(Directory, {
  kind: "none",
  client: () => Effect.succeed(null),
  authenticate: () => Effect.succeed(null),
  isActive: () => unknown("isActive"),
  administers: () => unknown("administers"),
  isTenant: () => unknown("isTenant"),
  buildings: () => unknown("buildings"),
  tenants: () => unknown("tenants")
})
