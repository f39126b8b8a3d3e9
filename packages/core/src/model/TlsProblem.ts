/**
 * Causes of failed TLS handshakes, by the codes of Node.js and OpenSSL. Receivers, databases and operator APIs share
 * them, so that one failure has one explanation.
 */
import { Predicate } from "effect"

export type TlsProblem =
  /** The peer sent its own certificate only, and its issuer is not trusted itself. */
  | "incomplete_chain"
  | "unknown_authority"
  | "self_signed"
  | "wrong_name"
  | "expired"
  | "not_yet_valid"
  | "revoked"
  /** The peer does not speak TLS at this port. */
  | "no_tls"
  /** No version or cipher in common, or, before TLS 1.3, no client certificate. */
  | "no_agreement"
  /** The peer wants a client certificate, or refuses the one it got. */
  | "client_certificate"

const problems: Readonly<Record<string, TlsProblem>> = {
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "incomplete_chain",
  UNABLE_TO_GET_ISSUER_CERT: "unknown_authority",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "unknown_authority",
  SELF_SIGNED_CERT_IN_CHAIN: "unknown_authority",
  CERT_SIGNATURE_FAILURE: "unknown_authority",
  CERT_UNTRUSTED: "unknown_authority",
  DEPTH_ZERO_SELF_SIGNED_CERT: "self_signed",
  ERR_TLS_CERT_ALTNAME_INVALID: "wrong_name",
  HOSTNAME_MISMATCH: "wrong_name",
  CERT_HAS_EXPIRED: "expired",
  CERT_NOT_YET_VALID: "not_yet_valid",
  CERT_REVOKED: "revoked",
  ERR_SSL_WRONG_VERSION_NUMBER: "no_tls",
  ERR_SSL_PACKET_LENGTH_TOO_LONG: "no_tls",
  ERR_SSL_HTTP_REQUEST: "no_tls",
  ERR_SSL_UNSUPPORTED_PROTOCOL: "no_agreement",
  ERR_SSL_VERSION_TOO_LOW: "no_agreement",
  ALERT_PROTOCOL_VERSION: "no_agreement",
  ALERT_HANDSHAKE_FAILURE: "no_agreement",
  ALERT_CERTIFICATE_REQUIRED: "client_certificate",
  ALERT_UNKNOWN_CA: "client_certificate",
  ALERT_BAD_CERTIFICATE: "client_certificate",
  ALERT_CERTIFICATE_EXPIRED: "client_certificate",
  ALERT_CERTIFICATE_REVOKED: "client_certificate",
  ALERT_CERTIFICATE_UNKNOWN: "client_certificate"
}

/** Returns the problem of a code. OpenSSL's versions name alerts of the peer after different versions of TLS. */
const ofCode = (code: string): TlsProblem | null => {
  const name = code.replace(/^ERR_SSL_(?:SSLV3|SSL\/TLS|TLSV1|TLSV13)_ALERT_/, "ALERT_")
  return Object.hasOwn(problems, name) ? (problems[name] ?? null) : null
}

/** Returns the cause of an error; null if the error has no known code of TLS. */
export const tlsProblemOf = (error: unknown): TlsProblem | null =>
  Predicate.hasProperty(error, "code") && Predicate.isString(error.code) ? ofCode(error.code) : null

/** Describes a failed handshake in a recorded attempt. */
export const tlsDetail = (code: string, words: string): string =>
  `TLS failed${code === "" ? "" : ` (${code})`}: ${words}`

/** Detail of an attempt on plain HTTP that was closed without an answer, as many servers do at ports for HTTPS. */
export const closedDetail = "the connection was closed without an answer, as at a port for https"

/** Detail of an attempt on plain HTTP that was answered by TLS. */
export const alertDetail = "the answer is TLS, as at a port for https"

export type ConnectionProblem = TlsProblem | "needs_https" | "perhaps_https"

/** Returns the cause that a recorded attempt's detail names; null for none. */
export const causeIn = (detail: string | null): ConnectionProblem | null => {
  if (detail === closedDetail) return "perhaps_https"
  if (detail === alertDetail) return "needs_https"
  return ofCode(/^TLS failed \(([^)]+)\)/.exec(detail ?? "")?.[1] ?? "")
}

/** Advice to the user of a command that calls the server at a URL. */
export const commandAdvice: Readonly<Record<ConnectionProblem, string>> = {
  incomplete_chain:
    "Probably the server does not send its intermediate certificate: install its full chain there. If it is from an authority of your own, give that to Node.js: NODE_EXTRA_CA_CERTS=FILE.",
  unknown_authority:
    "The authority of the server's certificate is not known here. Give it to Node.js: NODE_EXTRA_CA_CERTS=FILE.",
  self_signed: "The server's certificate is self-signed. Give it to Node.js: NODE_EXTRA_CA_CERTS=FILE.",
  wrong_name: "The server's certificate is for another name. Use a name in the certificate in the URL.",
  expired: "The server's certificate has expired. Renew it.",
  not_yet_valid: "The server's certificate is not valid yet. Check both clocks.",
  revoked: "The server's certificate has been revoked. Install a new one.",
  no_tls: "This port does not speak HTTPS. Use a URL with http://, or with the port for https.",
  no_agreement:
    "The server has no version (1.2 or later) or cipher of TLS in common with Node.js, or demands a client certificate.",
  client_certificate: "The server demands a client certificate. Use a URL where it does not.",
  needs_https: "This port speaks HTTPS. Use a URL with https://.",
  perhaps_https: "If this port speaks HTTPS, use a URL with https://."
}
