/**
 * The parts of the OpenAPI description that the table of routes lacks: summaries, bodies, answers and statuses.
 */
import {
  Action,
  Catalogue,
  countedEvents,
  DeliveryState,
  Detail,
  EventId,
  IntegrationAttributes,
  IntegrationLabels,
  IntegrationResource,
  integrationType,
  OAuthErrorCode,
  ResourceType,
  TokenResponse
} from "@doorhook/core"
import type { ResourceTypeTable } from "@doorhook/core"
import { Schema, String, Struct } from "effect"
import { ErrorDocument } from "../http/Failures.ts"
import { eventStream, json, jsonApi } from "../http/MediaType.ts"

/** A body by media type. */
export type Content = Readonly<Record<string, Schema.Top>>

/** The description of one operation. */
export interface Description {
  readonly summary: string
  readonly description?: string
  /** Optional request headers. */
  readonly headers?: ReadonlyArray<string>
  readonly request?: Content
  readonly success: { readonly status: number; readonly content?: Content }
  /** Description of the operation's redirect, if there is one. */
  readonly redirect?: string
  readonly errors: { readonly statuses: ReadonlyArray<number>; readonly content: Content }
  /** Whether the operation works without an access token. */
  readonly isOpen?: boolean
}

const optional = Schema.optionalKey(Schema.String)

// ---- Query parameters

const time = (description: string) => Schema.String.annotate({ format: "date-time", description })

/** Schemas of the query parameters that are not plain strings. */
export const queryParameters: Readonly<Record<string, Schema.Top>> = {
  page: Schema.Int,
  per: Schema.Int,
  "page[number]": Schema.Int,
  "page[size]": Schema.Int,
  since: time("Only events published at this time or later."),
  until: time("Only events published before this time."),
  resource_type: Schema.Array(ResourceType),
  wait: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 30 })),
  response_type: Schema.Literal("code")
}

/** Required query parameters. */
export const requiredParameters: ReadonlySet<string> = new Set(["client_id", "response_type"])

// ---- Lists

const PageNumber = Schema.Int
const NoPage = Schema.NullOr(Schema.Int)

/** The `meta.page_info` of a list. */
const PageInfo = Schema.Struct({
  current_page: PageNumber,
  total_pages: PageNumber,
  total_item_count: Schema.Int,
  page_item_count: Schema.Int,
  page_size: Schema.Int,
  next_page: NoPage,
  prev_page: NoPage,
  first_page: PageNumber,
  last_page: PageNumber
}).annotate({ identifier: "PageInfo" })

/** The links of a list (JSON:API 1.1 section 5.6). */
const PageLinks = Schema.Struct({
  first: Schema.String,
  prev: Schema.NullOr(Schema.String),
  next: Schema.NullOr(Schema.String),
  last: Schema.String
}).annotate({ identifier: "PageLinks" })

const list = <S extends Schema.Top, Info extends Schema.Top>(item: S, page_info: Info, identifier: string) =>
  Schema.Struct({ data: Schema.Array(item), links: PageLinks, meta: Schema.Struct({ page_info }) }).annotate({
    identifier
  })

const Building = Schema.Struct({
  type: Schema.Literal("buildings"),
  id: Schema.String,
  attributes: Schema.Struct({
    name: Schema.String,
    /** IANA name, like `Europe/Berlin`. */
    time_zone: Schema.String,
    access_points: Schema.Array(Schema.Struct({ id: Schema.Int, name: Schema.String }))
  }),
  links: Schema.Struct({ self: Schema.String })
}).annotate({ identifier: "Building" })

const Tenant = Schema.Struct({
  type: Schema.Literal("tenants"),
  id: Schema.String,
  attributes: Schema.Struct({
    unit: Schema.NullOr(Schema.Struct({ id: Schema.Int, label: Schema.String }))
  }),
  relationships: Schema.Struct({
    building: Schema.Struct({ data: Schema.Struct({ type: Schema.Literal("buildings"), id: Schema.String }) })
  })
}).annotate({ identifier: "Tenant" })

