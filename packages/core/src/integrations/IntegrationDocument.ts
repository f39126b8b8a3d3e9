/**
 * An integration as a JSON:API document (document section 2.2, JSON:API 1.1): the resource that clients get, and the reader of
 * what they send, which finds every problem at once.
 *
 * The reader ignores unknown members, merges resource types named twice, takes `method` in any case and a binding's
 * `resource_id` of null: clients in the field send all of these.
 */
import { Array, Predicate, Result, Schema } from "effect"
import type { IntegrationId } from "../model/Ids.ts"
import type { Binding, Configuration, Integration } from "../model/Integration.ts"
import { DisabledReason, IntegrationAttributes } from "../model/Integration.ts"
import type { Problems } from "../model/InvalidInput.ts"
import { isoOf } from "../model/IsoTime.ts"
import type { ResourceType, ResourceTypeTable } from "../model/ResourceType.ts"
import { english } from "../model/Sentences.ts"
import type { UrlProblem } from "../model/UrlPolicy.ts"

/** The JSON:API type of an integration. */
export const integrationType = "integrations"

/** How a document contradicts the request's path. */
export const MismatchReason = Schema.Literals(["wrong_type", "wrong_id", "client_made_id"])
export type MismatchReason = typeof MismatchReason.Type

/** The document is about something else than the request. */
export class DocumentMismatch extends Schema.TaggedError<DocumentMismatch>()("DocumentMismatch", {
  reason: MismatchReason
}) {
  override get message(): string {
    switch (this.reason) {
      case "wrong_type":
        return "The type of the resource must be `integrations`."
      case "wrong_id":
        return "The id of the resource is not the one in the path."
      case "client_made_id":
        return "The id of an integration is made by the service; leave `id` out."
    }
  }
}

const related = <Type extends string>(type: Type) =>
  Schema.Struct({ data: Schema.Struct({ type: Schema.Literal(type), id: Schema.String }) })

/** The resource object of an integration. */
export const IntegrationResource = Schema.Struct({
  type: Schema.Literal(integrationType),
  id: Schema.String,
  attributes: Schema.Struct({
    ...IntegrationAttributes.fields,
    status: Schema.Literals(["enabled", "disabled"]),
    disabled_reason: Schema.NullOr(DisabledReason),
    /** ISO 8601 UTC, as `updated_at`. */
    created_at: Schema.String,
    updated_at: Schema.String
  }),
  relationships: Schema.Union([
    Schema.Struct({ building: related("buildings") }),
    Schema.Struct({ tenant: related("tenants") })
  ]),
  links: Schema.Struct({ self: Schema.String })
})
export type IntegrationResource = typeof IntegrationResource.Type

/** The resource object of an integration whose own URL is `self`. It never has the signing secret. */
export const resourceOf = (integration: Integration, self: string): IntegrationResource => {
  const { scope } = integration
  const owner = String(scope.id)
  return {
    type: integrationType,
    id: String(integration.id),
    attributes: {
      integrator: integration.integrator,
      configuration: integration.configuration,
      bindings: integration.bindings,
      status: integration.status,
      disabled_reason: integration.disabled_reason,
      created_at: isoOf(integration.created_at),
      updated_at: isoOf(integration.updated_at)
    },
    relationships:
      scope.type === "building"
        ? { building: { data: { type: "buildings", id: owner } } }
        : { tenant: { data: { type: "tenants", id: owner } } },
    links: { self }
  }
}

const member = (value: unknown, name: string): unknown =>
  Predicate.isReadonlyObject(value) ? (value[name] ?? undefined) : undefined

/**
 * How a document contradicts the integration that the request is for (null: a new one): another type, another id, or an id
 * where the service makes one. Null if it does not; missing members are no mismatch.
 */
export const mismatchOf = (document: unknown, id: IntegrationId | null): MismatchReason | null => {
  const data = member(document, "data")
  const type = member(data, "type")
  if (type !== undefined && type !== integrationType) return "wrong_type"
  const given = member(data, "id")
  if (given === undefined) return null
  if (id === null) return "client_made_id"
  // Some clients send the number that the path has.
  return given === String(id) || given === id ? null : "wrong_id"
}

/** The URL that a document sets, whether or not the rest is valid; null if it sets none. */
export const candidateUrl = (document: unknown): string | null => {
  const url = member(member(member(member(document, "data"), "attributes"), "configuration"), "url")
  return Predicate.isString(url) ? url : null
}

/** Input of a reader besides the document. */
export interface ReadContext {
  /** The problem with the URL that `candidateUrl` finds; null if there is none. */
  readonly urlProblem: UrlProblem | null
  readonly types: ResourceTypeTable
  /** Other names that clients may use for resource types. */
  readonly aliases: Readonly<Record<string, ResourceType>>
}

/** Members of a POST or PUT: all attributes, and optionally a status. */
export interface IntegrationInput extends IntegrationAttributes {
  readonly status?: Integration["status"]
}

