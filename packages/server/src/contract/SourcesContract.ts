/**
 * The addresses that deliveries come from, in the contract: the one operation of `/v4` that asks for no token.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { errorsOf, jsonApi } from "./JsonApi.ts"

const WebhookSourceList = Schema.Struct({
  data: Schema.Array(
    Schema.Struct({
      type: Schema.Literal("webhook_sources"),
      /** The network itself. */
      id: Schema.String,
      attributes: Schema.Struct({ cidr: Schema.String })
    })
  )
}).annotate({ identifier: "WebhookSourceList" })

export const WebhookSources = HttpApiGroup.make("webhook sources").add(
  HttpApiEndpoint.get("list", "/v4/webhook_sources", {
    success: WebhookSourceList.pipe(jsonApi),
    error: errorsOf([400, 405, 406, 500])
  }).annotate(OpenApi.Summary, "The networks that webhooks are sent from")
)
