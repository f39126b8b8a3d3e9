/**
 * The id that an answer, its error objects and the log lines about it share: `x-request-id`.
 */
import { Context, Random } from "effect"
import type { Fiber } from "effect"
import type { HttpServerRequest } from "effect/http"

/** Header name, for both directions. */
export const requestIdHeader = "x-request-id"

/** The id of the request being answered; empty outside of one. */
export const RequestId = Context.Reference<string>("@doorhook/server/http/RequestId", { defaultValue: () => "" })

/** A caller's own id is kept when it is harmless in a header and in a log line. */
const isAcceptable = (id: string | undefined): id is string => id !== undefined && /^[\w.:-]{1,128}$/.test(id)

const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"))

/** 32 random bits as eight digits. By a table: this is work for every request. */
const digits = (random: Random.Random): string => {
  const bits = random.nextIntUnsafe()
  return `${hex[bits & 255]}${hex[(bits >>> 8) & 255]}${hex[(bits >>> 16) & 255]}${hex[bits >>> 24]}`
}

/** The id of a request: the caller's own if it sent one, else a new one. */
export const requestIdOf = (
  request: HttpServerRequest.HttpServerRequest,
  fiber: Fiber.Fiber<unknown, unknown>
): string => {
  const given = request.headers[requestIdHeader]
  if (isAcceptable(given)) return given
  const random = fiber.getRef(Random.Random)
  return `req_${digits(random)}${digits(random)}`
}