/** Members of a PATCH. */
export interface IntegrationPatch {
  readonly integrator?: IntegrationAttributes["integrator"]
  readonly configuration?: Partial<Configuration>
  readonly bindings?: ReadonlyArray<Binding>
  readonly status?: Integration["status"]
}

const attributesPointer = "/data/attributes"
const configurationPointer = `${attributesPointer}/configuration`

/**
 * Pointers lead to a value that the document has: the wrong one, or the parent of a missing one. The code is `blank` if it is missing
 * or empty, `invalid` if of a wrong kind, `inclusion` if not allowed, or a code of `UrlPolicy`.
 */
type Read<A> = Result.Result<A, Problems>
/** Reads what one kind of request carries. */
export type DocumentReader<A> = (document: unknown, context: ReadContext) => Read<A>

type Members = Readonly<Record<PropertyKey, unknown>>

const problem = (pointer: string, code: string, title: string, detail: string): Read<never> =>
  Result.fail([{ pointer, code, title, detail }])

const missing = (parent: string, name: string, expected: string): Read<never> =>
  problem(parent, "blank", "Missing member", `\`${name}\` is missing; it must be ${expected}.`)

const invalid = (pointer: string, expected: string): Read<never> =>
  problem(pointer, "invalid", "Invalid value", `Must be ${expected}.`)

const empty = (pointer: string, expected: string): Read<never> =>
  problem(pointer, "blank", "Empty value", `Must be ${expected}.`)

/** All of the values, or the problems of all of them. */
const collect = <A>(reads: ReadonlyArray<Read<A>>): Read<ReadonlyArray<A>> => {
  const problems = Array.getFailures(reads).flat()
  return Array.isReadonlyArrayNonEmpty(problems) ? Result.fail(problems) : Result.succeed(Array.getSuccesses(reads))
}

/** All of the values by name, or the problems of all of them. */
function combine<A extends object>(reads: { readonly [Name in keyof A]: Read<A[Name]> }): Read<A>
function combine(reads: Readonly<Record<string, Read<unknown>>>): Read<unknown> {
  return Result.flatMap(collect(Object.values(reads)), () => Result.all(reads))
}

/** Reads a member that need not be there. */
const optional = <A>(value: unknown, read: () => Read<A>): Read<A | undefined> =>
  value === undefined ? Result.succeed(undefined) : read()

const objectMember = (parent: Members, base: string, name: string): Read<Members> => {
  const value = parent[name]
  if (value === undefined) return missing(base, name, "an object")
  return Predicate.isReadonlyObject(value) ? Result.succeed(value) : invalid(`${base}/${name}`, "an object")
}

/** No valid list is nearly as long. Without a limit one request could cause megabytes of problems. */
const maxElements = 20

const listMember = (parent: Members, base: string, name: string, of: string): Read<ReadonlyArray<unknown>> => {
  const value = parent[name]
  const expected = `a list of at least one ${of}`
  if (value === undefined) return missing(base, name, expected)
  if (!globalThis.Array.isArray(value)) return invalid(`${base}/${name}`, expected)
  if (value.length > maxElements) return invalid(`${base}/${name}`, `a list of at most ${maxElements} ${of}s`)
  return value.length === 0 ? empty(`${base}/${name}`, expected) : Result.succeed(value)
}

const quote = (words: ReadonlyArray<string>): string => words.map((word) => `\`${word}\``).join(" or ")

const word = <Word extends string>(value: unknown, pointer: string, words: ReadonlyArray<Word>): Read<Word> => {
  const found = words.find((candidate) => candidate === value)
  return found === undefined
    ? problem(pointer, "inclusion", "Value not allowed", `Must be ${quote(words)}.`)
    : Result.succeed(found)
}

/** A member that is one of a few words. */
const wordMember = <Word extends string>(
  parent: Members,
  base: string,
  name: string,
  words: ReadonlyArray<Word>,
  normalize: (text: string) => string = (text) => text
): Read<Word> => {
  const value = parent[name]
  if (value === undefined) return missing(base, name, quote(words))
  return word(Predicate.isString(value) ? normalize(value) : value, `${base}/${name}`, words)
}

const readIntegrator = (attributes: Members) => wordMember(attributes, attributesPointer, "integrator", ["webhook"])

const readStatus = (attributes: Members) => wordMember(attributes, attributesPointer, "status", ["enabled", "disabled"])

const readUrl = (configuration: Members, urlProblem: UrlProblem | null): Read<string> => {
  const { url } = configuration
  const expected = "an absolute http or https URL"
  const pointer = `${configurationPointer}/url`
  if (url === undefined) return missing(configurationPointer, "url", expected)
  if (!Predicate.isString(url)) return invalid(pointer, expected)
  return urlProblem === null
    ? Result.succeed(url)
    : Result.fail([
        {
          pointer,
          code: urlProblem.code,
          title: "Invalid URL",
          detail: english(urlProblem.said),
          said: urlProblem.said
        }
      ])
}

const readMethod = (configuration: Members) =>
  wordMember(configuration, configurationPointer, "method", ["post"], (text) => text.toLowerCase())

