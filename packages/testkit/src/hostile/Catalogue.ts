/**
 * All hostile receivers, and the outcome that a sender must record for each.
 */
import type { AttemptOutcome } from "@doorhook/core"
import { gzipSync } from "node:zlib"
import type { Authority } from "./Certificates.ts"
import type { Behaviour } from "./RawReceiver.ts"
import { answers, answersAndEnds, ok, onRequest } from "./RawReceiver.ts"
import * as Tls from "./Tls.ts"

// Receivers that accept a connection and send nothing.

/** Reads the request and never responds. */
export const neverAnswers: Behaviour = (socket) => {
  socket.resume()
}

/** Does not even read the request, like a host that disappears after accepting the connection. */
const neverReads: Behaviour = () => undefined

// Receivers that respond byte by byte and never finish.

/** Writes the head, then writes the text byte by byte, over and over. */
const drips =
  (head: string, text: string, interval: number): Behaviour =>
  (socket) =>
    onRequest(socket, () => {
      if (head !== "") socket.write(head)
      let at = 0
      const timer = setInterval(() => socket.write(text.charAt(at++ % text.length)), interval)
      socket.on("close", () => clearInterval(timer))
    })

/** Sends headers byte by byte, without end. */
const dripsHeaders = drips("", "HTTP/1.1 200 OK\r\nx-filler: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 5)

/** Sends the headers immediately, then a body byte by byte without end. */
const dripsBody = drips("HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n", "drip", 5)

// Receivers that send endlessly, as fast as the client reads.

/** Writes the head, then repeats a piece endlessly. */
const floods =
  (head: string, piece: string): Behaviour =>
  (socket) =>
    onRequest(socket, () => {
      const block = Buffer.from(piece.repeat(Math.ceil(65_536 / piece.length)))
      socket.write(head)
      const more = (): void => {
        // Writes at most one block per turn of the event loop, so that the test in the same process can continue.
        if (!socket.destroyed && socket.write(block)) setImmediate(more)
      }
      socket.on("drain", more)
      more()
    })

/** Sends one header without end. */
const endlessHeader = floods("HTTP/1.1 200 OK\r\nx-bomb: ", "a")

/** Sends headers without end. */
const endlessHeaders = floods("HTTP/1.1 200 OK\r\n", "x: y\r\n")

/** Sends a status line without end. */
const endlessStatusLine = floods("HTTP/1.1 200 ", "a")

/** Sends empty lines without end instead of a status line. */
const endlessEmptyLines = floods("", "\r\n")

/** Sends interim responses without end. */
const endlessInterim = floods("", "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n")

/** Sends a body of absurd length. */
const endlessBody = floods("HTTP/1.1 200 OK\r\ncontent-length: 1000000000000\r\n\r\n", "x")

/** Sends chunks without end. */
const endlessChunks = floods("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", "4\r\nbomb\r\n")

/** Sends a chunk whose extensions never end, so that no byte of the body is ever sent. */
const endlessChunkExtension = floods("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4;", "a")

/** Sends trailers without end. */
const endlessTrailers = floods("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n", "x: y\r\n")

// Receivers that break the connection at each stage of a request.

/** Resets immediately after accepting. */
const resetsOnConnect: Behaviour = (socket) => {
  socket.resetAndDestroy()
}

/** Resets when the first bytes of the request arrive. */
const resetsOnFirstBytes: Behaviour = (socket) => {
  socket.once("data", () => socket.resetAndDestroy())
  socket.resume()
}

/** Resets when the request is complete. */
export const resetsAfterRequest: Behaviour = (socket) => onRequest(socket, () => socket.resetAndDestroy())

/** Writes these bytes, and resets once they are sent. */
const writesAndResets =
  (bytes: string): Behaviour =>
  (socket) =>
    onRequest(socket, () => socket.write(bytes, () => setTimeout(() => socket.resetAndDestroy(), 20)))

const resetsInHeaders = writesAndResets("HTTP/1.1 200 OK\r\ncontent-le")
const resetsInBody = writesAndResets("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nok")

/** Closes the connection gracefully, without a response. */
export const endsWithoutAnswer: Behaviour = (socket) => onRequest(socket, () => socket.end())

/** Closes the connection gracefully, in the middle of the headers. */
const endsInHeaders: Behaviour = (socket) => onRequest(socket, () => socket.end("HTTP/1.1 200 OK\r\ncontent-le"))

/** Responds before the request is complete, and resets. */
const answersEarlyAndResets: Behaviour = (socket) => {
  socket.once("data", () =>
    socket.write("HTTP/1.1 413 Content Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n", () =>
      setTimeout(() => socket.resetAndDestroy(), 20)
    )
  )
  socket.resume()
}

// Receivers that send interim responses (1xx), expected or not.

/** Sends early hints, then responds. This is allowed. */
const hintsEarly = answers(`HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n${ok}`)

/**
 * Sends 100 Continue although the request did not expect it, then responds. A client may ignore unexpected interim
 * responses (RFC 9110 section 15.2), but undici fails the request.
 */
const continues = answers(`HTTP/1.1 100 Continue\r\n\r\n${ok}`)

/** Switches to a protocol that was not requested. */
const switchesProtocols = answers(
  "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n\u0081\u0002ok"
)

// Receivers whose responses are longer or shorter than declared.

/** Declares more bytes than it sends, and waits. */
const sendsLess = answers("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nok")

/** Declares more bytes than it sends, and closes the connection. */
const sendsLessAndEnds = answersAndEnds("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nok")

/** Declares fewer bytes than it sends. The rest looks like another response. */
export const sendsMore = answers(
  "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\nspoofed"
)

/** Sends an incomplete chunked body. */
const truncatesChunks = answersAndEnds("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n10\r\nbegun")

/** Declares a chunk larger than any memory. */
const claimsHugeChunk = answers("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nfffffffffffffff\r\nbegun")

/** Declares a chunk size that overflows every integer type. */
const overflowsChunkSize = answers(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${"f".repeat(40)}\r\nbegun`)

const zeros = gzipSync(Buffer.alloc(64 * 1024 * 1024))

/** Sends a few kilobytes that unpack to 64 MiB. */
const sendsGzipBomb = answers(
  Buffer.concat([
    Buffer.from(`HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${zeros.length}\r\n\r\n`),
    zeros
  ])
)

// Receivers whose responses are not HTTP/1.1 or break its rules.

export const greetsAsSsh = answersAndEnds("SSH-2.0-OpenSSH_9.9\r\n")
const speaksHttp09 = answersAndEnds("<html>ok</html>\r\n")
const speaksHttp2 = answersAndEnds(Buffer.from("000012040000000000000300000080000400010000000500ffffff", "hex"))
const claimsHttp3 = answers("HTTP/3 200 OK\r\ncontent-length: 2\r\n\r\nok")
const hasNoStatus = answers("HTTP/1.1 OK\r\ncontent-length: 2\r\n\r\nok")
const hasStatusZero = answers("HTTP/1.1 000 Nothing\r\ncontent-length: 2\r\n\r\nok")
const hasShortStatus = answers("HTTP/1.1 20 OK\r\ncontent-length: 2\r\n\r\nok")
const hasLongStatus = answers("HTTP/1.1 2000 OK\r\ncontent-length: 2\r\n\r\nok")
const hasNegativeLength = answers("HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\nok")
const hasHugeLength = answers(`HTTP/1.1 200 OK\r\ncontent-length: ${"9".repeat(40)}\r\n\r\nok`)
const hasTwoLengths = answers("HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 5\r\n\r\nok")
const hasLengthTwice = answers("HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nok")
const hasLengthAndChunks = answers(
  "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
)
const hasBareCarriageReturn = answers("HTTP/1.1 200 OK\r\nx-a: b\rx-c: d\r\ncontent-length: 2\r\n\r\nok")
const hasNulInHeader = answers("HTTP/1.1 200 OK\r\nx-a: b\0c\r\ncontent-length: 2\r\n\r\nok")
const hasSpaceInHeaderName = answers("HTTP/1.1 200 OK\r\nx a: b\r\ncontent-length: 2\r\n\r\nok")
const hasHeaderWithoutColon = answers("HTTP/1.1 200 OK\r\nnonsense\r\ncontent-length: 2\r\n\r\nok")
const foldsHeaders = answers("HTTP/1.1 200 OK\r\nx-a: b\r\n  c\r\ncontent-length: 2\r\n\r\nok")

// Receivers whose responses are valid HTTP but contain bytes that are not valid text.

const withBody = (body: Buffer, headers = ""): Buffer =>
  Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\n${headers}content-length: ${body.length}\r\n\r\n`, "latin1"), body])

