/**
 * The console's scripts, as they are written: browsers run them without a build. They are part of the package's sources,
 * and looked for by its name: so they are found from a bundle too that leaves the package beside it.
 */
import { Data, Effect } from "effect"
import { readFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"

/** Which there are. Nothing else in that folder is served. */
export const consoleFiles = [
  "main.js",
  "api.js",
  "session.js",
  "dom.js",
  "words.js",
  "lists.js",
  "dialogs.js",
  "signIn.js",
  "figures.js",
  "overview.js",
  "tiles.js",
  "deliveries.js",
  "delivery.js",
  "integrations.js",
  "integration.js",
  "integrationActions.js",
  "notices.js"
] as const
export type ConsoleFile = (typeof consoleFiles)[number]

/** A script is not where the package has it, as when a bundler left it out. */
export class ConsoleFileMissing extends Data.TaggedError("ConsoleFileMissing")<{
  readonly file: ConsoleFile
  readonly cause: unknown
}> {
  override get message(): string {
    return `The console's ${this.file} can't be read. If the backend is bundled, @doorhook/server must be installed beside the bundle.`
  }
}

/** The text of a script. */
export const readConsoleFile = (file: ConsoleFile): Effect.Effect<string, ConsoleFileMissing> =>
  Effect.tryPromise({
    try: () => {
      const manifest = createRequire(import.meta.url).resolve("@doorhook/server/package.json")
      return readFile(join(dirname(manifest), "src/console/static", file), "utf8")
    },
    catch: (cause) => new ConsoleFileMissing({ file, cause })
  })
