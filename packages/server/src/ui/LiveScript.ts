/**
 * Serves the pages' script, which needs no build step. doorhook finds the script's file by the name of the package. In
 * a bundled host, this works if the package is installed beside the bundle. Pages work without the script.
 */
import { Crypto } from "@doorhook/core"
import { Data, Effect } from "effect"
import { Base64Url } from "effect/encoding"
import { readFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { notFound } from "../http/Failures.ts"
import type { Handler } from "../http/Route.ts"

/** The script's file is missing, usually because a bundler left it out. */
class ScriptMissing extends Data.TaggedError("ScriptMissing")<{ readonly cause: unknown }> {
  override get message(): string {
    return "Can't read live.js, the script of the pages, so they don't refresh themselves. If the backend is bundled, install @doorhook/server beside the bundle."
  }
}

const read: Effect.Effect<string, ScriptMissing> = Effect.tryPromise({
  try: () => {
    const manifest = createRequire(import.meta.url).resolve("@doorhook/server/package.json")
    return readFile(join(dirname(manifest), "src/ui/static/live.js"), "utf8")
  },
  catch: (cause) => new ScriptMissing({ cause })
})

const encoder = new TextEncoder()

/**
 * Answers with the script. Browsers revalidate the script each time, so they don't run an old version after an update.
 */
export const liveScript = Effect.map(
  Crypto,
  (crypto): Handler =>
    (x) =>
      Effect.gen(function* () {
        const text = yield* read
        const digest = yield* crypto.sha256(encoder.encode(text))
        const etag = `"${Base64Url.encode(digest.slice(0, 18))}"`
        const headers = { etag, "cache-control": "no-cache" }
        if (x.header("if-none-match") === etag) return { status: 304, headers, body: null }
        return { status: 200, headers: { "content-type": "text/javascript; charset=utf-8", ...headers }, body: text }
      }).pipe(
        Effect.catchTag("ScriptMissing", ({ cause, message }) =>
          Effect.andThen(Effect.logError(message, cause), Effect.fail(notFound(message)))
        )
      )
)
