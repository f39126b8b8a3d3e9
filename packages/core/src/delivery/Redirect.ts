/**
 * Answers that send elsewhere. They are never followed; where they point to is told, because that is mostly the URL that the
 * integration should have.
 */

/** Whether a status sends elsewhere (RFC 9110 section 15.4). */
export const isRedirect = (status: number | null): boolean => status !== null && status >= 300 && status <= 399

/** The longest address of another place that is told, in characters. */
const maxPlace = 300

/** Where an answer to a request to `url` points, in words; without its query, which may hold a secret. Null when it does not say. */
export const placeOf = (location: string | null | undefined, url: string): string | null => {
  const place = location === null || location === undefined ? null : URL.parse(location, url)
  if (place === null || !/^https?:$/.test(place.protocol)) return null
  return `points to ${`${place.origin}${place.pathname}`.slice(0, maxPlace)}`
}