/**
 * Sends 16 KiB of invalid UTF-8. Each of these bytes decodes to a replacement character, which takes three bytes in
 * UTF-8.
 */
export const sendsInvalidUtf8 = answers(withBody(Buffer.alloc(16 * 1024, 0xff)))

export const sendsNul = answers(withBody(Buffer.from("a\0b")))

/** Sends one byte and then two-byte characters, so that a cut at 16 KiB splits a character. */
export const sendsLongText = answers(withBody(Buffer.from(`x${"é".repeat(16 * 1024)}`)))

const hasInvalidUtf8InHeaders = answers(withBody(Buffer.from("ok"), "retry-after: \xff\xfe\r\nx-a: \xc3\x28\r\n"))

const hasLongStatusText = answers(`HTTP/1.1 200 ${"very ".repeat(2_000)}OK\r\ncontent-length: 2\r\n\r\nok`)

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

/** Receivers on plain HTTP. */
export const onHttp: ReadonlyArray<HostileReceiver> = [
  ...list({ neverAnswers, neverReads }, silent),
  ...list({ dripsHeaders, endlessEmptyLines, endlessStatusLine }, silent),
  ...list({ dripsBody, sendsLess, claimsHugeChunk, endlessChunkExtension }, acknowledgedLate),
  ...list(
    {
      endlessBody,
      endlessChunks,
      endlessTrailers,
      resetsInBody,
      hintsEarly,
      sendsLessAndEnds,
      sendsMore,
      truncatesChunks,
      overflowsChunkSize,
      sendsGzipBomb
    },
    acknowledged
  ),
  ...list({ hasInvalidUtf8InHeaders, hasLongStatusText, sendsInvalidUtf8, sendsLongText, sendsNul }, acknowledged),
  ...list({ endlessHeader, endlessHeaders }, invalid(/headers exceed 16 KiB/)),
  ...list({ endlessInterim }, invalid(/too many interim answers \(status 103\)/)),
  ...list({ continues, switchesProtocols }, invalid(/status 100 or 101/)),
  ...list({ hasStatusZero }, invalid(/0 is not a status/)),
  ...list(
    { hasHugeLength, hasLengthAndChunks, hasLengthTwice, hasTwoLengths },
    invalid(/not HTTP\/1\.1 \(content-length is given twice, even if equal/)
  ),
  ...list(
    {
      greetsAsSsh,
      speaksHttp09,
      speaksHttp2,
      claimsHttp3,
      hasNoStatus,
      hasShortStatus,
      hasLongStatus,
      hasNegativeLength,
      hasBareCarriageReturn,
      hasNulInHeader,
      hasSpaceInHeaderName,
      hasHeaderWithoutColon,
      foldsHeaders
    },
    invalid(/not HTTP\/1\.1 \(.+\)$/)
  ),
  ...list({ sendsAlert: Tls.sendsAlert }, invalid(/^the answer is TLS, as at a port for https$/)),
  ...list({ endsInHeaders }, broken(/closed before the answer ended/)),
  ...list({ endsWithoutAnswer }, broken(/^the connection was closed without an answer, as at a port for https$/)),
  ...list(
    { resetsOnConnect, resetsOnFirstBytes, resetsAfterRequest, resetsInHeaders },
    broken(/broke before the answer ended \(\w+\)|closed immediately/)
  ),
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
