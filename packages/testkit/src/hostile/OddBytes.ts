/**
 * Receivers whose answers are HTTP, and hold bytes that are no text.
 */
import { answers } from "./RawReceiver.ts"

const withBody = (body: Buffer, headers = ""): Buffer =>
  Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\n${headers}content-length: ${body.length}\r\n\r\n`, "latin1"), body])

/** 16 KiB of bytes that are not UTF-8: as text, each is three bytes long. */
export const sendsInvalidUtf8 = answers(withBody(Buffer.alloc(16 * 1024, 0xff)))

export const sendsNul = answers(withBody(Buffer.from("a\0b")))

/** 8 KiB and one byte of characters that are two bytes long, so that a cut at 16 KiB goes through one. */
export const sendsLongText = answers(withBody(Buffer.from(`x${"é".repeat(16 * 1024)}`)))

export const hasInvalidUtf8InHeaders = answers(
  withBody(Buffer.from("ok"), "retry-after: \xff\xfe\r\nx-a: \xc3\x28\r\n")
)

export const hasLongStatusText = answers(`HTTP/1.1 200 ${"very ".repeat(2_000)}OK\r\ncontent-length: 2\r\n\r\nok`)
