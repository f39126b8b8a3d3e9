/**
 * Tells doorhook's paths from the host's own.
 */

/** Path of the metadata. For an issuer with a path, that path is appended (RFC 8414 section 3.1). */
export const metadataPath = "/.well-known/oauth-authorization-server"

/** Prefixes of most of doorhook's paths. */
export const ownPrefixes = ["/oauth/", "/v4/", "/operator/", "/health/", "/portal/", "/console/"] as const

/** All other paths. */
export const ownPaths = ["/console", "/portal", "/metrics", "/openapi.json", metadataPath] as const

/**
 * Whether a path is for an issuer's metadata: the endpoint itself, or the one that clients derive from an issuer with a
 * path (RFC 8414 section 3.1). A trailing slash is ignored.
 */
export const isMetadataPath = (path: string, issuer: string): boolean => {
  if (!path.startsWith(metadataPath)) return false
  const whole = path.replace(/\/$/, "")
  return whole === metadataPath || whole === metadataPath + new URL(issuer).pathname.replace(/\/$/, "")
}

/** Whether a doorhook with this public URL serves a target. The query is ignored. */
export const isOwnPath = (target: string, publicUrl: string): boolean => {
  const [path = ""] = target.split("?")
  return (
    ownPaths.some((own) => path === own) ||
    ownPrefixes.some((own) => path.startsWith(own)) ||
    isMetadataPath(path, publicUrl)
  )
}
