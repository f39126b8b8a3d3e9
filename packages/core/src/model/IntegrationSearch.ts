/**
 * Finds integrations by what people know about them: the client, the host of the URL, and the name.
 */

/** What to search for. Absent members don't filter. */
export interface IntegrationSearch {
  /** The `client_id` of the client that created the integration. */
  readonly client_id?: string
  /** A host like `hooks.example.com`, with any port, or a host with a port like `hooks.example.com:8443`. */
  readonly host?: string
  /** Part of the name, in any case. */
  readonly name?: string
}

/** The parts of an integration that a search compares. */
export interface Searched {
  readonly client_id: string
  readonly url: string
  readonly name: string | null
}

/** Whether a search has a criterion. */
export const isSearch = ({ client_id, host, name }: IntegrationSearch): boolean =>
  client_id !== undefined || host !== undefined || name !== undefined

const defaultPorts: Readonly<Record<string, string>> = { "http:": "80", "https:": "443" }

/** Whether a URL has this host. A host without a port matches any port. */
const hasHost = (url: string, host: string): boolean => {
  const parsed = URL.parse(url)
  // Parsed as a URL, so that upper case, Unicode and spellings of addresses are compared as in the integration's URL.
  const wanted = URL.parse(`http://${host}`)
  if (parsed === null || wanted === null || parsed.hostname !== wanted.hostname) return false
  const port = /:(\d+)$/.exec(host)?.[1]
  return port === undefined || Number(port) === Number(parsed.port || defaultPorts[parsed.protocol])
}

/** Whether a host can be searched for. */
export const isHost = (text: string): boolean => {
  const url = URL.parse(`http://${text}`)
  return url !== null && !/[/?#@\\\s]/.test(text) && url.hostname !== ""
}

const folded = (text: string): string => text.normalize("NFC").toLowerCase()

/** Whether an integration matches all criteria of a search. */
export const matchesSearch = ({ client_id, name, url }: Searched, search: IntegrationSearch): boolean =>
  (search.client_id === undefined || search.client_id === client_id) &&
  (search.host === undefined || hasHost(url, search.host)) &&
  (search.name === undefined || (name !== null && folded(name).includes(folded(search.name))))
