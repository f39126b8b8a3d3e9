/**
 * What an error of undici, the resolver or TLS means for a delivery: its outcome code, and words for the operator.
 */
import type { AttemptOutcome } from "@doorhook/core"
import { Predicate } from "effect"

type FailureOutcome = Exclude<AttemptOutcome, "acknowledged" | "bad_status">

const byCode: Readonly<Record<string, FailureOutcome>> = {
  DOORHOOK_BLOCKED_ADDRESS: "blocked_address",
  ECONNREFUSED: "connection_refused",
  EHOSTUNREACH: "connection_refused",
  ENETUNREACH: "connection_refused",
  EADDRNOTAVAIL: "connection_refused",
  ECONNRESET: "connection_reset",
  ECONNABORTED: "connection_reset",
  EPIPE: "connection_reset",
  UND_ERR_SOCKET: "connection_reset",
  ENOTFOUND: "dns",
  EAI_AGAIN: "dns",
  EAI_FAIL: "dns",
  ENODATA: "dns",
  ETIMEDOUT: "timeout",
  UND_ERR_CONNECT_TIMEOUT: "timeout",
  EPROTO: "tls",
  DEPTH_ZERO_SELF_SIGNED_CERT: "tls",
  SELF_SIGNED_CERT_IN_CHAIN: "tls",
  HOSTNAME_MISMATCH: "tls"
}

const byPrefix: ReadonlyArray<readonly [prefix: string, outcome: FailureOutcome]> = [
  ["ERR_TLS", "tls"],
  ["ERR_SSL", "tls"],
  ["CERT_", "tls"],
  ["UNABLE_TO_", "tls"],
  ["HPE_", "invalid_response"],
  ["UND_ERR_", "invalid_response"]
]

const codeOf = (error: unknown): string =>
  Predicate.hasProperty(error, "code") && Predicate.isString(error.code) ? error.code : ""

/** The outcome code of an error. What is unknown counts as a broken connection. */
export const outcomeOf = (error: unknown): FailureOutcome => {
  // undici gives no code to what its parser can't read as HTTP.
  if (Predicate.isError(error) && error.name === "HTTPParserError") return "invalid_response"
  const code = codeOf(error)
  return byCode[code] ?? byPrefix.find(([prefix]) => code.startsWith(prefix))?.[1] ?? "connection_reset"
}

/** The error in one line, without a stack. */
export const detailOf = (error: unknown): string => {
  const message = Predicate.isError(error) ? error.message : String(error)
  const code = codeOf(error)
  // Node leaves the message of a failed connection to several addresses empty.
  const text = message === "" ? code : message
  return text.slice(0, 500)
}
