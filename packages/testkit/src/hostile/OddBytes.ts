/**
 * Receivers whose responses are valid HTTP but contain bytes that are not valid text.
 */
import { answers } from "./RawReceiver.ts"

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

export const hasInvalidUtf8InHeaders = answers(
  withBody(Buffer.from("ok"), "retry-after: \xff\xfe\r\nx-a: \xc3\x28\r\n")
)

export const hasLongStatusText = answers(`HTTP/1.1 200 ${"very ".repeat(2_000)}OK\r\ncontent-length: 2\r\n\r\nok`)
