/**
 * The directory of `doorhook serve`: one JSON file, read at the start and again at each SIGHUP.
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

/** Reads the file, with what it says that nobody reads, most of it mistyped; fails with every problem of the file. */
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

/** What is wrong with the file, if one is named, among what else can be. */
export const check = (file: string | undefined) =>
  file === undefined ? Effect.succeed([]) : Effect.map(Effect.result(read(file)), (result) => [result])

/** Reads the file and warns of what nobody reads. */
const readAloud = Effect.fnUntraced(function* (file: string) {
  const { document, oversights } = yield* read(file)
  for (const oversight of oversights) yield* Effect.logWarning(`directory ${file}: ${oversight}`)
  return document
})

/** A file that has become wrong is reported, and what was read before stays in force. */
const rereadOnHangup = (file: string) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const directory = yield* DocumentDirectory
      const hangups = yield* Queue.sliding<void>(1)
      yield* onSighup(() => Queue.offerUnsafe(hangups, undefined))
      yield* Queue.take(hangups).pipe(
        Effect.andThen(readAloud(file)),
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
    Effect.map(readAloud(file), (document) =>
      rereadOnHangup(file).pipe(Layer.provideMerge(DocumentDirectory.layer(document)))
    )
  )

const withoutDirectory = "The service was started without a directory. Restart it with --directory and the file."

const unknown = (operation: string): Effect.Effect<never, DirectoryError> =>
  Effect.fail(new DirectoryError({ operation, cause: new Error(withoutDirectory) }))

/**
 * The directory of a service that was started without one. Nobody can log in; nobody is denied a right either, so that
 * deliveries wait for a directory rather than being cancelled.
 */
export const layerNone: Layer.Layer<Directory> = Layer.succeed(Directory, {
  client: () => Effect.succeed(null),
  authenticate: () => Effect.succeed(null),
  isActive: () => unknown("isActive"),
  administers: () => unknown("administers"),
  isTenant: () => unknown("isTenant"),
  buildings: () => unknown("buildings"),
  tenants: () => unknown("tenants")
})
