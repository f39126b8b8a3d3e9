/**
 * `GET /openapi.json`: the description of the public HTTP interface (OpenAPI 3.1). Methods, paths and query parameters
 * come from the table of routes, the webhooks from the catalogue of resource types, and `Descriptions.ts` adds the rest.
 */
import { Catalogue, publicScope, ResourceTypes, Signature } from "@doorhook/core"
import type { ResourceTypeTable } from "@doorhook/core"
import { Effect, Exit, Predicate, Schema } from "effect"
import { jsonFace } from "../http/HttpSurface.ts"
import { json } from "../http/MediaType.ts"
import { PublicUrl } from "../http/PublicUrl.ts"
import type { Answer, Route } from "../http/Route.ts"
import type { Content, Description } from "./Descriptions.ts"

type Json = Readonly<Record<string, unknown>>

const refsTo = "#/components/schemas/"

/** Copies a JSON value, and changes its references so that they point to `components`. */
const withRefs = (value: unknown, move: (ref: string) => string): unknown => {
  if (Array.isArray(value)) return value.map((one) => withRefs(one, move))
  if (!Predicate.isReadonlyObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) =>
      name === "$ref" && Predicate.isString(member) ? [name, move(member)] : [name, withRefs(member, move)]
    )
  )
}

const toComponents = (ref: string): string => ref.replace("#/$defs/", refsTo)

/** The headers of a webhook. Each may be absent, because of the type, the attempt or the settings, but for the first. */
const webhookHeaders: Readonly<Record<string, string>> = {
  [Signature.headerNames.id]: "Id of the event; the same on every attempt.",
  [Signature.headerNames.timestamp]: "When this attempt was signed, in seconds since the epoch.",
  [Signature.headerNames.signature]: "Signatures as in Standard Webhooks, separated by spaces.",
  [Signature.headerNames.attempt]: "Number of the attempt, from 1.",
  [Signature.headerNames.expiresAt]: "When the event expires, in seconds since the epoch. Only with a lifetime.",
  [Signature.headerNames.replay]: "`1` if a person or a recovery asked for this attempt."
}

