/**
 * The HTTP surface as a `node:http` handler, for hosts with their own server.
 */
import type { HttpSurface, ReadBody, RequestFailure } from "@doorhook/server"
import { bareAnswer, failure, internalError, stopped } from "@doorhook/server"
import { Predicate } from "effect"
import type { IncomingMessage, ServerResponse } from "node:http"
import { closedError, DoorhookError } from "../DoorhookError.ts"
import { badArgument } from "./Arguments.ts"
import type { InFlightCalls } from "./InFlightCalls.ts"

/**
 * Handles a request. Errors and requests for other paths are passed to `next` if it is given, as in Express. Otherwise,
 * errors get 503 or 500, and other paths get 404.
 */
export type NodeRequestHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  next?: (error?: unknown) => void
) => void

/** Logs an error, with the request id that the caller gets in the response. */
export type HostLog = (requestId: string, error: Error) => void

interface HostHandlerOptions {
  readonly handle: HttpSurface["Service"]["handle"]
  readonly isClosed: () => boolean
  /** Whether a request's target is one of doorhook's paths. */
  readonly isOwn: (target: string) => boolean
  /** Called with each request for one of doorhook's paths. */
  readonly seen: (request: IncomingMessage) => void
  readonly open: InFlightCalls
  readonly log: HostLog
}

const unavailable = failure(
  503,
  {
    code: "unavailable",
    title: "Temporarily unavailable",
    detail: "The service can't handle this request now. Try again in a moment."
  },
  { "retry-after": "1" }
)

const refusalOf = (error: Error): RequestFailure => {
  if (!(error instanceof DoorhookError) || error.status !== 503) return internalError
  return error.code === "closed" ? stopped : unavailable
}

/**
 * Returns the response to a request that failed with an error, and logs the error. The response reveals nothing about
 * the host.
 */
export const answerTo = (error: Error, log: HostLog): ReturnType<typeof bareAnswer> => {
  const refusal = refusalOf(error)
  const answer = bareAnswer(refusal)
  if (refusal !== stopped) log(answer.id, error)
  return answer
}

/** Passes an error to the host's framework. Without a framework, logs it and responds. */
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

/** Returns the error for a caller that is not a `node:http` server, like a framework for web requests. */
const noResponse = (given: unknown): DoorhookError =>
  badArgument("response", "a response of node:http", given, "; pass web requests to doorhook.fetch")

export const asError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)))

/** Makes the host's handler, which works with or without a body parser before it. */
export const makeHostHandler =
  ({ handle, isClosed, isOwn, log, open, seen }: HostHandlerOptions): NodeRequestHandler =>
  (request, response, next) => {
    const own = isOwn(request.url ?? "")
    if (next !== undefined && !own) return next()
    if (isClosed()) return refuse(closedError(), response, next, log)
    if (!Predicate.hasProperty(response, "once")) throw noResponse(response)
    // Only requests for doorhook's paths are reported, because other requests do not show where doorhook is mounted.
    if (own) seen(request)
    // If the client hung up before the host called this handler, there is no further close event to wait for.
    if (!response.closed) void open.track(new Promise((resolve) => response.once("close", resolve)))
    try {
      const body = parsedBodyOf(request)
      handle(request, response, ...(body === null ? [] : [body]))
    } catch (error) {
      refuse(asError(error), response, next, log)
    }
  }

const lost = (): DoorhookError =>
  new DoorhookError(
    "body_consumed",
    "Something read the request's body before doorhook and did not keep it in request.body. Mount doorhook.node earlier."
  )

/** Flattens a form's fields. Parsers produce texts, lists of texts, and (for names with brackets) objects of these. */
const fieldsOf = (name: string, value: unknown): Array<[string, string]> => {
  if (Array.isArray(value)) return value.flatMap((item) => fieldsOf(name, item))
  if (Predicate.isObject(value)) {
    return Object.entries(value).flatMap(([inner, item]) => fieldsOf(name === "" ? inner : `${name}[${inner}]`, item))
  }
  return value === undefined || value === null
    ? []
    : [[name, Predicate.isString(value) ? value : JSON.stringify(value)]]
}

const form = "application/x-www-form-urlencoded"

const encoder = new TextEncoder()

/** Encodes a parsed body again, and returns the bytes and their media type. */
const encodeAs = (type: string, body: unknown): ReadBody => {
  if (body instanceof Uint8Array) return { type, content: body }
  if (Predicate.isString(body)) return { type, content: encoder.encode(body) }
  const essence = type.split(";")[0]?.trim().toLowerCase()
  // Parsers produce the same fields for both kinds of forms, and the URL-encoded kind is easier to write.
  if (essence === form || essence === "multipart/form-data") {
    return {
      type: form,
      content: encoder.encode(new URLSearchParams(fieldsOf("", body)).toString())
    }
  }
  return { type, content: encoder.encode(JSON.stringify(body)) }
}

/**
 * Returns the body that a parser kept; null if the body has not been read. Throws a `DoorhookError` if the body was
 * read and not kept.
 */
const parsedBodyOf = (request: IncomingMessage): ReadBody | null => {
  if (!request.readableDidRead) return null
  if (!Predicate.hasProperty(request, "body") || request.body === undefined) throw lost()
  return encodeAs(request.headers["content-type"] ?? "", request.body)
}

/**
 * Throws if the argument is not a web request, or if its body was read. A string or a URL is refused: unlike the global
 * `fetch`, `doorhook.fetch` has no second argument for method and headers. Members are checked instead of the class,
 * because frameworks and test runners have their own classes.
 */
export const checkWebRequest = (given: unknown): void => {
  const isRequest =
    Predicate.isObject(given) &&
    Predicate.isString(given["method"]) &&
    Predicate.isString(given["url"]) &&
    URL.canParse(given["url"]) &&
    Predicate.hasProperty(given["headers"], "get")
  if (!isRequest) {
    throw badArgument(
      "request",
      'a web request, like new Request("http://localhost/health/live")',
      given,
      "; pass requests of node:http and Express to doorhook.node"
    )
  }
  if (given["bodyUsed"] !== true) return
  throw new DoorhookError(
    "body_consumed",
    "Something read the request's body before doorhook. Call doorhook.fetch before that, or read a clone of the request."
  )
}
