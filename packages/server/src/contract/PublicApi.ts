/**
 * The public surface, declared once: the OpenAPI description and typed clients are made from it, and a test holds the
 * routes against it.
 */
import { HttpApi, OpenApi } from "effect/http-api"
import { BuildingIntegrations, TenantIntegrations } from "./IntegrationsContract.ts"
import { OAuth } from "./OAuthContract.ts"
import { Buildings, Tenants } from "./PremisesContract.ts"
import { shareSchemas } from "./SharedSchemas.ts"
import { WebhookSources } from "./SourcesContract.ts"

export const PublicApi = HttpApi.make("doorhook")
  .add(OAuth)
  .add(Buildings)
  .add(Tenants)
  .add(BuildingIntegrations)
  .add(TenantIntegrations)
  .add(WebhookSources)
  .annotateMerge(
    OpenApi.annotations({
      title: "doorhook",
      version: "4",
      description: "Authorization by OAuth 2.0, and webhook integrations of buildings and tenants.",
      transform: shareSchemas
    })
  )
