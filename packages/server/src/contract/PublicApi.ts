/**
 * The public surface, declared once: the OpenAPI description and typed clients are made from it, and a test holds the
 * routes against it.
 */
import { builtInTable } from "@doorhook/core"
import type { ResourceTypeTable } from "@doorhook/core"
import { HttpApi, OpenApi } from "effect/http-api"
import { buildingIntegrationsOf, tenantIntegrationsOf } from "./IntegrationsContract.ts"
import { OAuth } from "./OAuthContract.ts"
import { Buildings, buildingsOf, Tenants, tenantsOf } from "./PremisesContract.ts"
import { shareSchemas } from "./SharedSchemas.ts"
import { WebhookSources } from "./SourcesContract.ts"

const annotations = OpenApi.annotations({
  title: "doorhook",
  version: "4",
  description: "Authorization by OAuth 2.0, and webhook integrations of buildings and tenants.",
  transform: shareSchemas
})

/** The surface with the built-in resource types, for typed clients. */
export const PublicApi = HttpApi.make("doorhook")
  .add(OAuth)
  .add(Buildings)
  .add(Tenants)
  .add(buildingIntegrationsOf(builtInTable))
  .add(tenantIntegrationsOf(builtInTable))
  .add(WebhookSources)
  .annotateMerge(annotations)

/** The surface of a service that declares resource types, for its description. */
export const publicApiOf = (types: ResourceTypeTable) =>
  HttpApi.make("doorhook")
    .add(OAuth)
    .add(buildingsOf(types))
    .add(tenantsOf(types))
    .add(buildingIntegrationsOf(types))
    .add(tenantIntegrationsOf(types))
    .add(WebhookSources)
    .annotateMerge(annotations)