const CountedPageInfo = Schema.Struct({
  ...PageInfo.fields,
  total_is_capped: Schema.optionalKey(Schema.Literal(true)).annotate({
    description: `Present if the list has more than ${countedEvents} items; \`total_item_count\` is then ${countedEvents}.`
  })
}).annotate({ identifier: "CountedPageInfo" })

/** Schema of an event's `data` as a JSON:API resource. */
const eventOf = (path: string, identifier: string) =>
  Schema.Struct({
    type: Schema.Literal(path),
    /** The `id` of the data if it is a string or a whole number, otherwise the event's id. */
    id: Schema.String,
    attributes: Schema.Record(Schema.String, Schema.Unknown),
    meta: Schema.Struct({
      /** The event's `webhook-id`. */
      event_id: Schema.String,
      created_at: Schema.String
    })
  }).annotate({ identifier })

// ---- Integrations

const Resource = IntegrationResource.annotate({ identifier: "Integration" })

const Status = Schema.Literals(["enabled", "disabled"])

/**
 * Schemas of the documents that clients send. They allow only declared resource types. Answers may also contain types
 * from earlier configurations.
 */
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
  const labels = Struct.map({ ...IntegrationLabels.fields, detail: Detail }, Schema.optionalKey)
  return {
    /** The body of POST and PUT. Without a status, the integration is enabled. */
    whole: Schema.Struct({
      data: Schema.Struct({
        type: Schema.Literal(integrationType),
        attributes: Schema.Struct({ ...attributes, ...labels, status: Schema.optionalKey(Status) })
      })
    }).annotate({ identifier: "IntegrationDocument" }),
    /** The body of PATCH, with the members to change. */
    changes: Schema.Struct({
      data: Schema.Struct({
        type: Schema.Literal(integrationType),
        attributes: Schema.Struct({
          ...Struct.map(attributes, Schema.optionalKey),
          ...labels,
          configuration: Schema.optionalKey(attributes.configuration.mapFields(Struct.map(Schema.optionalKey))),
          status: Schema.optionalKey(Status)
        })
      })
    }).annotate({ identifier: "IntegrationChangesDocument" })
  }
}

/** An answer with one integration. */
const SingleIntegration = Schema.Struct({ data: Resource }).annotate({ identifier: "SingleIntegration" })

const withSecret = {
  data: Resource,
  meta: Schema.Struct({ signing_secret: Schema.String })
}

/** The answer to a creation. It contains the signing secret, unless the request repeats an idempotency key. */
const CreatedIntegration = Schema.Struct({
  ...withSecret,
  meta: Schema.optionalKey(withSecret.meta)
}).annotate({ identifier: "CreatedIntegration" })

/** An answer with a new signing secret. */
const RotatedIntegration = Schema.Struct(withSecret).annotate({ identifier: "RotatedIntegration" })

/** An answer with a page of integrations. */
const IntegrationList = list(Resource, PageInfo, "IntegrationList")

// ---- Feeds

/** The event, as in the body of the webhook. */
const FeedEvent = Schema.Struct({
  resource_type: ResourceType,
  action: Action,
  data: Schema.Record(Schema.String, Schema.Unknown)
})

const EventLinks = Schema.Struct({
  self: Schema.String.annotate({ description: "URL of the event, beside data that has only an id (`thin`)." })
})

const FeedDelivery = Schema.Struct({
  type: Schema.Literal("deliveries"),
  id: Schema.String,
  attributes: Schema.Struct({
    /** The event's `webhook-id`. */
    event_id: EventId,
    state: DeliveryState,
    created_at: Schema.String,
    event: FeedEvent,
    links: Schema.optionalKey(EventLinks)
  })
}).annotate({ identifier: "Delivery" })

