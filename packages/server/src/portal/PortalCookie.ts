/**
 * What a browser keeps once it has opened a link: no script reads it, no other site's form sends it, and it ends with the
 * link. One for each integration, so that several may be open at once.
 */
import type { IntegrationId } from "@doorhook/core"
import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { PublicUrl } from "../http/PublicUrl.ts"

/** The `__Host-` prefix keeps other hosts of the domain from setting it; browsers take it over https only. */
const nameFor = (id: IntegrationId) =>
  Effect.map(PublicUrl, ({ url }) => `${url.startsWith("https:") ? "__Host-" : ""}doorhook_portal_${id}`)

/** The cookie of an integration's page in this browser; empty when there is none. */
export const read = Effect.fnUntraced(function* (id: IntegrationId) {
  const request = yield* HttpServerRequest.HttpServerRequest
  return request.cookies[yield* nameFor(id)] ?? ""
})

/**
 * The `Set-Cookie` header that keeps a visit. `Lax`: a link is opened from the host's pages, and the redirect that follows
 * must bring the cookie along.
 */
export const write = Effect.fnUntraced(function* (id: IntegrationId, visit: string, seconds: number) {
  const name = yield* nameFor(id)
  const secure = name.startsWith("__Host-") ? "; Secure" : ""
  return `${name}=${visit}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`
})