const readConfiguration = (attributes: Members, context: ReadContext): Read<Configuration> =>
  Result.flatMap(objectMember(attributes, attributesPointer, "configuration"), (configuration) =>
    combine({ url: readUrl(configuration, context.urlProblem), method: readMethod(configuration) })
  )

const readConfigurationChanges = (attributes: Members, context: ReadContext): Read<Partial<Configuration>> =>
  Result.flatMap(objectMember(attributes, attributesPointer, "configuration"), (configuration) =>
    Result.map(
      combine({
        url: optional(configuration["url"], () => readUrl(configuration, context.urlProblem)),
        method: optional(configuration["method"], () => readMethod(configuration))
      }),
      ({ url, method }) => ({ ...(url !== undefined && { url }), ...(method !== undefined && { method }) })
    )
  )

const readBinding = (value: unknown, base: string, context: ReadContext): Read<Binding> => {
  if (!Predicate.isReadonlyObject(value)) return invalid(base, "an object")
  const { types } = context
  const resource_type = wordMember(value, base, "resource_type", [...types.keys()], (name) =>
    Object.hasOwn(context.aliases, name) ? (context.aliases[name] ?? name) : name
  )
  const definition = Result.isSuccess(resource_type) ? types.get(resource_type.success) : undefined
  // Under an unknown type, actions of any type are accepted.
  const allowed = definition?.actions ?? [...new Set([...types.values()].flatMap(({ actions }) => actions))]
  const actions = Result.flatMap(listMember(value, base, "actions", "action"), (elements) =>
    collect(elements.map((element, index) => word(element, `${base}/actions/${index}`, allowed)))
  )
  // To ignore a filter would send more than the client wants.
  const resource_id = value["resource_id"] ?? null
  const filter =
    resource_id === null
      ? Result.void
      : invalid(`${base}/resource_id`, "null: a binding is to all resources of its type")
  return combine({ resource_type, actions, filter })
}

/** One binding for each resource type, in the order of first mention, with the actions of all that name it. */
const mergeBindings = (bindings: ReadonlyArray<Binding>): ReadonlyArray<Binding> => {
  const merged = new Map<ResourceType, ReadonlySet<Binding["actions"][number]>>()
  for (const { resource_type, actions } of bindings) {
    merged.set(resource_type, new Set([...(merged.get(resource_type) ?? []), ...actions]))
  }
  return [...merged].map(([resource_type, actions]) => ({ resource_type, actions: [...actions] }))
}

const readBindings = (attributes: Members, context: ReadContext): Read<ReadonlyArray<Binding>> =>
  Result.flatMap(listMember(attributes, attributesPointer, "bindings", "binding"), (elements) =>
    Result.map(
      collect(
        elements.map((element, index) => readBinding(element, `${attributesPointer}/bindings/${index}`, context))
      ),
      mergeBindings
    )
  )

/** The resource of a document. A wrong type is found by `mismatchOf`. */
const readData = (document: unknown): Read<Members> =>
  Predicate.isReadonlyObject(document)
    ? objectMember(document, "", "data")
    : invalid("", "an object with a member `data`")

const readType = (data: Members): Read<unknown> =>
  Predicate.isNullish(data["type"]) ? missing("/data", "type", quote([integrationType])) : Result.succeed(data["type"])

/** Reads the document of a POST or PUT, in which only the status is optional. */
export const readAttributes = (document: unknown, context: ReadContext): Read<IntegrationInput> =>
  Result.flatMap(readData(document), (data) => {
    const attributes = Result.flatMap(objectMember(data, "/data", "attributes"), (members) =>
      combine({
        integrator: readIntegrator(members),
        configuration: readConfiguration(members, context),
        bindings: readBindings(members, context),
        status: optional(members["status"], () => readStatus(members))
      })
    )
    return Result.map(combine({ type: readType(data), attributes }), ({ attributes: { status, ...all } }) => ({
      ...all,
      ...(status !== undefined && { status })
    }))
  })

/** Reads the document of a PATCH. Every member is optional. */
export const readChanges = (document: unknown, context: ReadContext): Read<IntegrationPatch> =>
  Result.flatMap(readData(document), (data) => {
    const changes = Result.flatMap(
      optional(data["attributes"], () => objectMember(data, "/data", "attributes")),
      (members = {}) =>
        combine({
          integrator: optional(members["integrator"], () => readIntegrator(members)),
          configuration: optional(members["configuration"], () => readConfigurationChanges(members, context)),
          bindings: optional(members["bindings"], () => readBindings(members, context)),
          status: optional(members["status"], () => readStatus(members))
        })
    )
    return Result.map(
      combine({ type: readType(data), changes }),
      ({ changes: { integrator, configuration, bindings, status } }) => ({
        ...(integrator !== undefined && { integrator }),
        ...(configuration !== undefined && { configuration }),
        ...(bindings !== undefined && { bindings }),
        ...(status !== undefined && { status })
      })
    )
  })
