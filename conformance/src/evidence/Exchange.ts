/**
 * A request of the suite and its result. An exchange extends core's `TransportResult`, so core's own rule for
 * acknowledgements can judge it. An exchange also says how the answer ended.
 */
import type { TransportResult } from "@doorhook/core"
import { AttemptOutcome, codeOf, maxExcerptLength, tlsDetail, tlsProblemOf } from "@doorhook/core"
import { Predicate, Schema } from "effect"

/** A request as it is sent and as reports show it. */
export const HttpRequest = Schema.Struct({
  method: Schema.Literals(["POST", "GET", "HEAD", "OPTIONS", "PUT"]),
  headers: Schema.Record(Schema.String, Schema.String),
  body: Schema.String
})
export type HttpRequest = typeof HttpRequest.Type

/**
 * How an answer ended after its headers:
 *
 * - `complete`: with the whole body.
 * - `unfinished`: the body had not ended when the time was up.
 * - `cut_off`: the connection ended before the body did.
 * - `malformed`: not readable as HTTP, or longer than its `content-length`.
 */
const Ending = Schema.Literals(["complete", "unfinished", "cut_off", "malformed"])
export type Ending = typeof Ending.Type

const Headers = Schema.Record(Schema.String, Schema.String)

/** Milliseconds of `elapsed` during which the suite's own process was stalled; missing if it was not. */
const stalled = Schema.optionalKey(Schema.Finite)

const Answered = Schema.TaggedStruct("Answered", {
  status: Schema.Int,
  /** The `retry-after` header as sent, null when there was none. */
  retry_after: Schema.NullOr(Schema.String),
  /** Start of the body. */
  excerpt: Schema.String,
  /** Milliseconds from the start of the request to the headers of the answer, and to the end of the answer. */
  headers_elapsed: Schema.Finite,
  elapsed: Schema.Finite,
  stalled,
  ending: Ending,
  /** Number of body bytes received. */
  bytes: Schema.Int,
  /** The `location` header, null when there was none. */
  location: Schema.NullOr(Schema.String),
  /** The error that ended the answer; null for a complete answer. */
  detail: Schema.NullOr(Schema.String),
  headers: Headers
})

const Failure = AttemptOutcome.pick([
  "timeout",
  "connection_refused",
  "connection_reset",
  "dns",
  "tls",
  "blocked_address",
  "invalid_response"
])
type Failure = typeof Failure.Type

const Failed = Schema.TaggedStruct("Failed", {
  outcome: Failure,
  detail: Schema.String,
  elapsed: Schema.Finite,
  stalled,
  /** Whether a connection was made; without one, the receiver never saw the request. */
  connected: Schema.Boolean
})

export const Exchange = Schema.Union([Answered, Failed])
export type Exchange = typeof Exchange.Type & TransportResult

const byCode: Readonly<Record<string, Failure>> = {
  ECONNREFUSED: "connection_refused",
  EHOSTUNREACH: "connection_refused",
  ENETUNREACH: "connection_refused",
  EADDRNOTAVAIL: "connection_refused",
  ENOTFOUND: "dns",
  EAI_AGAIN: "dns",
  EAI_FAIL: "dns",
  ENODATA: "dns",
  ETIMEDOUT: "timeout"
}

const isUnreadable = (error: unknown): boolean => {
  if (Predicate.isError(error) && (error.name === "HTTPParserError" || error.message.startsWith("bad "))) return true
  const code = codeOf(error)
  return code.startsWith("HPE_") || code.startsWith("UND_ERR_RES_") || code === "UND_ERR_HEADERS_OVERFLOW"
}

/**
 * Returns the outcome of an error. Without a connection, every error other than a network or DNS error counts as a TLS
 * error.
 */
const outcomeOf = (error: unknown, connected: boolean): Failure =>
  isUnreadable(error) ? "invalid_response" : (byCode[codeOf(error)] ?? (connected ? "connection_reset" : "tls"))

/** Returns the ending of an answer that failed with this error. */
export const endingOf = (error: unknown): Ending => (isUnreadable(error) ? "malformed" : "cut_off")

/** Returns the message of an error, with its code if it is about TLS, or else its code; at most 300 characters. */
export const detailOf = (error: unknown): string => {
  const message = Predicate.isError(error) ? error.message : String(error)
  const isTls = tlsProblemOf(error) !== null
  const text = isTls ? tlsDetail(codeOf(error), message.replace(/; if the root CA [\s\S]*$/, "")) : message
  return (text === "" ? codeOf(error) : text).slice(0, 300)
}

/** Status and headers of an answer. */
export interface Answer {
  readonly status: number
  readonly retry_after: string | null
  readonly location: string | null
  /** Milliseconds from the start of the request. */
  readonly headers_elapsed: number
  readonly headers: Readonly<Record<string, string>>
}

/** Joins the values of repeated headers, and writes all names in lower case. */
export const flatHeaders = (
  headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name.toLowerCase(), typeof value === "string" ? value : value.join(", ")]]
    )
  )

const decoder = new TextDecoder()

/** Makes an exchange that has an answer. */
export const answeredOf = (
  answer: Answer,
  body: { readonly chunks: ReadonlyArray<Buffer>; readonly bytes: number },
  ending: Ending,
  error: unknown,
  at: number
): Exchange => ({
  _tag: "Answered",
  ...answer,
  ending,
  bytes: body.bytes,
  excerpt: decoder.decode(Buffer.concat(body.chunks).subarray(0, maxExcerptLength)),
  detail: ending === "complete" ? null : detailOf(error),
  elapsed: at
})

/**
 * Returns the minimum time that the receiver took, in milliseconds. Excludes the time during which the suite was
 * stalled.
 */
export const leastElapsed = ({ elapsed, stalled = 0 }: Exchange): number => elapsed - stalled

/** Makes an exchange that has no answer. */
export const failedOf = (error: unknown, connected: boolean, at: number): Exchange => ({
  _tag: "Failed",
  outcome: outcomeOf(error, connected),
  detail: detailOf(error),
  elapsed: at,
  connected
})
