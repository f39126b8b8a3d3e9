/**
 * Reads request bodies under a byte cap and a deadline, whatever way they come in: with a length, chunked, slowly, cut
 * off, or not as text at all.
 */
import { ByteSize, Context, Effect, Fiber, Schema } from "effect"
import { HttpServerRequest } from "effect/http"
import type { HttpServerError } from "effect/http"
import { httpDefaults } from "./HttpSettings.ts"

/** The body is longer than the endpoint takes; 413 (RFC 9110 section 15.5.14). */
export class BodyTooLarge extends Schema.TaggedError<BodyTooLarge>()("BodyTooLarge", {
  /** The cap, in bytes. */
  limit: Schema.Int
}) {
  override get message(): string {
    return `The body is too large: at most ${this.limit / 1024} KiB are taken.`
  }
}

/** The body did not arrive as a whole, or is not the text it should be; 400, or 408 when it took too long. */
export class BodyUnreadable extends Schema.TaggedError<BodyUnreadable>()("BodyUnreadable", {
  why: Schema.Literals(["broken_off", "not_utf8", "too_slow"])
}) {
  override get message(): string {
    switch (this.why) {
      case "broken_off":
        return "The body broke off before its end. Send it again."
      case "not_utf8":
        return "The body is not UTF-8 text."
      case "too_slow":
        return "The body took too long to arrive. Send it again, faster."
    }
  }
}

/** How long the body of the request being answered may take to arrive, in milliseconds. */
export const BodyTimeout = Context.Reference<number>("@doorhook/server/http/BodyTimeout", {
  defaultValue: () => httpDefaults.bodyTimeout
})

const isTooLarge = (error: HttpServerError.HttpServerError): boolean =>
  error.reason._tag === "RequestParseError" && error.reason.reason === "BodyTooLarge"

/** The declared length; null when the body is chunked or has none. */
const declaredLength = (request: HttpServerRequest.HttpServerRequest): number | null => {
  const header = request.headers["content-length"]
  return header === undefined ? null : Number(header)
}

/**
 * The bytes of the body, at most `limit` of them. A declared length above the cap is refused before anything is read.
 */
export const readBytes = Effect.fnUntraced(function* (limit: number) {
  const request = yield* HttpServerRequest.HttpServerRequest
  const declared = declaredLength(request)
  if (declared !== null && declared > limit) return yield* new BodyTooLarge({ limit })
  const read = request.arrayBuffer.pipe(
    Effect.provideService(HttpServerRequest.MaxBodySize, ByteSize.fromInputUnsafe(limit)),
    Effect.mapError((error) =>
      isTooLarge(error) ? new BodyTooLarge({ limit }) : new BodyUnreadable({ why: "broken_off" })
    )
  )
  // A reader that is interrupted closes the connection. Waiting for it from outside leaves time to answer first.
  const reader = yield* Effect.forkChild(read)
  const buffer = yield* Effect.timeoutOrElse(Fiber.join(reader), {
    duration: yield* BodyTimeout,
    orElse: () => new BodyUnreadable({ why: "too_slow" })
  })
  return new Uint8Array(buffer)
})

/** The body as text. Bytes that are not UTF-8 are refused: what is stored must be what was sent. */
export const readText = Effect.fnUntraced(function* (limit: number) {
  const bytes = yield* readBytes(limit)
  return yield* Effect.try({
    try: () => new TextDecoder("utf-8", { fatal: true }).decode(bytes),
    catch: () => new BodyUnreadable({ why: "not_utf8" })
  })
})
