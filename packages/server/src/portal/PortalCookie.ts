/**
 * The session cookie that an opened link leaves in the browser: HttpOnly, ending with the link.
 *
 * One for each integration and for the path of its page alone. A browser that has opened a hundred pages still sends one
 * cookie with each request, and none to the host's own pages: Node refuses requests with more than 16 KiB of headers.
 */
import type { IntegrationId } from "@doorhook/core"
import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { PublicUrl } from "../http/PublicUrl.ts"

/** Browsers take `__Secure-` over https only. `__Host-` would need `Path=/`. */
const nameFor = (id: IntegrationId) =>
  Effect.map(PublicUrl, ({ url }) => `${url.startsWith("https:") ? "__Secure-" : ""}doorhook_portal_${id}`)

/** The path of an integration's page as the browser sees it, behind any prefix that the service is mounted at. */
export const homeOf = (id: IntegrationId) =>
  Effect.map(PublicUrl, ({ url }) => `${new URL(url).pathname.replace(/\/$/, "")}/portal/${id}`)

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
  const secure = name.startsWith("__Secure-") ? "; Secure" : ""
  return `${name}=${visit}; Path=${yield* homeOf(id)}; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`
})