const ScopeEvent = Schema.Struct({
  type: Schema.Literal("events"),
  /** The event's `webhook-id`. */
  id: EventId,
  attributes: Schema.Struct({ created_at: Schema.String, event: FeedEvent, links: Schema.optionalKey(EventLinks) })
}).annotate({ identifier: "Event" })

/** A page of a feed. The cursor never expires. `next` is null at the current end. */
const feedOf = <S extends Schema.Top>(item: S, identifier: string) =>
  Schema.Struct({
    data: Schema.Array(item),
    meta: Schema.Struct({
      cursor: Schema.String,
      /** The time in which retention has deleted items behind the cursor. */
      gap: Schema.optionalKey(Schema.Struct({ from: Schema.String, to: Schema.String }))
    }),
    links: Schema.Struct({ next: Schema.NullOr(Schema.String) })
  }).annotate({ identifier })

const streamText =
  "Server-sent events. `event: delivery` or `event: event`: `data` is an item of the list as one line of JSON, `id` the cursor behind it. `event: gap`: `data` is the time in which retention has deleted items. `event: end`: why the stream ends, as `token_expired`, `token_revoked`, `right_lost`, `moved`, `shutdown` or `too_slow`. A comment comes every 15 seconds."

const feedText =
  "Use the `meta.cursor` of an answer as the `after` of the next request; it never expires. Without `after`, the feed starts with the oldest item, or with the first one published at `since` or later. `resource_type` may be repeated. With `wait`, a request for which there is nothing waits up to this many seconds for the first item. If retention has deleted items behind the cursor, `meta.gap` is the time in which items are missing; the new cursor continues after it. With `Accept: text/event-stream`, the items come as a live stream, from `last-event-id`, `after` or `since` on, and otherwise from the next item."

/** An answer with one event. */
const SingleEvent = Schema.Struct({ data: ScopeEvent }).annotate({ identifier: "SingleEvent" })

// ---- OAuth

/** An OAuth error (RFC 6749 section 5.2). */
const OAuthErrorDocument = Schema.Struct({
  error: Schema.Union([OAuthErrorCode, Schema.Literals(["server_error", "temporarily_unavailable"])]),
  error_description: optional
}).annotate({ identifier: "OAuthError" })

/** One resource or several (RFC 8707 section 2). */
const resourceIndicator = Schema.optionalKey(Schema.Union([Schema.String, Schema.Array(Schema.String)]))

const credentials = {
  client_id: optional,
  client_secret: optional,
  client_assertion: optional,
  client_assertion_type: optional
}

const TokenRequest = Schema.Union([
  Schema.Struct({
    grant_type: Schema.Literal("authorization_code"),
    code: Schema.String,
    redirect_uri: optional,
    code_verifier: optional,
    resource: resourceIndicator,
    ...credentials
  }),
  Schema.Struct({
    grant_type: Schema.Literal("refresh_token"),
    refresh_token: Schema.String,
    scope: optional,
    resource: resourceIndicator,
    ...credentials
  }),
  Schema.Struct({
    grant_type: Schema.Literal("client_credentials"),
    scope: optional,
    resource: resourceIndicator,
    ...credentials
  })
])

const TokenOnly = Schema.Struct({ token: Schema.String, token_type_hint: optional, ...credentials })

const Introspection = Schema.Struct({
  active: Schema.Boolean,
  scope: optional,
  client_id: optional,
  sub: optional,
  aud: resourceIndicator,
  token_type: optional,
  iat: Schema.optionalKey(Schema.Int),
  exp: Schema.optionalKey(Schema.Int)
}).annotate({ identifier: "Introspection" })

