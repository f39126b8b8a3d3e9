/**
 * The `Idempotency-Key` header: by it a client may send a request again whose answer was lost, and have it carried out
 * once.
 */
import { readIdempotencyKey } from "@doorhook/core"
import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"

/** The key of the request being answered; null when it has none. */
export const idempotencyKey = Effect.gen(function* () {
  const { headers } = yield* HttpServerRequest.HttpServerRequest
  const text = headers["idempotency-key"]
  return text === undefined ? null : yield* Effect.fromResult(readIdempotencyKey(text))
})
