/**
 * Distinguishes doorhook's paths from the host's own.
 */
import { apiPath } from "@doorhook/core"
import type { AuthorizationSettings, OwnApi } from "@doorhook/core"

/**
 * Path of the authorization server's metadata. Clients append the issuer's path, if it has one (RFC 8414 section 3.1).
 */
export const metadataPath = "/.well-known/oauth-authorization-server"

/** Path of the metadata of protected resources, to which clients append the resource's path (RFC 9728 section 3.1). */
export const resourceMetadataPath = "/.well-known/oauth-protected-resource"

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

/** The settings that decide which paths are doorhook's. */
export type Apis = Pick<AuthorizationSettings["Service"], "apis" | "resources">

/** Returns the paths of optional APIs, which are doorhook's only where they are served. */
export const pathsOf = ({ apis }: Pick<Apis, "apis">) => apis.filter((api) => api !== apiPath)

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

/** Whether a path is for the metadata of one of doorhook's own APIs (RFC 9728 section 3.1). */
export const isResourceMetadataPath = (path: string, api: OwnApi, publicUrl: string): boolean =>
  isMetadataOf(path, resourceMetadataPath, api, publicUrl)

/** Returns the URL of metadata: its path comes before that of the public URL. */
const metadataAt = (publicUrl: string, metadata: string): string =>
  new URL(publicUrl).origin + metadata + prefixOf(publicUrl)

/** Returns the URL of the issuer's metadata (RFC 8414 section 3.1). */
export const metadataUrl = (publicUrl: string): string => metadataAt(publicUrl, metadataPath)

/** Returns the URL of the metadata of one of doorhook's own APIs (RFC 9728 section 3.1). */
export const resourceMetadataUrl = (publicUrl: string, api: OwnApi): string =>
  metadataAt(publicUrl, resourceMetadataPath) + api

/** Returns the URL of a declared resource's metadata (RFC 9728 section 3.1). */
export const metadataUrlOfResource = (resource: string): string => metadataAt(resource, resourceMetadataPath)

/** Whether a path is for the metadata of a declared resource. A trailing slash is ignored. */
const isMetadataPathOf = (path: string, resource: string): boolean =>
  path.startsWith(resourceMetadataPath) && path.replace(/\/$/, "") === resourceMetadataPath + prefixOf(resource)

/**
 * Returns the declared resource whose metadata is at a path of a host; null if there is none. Any name of this host
 * serves the resources at the origin of the public URL, and the others are served only under their own name.
 */
export const resourceAt = (
  path: string,
  host: string | undefined,
  resources: ReadonlyArray<string>,
  publicUrl: string
): string | null => {
  const found = resources.filter((resource) => isMetadataPathOf(path, resource))
  const isAt = (resource: string): boolean => {
    const { host: expected, protocol } = new URL(resource)
    return host !== undefined && URL.parse(`${protocol}//${host}`)?.host === expected
  }
  const isHere = (resource: string): boolean => new URL(resource).origin === new URL(publicUrl).origin
  return found.find(isAt) ?? found.find(isHere) ?? null
}

const withoutOthers: Apis = { apis: [apiPath], resources: {} }

/** Whether doorhook serves a target when its public URL is `publicUrl`. The query is ignored. */
export const isOwnPath = (target: string, publicUrl: string, settings = withoutOthers): boolean => {
  const [path = ""] = target.split("?")
  return (
    ownPaths.some((own) => path === own) ||
    ownPrefixes.some((own) => path.startsWith(own)) ||
    pathsOf(settings).some((own) => path === own) ||
    isMetadataPath(path, publicUrl) ||
    settings.apis.some((api) => isResourceMetadataPath(path, api, publicUrl)) ||
    Object.keys(settings.resources).some((resource) => isMetadataPathOf(path, resource))
  )
}
