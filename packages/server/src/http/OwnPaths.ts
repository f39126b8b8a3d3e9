/**
 * Distinguishes doorhook's paths from the host's own.
 */

/**
 * Path of the authorization server's metadata. Clients append the issuer's path, if it has one (RFC 8414 section 3.1).
 */
export const metadataPath = "/.well-known/oauth-authorization-server"

/** Path of the metadata of protected resources, to which clients append the resource's path (RFC 9728 section 3.1). */
export const resourceMetadataPath = "/.well-known/oauth-protected-resource"

/** Path of the API, which is a protected resource, below the public URL. */
export const apiPath = "/v4"

/** Prefixes of most of doorhook's paths. */
export const ownPrefixes = ["/oauth/", "/v4/", "/operator/", "/health/", "/portal/", "/console/"] as const

/** doorhook's paths that begin with none of the prefixes. */
export const ownPaths = [
  "/console",
  "/portal",
  "/metrics",
  "/openapi.json",
  metadataPath,
  `${resourceMetadataPath}${apiPath}`
] as const

/** Prefixes of the paths of metadata that may have the path of the public URL appended. */
export const metadataPrefixes = [`${metadataPath}/`, `${resourceMetadataPath}/`] as const

/** Returns the path of the public URL, under which the service is mounted; empty at the root. */
export const prefixOf = (publicUrl: string): string => new URL(publicUrl).pathname.replace(/\/$/, "")

/**
 * Whether a path is for the metadata of the issuer or resource at a path below the public URL, with or without the
 * public URL's own path. A trailing slash is ignored.
 */
const isMetadataOf = (path: string, metadata: string, below: string, publicUrl: string): boolean => {
  if (!path.startsWith(metadata)) return false
  const whole = path.replace(/\/$/, "")
  return whole === metadata + below || whole === metadata + prefixOf(publicUrl) + below
}

/** Whether a path is for the issuer's metadata (RFC 8414 section 3.1). */
export const isMetadataPath = (path: string, issuer: string): boolean => isMetadataOf(path, metadataPath, "", issuer)

/** Whether a path is for the metadata of the API (RFC 9728 section 3.1). */
export const isResourceMetadataPath = (path: string, publicUrl: string): boolean =>
  isMetadataOf(path, resourceMetadataPath, apiPath, publicUrl)

/** Returns the URL of metadata: its path comes before that of the public URL. */
const metadataAt = (publicUrl: string, metadata: string): string =>
  new URL(publicUrl).origin + metadata + prefixOf(publicUrl)

/** Returns the URL of the issuer's metadata (RFC 8414 section 3.1). */
export const metadataUrl = (publicUrl: string): string => metadataAt(publicUrl, metadataPath)

/** Returns the URL of the API's metadata (RFC 9728 section 3.1). */
export const resourceMetadataUrl = (publicUrl: string): string => metadataAt(publicUrl, resourceMetadataPath) + apiPath

/** Whether doorhook serves a target when its public URL is `publicUrl`. The query is ignored. */
export const isOwnPath = (target: string, publicUrl: string): boolean => {
  const [path = ""] = target.split("?")
  return (
    ownPaths.some((own) => path === own) ||
    ownPrefixes.some((own) => path.startsWith(own)) ||
    isMetadataPath(path, publicUrl) ||
    isResourceMetadataPath(path, publicUrl)
  )
}
