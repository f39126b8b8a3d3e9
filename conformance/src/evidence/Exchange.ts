/**
 * A request of the suite and its result. An exchange is core's `TransportResult`, so that core's own rule judges it, and also
 * says how the answer ended.
 */
import type { TransportResult } from "@doorhook/core"
import { AttemptOutcome, maxExcerptLength } from "@doorhook/core"
import { Predicate, Schema } from "effect"

/** A request, as it is sent and shown. */
export const HttpRequest = Schema.Struct({
  method: Schema.Literals(["POST", "GET", "HEAD", "OPTIONS", "PUT"]),
  headers: Schema.Record(Schema.String, Schema.String),
  body: Schema.String
})
export type HttpRequest = typeof HttpRequest.Type

/**
 * How an answer ended after its headers: complete; still open when the time was up; cut off in the middle; malformed, which means
 * not readable as HTTP or longer than its `content-length`.
 */
const Ending = Schema.Literals(["complete", "unfinished", "cut_off", "malformed"])
export type Ending = typeof Ending.Type

const Headers = Schema.Record(Schema.String, Schema.String)

/** Milliseconds of `elapsed` in which the suite's own process stood still; missing if it did not. */
const stalled = Schema.optionalKey(Schema.Finite)

const Answered = Schema.TaggedStruct("Answered", {
  status: Schema.Int,
  /** The `retry-after` header as sent, null when there was none. */
  retry_after: Schema.NullOr(Schema.String),
  /** The beginning of the body. */
  excerpt: Schema.String,
  /** Milliseconds from the start of the request to the headers, and to the end. */
  headers_elapsed: Schema.Finite,
  elapsed: Schema.Finite,
  stalled,
  ending: Ending,
  /** Received bytes of the body. */
  bytes: Schema.Int,
  /** The `location` header, null when there was none. */
  location: Schema.NullOr(Schema.String),
  /** What broke it; null for a complete answer. */
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
  /** Whether there was a connection: without one, the receiver never saw the request. */
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

/** The `code` of a system error; empty for others. */
export const codeOf = (error: unknown): string =>
  Predicate.hasProperty(error, "code") && Predicate.isString(error.code) ? error.code : ""

const isUnreadable = (error: unknown): boolean => {
  if (Predicate.isError(error) && (error.name === "HTTPParserError" || error.message.startsWith("bad "))) return true
  const code = codeOf(error)
  return code.startsWith("HPE_") || code.startsWith("UND_ERR_RES_") || code === "UND_ERR_HEADERS_OVERFLOW"
}

/** The outcome code of an error. Before there is a connection, any error other than one of the network or DNS is one of TLS. */
const outcomeOf = (error: unknown, connected: boolean): Failure =>
  isUnreadable(error) ? "invalid_response" : (byCode[codeOf(error)] ?? (connected ? "connection_reset" : "tls"))

/** How an error in the middle of an answer ended it. */
export const endingOf = (error: unknown): Ending => (isUnreadable(error) ? "malformed" : "cut_off")

/** An error in one line. */
export const detailOf = (error: unknown): string => {
  const message = Predicate.isError(error) ? error.message : String(error)
  return (message === "" ? codeOf(error) : message).slice(0, 300)
}

/** The head of an answer. */
export interface Answer {
  readonly status: number
  readonly retry_after: string | null
  readonly location: string | null
  /** Milliseconds from the start of the request. */
  readonly headers_elapsed: number
  readonly headers: Readonly<Record<string, string>>
}

/** Headers with one text each. */
export const flatHeaders = (
  headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name.toLowerCase(), typeof value === "string" ? value : value.join(", ")]]
    )
  )

const decoder = new TextDecoder()

/** An exchange with an answer. */
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

/** How long the receiver took at least: without the time in which the suite itself stood still. */
export const leastElapsed = ({ elapsed, stalled = 0 }: Exchange): number => elapsed - stalled

/** An exchange without an answer. */
export const failedOf = (error: unknown, connected: boolean, at: number): Exchange => ({
  _tag: "Failed",
  outcome: outcomeOf(error, connected),
  detail: detailOf(error),
  elapsed: at,
  connected
})
