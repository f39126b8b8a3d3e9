/**
 * Receivers whose responses are not HTTP/1.1 or break its rules.
 */
import { answers, answersAndEnds } from "./RawReceiver.ts"

export const greetsAsSsh = answersAndEnds("SSH-2.0-OpenSSH_9.9\r\n")
export const speaksHttp09 = answersAndEnds("<html>ok</html>\r\n")
export const speaksHttp2 = answersAndEnds(Buffer.from("000012040000000000000300000080000400010000000500ffffff", "hex"))
export const claimsHttp3 = answers("HTTP/3 200 OK\r\ncontent-length: 2\r\n\r\nok")
export const hasNoStatus = answers("HTTP/1.1 OK\r\ncontent-length: 2\r\n\r\nok")
export const hasStatusZero = answers("HTTP/1.1 000 Nothing\r\ncontent-length: 2\r\n\r\nok")
export const hasShortStatus = answers("HTTP/1.1 20 OK\r\ncontent-length: 2\r\n\r\nok")
export const hasLongStatus = answers("HTTP/1.1 2000 OK\r\ncontent-length: 2\r\n\r\nok")
export const hasNegativeLength = answers("HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\nok")
export const hasHugeLength = answers(`HTTP/1.1 200 OK\r\ncontent-length: ${"9".repeat(40)}\r\n\r\nok`)
export const hasTwoLengths = answers("HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 5\r\n\r\nok")
export const hasLengthTwice = answers("HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nok")
export const hasLengthAndChunks = answers(
  "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
)
export const hasBareCarriageReturn = answers("HTTP/1.1 200 OK\r\nx-a: b\rx-c: d\r\ncontent-length: 2\r\n\r\nok")
export const hasNulInHeader = answers("HTTP/1.1 200 OK\r\nx-a: b\0c\r\ncontent-length: 2\r\n\r\nok")
export const hasSpaceInHeaderName = answers("HTTP/1.1 200 OK\r\nx a: b\r\ncontent-length: 2\r\n\r\nok")
export const hasHeaderWithoutColon = answers("HTTP/1.1 200 OK\r\nnonsense\r\ncontent-length: 2\r\n\r\nok")
export const foldsHeaders = answers("HTTP/1.1 200 OK\r\nx-a: b\r\n  c\r\ncontent-length: 2\r\n\r\nok")
