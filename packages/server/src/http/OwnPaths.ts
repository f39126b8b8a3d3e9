/**
 * Which paths are doorhook's, for hosts whose own routes stand beside them.
 */

/** Where clients look for the metadata; below it, where the issuer has a path (RFC 8414 section 3.1). */
export const metadataPath = "/.well-known/oauth-authorization-server"

/** What all but a few paths begin with. */
export const ownPrefixes = ["/oauth/", "/v4/", "/operator/", "/health/", "/portal/", "/console/"] as const

/** The others. */
export const ownPaths = ["/console", "/portal", "/metrics", "/openapi.json", metadataPath] as const

/**
 * Whether the metadata of an issuer is asked for at a path: at the endpoint, or at the path that clients make of an issuer with a
 * path, which they append (RFC 8414 section 3.1). A slash at the end makes no difference.
 */
export const isMetadataPath = (path: string, issuer: string): boolean => {
  if (!path.startsWith(metadataPath)) return false
  const whole = path.replace(/\/$/, "")
  return whole === metadataPath || whole === metadataPath + new URL(issuer).pathname.replace(/\/$/, "")
}

/** Whether the target of a request, with or without a query, is served by a doorhook of a public URL. */
export const isOwnPath = (target: string, publicUrl: string): boolean => {
  const [path = ""] = target.split("?")
  return (
    ownPaths.some((own) => path === own) ||
    ownPrefixes.some((own) => path.startsWith(own)) ||
    isMetadataPath(path, publicUrl)
  )
}
