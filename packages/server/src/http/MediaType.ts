/**
 * Media types of requests and responses (JSON:API 1.1 section 5, RFC 9110 section 12.5.1).
 */

/** The media type of JSON:API. */
export const jsonApi = "application/vnd.api+json"

/** Plain JSON, for clients without support for JSON:API. */
export const json = "application/json"

/** The media types of `/v4`. */
export type ApiMediaType = typeof jsonApi | typeof json

/** A media type or media range. `parameters` are by lower-case name, without `q`. */
interface MediaRange {
  readonly type: string
  readonly subtype: string
  readonly parameters: ReadonlyMap<string, string>
  /** The value of `q`, from 0 (not accepted) to 1. */
  readonly quality: number
}

const token = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+"
const quoted = '"(?:[^"\\\\]|\\\\.)*"'
const rangePattern = new RegExp(`^\\s*(${token})/(${token})\\s*`)
const parameterPattern = new RegExp(`^;\\s*(?:(${token})=(${token}|${quoted})\\s*)?`)

const unquote = (text: string): string => (text.startsWith('"') ? text.slice(1, -1).replaceAll(/\\(.)/g, "$1") : text)

/** Reads one media range; null for anything else. */
const parseRange = (text: string): MediaRange | null => {
  const head = rangePattern.exec(text)
  if (head === null) return null
  const parameters = new Map<string, string>()
  let quality = 1
  let rest = text.slice(head[0].length)
  while (rest !== "") {
    const match = parameterPattern.exec(rest)
    if (match === null) return null
    const [whole, name, value] = match
    if (name !== undefined && value !== undefined) {
      if (name.toLowerCase() === "q") quality = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(value) ? Number(value) : 0
      else parameters.set(name.toLowerCase(), unquote(value))
    }
    rest = rest.slice(whole.length)
  }
  return { type: head[1]?.toLowerCase() ?? "", subtype: head[2]?.toLowerCase() ?? "", parameters, quality }
}

/** Splits a header at commas outside quotes. */
const splitList = (header: string): ReadonlyArray<string> => {
  const items: Array<string> = []
  let from = 0
  let inQuotes = false
  for (let at = 0; at <= header.length; at++) {
    const char = header[at]
    if (char === '"') inQuotes = !inQuotes
    else if (char === "\\" && inQuotes) at++
    else if (char === undefined || (char === "," && !inQuotes)) {
      items.push(header.slice(from, at))
      from = at + 1
    }
  }
  return items
}

const isJsonApi = (range: MediaRange): boolean => `${range.type}/${range.subtype}` === jsonApi
const isJson = (range: MediaRange): boolean => `${range.type}/${range.subtype}` === json

/**
 * Whether doorhook supports this form of the JSON:API media type. `profile` may be ignored, `ext` must be empty, and
 * other parameters are not allowed.
 */
const isSupportedJsonApi = (range: MediaRange): boolean =>
  [...range.parameters].every(([name, value]) => name === "profile" || (name === "ext" && value.trim() === ""))

const isUtf8 = (range: MediaRange): boolean => {
  const charset = range.parameters.get("charset")?.toLowerCase()
  return charset === undefined || charset === "utf-8" || charset === "utf8"
}

/** Whether bodies with this content type are accepted. */
export const isReadable = (contentType: string | undefined): boolean => {
  const range = parseRange(contentType ?? "")
  if (range === null) return false
  return isJsonApi(range) ? isSupportedJsonApi(range) : isJson(range) && isUtf8(range)
}

/**
 * Returns how closely a range matches a media type: 3 for the same type, 2 for `application/*`, 1 for any type, 0 for
 * no match.
 */
const fit = (range: MediaRange, mediaType: ApiMediaType): 0 | 1 | 2 | 3 => {
  if (`${range.type}/${range.subtype}` === mediaType) return 3
  if (range.subtype !== "*") return 0
  if (range.type === "application") return 2
  return range.type === "*" ? 1 : 0
}

/** Returns a client's preference for a media type, taken from the closest range. */
const preference = (ranges: ReadonlyArray<MediaRange>, mediaType: ApiMediaType) => {
  let best = { fit: 0, quality: 0 }
  for (const range of ranges) {
    const closeness = fit(range, mediaType)
    if (closeness > best.fit || (closeness === best.fit && closeness > 0 && range.quality > best.quality)) {
      best = { fit: closeness, quality: range.quality }
    }
  }
  return best
}

/** The media type of server-sent events. */
export const eventStream = "text/event-stream"

/** Whether the client names event streams, and prefers no form of JSON that it names. */
export const prefersStream = (accept: string | undefined): boolean => {
  if (accept === undefined || !accept.includes(eventStream)) return false
  const named = splitList(accept).flatMap((text) => parseRange(text) ?? [])
  const best = (is: (range: MediaRange) => boolean) => Math.max(0, ...named.filter(is).map(({ quality }) => quality))
  const wanted = best((range) => `${range.type}/${range.subtype}` === eventStream)
  return wanted > 0 && wanted >= best((range) => isJson(range) || isJsonApi(range))
}

/**
 * Chooses the media type of the response; null if the client accepts neither type (406). With equal quality, the closer
 * match wins; if both match equally closely, JSON:API wins.
 */
export const negotiate = (accept: string | undefined): ApiMediaType | null => {
  // Fast path for the `Accept` header of most clients.
  if (accept === undefined || accept === "*/*") return jsonApi
  const listed = splitList(accept).flatMap((text) => parseRange(text) ?? [])
  if (listed.length === 0) return jsonApi
  const instances = listed.filter(isJsonApi)
  if (instances.length > 0 && !instances.some(isSupportedJsonApi)) return null
  const ranges = listed.filter((range) => !isJsonApi(range) || isSupportedJsonApi(range))
  const vendor = preference(ranges, jsonApi)
  const plain = preference(ranges, json)
  if (vendor.quality === 0 && plain.quality === 0) return null
  if (vendor.quality !== plain.quality) return vendor.quality > plain.quality ? jsonApi : json
  return plain.fit > vendor.fit ? json : jsonApi
}
