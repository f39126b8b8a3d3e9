/**
 * `GET /openapi.json`: the description of the public HTTP interface (OpenAPI 3.1). Methods, paths and query parameters
 * come from the table of routes, and `Descriptions.ts` adds the rest.
 */
import { publicScope, ResourceTypes } from "@doorhook/core"
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
const withRefs = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withRefs)
  if (!Predicate.isReadonlyObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) =>
      name === "$ref" && Predicate.isString(member)
        ? [name, member.replace("#/$defs/", refsTo)]
        : [name, withRefs(member)]
    )
  )
}

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
  const { makeDescriptions, queryParameters, requiredParameters } = yield* Effect.promise(
    () => import("./Descriptions.ts")
  )
  const descriptionOf = makeDescriptions(types)
  const schemas: Record<string, unknown> = {}

  const schemaOf = (schema: Schema.Top): unknown => {
    const { definitions, schema: written } = Schema.toJsonSchemaDocument(schema)
    for (const [name, definition] of Object.entries(definitions)) schemas[name] = withRefs(definition)
    return withRefs(written)
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
  return {
    openapi: "3.1.0",
    info: {
      title: "doorhook",
      version: "4",
      description: "OAuth 2.0 authorization, and webhook integrations for buildings and tenants."
    },
    servers: [{ url }],
    tags: tags.map((name) => ({ name })),
    paths,
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
