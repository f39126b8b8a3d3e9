/**
 * `GET /v4/webhook_sources`: the addresses that deliveries come from, for filters in front of receivers (document section
 * 5). Whoever sets up such a filter need not be a user, so no token is asked for.
 */
import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { IpNetwork } from "effect/net"
import { resource } from "../http/Resource.ts"
import { ApiEndpoint } from "./ApiEndpoint.ts"
import { ApiSettings } from "./ApiSettings.ts"

const makeRoutes = Effect.gen(function* () {
  const { open, refuse } = yield* ApiEndpoint
  const { webhookSources } = yield* ApiSettings
  const data = webhookSources.map((network) => {
    const cidr = IpNetwork.format(network)
    return { type: "webhook_sources", id: cidr, attributes: { cidr } }
  })
  return [resource("/v4/webhook_sources", { GET: open({ status: 200, document: { data } }) }, refuse)]
})

export const SourceRoutes = HttpRouter.addAll(makeRoutes)
