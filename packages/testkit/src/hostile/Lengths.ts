/**
 * Receivers whose responses are longer or shorter than declared.
 */
import { gzipSync } from "node:zlib"
import { answers, answersAndEnds } from "./RawReceiver.ts"

/** Declares more bytes than it sends, and waits. */
export const sendsLess = answers("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nok")

/** Declares more bytes than it sends, and closes the connection. */
export const sendsLessAndEnds = answersAndEnds("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nok")

/** Declares fewer bytes than it sends. The rest looks like another response. */
export const sendsMore = answers(
  "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\nspoofed"
)

/** Sends an incomplete chunked body. */
export const truncatesChunks = answersAndEnds("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n10\r\nbegun")

/** Declares a chunk larger than any memory. */
export const claimsHugeChunk = answers("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nfffffffffffffff\r\nbegun")

/** Declares a chunk size that overflows every integer type. */
export const overflowsChunkSize = answers(
  `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${"f".repeat(40)}\r\nbegun`
)

const zeros = gzipSync(Buffer.alloc(64 * 1024 * 1024))

/** Sends a few kilobytes that unpack to 64 MiB. */
export const sendsGzipBomb = answers(
  Buffer.concat([
    Buffer.from(`HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${zeros.length}\r\n\r\n`),
    zeros
  ])
)
