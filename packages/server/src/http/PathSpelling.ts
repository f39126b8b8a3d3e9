/**
 * Paths in one spelling only, as a rule of a proxy in front (`deny /operator/`) knows them.
 */

/**
 * Whether a path is, but for a slash at its end, one that proxies keep to those who run the service, wherever a host has it: a
 * rule may name the whole address. Elsewhere one at the end is overlooked, as routers do.
 */
const isOperatorsWithSlash = (path: string): boolean =>
  path.endsWith("/") && (path.endsWith("/metrics/") || path.includes("/operator/"))

/**
 * Whether a path is spelled in the one way that is served: no character that could stand for itself is escaped (RFC 3986
 * section 2.3), and nothing is appended that the router would take off (`;...`, `#...`).
 */
export const isPlainlySpelled = (target: string): boolean => {
  const [path = ""] = target.split("?")
  if (/[;#]/.test(path) || isOperatorsWithSlash(path)) return false
  return !Array.from(path.matchAll(/%([0-9a-f]{2})/gi)).some(([, digits = ""]) =>
    /[\w.~-]/.test(String.fromCharCode(Number.parseInt(digits, 16)))
  )
}
