/**
 * `doorhook types`: the resource types of a service or a configuration, as a table, JSON or TypeScript for receivers.
 */
import { Catalogue, columns, CommandFailure, DurationText } from "@doorhook/core"
import { Console, Effect, Option, Predicate, Schema, String } from "effect"
import { Command, Flag } from "effect/cli"
import { resourceTypesOf } from "../config/EngineConfig.ts"
import { databaseFlags, deliveryConfigOf, deliveryFlags } from "./deliveryFlags.ts"
import { isWebUrl, jsonFlag, printJson, printLine, whyNoAnswer } from "./operatorApi.ts"

type Json = Readonly<Record<string, unknown>>

const listOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])
const objectOf = (value: unknown): Json => (Predicate.isReadonlyObject(value) ? value : {})

const commentOf = (text: unknown): string =>
  Predicate.isString(text) && text !== "" ? `/** ${text.replaceAll(/\s+/g, " ").replaceAll("*/", "* /")} */\n` : ""

const indented = (text: string): string => text.replaceAll(/^(?=.)/gm, "  ")

const nameOf = (words: string): string =>
  words
    .split(/[^a-zA-Z0-9]+/)
    .map(String.capitalize)
    .join("")

const keyOf = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name))

/** Joins the alternatives of a value. A text that is not one of the known words keeps them as suggestions. */
const union = (types: ReadonlyArray<string>): string => {
  const distinct = [...new Set(types)]
  const hasWords = distinct.some((type) => type.startsWith('"'))
  return distinct.map((type) => (type === "string" && hasWords ? "(string & {})" : type)).join(" | ")
}

const scalars: Readonly<Record<string, string>> = {
  string: "string",
  number: "number",
  integer: "number",
  boolean: "boolean",
  null: "null"
}

/** Names of declarations. Names that different types or definitions share get a number: `Door1Data`, `Door1Data_2`. */
class Names {
  readonly #taken = new Set(["WebhookBody", "WebhookEvent"])

  of(wanted: string): string {
    let name = wanted
    for (let number = 2; this.#taken.has(name); number++) name = `${wanted}_${number}`
    this.#taken.add(name)
    return name
  }
}

/** Writes JSON Schema as TypeScript. Keywords without a counterpart in TypeScript leave the type as wide as it is. */
class Writer {
  /** The names of the schema's definitions. */
  readonly #definitions: ReadonlyMap<string, string>

  constructor(definitions: ReadonlyMap<string, string>) {
    this.#definitions = definitions
  }

