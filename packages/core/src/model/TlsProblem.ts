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
  | "old_version"
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
  ERR_SSL_UNSUPPORTED_PROTOCOL: "old_version",
  ERR_SSL_VERSION_TOO_LOW: "old_version",
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: "old_version",
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: "client_certificate",
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA: "client_certificate",
  ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE: "client_certificate",
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED: "client_certificate",
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_REVOKED: "client_certificate",
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN: "client_certificate"
}

const ofCode = (code: string): TlsProblem | null => (Object.hasOwn(problems, code) ? (problems[code] ?? null) : null)

/** Returns the cause of an error; null if the error has no known code of TLS. */
export const tlsProblemOf = (error: unknown): TlsProblem | null =>
  Predicate.hasProperty(error, "code") && Predicate.isString(error.code) ? ofCode(error.code) : null
