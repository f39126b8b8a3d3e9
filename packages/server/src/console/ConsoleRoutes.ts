/**
 * `/console`: the operator's console. It holds no secret: whoever opens it signs in with the operator key, which goes to
 * the operator API alone.
 */
import { Crypto } from "@doorhook/core"
import { Effect } from "effect"
import { Base64Url } from "effect/encoding"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { internalError, notFound } from "../http/KnownFailures.ts"
import { json } from "../http/MediaType.ts"
import type { RequestFailure } from "../http/RequestFailure.ts"
import { failureResponse } from "../http/RequestFailure.ts"
import { resource } from "../http/Resource.ts"
import { Appearance } from "../oauth/Appearance.ts"
import * as Page from "../oauth/Page.ts"
import { consoleFiles, readConsoleFile } from "./ConsoleFiles.ts"
import { consolePage } from "./ConsolePage.ts"

const refuse = (refusal: RequestFailure) =>
  Effect.map(failureResponse(json)(refusal), HttpServerResponse.setHeader("cache-control", "no-store"))

const moved = HttpServerResponse.empty({
  status: 308,
  headers: { location: "../console", "cache-control": "no-store" }
})

/** A script, which browsers ask about again each time: after an update no old one is left. */
const script = (text: string, etag: string) =>
  Effect.map(HttpServerRequest.HttpServerRequest, ({ headers }) => {
    const known = headers["if-none-match"] === etag
    const common = { etag, "cache-control": "no-cache" }
    return known
      ? HttpServerResponse.empty({ status: 304, headers: common })
      : HttpServerResponse.text(text, { contentType: "text/javascript; charset=utf-8", headers: common })
  })

const makeRoutes = Effect.gen(function* () {
  const crypto = yield* Crypto
  const appearance = yield* Appearance

  const page = Effect.gen(function* () {
    const { url } = yield* HttpServerRequest.HttpServerRequest
    const [path = ""] = url.split("?")
    // Its addresses are relative to where it is without the slash.
    if (path.endsWith("/")) return moved
    return yield* Page.answer(consolePage)
  }).pipe(Effect.provideService(Crypto, crypto), Effect.provideService(Appearance, appearance))

  const file = Effect.gen(function* () {
    const { file: asked } = yield* HttpRouter.params
    const found = consoleFiles.find((name) => name === asked)
    if (found === undefined) return yield* refuse(notFound("The console has no such file."))
    const text = yield* readConsoleFile(found)
    const digest = yield* crypto.sha256(new TextEncoder().encode(text))
    return yield* script(text, `"${Base64Url.encode(digest.slice(0, 18))}"`)
  }).pipe(
    Effect.catch((missing) => Effect.andThen(Effect.logError(missing.message, missing.cause), refuse(internalError)))
  )

  return [resource("/console", { GET: page }, refuse), resource("/console/:file", { GET: file }, refuse)]
})

export const ConsoleRoutes = HttpRouter.addAll(makeRoutes)