const Metadata = Schema.Struct({
  issuer: Schema.String,
  authorization_endpoint: Schema.String,
  token_endpoint: Schema.String,
  revocation_endpoint: Schema.String,
  introspection_endpoint: Schema.String,
  scopes_supported: Schema.Array(Schema.String),
  response_types_supported: Schema.Array(Schema.String),
  response_modes_supported: Schema.Array(Schema.String),
  grant_types_supported: Schema.Array(Schema.String),
  token_endpoint_auth_methods_supported: Schema.Array(Schema.String),
  token_endpoint_auth_signing_alg_values_supported: Schema.Array(Schema.String),
  revocation_endpoint_auth_methods_supported: Schema.Array(Schema.String),
  revocation_endpoint_auth_signing_alg_values_supported: Schema.Array(Schema.String),
  introspection_endpoint_auth_methods_supported: Schema.Array(Schema.String),
  introspection_endpoint_auth_signing_alg_values_supported: Schema.Array(Schema.String),
  code_challenge_methods_supported: Schema.Array(Schema.String),
  authorization_response_iss_parameter_supported: Schema.Boolean,
  client_id_metadata_document_supported: Schema.Boolean
}).annotate({ identifier: "AuthorizationServerMetadata" })

/** RFC 9728 section 2. */
const ResourceMetadata = Schema.Struct({
  resource: Schema.String,
  authorization_servers: Schema.Array(Schema.String),
  scopes_supported: Schema.Array(Schema.String),
  bearer_methods_supported: Schema.Array(Schema.String)
}).annotate({ identifier: "ProtectedResourceMetadata" })

const WebhookSourceList = Schema.Struct({
  data: Schema.Array(
    Schema.Struct({
      type: Schema.Literal("webhook_sources"),
      /** The network itself, in CIDR notation. */
      id: Schema.String,
      attributes: Schema.Struct({ cidr: Schema.String })
    })
  )
}).annotate({ identifier: "WebhookSourceList" })

const WebhookKeyList = Schema.Struct({
  data: Schema.Array(
    Schema.Struct({
      type: Schema.Literal("webhook_keys"),
      id: Schema.String,
      /** An Ed25519 public key in the format of Standard Webhooks: `whpk_` and base64. */
      attributes: Schema.Struct({ public_key: Schema.String })
    })
  )
}).annotate({ identifier: "WebhookKeyList" })

const ResourceTypeList = Schema.Struct({
  data: Schema.Array(Catalogue.CatalogueEntry.annotate({ identifier: "ResourceType" }))
}).annotate({ identifier: "ResourceTypeList" })

// ---- Operations

const apiErrors = (...statuses: ReadonlyArray<number>): Description["errors"] => ({
  statuses: statuses.toSorted((a, b) => a - b),
  content: { [jsonApi]: ErrorDocument }
})

/** Error statuses of every `/v4` operation. `withToken` adds the statuses of operations that need an access token. */
const always = [400, 405, 406, 500]
const withToken = [...always, 401, 403, 429, 503]
/** Error statuses of operations on an item or owner that might not exist. */
const named = [...withToken, 404]
const withDocument = [408, 409, 413, 415, 422]

const answer = (status: number, schema: Schema.Top): Description["success"] => ({
  status,
  content: { [jsonApi]: schema }
})

/** A feed: a page, or with `Accept: text/event-stream` a stream of its items. */
const feedAnswer = <S extends Schema.Top>(item: S, identifier: string) => ({
  status: 200,
  content: { [jsonApi]: feedOf(item, identifier), [eventStream]: Schema.String.annotate({ description: streamText }) }
})

const either = (schema: Schema.Top): Content => ({ [jsonApi]: schema, [json]: schema })

