/**
 * Which paths are doorhook's: where it is mounted on a host's server, all others are the host's own.
 */

/** What the paths of all but a few begin with. */
export const ownPrefixes = ["/oauth/", "/v4/", "/operator/", "/health/", "/portal/", "/console/"] as const
/** The few. */
export const ownPaths = ["/console", "/metrics", "/openapi.json", "/.well-known/oauth-authorization-server"] as const

/** Whether the target of a request, with or without a query, is served by doorhook. */
export const isOwnPath = (target: string): boolean => {
  const [path = ""] = target.split("?")
  return ownPaths.some((own) => path === own) || ownPrefixes.some((own) => path.startsWith(own))
}
