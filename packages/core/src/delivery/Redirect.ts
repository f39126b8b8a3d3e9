/**
 * Redirects, which are never followed. Their target is stored, because it is usually the URL that the integration
 * should have.
 */

/** Whether a status is a redirect (RFC 9110 section 15.4). */
export const isRedirect = (status: number | null): boolean => status !== null && status >= 300 && status <= 399

/** Maximum length of a stored target, in characters. */
const maxPlace = 300

/**
 * Describes the target of a redirect from `url`, without its query, which may hold a secret. Null without a valid
 * target.
 */
export const placeOf = (location: string | null | undefined, url: string): string | null => {
  const place = location === null || location === undefined ? null : URL.parse(location, url)
  if (place === null || !/^https?:$/.test(place.protocol)) return null
  return `points to ${`${place.origin}${place.pathname}`.slice(0, maxPlace)}`
}

/** Returns the redirect target named in an attempt's detail; null if there is none. */
export const placeIn = (detail: string | null): string | null => /^points to (.+)$/.exec(detail ?? "")?.[1] ?? null
