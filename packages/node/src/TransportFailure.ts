/**
 * Failures of attempts: an outcome code, and one line for operators.
 *
 * doorhook writes these lines itself, because messages of Node and undici mention internals. The lines contain neither
 * the URL's path and query nor any sent data, which might include the receiver's secrets.
 */
import type { AttemptOutcome } from "@doorhook/core"
import { alertDetail, closedDetail, tlsDetail } from "@doorhook/core"
import { Data, Predicate } from "effect"
import { limits, QueueFull } from "./NameLookup.ts"

export type FailureOutcome = Exclude<AttemptOutcome, "acknowledged" | "bad_status">

/** The attempt failed at the receiver or on the way to it. */
export class AttemptFailure extends Data.TaggedError("AttemptFailure")<{
  readonly outcome: FailureOutcome
  readonly message: string
}> {}

/** Outbound connections failed because of the proxy or a lack of sockets. The receiver is not at fault. */
export class EgressFailure extends Data.TaggedError("EgressFailure")<{ readonly message: string }> {}

/** The lookup of the name waited too long because this process reached its limit. The receiver is not at fault. */
export class CongestionFailure extends Data.TaggedError("CongestionFailure")<{ readonly message: string }> {}

export type TransportFailure = AttemptFailure | EgressFailure | CongestionFailure

const failure = (outcome: FailureOutcome, message: string): AttemptFailure =>
  new AttemptFailure({ outcome, message: oneLine(message) })

/** Removes line breaks, because certificates and name servers can put any text into messages. */
const oneLine = (text: string): string =>
  text
    .replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, " ")
    .trim()
    .slice(0, 500)

const textOf = (error: unknown, name: "code" | "reason" | "syscall"): string =>
  Predicate.hasProperty(error, name) && Predicate.isString(error[name]) ? error[name] : ""

const messageOf = (error: unknown): string => (Predicate.isError(error) ? error.message : String(error))

/** Returns the code of an error, or the distinct codes of an aggregate error, which has one error per tried address. */
const codesOf = (error: unknown): ReadonlyArray<string> => {
  const all: ReadonlyArray<unknown> = error instanceof AggregateError ? error.errors : [error]
  return [...new Set(all.map((one) => textOf(one, "code")))].filter((code) => code !== "")
}

const bracketed = (...texts: ReadonlyArray<string>): string => (texts.length === 0 ? "" : ` (${texts.join(", ")})`)

/** The URL is not supported; no connection was opened. */
export const ofUrl = (): AttemptFailure => failure("blocked_address", "the URL is not an absolute http or https URL")

/** The host is a refused address, or a name that resolves to one. */
export const ofBlocked = (host: string, address: string): AttemptFailure => {
  const where = host === address ? address : `${host} resolves to ${address}, which`
  return failure("blocked_address", `${where} is private or reserved and not on the allow-list`)
}

/** The name has no address, or its name servers don't answer. */
export const ofLookup = (host: string, error: unknown): TransportFailure =>
  error instanceof QueueFull
    ? ofCongestion(host, error.message)
    : failure("dns", `no address was found for ${host}${bracketed(...codesOf(error))}`)

/** The lookup of the name waited too long for other lookups, or its queue was full. */
export const ofCongestion = (host: string, why: string): CongestionFailure =>
  new CongestionFailure({ message: oneLine(`${host} could not be looked up in time: ${why}. ${limits}`) })

/** The connection was closed before it could be used. */
export const ofGone = (): AttemptFailure => failure("connection_reset", "the connection was closed immediately")

/** Error codes for a lack of sockets on this machine. */
const shortages: ReadonlySet<string> = new Set(["EMFILE", "ENFILE", "ENOBUFS", "ENOMEM"])

/** Connecting failed. `places` are the tried addresses. */
export const ofConnecting = (places: ReadonlyArray<string>, error: unknown): TransportFailure => {
  const codes = codesOf(error)
  if (codes.some((code) => shortages.has(code)))
    return new EgressFailure({ message: `this process can open no more connections${bracketed(...codes)}` })
  if (codes.includes("ECONNRESET")) return ofGone()
  const outcome = codes.includes("ETIMEDOUT") ? "timeout" : "connection_refused"
  return failure(outcome, `could not connect to ${places.slice(0, 4).join(", ")}${bracketed(...codes)}`)
}

/** The proxy `place` can't be reached or does not behave like a proxy. */
export const ofProxy = (place: string, error: unknown): EgressFailure => {
  const codes = codesOf(error)
  const cause = codes.length > 0 ? codes : [oneLine(messageOf(error))]
  return new EgressFailure({ message: `the egress proxy ${place} can't be used${bracketed(...cause)}` })
}

const broken: ReadonlySet<string> = new Set(["ECONNRESET", "ECONNABORTED", "EPIPE"])

/** Whether an error means that the peer closed the connection. */
export const isBroken = (error: unknown): boolean => broken.has(textOf(error, "code"))

