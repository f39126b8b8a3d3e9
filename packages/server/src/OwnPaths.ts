/**
 * Which paths are doorhook's: where it is mounted on a host's server, all others are the host's own.
 */

const prefixes = ["/oauth/", "/v4/", "/operator/", "/health/"] as const
const paths = ["/metrics", "/openapi.json", "/.well-known/oauth-authorization-server"] as const

/** Whether the target of a request, with or without a query, is served by doorhook. */
export const isOwnPath = (target: string): boolean => {
  const [path = ""] = target.split("?")
  return paths.some((own) => path === own) || prefixes.some((own) => path.startsWith(own))
}