  typeOf(schema: unknown): string {
    if (!Predicate.isReadonlyObject(schema)) return schema === false ? "never" : "unknown"
    const { $ref, const: constant, enum: words, type } = schema
    if (Predicate.isString($ref)) return this.#definitions.get($ref.replace("#/$defs/", "")) ?? "unknown"
    if ("const" in schema) return JSON.stringify(constant)
    if (Array.isArray(words)) return union(words.map((word) => JSON.stringify(word)))
    const alternatives = [...listOf(schema["anyOf"]), ...listOf(schema["oneOf"])]
    const parts = [
      ...(alternatives.length > 0 ? [union(alternatives.map((one) => this.typeOf(one)))] : []),
      ...listOf(schema["allOf"]).map((one) => this.typeOf(one)),
      ...(type === undefined && schema["properties"] === undefined
        ? []
        : [union((Array.isArray(type) ? type : [type ?? "object"]).map((one) => this.#plain(one, schema)))])
    ].filter((part) => part !== "unknown")
    return parts.length > 1 ? parts.map((part) => `(${part})`).join(" & ") : (parts[0] ?? "unknown")
  }

  #plain(type: unknown, schema: Json): string {
    if (type === "array") return this.#array(schema)
    if (type === "object") return this.#object(schema)
    return Predicate.isString(type) ? (scalars[type] ?? "unknown") : "unknown"
  }

  #array({ items, prefixItems }: Json): string {
    if (!Array.isArray(prefixItems)) return `ReadonlyArray<${this.typeOf(items)}>`
    const rest = items === false ? "" : `, ...ReadonlyArray<${this.typeOf(items)}>`
    return `readonly [${prefixItems.map((one) => this.typeOf(one)).join(", ")}${rest}]`
  }

  #object({ additionalProperties, properties, required }: Json): string {
    const members = Object.entries(objectOf(properties)).map(([name, schema]) => {
      const isRequired = listOf(required).includes(name)
      return `${commentOf(objectOf(schema)["description"])}readonly ${keyOf(name)}${isRequired ? "" : "?"}: ${this.typeOf(schema)}`
    })
    if (members.length > 0) return `{\n${indented(members.join("\n"))}\n}`
    return `Readonly<Record<string, ${this.typeOf(additionalProperties)}>>`
  }

  /** Writes the data of a resource type, and the definitions that it refers to. */
  declarations(data: string, schema: Json): string {
    const definitions = objectOf(schema["$defs"])
    const all = [
      [data, schema] as const,
      ...Array.from(this.#definitions, ([own, name]) => [name, definitions[own]] as const)
    ]
    return all.map(([name, one]) => `export type ${name} = ${this.typeOf(one)}\n`).join("\n")
  }
}

/** Writes the types of a receiver's requests. */
const typescriptOf = (entries: ReadonlyArray<Catalogue.CatalogueEntry>): string => {
  const names = new Names()
  const named = entries.map(({ attributes, id }) => {
    const prefix = nameOf(id)
    return { attributes, id, prefix, event: names.of(`${prefix}Event`), data: names.of(`${prefix}Data`) }
  })
  const events = named.map(({ attributes, data, event: name, id, prefix }) => {
    const about = [attributes.title, ...(attributes.description === null ? [] : [attributes.description])].join(": ")
    const definitions = Object.keys(objectOf(attributes.schema["$defs"]))
    const writer = new Writer(new Map(definitions.map((own) => [own, names.of(`${prefix}${nameOf(own)}`)])))
    const event = `export interface ${name} {
  readonly resource_type: ${JSON.stringify(id)}
  readonly action: ${union(attributes.actions.map((action) => JSON.stringify(action)))}
  readonly data: ${data}
}
`
    return `${commentOf(about)}${event}\n${writer.declarations(data, attributes.schema)}`
  })
  return `// Types of the webhooks that a receiver gets. Made by \`doorhook types --typescript\`.

/** The body of a request. */
export interface WebhookBody {
  readonly event: WebhookEvent
}

/** Acknowledge events of other types, too: a service may add types. */
export type WebhookEvent = ${named.map(({ event }) => event).join(" | ")}

${events.join("\n")}`
}

const decode = Schema.decodeUnknownOption(Schema.Struct({ data: Schema.Array(Catalogue.CatalogueEntry) }))

/** Reads the catalogue of a running service, which needs no token. */
const fetchEntries = Effect.fnUntraced(function* (url: string) {
  if (!isWebUrl(url)) {
    return yield* CommandFailure.usage(`--url: must be an http or https URL, not ${JSON.stringify(url)}.`)
  }
  const address = `${url.replace(/\/+$/, "")}/v4/resource_types`
  const body = yield* Effect.tryPromise({
    try: async (): Promise<unknown> => {
      const response = await fetch(address, { headers: { accept: "application/json" } })
      return response.ok ? JSON.parse(await response.text()) : null
    },
    catch: (error) =>
      new CommandFailure({ exitCode: 1, message: `No answer from ${address}: ${whyNoAnswer({ url }, error)}` })
  })
  return yield* Option.match(decode(body), {
    onNone: () =>
      Effect.fail(new CommandFailure({ exitCode: 1, message: `${address} is not the catalogue of a doorhook.` })),
    onSome: ({ data }) => Effect.succeed(data)
  })
})

export const typesCommand = Command.make(
  "types",
  {
    config: databaseFlags.config,
    callEnd: deliveryFlags.callEnd,
    url: Flag.String("url").pipe(
      Flag.withDescription("Show the types of the service at this URL (default: the built-in and configured types)"),
      Flag.optional
    ),
    typescript: Flag.Boolean("typescript").pipe(
      Flag.withDescription("Print TypeScript types for receivers"),
      Flag.withDefault(false)
    ),
    json: jsonFlag("Print the catalogue as JSON")
  },
  Effect.fnUntraced(function* ({ json, typescript, url, ...given }) {
    if (json && typescript) return yield* CommandFailure.usage("Give either --typescript or --json.")
    const entries = Option.isSome(url)
      ? yield* fetchEntries(url.value)
      : Catalogue.entriesOf(yield* Effect.fromResult(resourceTypesOf(yield* deliveryConfigOf(given))))
    if (typescript) return yield* Console.log(typescriptOf(entries).trimEnd())
    if (json) return yield* printJson({ data: entries })
    const rows = entries.map(({ attributes, id }) => [
      id,
      attributes.title,
      attributes.actions.join(", "),
      attributes.lifetime_seconds === null ? "no limit" : DurationText.format(attributes.lifetime_seconds * 1_000),
      attributes.priority
    ])
    for (const line of columns([["type", "title", "actions", "lifetime", "priority"], ...rows])) yield* printLine(line)
  })
).pipe(
  Command.withDescription("Show the resource types that receivers can get, also as TypeScript"),
  Command.withExamples([
    {
      command: "doorhook types --typescript --url https://doors.example > webhooks.ts",
      description: "Types for a receiver of this service"
    }
  ])
)
