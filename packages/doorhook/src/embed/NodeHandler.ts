/**
 * The HTTP surface as a handler of `node:http` requests, for hosts that have a server already.
 */
import { bareAnswer, failure, internalError, stopped } from "@doorhook/server"
import type { HttpSurface, RequestFailure } from "@doorhook/server"
import { Predicate } from "effect"
import type { IncomingMessage, ServerResponse } from "node:http"
import { closedError, DoorhookError } from "../DoorhookError.ts"
import { badArgument } from "./Arguments.ts"
import type { InFlightCalls } from "./InFlightCalls.ts"
import { parsedBodyOf } from "./ParsedBody.ts"

/**
 * Handles a request. Where the host's framework gives a `next`, as Express does, it gets the requests that are not
 * doorhook's, and the errors of the host's own making; without one they are answered with 404 and 503.
 */
export type NodeRequestHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  next?: (error?: unknown) => void
) => void

/** Logs an error under the id that the caller was answered with. */
export type HostLog = (requestId: string, error: Error) => void

/** What a host's handler is made of. */
interface HostHandlerOptions {
  readonly handle: HttpSurface["Service"]["handle"]
  readonly isClosed: () => boolean
  /** Whether the target of a request is doorhook's. */
  readonly isOwn: (target: string) => boolean
  /** Called with each request that is doorhook's. */
  readonly seen: (request: IncomingMessage) => void
  readonly open: InFlightCalls
  readonly log: HostLog
}

const unavailable = failure(
  503,
  {
    code: "unavailable",
    title: "Temporarily unavailable",
    detail: "The service can't answer this now. Try again in a moment."
  },
  { "retry-after": "1" }
)

const refusalOf = (error: Error): RequestFailure => {
  if (!(error instanceof DoorhookError) || error.status !== 503) return internalError
  return error.code === "closed" ? stopped : unavailable
}

/** The answer to a request that failed with an error, which the log explains; the caller learns nothing of the host's inside. */
export const answerTo = (error: Error, log: HostLog): ReturnType<typeof bareAnswer> => {
  const refusal = refusalOf(error)
  const answer = bareAnswer(refusal)
  if (refusal !== stopped) log(answer.id, error)
  return answer
}

/** Gives an error to the host's framework; without one it is answered and logged here. */
const refuse = (
  error: Error,
  response: ServerResponse,
  next: ((error?: unknown) => void) | undefined,
  log: HostLog
): void => {
  if (next !== undefined) return next(error)
  const { body, headers, status } = answerTo(error, log)
  if (response.headersSent) return void response.destroy()
  response.writeHead(status, headers).end(body)
}

/** Given something else than a server of `node:http` gives, like the request of a framework for the web. */
const noResponse = (given: unknown): DoorhookError =>
  badArgument("response", "a response of node:http", given, "; web requests are for doorhook.fetch")

export const asError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)))

/** The handler for the host: of what is doorhook's, with or without a body parser in front. */
export const makeHostHandler =
  ({ handle, isClosed, isOwn, log, open, seen }: HostHandlerOptions): NodeRequestHandler =>
  (request, response, next) => {
    const own = isOwn(request.url ?? "")
    if (next !== undefined && !own) return next()
    if (isClosed()) return refuse(closedError(), response, next, log)
    if (!Predicate.hasProperty(response, "once")) throw noResponse(response)
    // Another's address says nothing of where doorhook is mounted.
    if (own) seen(request)
    // A client that hung up while the host did something before is gone already, and its response says so once only.
    if (!response.closed) void open.track(new Promise((resolve) => response.once("close", resolve)))
    try {
      const body = parsedBodyOf(request)
      handle(request, response, ...(body === null ? [] : [body]))
    } catch (error) {
      refuse(asError(error), response, next, log)
    }
  }
