/**
 * The JSON:API document in a request's body.
 */
import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import * as MediaType from "../http/MediaType.ts"
import { readJson } from "../http/JsonBody.ts"
import { failure } from "../http/RequestFailure.ts"

/** The largest document, in bytes. */
const maxDocumentBytes = 64 * 1024

const unsupported = failure(415, {
  code: "unsupported_media_type",
  title: "Unsupported media type",
  detail: `Send ${MediaType.jsonApi}, without parameters, or ${MediaType.json}.`,
  source: { header: "Content-Type" }
})

/** The value that the body is the JSON text of. */
export const readDocument = Effect.gen(function* () {
  const { headers } = yield* HttpServerRequest.HttpServerRequest
  if (!MediaType.isReadable(headers["content-type"])) return yield* unsupported
  return yield* readJson(maxDocumentBytes)
})