const integrationDescriptions = (types: ResourceTypeTable): Readonly<Record<string, Description>> => {
  const { changes, whole } = documentsOf(types)
  return {
    list: {
      summary: "List integrations, oldest first",
      description:
        "The list includes the integrations of all clients, unless `clientIsolation` hides those of other clients.",
      success: answer(200, IntegrationList),
      errors: apiErrors(...named)
    },
    create: {
      summary: "Create an integration; only this answer contains its signing secret",
      description:
        "By default, a building or a tenant can have at most 100 integrations, counting those of all clients. More are refused with 409 and `limit_reached`.",
      headers: ["idempotency-key"],
      request: either(whole),
      success: answer(201, CreatedIntegration),
      errors: apiErrors(...named, ...withDocument)
    },
    get: {
      summary: "Get one integration",
      success: answer(200, SingleIntegration),
      errors: apiErrors(...named)
    },
    replace: {
      summary: "Replace an integration; without `status`, it is enabled",
      description:
        "If doorhook disabled the integration, this enables it even if the document says `disabled`, because the client might only repeat the status that a GET returned.",
      headers: ["if-match"],
      request: either(whole),
      success: answer(200, SingleIntegration),
      errors: apiErrors(...named, ...withDocument, 412)
    },
    patch: {
      summary: "Change some members of an integration",
      headers: ["if-match"],
      request: either(changes),
      success: answer(200, SingleIntegration),
      errors: apiErrors(...named, ...withDocument, 412)
    },
    remove: {
      summary: "Delete an integration and cancel its unfinished deliveries",
      headers: ["if-match"],
      success: { status: 204 },
      errors: apiErrors(...named, 412)
    },
    rotateSecret: {
      summary: "Create a new signing secret; for 24 hours, requests are signed with the old one too",
      description:
        "Only the client that created the integration may do this. Others get 403, or 404 if `clientIsolation` hides the integration from them.",
      headers: ["if-match"],
      success: answer(200, RotatedIntegration),
      errors: apiErrors(...named, 412)
    },
    deliveries: {
      summary: "List the deliveries of an integration, oldest first",
      description: feedText,
      headers: ["last-event-id"],
      success: feedAnswer(FeedDelivery, "DeliveryFeed"),
      errors: apiErrors(...named, 422)
    }
  }
}

/** Returns the schema name for events of a type, like `DoorForcedEvent` for `door_forced`. */
export const identifierOf = (type: ResourceType): string => {
  if (type === "access_log") return "AccessLog"
  if (type === "call") return "Call"
  return `${type.split("_").map(String.capitalize).join("")}Event`
}

const eventDescription = (type: ResourceType, path: string): Description => {
  const identifier = identifierOf(type)
  return {
    summary: `List events of type ${type}, newest first`,
    description: `A page must start within the first ${countedEvents} items, otherwise the answer is 422. The last of these pages has null in \`links.next\`. Use \`until\` to go further back.`,
    success: answer(200, list(eventOf(path, identifier), CountedPageInfo, `${identifier}List`)),
    errors: apiErrors(...named, 422)
  }
}

const oauthErrors: Description["errors"] = {
  statuses: [400, 401, 405, 408, 413, 415, 429, 500, 503],
  content: { [json]: OAuthErrorDocument }
}

/** Describes a body that may have any of the three encodings that clients use. */
const anyForm = (schema: Schema.Top): Content => ({
  "multipart/form-data": schema,
  "application/x-www-form-urlencoded": schema,
  [json]: schema
})

const html: Content = { "text/html": Schema.String }

