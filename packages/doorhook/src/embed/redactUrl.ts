/**
 * Keeps doorhook's secrets out of a host's request log.
 */

/** Query parameters that can contain a secret. For example, clients may send `client_secret` to `/oauth/authorize`. */
const secretNames: ReadonlySet<string> = new Set([
  "access_token",
  "client_assertion",
  "client_secret",
  "code",
  "code_verifier",
  "id_token",
  "password",
  "refresh_token",
  "token"
])

const isSecret = (encoded: string): boolean => {
  const [name = ""] = new URLSearchParams(`${encoded}=`).keys()
  return secretNames.has(name.toLowerCase())
}

// Browsers percent-encode quotes in a query, so a raw quote in a JSON log line ends the URL.
const valueEnd = /[&#\s"]|$/g

/**
 * Replaces the secrets in a URL, or in a log line with URLs, by `[redacted]`. Secrets are the values of query
 * parameters like `client_secret` and `code`, and the tokens in portal links. Changes nothing else.
 *
 * A value ends at a quote. If URLs in your log may contain raw quotes, redact each URL before you serialize it as JSON.
 */
export const redactUrl = (text: string): string => {
  let shown = ""
  let at = 0
  for (const { 0: start, 1: name = "", index } of text.matchAll(/[?&]([^=&?#\s]+)=/g)) {
    if (index < at || !isSecret(name)) continue
    const valueAt = index + start.length
    valueEnd.lastIndex = valueAt
    shown += `${text.slice(at, valueAt)}[redacted]`
    at = valueEnd.exec(text)?.index ?? text.length
  }
  return `${shown}${text.slice(at)}`.replaceAll(/dh_pl_[^\s/?#&"]+/g, "dh_pl_[redacted]")
}
