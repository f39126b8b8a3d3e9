/**
 * Decides which redirect URIs a client may register, and whether a request's URI is registered (RFC 9700 sections 2.1
 * and 4.1.3, RFC 8252).
 *
 * The comparison is exact, character by character, because lenient comparisons have allowed attackers to steal codes.
 * The only exception is the port of a loopback URI, which a native app can't know in advance (RFC 8252 section 7.3).
 */
import { outOfBandUri } from "./Client.ts"

/** The accepted redirect URIs, for messages. */
export const expected =
  "an https URL, an http URL of this machine (127.0.0.1, [::1], localhost), a private-use scheme with a dot " +
  `(com.example.app:/callback) or ${outOfBandUri}, without a fragment, a user name, or a state in its query`

const loopback = /^http:\/\/(localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::(\d{1,5}))?(?=[/?]|$)/

/** Whether a client may register the redirect URI. */
export const isAcceptable = (uri: string): boolean => {
  if (uri === outOfBandUri) return true
  // Refuses characters that a URL parser or a header would change, because the compared text must equal the requested
  // URL.
  if (/[^\u0021-\u007e]|[#\\]/.test(uri)) return false
  const url = URL.parse(uri)
  if (url === null || url.username !== "" || url.password !== "") return false
  // doorhook adds its own `state`. If there are two values, it depends on the parser which one is used.
  if (url.searchParams.has("state")) return false
  if (url.protocol === "https:") return uri.startsWith("https://")
  if (url.protocol === "http:") return loopback.test(uri)
  return url.protocol.includes(".")
}

/** Whether a redirect URI leads to a program on the user's machine (RFC 8252 section 7.3). */
export const isLoopback = (uri: string): boolean => loopback.test(uri)

/** Returns a loopback URI without its port, and any other URI unchanged. */
const withoutLoopbackPort = (uri: string): string => uri.replace(loopback, "http://$1")

/** Whether a request may use a redirect URI, given its client's registered URIs. */
export const isRegistered = (registered: ReadonlyArray<string>, requested: string): boolean =>
  isAcceptable(requested) &&
  registered.some(
    (uri) => uri === requested || (loopback.test(uri) && withoutLoopbackPort(uri) === withoutLoopbackPort(requested))
  )

/**
 * Adds parameters to the query of a redirect URI (RFC 6749 section 4.1.2). Spaces become `%20`, which every decoder
 * accepts, unlike `+`.
 */
export const withParameters = (uri: string, parameters: Iterable<readonly [string, string]>): string => {
  const query = new URLSearchParams(Array.from(parameters, ([name, value]): [string, string] => [name, value]))
    .toString()
    .replaceAll("+", "%20")
  if (!uri.includes("?")) return `${uri}?${query}`
  return /[?&]$/.test(uri) ? `${uri}${query}` : `${uri}&${query}`
}
