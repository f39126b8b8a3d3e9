/**
 * Headers that an operator adds to every request to an integration, such as an API key for the receiver's gateway.
 */
import { headerNames } from "./Signature.ts"

/** Maximum number of headers per integration, and maximum length of all their names and values in characters. */
const mostHeaders = 20
const mostCharacters = 4_096

/** A field name (RFC 9110 section 5.1). */
const name = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/

/** Visible ASCII characters, with spaces and tabs between them (RFC 9110 section 5.5, without obsolete text). */
const value = /^[!-~](?:[\t -~]*[!-~])?$/

/** Headers that doorhook sets, and headers for message framing and connections (RFC 9110 section 7.6.1, RFC 9112). */
const reserved: ReadonlySet<string> = new Set([
  ...Object.values(headerNames),
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "expect",
  "host",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "user-agent"
])

/** Returns the problem with a header; null if it can be sent. The name must be in lower case. */
export const headerFlaw = (header: string, content: string): string | null => {
  if (!name.test(header)) return "must be a valid header name in lower case"
  if (reserved.has(header)) return "is set by doorhook; give it another name"
  return value.test(content) ? null : "must be visible ASCII characters, with spaces only between them"
}

/** Returns the problem with the number or total length of the headers; null if there is none. */
export const headersFlaw = (headers: Readonly<Record<string, string>>): string | null => {
  const entries = Object.entries(headers)
  if (entries.length > mostHeaders) return `must be at most ${mostHeaders} headers`
  const characters = entries.reduce((sum, [header, content]) => sum + header.length + content.length, 0)
  return characters > mostCharacters ? `must have at most ${mostCharacters} characters in total` : null
}
