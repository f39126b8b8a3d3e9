/**
 * The integration operations of the contract (document section 4.2, and what the document leaves out: one integration,
 * and PATCH).
 */
import { BuildingId, IntegrationAttributes, IntegrationResource, integrationType, TenantId } from "@doorhook/core"
import type { ResourceTypeTable } from "@doorhook/core"
import { Schema, Struct } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { DeliveryFeed, FeedQuery } from "./FeedContract.ts"
import {
  BearerAuthorization,
  changeErrors,
  conditionalErrors,
  documentErrors,
  errors,
  IdempotencyKey,
  IfMatch,
  jsonApi,
  PageInfo,
  PageLinks,
  PageQuery
} from "./JsonApi.ts"

const Resource = IntegrationResource.annotate({ identifier: "Integration" })

const Status = Schema.Literals(["enabled", "disabled"])

/** What clients may send: only declared types. Answers may have others, which were declared once. */
const documentsOf = (types: ResourceTypeTable) => {
  const actions = new Set([...types.values()].flatMap((definition) => definition.actions))
  const attributes = {
    ...IntegrationAttributes.fields,
    bindings: Schema.Array(
      Schema.Struct({
        resource_type: Schema.Literals([...types.keys()]),
        actions: Schema.Array(Schema.Literals([...actions]))
      })
    )
  }
  return {
    /** What a POST or a PUT sends. Without a status it enables. */
    whole: Schema.Struct({
      data: Schema.Struct({
        type: Schema.Literal(integrationType),
        attributes: Schema.Struct({ ...attributes, status: Schema.optionalKey(Status) })
      })
    }).annotate({ identifier: "IntegrationDocument" }),
    /** What a PATCH sends: the members to change. */
    changes: Schema.Struct({
      data: Schema.Struct({
        type: Schema.Literal(integrationType),
        attributes: Schema.Struct({
          ...Struct.map(attributes, Schema.optionalKey),
          configuration: Schema.optionalKey(attributes.configuration.mapFields(Struct.map(Schema.optionalKey))),
          status: Schema.optionalKey(Status)
        })
      })
    }).annotate({ identifier: "IntegrationChangesDocument" })
  }
}

/** The answer with one integration. */
const SingleIntegration = Schema.Struct({ data: Resource }).annotate({ identifier: "SingleIntegration" })

const withSecret = {
  data: Resource,
  meta: Schema.Struct({ signing_secret: Schema.String })
}

/** The answer to a creation, with the signing secret unless the creation is repeated by its idempotency key. */
const CreatedIntegration = Schema.Struct({
  ...withSecret,
  meta: Schema.optionalKey(withSecret.meta)
}).annotate({ identifier: "CreatedIntegration" })

/** The answer with a new signing secret. */
const RotatedIntegration = Schema.Struct(withSecret).annotate({ identifier: "RotatedIntegration" })

/** The answer with a page of integrations. */
const IntegrationList = Schema.Struct({
  data: Schema.Array(Resource),
  links: PageLinks,
  meta: Schema.Struct({ page_info: PageInfo })
}).annotate({ identifier: "IntegrationList" })

const either = <S extends Schema.Top>(schema: S) => [schema.pipe(jsonApi), schema] as const

/** The operations on the integrations of one kind of owner. */
const operations = <const Name extends string, Owner extends Readonly<Record<string, Schema.Codec<number, number>>>>(
  collection: `/v4/${string}`,
  name: Name,
  params: Owner,
  types: ResourceTypeTable
) => {
  const documents = documentsOf(types)
  const one = { ...params, id: Schema.String }
  const item = `${collection}/:id` as const
  return HttpApiGroup.make(name)
    .add(
      HttpApiEndpoint.get("list", collection, {
        params,
        query: PageQuery,
        success: IntegrationList.pipe(jsonApi),
        error: errors
      }).annotate(OpenApi.Summary, "List integrations, in the order of their creation"),
      HttpApiEndpoint.post("create", collection, {
        params,
        headers: IdempotencyKey,
        payload: either(documents.whole),
        success: CreatedIntegration.pipe(HttpApiSchema.status(201), jsonApi),
        error: documentErrors
      }).annotate(OpenApi.Summary, "Create an integration; the one answer that has its signing secret"),
      HttpApiEndpoint.get("get", item, {
        params: one,
        success: SingleIntegration.pipe(jsonApi),
        error: errors
      }).annotate(OpenApi.Summary, "Get one integration"),
      HttpApiEndpoint.put("replace", item, {
        params: one,
        headers: IfMatch,
        payload: either(documents.whole),
        success: SingleIntegration.pipe(jsonApi),
        error: changeErrors
      }).annotate(
        OpenApi.Summary,
        "Replace an integration, and enable it; disabled by hand, it stays so where the status says so"
      ),
      HttpApiEndpoint.patch("patch", item, {
        params: one,
        headers: IfMatch,
        payload: either(documents.changes),
        success: SingleIntegration.pipe(jsonApi),
        error: changeErrors
      }).annotate(OpenApi.Summary, "Change some members of an integration"),
      HttpApiEndpoint.delete("remove", item, {
        params: one,
        headers: IfMatch,
        success: HttpApiSchema.NoContent,
        error: conditionalErrors
      }).annotate(OpenApi.Summary, "Delete an integration and cancel what waits for it"),
      HttpApiEndpoint.post("rotateSecret", `${item}/rotate_secret`, {
        params: one,
        headers: IfMatch,
        success: RotatedIntegration.pipe(jsonApi),
        error: conditionalErrors
      }).annotate(OpenApi.Summary, "Make a new signing secret; the one before signs too for 24 hours"),
      HttpApiEndpoint.get("deliveries", `${item}/deliveries`, {
        params: one,
        query: FeedQuery,
        success: DeliveryFeed.pipe(jsonApi),
        error: errors
      }).annotate(OpenApi.Summary, "What an integration should have received, the oldest first")
    )
    .middleware(BearerAuthorization)
}

export const buildingIntegrationsOf = (types: ResourceTypeTable) =>
  operations("/v4/buildings/:building_id/integrations", "building integrations", { building_id: BuildingId }, types)

export const tenantIntegrationsOf = (types: ResourceTypeTable) =>
  operations("/v4/tenants/:tenant_id/integrations", "tenant integrations", { tenant_id: TenantId }, types)
