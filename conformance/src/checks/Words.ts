/**
 * What came back, in words.
 */
import type { Exchange } from "../observed/Exchange.ts"

/** A time in whole milliseconds; short ones with a decimal. */
export const millis = (elapsed: number): string =>
  elapsed < 10 ? `${Math.round(elapsed * 10) / 10} ms` : `${Math.round(elapsed)} ms`

const failures: Readonly<Record<string, string>> = {
  connection_reset: "the connection was closed without an answer",
  invalid_response: "the answer is not readable as HTTP"
}

/** One exchange in words, like `409 after 3 ms`. */
export const exchangeInWords = (exchange: Exchange): string => {
  if (exchange._tag === "Failed") {
    if (exchange.outcome === "timeout") return `no answer within ${millis(exchange.elapsed)}`
    return `${failures[exchange.outcome] ?? exchange.outcome} after ${millis(exchange.elapsed)} (${exchange.detail})`
  }
  const { bytes, detail, elapsed, ending, headers_elapsed, location, status } = exchange
  const head = `${status} after ${millis(headers_elapsed)}${location === null ? "" : `, redirecting to ${location}`}`
  switch (ending) {
    case "complete":
      return head
    case "unfinished":
      return `${head}, but the body had not ended after ${millis(elapsed)} (${bytes} bytes so far)`
    case "cut_off":
      return `${head}, but the body was cut off after ${bytes} bytes (${detail ?? "connection closed"})`
    case "malformed":
      return `${head}, but the body breaks HTTP after ${bytes} bytes (${detail ?? "malformed"})`
  }
}
