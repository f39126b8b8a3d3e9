/**
 * All hostile receivers, and the outcome that a sender must record for each.
 */
import type { AttemptOutcome } from "@doorhook/core"
import * as Breaks from "./Breaks.ts"
import type { Authority } from "./Certificates.ts"
import * as Drips from "./Drips.ts"
import * as Floods from "./Floods.ts"
import * as Interim from "./Interim.ts"
import * as Lengths from "./Lengths.ts"
import * as NotHttp from "./NotHttp.ts"
import * as OddBytes from "./OddBytes.ts"
import type { Behaviour } from "./RawReceiver.ts"
import * as Silence from "./Silence.ts"
import * as Tls from "./Tls.ts"

export interface HostileReceiver {
  readonly name: string
  readonly behave: Behaviour
  readonly scheme: "http" | "https"
  /** The outcome that the sender must record. */
  readonly outcome: AttemptOutcome
  /** When the outcome must be known: as soon as the receiver has misbehaved, or at the deadline. */
  readonly known: "at once" | "at the deadline"
  /** Pattern that the detail recorded for operators must match; only for receivers without a valid response. */
  readonly detail?: RegExp
}

type Expected = Pick<HostileReceiver, "outcome" | "known" | "detail">

const list = (
  behaviours: Readonly<Record<string, Behaviour>>,
  expected: Expected,
  scheme: HostileReceiver["scheme"] = "http"
): ReadonlyArray<HostileReceiver> =>
  Object.entries(behaviours).map(([name, behave]) => ({ name, behave, scheme, ...expected }))

const broken = (detail: RegExp): Expected => ({ outcome: "connection_reset", known: "at once", detail })
const invalid = (detail: RegExp): Expected => ({ outcome: "invalid_response", known: "at once", detail })
const tls = (detail: RegExp): Expected => ({ outcome: "tls", known: "at once", detail })
const silent: Expected = { outcome: "timeout", known: "at the deadline", detail: /^no answer within \d+ ms$/ }
/** Complete headers acknowledge the delivery, whatever happens to the body. */
const acknowledged: Expected = { outcome: "acknowledged", known: "at once" }
const acknowledgedLate: Expected = { outcome: "acknowledged", known: "at the deadline" }

const { neverAnswers, neverReads } = Silence
const { hasInvalidUtf8InHeaders, hasLongStatusText, sendsInvalidUtf8, sendsLongText, sendsNul } = OddBytes
const { continues, hintsEarly, switchesProtocols } = Interim
const { hasHugeLength, hasLengthAndChunks, hasLengthTwice, hasStatusZero, hasTwoLengths, ...otherNotHttp } = NotHttp
const { endsInHeaders, endsWithoutAnswer, answersEarlyAndResets, resetsInBody, ...otherBreaks } = Breaks
const { dripsBody, dripsHeaders } = Drips
const { sendsLess, claimsHugeChunk, ...otherLengths } = Lengths
const { endlessHeader, endlessHeaders, endlessInterim, endlessEmptyLines, endlessStatusLine, endlessChunkExtension } =
  Floods
const { endlessBody, endlessChunks, endlessTrailers } = Floods

/** Receivers on plain HTTP. */
export const onHttp: ReadonlyArray<HostileReceiver> = [
  ...list({ neverAnswers, neverReads }, silent),
  ...list({ dripsHeaders, endlessEmptyLines, endlessStatusLine }, silent),
  ...list({ dripsBody, sendsLess, claimsHugeChunk, endlessChunkExtension }, acknowledgedLate),
  ...list({ endlessBody, endlessChunks, endlessTrailers, resetsInBody, hintsEarly, ...otherLengths }, acknowledged),
  ...list({ hasInvalidUtf8InHeaders, hasLongStatusText, sendsInvalidUtf8, sendsLongText, sendsNul }, acknowledged),
  ...list({ endlessHeader, endlessHeaders }, invalid(/headers exceed 16 KiB/)),
  ...list({ endlessInterim }, invalid(/too many interim answers \(status 103\)/)),
  ...list({ continues, switchesProtocols }, invalid(/status 100 or 101/)),
  ...list({ hasStatusZero }, invalid(/0 is not a status/)),
  ...list(
    { hasHugeLength, hasLengthAndChunks, hasLengthTwice, hasTwoLengths },
    invalid(/not HTTP\/1\.1 \(content-length is given twice, even if equal/)
  ),
  ...list(otherNotHttp, invalid(/not HTTP\/1\.1 \(.+\)$/)),
  ...list({ sendsAlert: Tls.sendsAlert }, invalid(/^the answer is TLS, as at a port for https$/)),
  ...list({ endsInHeaders }, broken(/closed before the answer ended/)),
  ...list({ endsWithoutAnswer }, broken(/^the connection was closed without an answer, as at a port for https$/)),
  ...list(otherBreaks, broken(/broke before the answer ended \(\w+\)|closed immediately/)),
  ...list({ answersEarlyAndResets }, { outcome: "bad_status", known: "at once" })
]

/** Receivers on HTTPS. `authority` issues the certificates, except where the certificate itself is the fault. */
export const onHttps = (authority: Authority): ReadonlyArray<HostileReceiver> => {
  const { endsInHandshake, resetsInHandshake, speaksPlainHttp, stopsInHandshake } = Tls
  const neverShakesHands = neverAnswers
  const stuck = { ...silent, detail: /^no answer within \d+ ms; the TLS handshake had not ended$/ }
  return [
    ...list({ isSecure: Tls.isSecure(authority) }, acknowledged, "https"),
    ...list({ isSelfSigned: Tls.isSelfSigned() }, tls(/\(DEPTH_ZERO_SELF_SIGNED_CERT\): self-signed cert/), "https"),
    ...list({ hasExpired: Tls.hasExpired(authority) }, tls(/\(CERT_HAS_EXPIRED\): certificate has expired$/), "https"),
    ...list({ isNotYetValid: Tls.isNotYetValid(authority) }, tls(/\(CERT_NOT_YET_VALID\): /), "https"),
    ...list({ isForAnotherHost: Tls.isForAnotherHost(authority) }, tls(/127\.0\.0\.1 is not in the cert/), "https"),
    ...list({ lacksIntermediate: Tls.lacksIntermediate(authority) }, tls(/\(UNABLE_TO_VERIFY_LEAF_SIGN/), "https"),
    ...list({ isFromUnknownAuthority: Tls.isFromUnknownAuthority() }, tls(/\(UNABLE_TO_GET_ISSUER_CERT_/), "https"),
    ...list({ asksForCertificate: Tls.asksForCertificate(authority) }, tls(/certificate required$/), "https"),
    ...list({ speaksOldTls: Tls.speaksOldTls(authority) }, tls(/^TLS failed \(ERR_SSL_\w+\): [a-z0-9 ]+$/), "https"),
    ...list({ speaksPlainHttp }, tls(/^TLS failed \(ERR_SSL_WRONG_VERSION_NUMBER\): [a-z0-9 ]+$/), "https"),
    ...list({ neverShakesHands, stopsInHandshake }, stuck, "https"),
    ...list({ endsInHandshake, resetsInHandshake }, broken(/broke in the TLS handshake \(ECONNRESET\)/), "https")
  ]
}
