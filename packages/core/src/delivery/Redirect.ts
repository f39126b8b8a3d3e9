/**
 * Redirects. They are never followed. Where they point to is kept, because that is mostly the URL that the integration should have.
 */

/** Whether a status sends elsewhere (RFC 9110 section 15.4). */
export const isRedirect = (status: number | null): boolean => status !== null && status >= 300 && status <= 399

/** The longest address of another place that is kept, in characters. */
const maxPlace = 300

/** Where an answer to a request to `url` points, in words; without its query, which may hold a secret. Null when it does not say. */
export const placeOf = (location: string | null | undefined, url: string): string | null => {
  const place = location === null || location === undefined ? null : URL.parse(location, url)
  if (place === null || !/^https?:$/.test(place.protocol)) return null
  return `points to ${`${place.origin}${place.pathname}`.slice(0, maxPlace)}`
}

/** The place that the detail of an attempt points to; null when it names none. */
export const placeIn = (detail: string | null): string | null => /^points to (.+)$/.exec(detail ?? "")?.[1] ?? null