const others: Readonly<Record<string, Description>> = {
  "oauth.authorize": {
    isOpen: true,
    summary: "Ask the user to log in; afterwards, redirect with a code",
    success: { status: 200, content: html },
    redirect:
      "`Location` is one of: the client, with an error; the host's login page; this address without the client's secret. Submitting the page's form ends in a redirect to the client, with a code.",
    errors: { statuses: [400, 401, 429, 500, 503], content: html }
  },
  "oauth.token": {
    isOpen: true,
    summary: "Exchange a code or a refresh token for an access token",
    description:
      "By default, a client gets at most 600 tokens a minute (a client without a secret: 600 for each user). Beyond that, the answer is 429 with `Retry-After` and the error `temporarily_unavailable`. An authorization can have 100 valid access tokens; each further token revokes the oldest. A refresh may request a part of the granted `scope`; without `scope`, the new token has the whole granted scope. `resource` (RFC 8707) names the APIs that the token is for: `{public URL}/v4`, or those in the setting `resources`. The authorize step binds the resources, and a token request may name some of them.",
    request: anyForm(TokenRequest),
    success: { status: 200, content: { [json]: TokenResponse.annotate({ identifier: "TokenResponse" }) } },
    errors: oauthErrors
  },
  "oauth.revoke": {
    isOpen: true,
    summary: "Revoke a token",
    request: anyForm(TokenOnly),
    success: { status: 200, content: { [json]: Schema.Struct({}) } },
    errors: oauthErrors
  },
  "oauth.introspect": {
    isOpen: true,
    summary: "Get the state, scope and user of a token",
    request: anyForm(TokenOnly),
    success: { status: 200, content: { [json]: Introspection } },
    errors: oauthErrors
  },
  "oauth.metadata": {
    isOpen: true,
    summary: "Get the authorization server's metadata",
    success: { status: 200, content: { [json]: Metadata } },
    errors: { statuses: [405], content: { [json]: OAuthErrorDocument } }
  },
  "oauth.resourceMetadata": {
    isOpen: true,
    summary: "Get the metadata of the API as a protected resource",
    success: { status: 200, content: { [json]: ResourceMetadata } },
    errors: { statuses: [405], content: { [json]: OAuthErrorDocument } }
  },
  "buildings.list": {
    summary: "List the buildings that the user administers",
    success: answer(200, list(Building, PageInfo, "BuildingList")),
    errors: apiErrors(...withToken)
  },
  "buildings.get": {
    summary: "Get one building",
    success: answer(200, Schema.Struct({ data: Building }).annotate({ identifier: "SingleBuilding" })),
    errors: apiErrors(...named)
  },
  "tenants.list": {
    summary: "List the user's own tenants",
    success: answer(200, list(Tenant, PageInfo, "TenantList")),
    errors: apiErrors(...withToken)
  },
  ...Object.fromEntries(
    ["buildings", "tenants"].map((segment): [string, Description] => [
      `${segment}.feed`,
      {
        summary: `List the events that a ${segment.slice(0, -1)} may see, oldest first`,
        description: feedText,
        headers: ["last-event-id"],
        success: feedAnswer(ScopeEvent, "EventFeed"),
        errors: apiErrors(...named, 422)
      }
    ])
  ),
  "webhook sources.list": {
    isOpen: true,
    summary: "List the networks that webhooks are sent from",
    success: answer(200, WebhookSourceList),
    errors: apiErrors(...always)
  },
  "resource types.list": {
    isOpen: true,
    summary: "List the resource types that a receiver can get, with the schemas of their data",
    success: answer(200, ResourceTypeList),
    errors: apiErrors(...always)
  },
  "webhook keys.list": {
    isOpen: true,
    summary: "List the public keys that verify webhooks; empty if webhooks are signed with secrets only",
    success: answer(200, WebhookKeyList),
    errors: apiErrors(...always)
  }
}

const singleEvent: Description = {
  summary: "Get one event of a building or tenant, in as much detail as the client may get",
  success: answer(200, SingleEvent),
  errors: apiErrors(...named)
}

const builtInNames: Readonly<Record<string, ResourceType>> = { accessLogs: "access_log", calls: "call" }

/** Makes a function that returns the description of an operation, or null. */
export const makeDescriptions = (types: ResourceTypeTable): ((operation: string) => Description | null) => {
  const integrations = integrationDescriptions(types)
  return (operation) => {
    const [group = "", name = "", type = ""] = operation.split(".")
    if (name === "event") return singleEvent
    if (group.endsWith(" integrations")) return integrations[name] ?? null
    const event = builtInNames[name] ?? (name === "events" ? type : null)
    if (event === null) return others[operation] ?? null
    const definition = types.get(event)
    return definition === undefined ? null : eventDescription(event, definition.path)
  }
}
