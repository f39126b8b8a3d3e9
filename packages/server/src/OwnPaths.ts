/**
 * Which paths are doorhook's: where it is mounted on a host's server, all others are the host's own.
 */
import { Context } from "effect"

/** What the paths of all but a few begin with. */
export const ownPrefixes = ["/oauth/", "/v4/", "/operator/", "/health/", "/portal/", "/console/"] as const
/** The few. */
export const ownPaths = ["/console", "/metrics", "/openapi.json", "/.well-known/oauth-authorization-server"] as const

/** Whether the target of a request, with or without a query, is served by doorhook. */
export const isOwnPath = (target: string): boolean => {
  const [path = ""] = target.split("?")
  return ownPaths.some((own) => path === own) || ownPrefixes.some((own) => path.startsWith(own))
}

/**
 * Which requests are taken for doorhook's. In a router that it shares with routes of a host, those to its own paths; all,
 * where it has a router for itself. Read when the routes are built.
 */
export const Territory = Context.Reference<(target: string) => boolean>("@doorhook/server/OwnPaths/Territory", {
  defaultValue: () => isOwnPath
})
