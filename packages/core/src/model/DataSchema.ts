/**
 * Schemas of events' data: JSON Schema 2020-12, as hosts write it and the catalogue publishes it, or the schemas of the
 * built-in types. Effect's importer of JSON Schema checks published data, so no validator is installed.
 */
import { JsonSchema, Predicate, Result, Schema, SchemaRepresentation } from "effect"
import type { Problem } from "./InvalidInput.ts"
import { schemaProblems } from "./InvalidInput.ts"
import type { JsonText } from "./JsonText.ts"

type Json = Readonly<Record<string, unknown>>

/** JSON Schema 2020-12, or a schema that it is derived from. */
export type DataSchema = Json | Schema.Top

/** How published data is compared with the schema of its type. */
export interface DataCheck {
  readonly mode: "warn" | "refuse"
  /** Returns the members that don't fit, with pointers into the data. Never quotes the data. */
  readonly problemsIn: (data: JsonText) => ReadonlyArray<Problem>
}

const dialect = "https://json-schema.org/draft/2020-12/schema"

const typeNames = ["null", "boolean", "object", "array", "number", "string", "integer"]

/** Fails for a misspelled type, which the importer would ignore. */
const checkTypes = ({ type = [] }: JsonSchema.JsonSchema): void => {
  const wrong = [type].flat().find((name) => !typeNames.some((known) => known === name))
  if (wrong !== undefined) throw new Error(`${JSON.stringify(wrong)} is not a type; use ${typeNames.join(", ")}`)
}

/**
 * Changes each schema in a JSON Schema. Ids have up to 64 bits, but Effect limits integers to those that JavaScript
 * represents exactly.
 */
const withLargeIntegers = (schema: JsonSchema.JsonSchema): JsonSchema.JsonSchema => {
  checkTypes(schema)
  const { type, ...others } = schema
  if (type === "integer") return { multipleOf: 1, ...others, type: "number" }
  if (!Array.isArray(type) || !type.includes("integer")) return schema
  return { anyOf: type.map((one: unknown) => withLargeIntegers({ ...others, type: one })) }
}

const withoutSafeBounds = (_: string, value: unknown): unknown =>
  Predicate.isNumber(value) && Math.abs(value) === Number.MAX_SAFE_INTEGER ? undefined : value

/** Returns a schema as JSON Schema 2020-12, in one self-contained document. Without a schema: any object. */
export const jsonSchemaOf = (given: DataSchema = { type: "object" }): Json => {
  if (!Schema.isSchema(given)) return { $schema: dialect, ...given }
  const { definitions, schema } = Schema.toJsonSchemaDocument(given)
  const whole = { $schema: dialect, ...schema, ...(Object.keys(definitions).length > 0 && { $defs: definitions }) }
  return JSON.parse(JSON.stringify(whole, withoutSafeBounds))
}

/** Whether a schema needs no services. Those imported from JSON Schema never do. */
const isImported = (schema: Schema.Top): schema is Schema.Top & { readonly DecodingServices: never } =>
  Schema.isSchema(schema)

/** Returns a function that finds the problems of data, or why the schema can't be checked. */
export const checkerOf = (given: DataSchema): Result.Result<DataCheck["problemsIn"], string> =>
  Result.try({
    try: () => {
      const document = JsonSchema.fromSchemaDraft2020_12(jsonSchemaOf(given))
      // The host wrote the patterns, so they are trusted.
      const options = { onEnter: withLargeIntegers, patterns: "apply" } as const
      const imported = SchemaRepresentation.fromJsonSchemaDocument(document, options)
      if (!isImported(imported)) throw new Error("it needs services")
      const decode = Schema.decodeUnknownResult(imported, { errors: "all", onExcessProperty: "error" })
      return (data) =>
        Result.match(decode(JSON.parse(data)), { onSuccess: () => [], onFailure: (error) => schemaProblems(error) })
    },
    catch: (cause) => (Predicate.isError(cause) ? cause.message.replaceAll(/\s+/g, " ") : String(cause))
  })
