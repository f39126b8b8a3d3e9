/**
 * Distinguishes doorhook's paths from the host's own.
 */

/**
 * Path of the authorization server's metadata. Clients append the issuer's path, if it has one (RFC 8414 section 3.1).
 */
export const metadataPath = "/.well-known/oauth-authorization-server"

/** Prefixes of most of doorhook's paths. */
export const ownPrefixes = ["/oauth/", "/v4/", "/operator/", "/health/", "/portal/", "/console/"] as const

/** doorhook's paths that begin with none of the prefixes. */
export const ownPaths = ["/console", "/portal", "/metrics", "/openapi.json", metadataPath] as const

/**
 * Whether a path is for an issuer's metadata, with or without the issuer's own path appended (RFC 8414 section 3.1). A
 * trailing slash is ignored.
 */
export const isMetadataPath = (path: string, issuer: string): boolean => {
  if (!path.startsWith(metadataPath)) return false
  const whole = path.replace(/\/$/, "")
  return whole === metadataPath || whole === metadataPath + new URL(issuer).pathname.replace(/\/$/, "")
}

/** Whether doorhook serves a target when its public URL is `publicUrl`. The query is ignored. */
export const isOwnPath = (target: string, publicUrl: string): boolean => {
  const [path = ""] = target.split("?")
  return (
    ownPaths.some((own) => path === own) ||
    ownPrefixes.some((own) => path.startsWith(own)) ||
    isMetadataPath(path, publicUrl)
  )
}
