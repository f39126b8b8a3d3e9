/**
 * Receivers whose responses are longer or shorter than declared.
 */
import { gzipSync } from "node:zlib"
import { answers, answersAndEnds } from "./RawReceiver.ts"

/** Declares more than it sends, and waits. */
export const sendsLess = answers("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nok")

/** Declares more than it sends, and closes. */
export const sendsLessAndEnds = answersAndEnds("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nok")

/** Declares less than it sends. The rest looks like another response. */
export const sendsMore = answers(
  "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\nspoofed"
)

/** A chunked body that breaks off. */
export const truncatesChunks = answersAndEnds("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n10\r\nbegun")

/** A chunk size beyond any memory. */
export const claimsHugeChunk = answers("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nfffffffffffffff\r\nbegun")

/** A chunk size that overflows every integer type. */
export const overflowsChunkSize = answers(
  `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${"f".repeat(40)}\r\nbegun`
)

const zeros = gzipSync(Buffer.alloc(64 * 1024 * 1024))

/** A few kilobytes that unpack to 64 MiB. */
export const sendsGzipBomb = answers(
  Buffer.concat([
    Buffer.from(`HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${zeros.length}\r\n\r\n`),
    zeros
  ])
)