/** The proxy `self` closed the connection without an answer when asked to connect to `place`. */
export const ofHangUp = (self: string, place: string): AttemptFailure =>
  failure("connection_reset", `the egress proxy ${self} hung up when asked to connect to ${place}`)

const ofTls = (error: unknown): AttemptFailure => {
  // Prefers OpenSSL's short reason, because OpenSSL's messages name its source files. Removes the advice that Node
  // appends to messages.
  const reason = textOf(error, "reason")
  const words = reason === "" ? messageOf(error).replace(/; if the root CA .*$/, "") : reason
  return failure("tls", tlsDetail(textOf(error, "code"), words))
}

/** The TLS handshake failed on an open connection. */
export const ofHandshake = (error: unknown): AttemptFailure => {
  const code = textOf(error, "code")
  if (broken.has(code)) return failure("connection_reset", `the connection broke in the TLS handshake (${code})`)
  return code === "ETIMEDOUT" ? ofExchange(error) : ofTls(error)
}

/** Whether a port answered a plain request with an alert of TLS (RFC 8446 section 5.1): content type 21, version 3.x. */
const isAlert = (error: unknown): boolean =>
  Predicate.hasProperty(error, "data") && Predicate.isString(error.data) && error.data.startsWith("\u0015\u0003")

/** The request got no complete answer. `isUnanswered`: whether it was plain HTTP and not a byte came back. */
const ofExchange = (error: unknown, isUnanswered = false): AttemptFailure => {
  const code = textOf(error, "code")
  const message = messageOf(error)
  // undici's messages for answers with status 100 and 101.
  if (message === "bad response" || message === "bad upgrade")
    return failure("invalid_response", "the answer has status 100 or 101, which the request did not ask for")
  if (code === "UND_ERR_SOCKET") {
    return failure(
      "connection_reset",
      isUnanswered ? closedDetail : "the connection was closed before the answer ended"
    )
  }
  if (code === "ETIMEDOUT") return failure("timeout", "the connection timed out (ETIMEDOUT)")
  if (code === "EPROTO" || code.startsWith("ERR_SSL_")) return ofTls(error)
  if (broken.has(code) || textOf(error, "syscall") !== "")
    return failure("connection_reset", `the connection broke before the answer ended (${code})`)
  if (code === "UND_ERR_HEADERS_OVERFLOW") return failure("invalid_response", "the answer's headers exceed 16 KiB")
  if (isAlert(error)) return failure("invalid_response", alertDetail)
  // undici's parser also refuses equal lengths, and hides the violated rule once it has read a length.
  if (code === "UND_ERR_RES_CONTENT_LENGTH_MISMATCH") {
    const rule =
      "content-length is given twice, even if equal, is too large, or stands beside transfer-encoding; or a later header is malformed"
    return failure("invalid_response", `the answer is not HTTP/1.1 (${rule})`)
  }
  // The parser's message ends with the violated rule in brackets.
  const rule = /\(([^()]+)\)$/.exec(message)?.[1]
  return failure("invalid_response", `the answer is not HTTP/1.1${rule === undefined ? "" : bracketed(oneLine(rule))}`)
}

/** The answer had an invalid status, or there were too many interim answers. */
export const ofStatus = (status: number): AttemptFailure =>
  failure(
    "invalid_response",
    status < 100 ? `${status} is not a status` : `too many interim answers (status ${status})`
  )

/**
 * The stage of opening a connection. `queue`: the lookup of the name had to wait for other lookups. This stage lasts
 * until the addresses are known.
 */
export type Stage = "queue" | "name" | "proxy" | "tunnel" | "connection" | "handshake"

/** Stages whose timeout is the fault of the receiver or the proxy. */
type Blamed = Exclude<Stage, "queue">

const waitingFor: Readonly<Record<Blamed, string>> = {
  name: "; the name was still being looked up",
  proxy: "",
  tunnel: "; the egress proxy had not connected",
  connection: "; the connection was not open",
  handshake: "; the TLS handshake had not ended"
}

/**
 * The deadline (in milliseconds) has expired. `stage` is the stage that opening the connection had reached; null if the
 * connection was already open.
 */
export const ofTimeout = (deadline: number, stage: Blamed | null): TransportFailure => {
  if (stage === "proxy")
    return new EgressFailure({ message: `the egress proxy could not be reached within ${deadline} ms` })
  return failure("timeout", `no answer within ${deadline} ms${stage === null ? "" : waitingFor[stage]}`)
}

/** Converts the error that ended a request. `isUnanswered`: whether it was plain HTTP and not a byte came back. */
export const ofError = (error: unknown, isUnanswered = false): TransportFailure =>
  error instanceof AttemptFailure || error instanceof EgressFailure || error instanceof CongestionFailure
    ? error
    : ofExchange(error, isUnanswered)
