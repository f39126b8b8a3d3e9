/**
 * The catalogue of resource types: what receivers can get from a service. It is public, and also becomes the webhooks of
 * the OpenAPI description and the TypeScript types of receivers.
 */
import { Schema } from "effect"
import { jsonSchemaOf } from "./DataSchema.ts"
import type { ResourceTypeDefinition, ResourceTypeTable } from "./ResourceType.ts"
import { callEndType, labelOf } from "./ResourceType.ts"

/** A resource type in the catalogue. */
export const CatalogueEntry = Schema.Struct({
  type: Schema.Literal("resource_types"),
  /** The name of the type. */
  id: Schema.String,
  attributes: Schema.Struct({
    title: Schema.String,
    description: Schema.NullOr(Schema.String),
    actions: Schema.Array(Schema.String),
    lifetime_seconds: Schema.NullOr(Schema.Finite).annotate({
      description: "How long an event is sent after its publication; null without a limit."
    }),
    priority: Schema.Literals(["high", "normal"]),
    schema: Schema.Record(Schema.String, Schema.Unknown).annotate({
      description: "JSON Schema 2020-12 of the event's `data`."
    }),
    personal: Schema.Array(Schema.String).annotate({
      description: "Members of `data` that are null in redacted events."
    }),
    example: Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown))
  })
})
export type CatalogueEntry = typeof CatalogueEntry.Type

const descriptions: ReadonlyMap<string, string> = new Map([
  ["call", "Somebody rings at a door and waits for an answer."],
  ["access_log", "Somebody opened a door, or was refused."],
  [callEndType, "The ringing of a call has ended: stop ringing, and ring nobody if the call arrives later."]
])

const entryOf = (id: string, definition: ResourceTypeDefinition): CatalogueEntry => ({
  type: "resource_types",
  id,
  attributes: {
    title: definition.title ?? labelOf(id),
    description: definition.description ?? descriptions.get(id) ?? null,
    actions: definition.actions,
    lifetime_seconds: definition.retry.lifetime === null ? null : definition.retry.lifetime / 1_000,
    priority: definition.urgent ? "high" : "normal",
    schema: jsonSchemaOf(definition.schema),
    personal: definition.personal ?? [],
    example: definition.example ?? null
  }
})

/** Returns the catalogue of a service, in the order of its types. */
export const entriesOf = (types: ResourceTypeTable): ReadonlyArray<CatalogueEntry> =>
  [...types].map(([id, definition]) => entryOf(id, definition))
