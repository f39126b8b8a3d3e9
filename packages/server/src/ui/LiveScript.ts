/**
 * The script of the pages: a file that browsers run as it is written, without a build. It is found by the name of the package, so
 * that a bundle of a host finds it as long as the package is installed beside it. Pages work without it.
 */
import { Crypto } from "@doorhook/core"
import { Data, Effect } from "effect"
import { Base64Url } from "effect/encoding"
import { readFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { notFound } from "../http/Failures.ts"
import type { Handler } from "../http/Route.ts"

/** The script is not where the package has it: a bundler has left it out. */
class ScriptMissing extends Data.TaggedError("ScriptMissing")<{ readonly cause: unknown }> {
  override get message(): string {
    return "The script of the pages, live.js, can't be read: pages don't refresh themselves. If the backend is bundled, @doorhook/server must be installed beside the bundle."
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

/** Answers with the script. Browsers check each time whether it has changed, so that none is left over from before an update. */
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
