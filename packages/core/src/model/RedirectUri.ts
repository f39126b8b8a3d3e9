/**
 * Which redirect URIs a client may register, and which of them a request names (RFC 9700 sections 2.1 and 4.1.3,
 * RFC 8252).
 *
 * Comparing is exact, character by character: every leniency here has been a way to steal codes. The one exception is
 * the port of a loopback URI, which a native app can't know in advance (RFC 8252 section 7.3).
 */
import { outOfBandUri } from "./Client.ts"

/** What a redirect URI may be, for messages. */
export const expected =
  "an https URL, an http URL of this machine (127.0.0.1, [::1], localhost), a private-use scheme with a dot " +
  `(com.example.app:/callback) or ${outOfBandUri}, without fragment, user name and state in its query`

const loopback = /^http:\/\/(localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::(\d{1,5}))?(?=[/?]|$)/

/** Whether a client may register a redirect URI. */
export const isAcceptable = (uri: string): boolean => {
  if (uri === outOfBandUri) return true
  // What is compared must be what is called: nothing that a URL parser or a header would change.
  if (/[^\u0021-\u007e]|[#\\]/.test(uri)) return false
  const url = URL.parse(uri)
  if (url === null || url.username !== "" || url.password !== "") return false
  // Beside the one that is added, parsers differ in which of the two counts.
  if (url.searchParams.has("state")) return false
  if (url.protocol === "https:") return uri.startsWith("https://")
  if (url.protocol === "http:") return loopback.test(uri)
  return url.protocol.includes(".")
}

/** A loopback URI without its port; any other URI as it is. */
const withoutLoopbackPort = (uri: string): string => uri.replace(loopback, "http://$1")

/** Whether a request may use a redirect URI, given those that its client has registered. */
export const isRegistered = (registered: ReadonlyArray<string>, requested: string): boolean =>
  isAcceptable(requested) &&
  registered.some(
    (uri) => uri === requested || (loopback.test(uri) && withoutLoopbackPort(uri) === withoutLoopbackPort(requested))
  )

/**
 * A redirect URI with parameters added to its query (RFC 6749 section 4.1.2). Spaces become `%20`, which every decoder
 * understands, unlike `+`.
 */
export const withParameters = (uri: string, parameters: Readonly<Record<string, string>>): string => {
  const query = new URLSearchParams(parameters).toString().replaceAll("+", "%20")
  if (!uri.includes("?")) return `${uri}?${query}`
  return /[?&]$/.test(uri) ? `${uri}${query}` : `${uri}&${query}`
}
