/**
 * `/console`: the operator's console. The page and its scripts hold no secret: operators sign in with the operator key, which
 * the scripts send to the operator API alone.
 *
 * Browsers run the scripts as they are written, without a build. They belong to the sources of the package and are found by its
 * name, so that a bundle of a host finds them as long as the package is installed beside it.
 */
import { Crypto } from "@doorhook/core"
import { Data, Effect, Exit } from "effect"
import { Base64Url } from "effect/encoding"
import { readFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { internalError, notFound } from "../http/Failures.ts"
import { jsonFace as face } from "../http/HttpSurface.ts"
import type { Answer, Handler, Route } from "../http/Route.ts"
import { makePages } from "../oauth/Page.ts"
import { consolePage } from "./ConsolePage.ts"

/** The scripts. Nothing else in their folder is served. */
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
type ConsoleFile = (typeof consoleFiles)[number]

/** A script is not where the package has it: a bundler has left it out. */
class ConsoleFileMissing extends Data.TaggedError("ConsoleFileMissing")<{
  readonly file: ConsoleFile
  readonly cause: unknown
}> {
  override get message(): string {
    return `The console's ${this.file} can't be read. If the backend is bundled, @doorhook/server must be installed beside the bundle.`
  }
}

const readScript = (file: ConsoleFile): Effect.Effect<string, ConsoleFileMissing> =>
  Effect.tryPromise({
    try: () => {
      const manifest = createRequire(import.meta.url).resolve("@doorhook/server/package.json")
      return readFile(join(dirname(manifest), "src/console/static", file), "utf8")
    },
    catch: (cause) => new ConsoleFileMissing({ file, cause })
  })

const moved: Answer = {
  status: 308,
  headers: { location: "../console", "cache-control": "no-store" },
  body: null
}

const encoder = new TextEncoder()

export const makeConsoleRoutes = Effect.gen(function* () {
  const crypto = yield* Crypto
  const pages = yield* makePages

  // The page's own addresses are relative to the address without the slash.
  const page: Handler = ({ path }) => (path.endsWith("/") ? Exit.succeed(moved) : pages.answer(consolePage))

  /** Browsers check each time whether a script has changed, so that none is left over from before an update. */
  const script: Handler = (x, params) => {
    const file = consoleFiles.find((name) => name === params["file"])
    if (file === undefined) return Exit.fail(notFound("The console has no such file."))
    return Effect.gen(function* () {
      const text = yield* readScript(file)
      const digest = yield* crypto.sha256(encoder.encode(text))
      const etag = `"${Base64Url.encode(digest.slice(0, 18))}"`
      const headers = { etag, "cache-control": "no-cache" }
      if (x.header("if-none-match") === etag) return { status: 304, headers, body: null }
      return { status: 200, headers: { "content-type": "text/javascript; charset=utf-8", ...headers }, body: text }
    }).pipe(
      Effect.catch(({ cause, message }) =>
        Effect.andThen(Effect.logError(message, cause), face.refuse(x, internalError))
      )
    )
  }

  const routes: ReadonlyArray<Route> = [
    { method: "GET", path: "/console", face, handle: page },
    { method: "GET", path: "/console/:file", face, handle: script }
  ]
  return routes
})
