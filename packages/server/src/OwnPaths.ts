/**
 * Which paths are doorhook's: where it is mounted on a host's server, all others are the host's own.
 */
import { Context, Effect } from "effect"
import { PublicUrl } from "./http/PublicUrl.ts"
import { isMetadataPath, paths } from "./oauth/Metadata.ts"

/** Where a client looks for the metadata; below it, where the issuer has a path (RFC 8414 section 3.1). */
export const metadataPath = paths.metadata
/** What the paths of all but a few begin with. */
export const ownPrefixes = ["/oauth/", "/v4/", "/operator/", "/health/", "/portal/", "/console/"] as const
/** The few. */
export const ownPaths = ["/console", "/metrics", "/openapi.json", metadataPath] as const

/** Whether the target of a request, with or without a query, is served by a doorhook that is reached at a public URL. */
export const isOwnPath = (target: string, publicUrl: string): boolean => {
  const [path = ""] = target.split("?")
  return (
    ownPaths.some((own) => path === own) ||
    ownPrefixes.some((own) => path.startsWith(own)) ||
    isMetadataPath(path, publicUrl)
  )
}

/**
 * Which requests are taken for doorhook's. In a router that it shares with routes of a host, those to its own paths; all,
 * where it has a router for itself. Read when the routes are built.
 */
export const Territory = Context.Reference<(target: string, publicUrl: string) => boolean>(
  "@doorhook/server/OwnPaths/Territory",
  { defaultValue: () => isOwnPath }
)

/** A target without the path of the public URL: where a host has its routes under a prefix, what stands around them sees it. */
const withoutPrefix = (target: string, publicUrl: string): string => {
  const at = publicUrl.indexOf("/", publicUrl.indexOf("//") + 2)
  const prefix = at === -1 ? "" : publicUrl.slice(at)
  return prefix !== "" && target.startsWith(`${prefix}/`) ? target.slice(prefix.length) : target
}

/** The same, of this doorhook. Its public URL may be learned from the first request. */
export const ownRequests: Effect.Effect<(target: string) => boolean, never, PublicUrl> = Effect.gen(function* () {
  const isOurs = yield* Territory
  const publicUrl = yield* PublicUrl
  return (target) => isOurs(target, publicUrl.url) || isOurs(withoutPrefix(target, publicUrl.url), publicUrl.url)
})