/** Describes the webhook of each resource type, and adds the schemas of the data to `schemas`. */
const describeWebhooks = (
  types: ResourceTypeTable,
  schemas: Record<string, unknown>,
  identifierOf: (type: string) => string
): Json =>
  Object.fromEntries(
    Catalogue.entriesOf(types).map(({ attributes, id }) => {
      const name = `${identifierOf(id)}Data`
      const { $schema: _, ...schema } = attributes.schema
      // References inside the schema begin at its own root.
      schemas[name] = withRefs(schema, (ref) => ref.replace(/^#/, `${refsTo}${name}`))
      const event = {
        type: "object",
        properties: {
          resource_type: { const: id },
          action: { enum: attributes.actions },
          data: { $ref: `${refsTo}${name}` }
        },
        required: ["resource_type", "action", "data"]
      }
      const [action] = attributes.actions
      const example = { event: { resource_type: id, action, data: attributes.example } }
      const post = {
        tags: ["webhooks"],
        operationId: `webhooks.${id}`,
        summary: attributes.title,
        ...(attributes.description !== null && { description: attributes.description }),
        parameters: Object.entries(webhookHeaders).map(([header, description]) => ({
          name: header,
          in: "header",
          required: header === Signature.headerNames.id,
          description,
          schema: { type: "string" }
        })),
        requestBody: {
          required: true,
          content: {
            [json]: {
              schema: { type: "object", properties: { event }, required: ["event"] },
              ...(attributes.example !== null && { example })
            }
          }
        },
        responses: {
          200: { description: "Acknowledged. After any other answer, doorhook sends the event again." },
          410: { description: "The receiver wants no more webhooks: doorhook disables the integration." }
        },
        security: []
      }
      return [id, { post }]
    })
  )

const statusTexts: Readonly<Record<number, string>> = {
  200: "Success",
  201: "Created",
  204: "No content"
}

/** Describes all routes that have an operation name. */
export const describeRoutes = Effect.fnUntraced(function* (
  routes: ReadonlyArray<Route>,
  types: ResourceTypeTable,
  url: string
) {
  // Imported on demand, because most processes never need it.
  const { identifierOf, makeDescriptions, queryParameters, requiredParameters } = yield* Effect.promise(
    () => import("./Descriptions.ts")
  )
  const descriptionOf = makeDescriptions(types)
  const schemas: Record<string, unknown> = {}

  const schemaOf = (schema: Schema.Top): unknown => {
    const { definitions, schema: written } = Schema.toJsonSchemaDocument(schema)
    for (const [name, definition] of Object.entries(definitions)) schemas[name] = withRefs(definition, toComponents)
    return withRefs(written, toComponents)
  }

  const contentOf = (content: Content): Json =>
    Object.fromEntries(Object.entries(content).map(([type, schema]) => [type, { schema: schemaOf(schema) }]))

  const responsesOf = ({ errors, redirect, success }: Description): Json => ({
    [success.status]: {
      description: statusTexts[success.status] ?? "Success",
      ...(success.content !== undefined && { content: contentOf(success.content) })
    },
    ...(redirect !== undefined && { 303: { description: redirect } }),
    ...Object.fromEntries(
      errors.statuses.map((status) => [status, { description: "Refused", content: contentOf(errors.content) }])
    )
  })

  const parametersOf = ({ path, query = [] }: Route, { headers = [] }: Description): ReadonlyArray<Json> => [
    ...[...path.matchAll(/:(\w+)/g)].map(([, name = ""]) => ({
      name,
      in: "path",
      required: true,
      schema: name === "id" ? { type: "string" } : { type: "integer", minimum: 1 }
    })),
    ...query.map((name) => ({
      name,
      in: "query",
      required: requiredParameters.has(name),
      schema: schemaOf(queryParameters[name] ?? Schema.String)
    })),
    ...headers.map((name) => ({ name, in: "header", required: false, schema: { type: "string" } }))
  ]

  const paths: Record<string, Record<string, Json>> = {}
  const tags: Array<string> = []
  for (const route of routes) {
    const description = route.operation === undefined ? null : descriptionOf(route.operation)
    if (route.operation === undefined || description === null) continue
    const [tag = ""] = route.operation.split(".")
    if (!tags.includes(tag)) tags.push(tag)
    const path = route.path.replaceAll(/:(\w+)/g, "{$1}")
    const item = paths[path] ?? {}
    paths[path] = item
    item[route.method.toLowerCase()] = {
      tags: [tag],
      operationId: route.operation,
      summary: description.summary,
      ...(description.description !== undefined && { description: description.description }),
      parameters: parametersOf(route, description),
      ...(description.request !== undefined && {
        requestBody: { required: true, content: contentOf(description.request) }
      }),
      responses: responsesOf(description),
      security: description.isOpen === true ? [] : [{ bearer: [] }]
    }
  }
  const webhooks = describeWebhooks(types, schemas, identifierOf)
  return {
    openapi: "3.1.0",
    info: {
      title: "doorhook",
      version: "4",
      description: "OAuth 2.0 authorization, and webhook integrations for buildings and tenants."
    },
    servers: [{ url }],
    tags: [...tags, "webhooks"].map((name) => ({ name })),
    paths,
    webhooks,
    components: {
      schemas,
      securitySchemes: {
        bearer: {
          type: "http",
          scheme: "Bearer",
          description: `An access token from the token endpoint, with the scope \`${publicScope}\`.`
        }
      }
    }
  }
})

export const makeOpenApiRoute = Effect.fnUntraced(function* (routes: ReadonlyArray<Route>) {
  const publicUrl = yield* PublicUrl
  const types = yield* ResourceTypes
  let known: { readonly url: string; readonly text: string } | null = null
  const answer = (text: string): Answer => ({ status: 200, headers: { "content-type": json }, body: text })
  const route: Route = {
    method: "GET",
    path: "/openapi.json",
    face: jsonFace,
    handle: () => {
      const { url } = publicUrl
      if (known?.url === url) return Exit.succeed(answer(known.text))
      return Effect.map(describeRoutes(routes, types, url), (description) => {
        known = { url, text: JSON.stringify(description) }
        return answer(known.text)
      })
    }
  }
  return route
})
