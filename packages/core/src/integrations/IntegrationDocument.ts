/**
 * Integrations as JSON:API documents (interface document, section 2.2; JSON:API 1.1). Writes the resource that clients
 * get and reads the documents that clients send. All problems of a document are reported together.
 *
 * For existing clients, the reader ignores unknown members and merges bindings of the same resource type. It accepts
 * `method` in any case and a null `resource_id` in a binding.
 */
import { Array, Predicate, Result, Schema } from "effect"
import { Detail, details, leastOf } from "../model/Detail.ts"
import type { IntegrationId } from "../model/Ids.ts"
import type { Binding, Configuration, Integration, IntegrationLabels as Labels } from "../model/Integration.ts"
import {
  creatingClient,
  DisabledReason,
  IntegrationAttributes,
  IntegrationLabels,
  maxLabelLengths
} from "../model/Integration.ts"
import type { Problems } from "../model/InvalidInput.ts"
import { isoOf } from "../model/IsoTime.ts"
import type { ResourceType, ResourceTypeTable } from "../model/ResourceType.ts"
import type { Sentence } from "../model/Sentences.ts"
import { english, say } from "../model/Sentences.ts"
import type { UrlProblem } from "../model/UrlPolicy.ts"

/** The JSON:API type of an integration. */
export const integrationType = "integrations"

/** How a document contradicts the request's path. */
export const MismatchReason = Schema.Literals(["wrong_type", "wrong_id", "client_made_id"])
export type MismatchReason = typeof MismatchReason.Type

/** The document does not match the request's path. */
export class DocumentMismatch extends Schema.TaggedError<DocumentMismatch>()("DocumentMismatch", {
  reason: MismatchReason
}) {
  override get message(): string {
    switch (this.reason) {
      case "wrong_type":
        return "The type of the resource must be `integrations`."
      case "wrong_id":
        return "The id of the resource differs from the id in the path."
      case "client_made_id":
        return "The service assigns the id of an integration; leave `id` out."
    }
  }
}

const identified = <Type extends string>(type: Type) => Schema.Struct({ type: Schema.Literal(type), id: Schema.String })

const related = <Type extends string>(type: Type) => Schema.Struct({ data: identified(type) })

/** The client that created the integration; null if it was created without one, for example on doorhook's pages. */
const client = Schema.Struct({ data: Schema.NullOr(identified("clients")) })

/** The resource object of an integration. */
export const IntegrationResource = Schema.Struct({
  type: Schema.Literal(integrationType),
  id: Schema.String,
  attributes: Schema.Struct({
    ...IntegrationAttributes.fields,
    ...IntegrationLabels.fields,
    detail: Detail.annotate({
      description: "`full`, `redacted` (personal members of the data are null) or `thin` (only an id and a link)."
    }),
    status: Schema.Literals(["enabled", "disabled"]),
    disabled_reason: Schema.NullOr(DisabledReason),
    /** ISO 8601 in UTC, like `updated_at`. */
    created_at: Schema.String,
    updated_at: Schema.String
  }),
  relationships: Schema.Union([
    Schema.Struct({ building: related("buildings"), client }),
    Schema.Struct({ tenant: related("tenants"), client })
  ]),
  links: Schema.Struct({ self: Schema.String })
})
export type IntegrationResource = typeof IntegrationResource.Type

/** Returns the resource object of an integration with the URL `self`. It never contains the signing secret. */
export const resourceOf = (integration: Integration, self: string): IntegrationResource => {
  const { scope } = integration
  const owner = String(scope.id)
  const creator = creatingClient(integration)
  const created = { client: { data: creator === null ? null : { type: "clients" as const, id: creator } } }
  return {
    type: integrationType,
    id: String(integration.id),
    attributes: {
      integrator: integration.integrator,
      configuration: integration.configuration,
      bindings: integration.bindings,
      name: integration.name,
      description: integration.description,
      detail: integration.detail,
      status: integration.status,
      disabled_reason: integration.disabled_reason,
      created_at: isoOf(integration.created_at),
      updated_at: isoOf(integration.updated_at)
    },
    relationships:
      scope.type === "building"
        ? { building: { data: { type: "buildings", id: owner } }, ...created }
        : { tenant: { data: { type: "tenants", id: owner } }, ...created },
    links: { self }
  }
}

const member = (value: unknown, name: string): unknown =>
  Predicate.isReadonlyObject(value) ? (value[name] ?? undefined) : undefined

/**
 * Returns how a document contradicts the request: a wrong type, a wrong id, or any id if the integration is new (`id`
 * is null). Null if the document matches. Missing members are not a mismatch.
 */
export const mismatchOf = (document: unknown, id: IntegrationId | null): MismatchReason | null => {
  const data = member(document, "data")
  const type = member(data, "type")
  if (type !== undefined && type !== integrationType) return "wrong_type"
  const given = member(data, "id")
  if (given === undefined) return null
  if (id === null) return "client_made_id"
  // Some clients send the id as a number.
  return given === String(id) || given === id ? null : "wrong_id"
}

/** Returns the URL in a document, even if the rest is invalid; null if there is none. */
export const candidateUrl = (document: unknown): string | null => {
  const url = member(member(member(member(document, "data"), "attributes"), "configuration"), "url")
  return Predicate.isString(url) ? url : null
}

/** What a reader needs in addition to the document. */
export interface ReadContext {
  /** The problem with the document's URL (see `candidateUrl`); null if there is none. */
  readonly urlProblem: UrlProblem | null
  readonly types: ResourceTypeTable
  /** Other names that clients may use for resource types. */
  readonly aliases: Readonly<Record<string, ResourceType>>
  /** Returns the most detail that is allowed for some bindings; without bindings, for those of the existing integration. */
  readonly mostDetail: (bindings?: ReadonlyArray<Binding>) => Detail
}

/** Members of a POST or PUT: all attributes, and optional others. */
export interface IntegrationInput extends IntegrationAttributes, Partial<Labels> {
  readonly detail?: Detail
  readonly status?: Integration["status"]
}

/** Members of a PATCH. */
export interface IntegrationPatch extends Partial<Labels> {
  readonly integrator?: IntegrationAttributes["integrator"]
  readonly configuration?: Partial<Configuration>
  readonly bindings?: ReadonlyArray<Binding>
  readonly detail?: Detail
  readonly status?: Integration["status"]
}

const attributesPointer = "/data/attributes"
const configurationPointer = `${attributesPointer}/configuration`

/**
 * Problems point to the invalid value, or to the parent of a missing one. Codes: `blank` for a missing or empty value,
 * `invalid` for a value of the wrong kind, `inclusion` for a value that is not allowed, `too_long` for a text, and the
 * codes of `UrlPolicy`.
 */
type Read<A> = Result.Result<A, Problems>
/** Reads the document of one type of request. */
export type DocumentReader<A> = (document: unknown, context: ReadContext) => Read<A>

type Members = Readonly<Record<PropertyKey, unknown>>

const problem = (pointer: string, code: string, title: string, detail: string): Read<never> =>
  Result.fail([{ pointer, code, title, detail }])

/** Makes a problem that pages show in their language. */
const saidProblem = (pointer: string, code: string, title: string, said: Sentence): Read<never> =>
  Result.fail([{ pointer, code, title, detail: english(said), said }])

const missing = (parent: string, name: string, expected: string): Read<never> =>
  problem(parent, "blank", "Missing member", `\`${name}\` is missing; it must be ${expected}.`)

const invalid = (pointer: string, expected: string): Read<never> =>
  problem(pointer, "invalid", "Invalid value", `Must be ${expected}.`)

const empty = (pointer: string, expected: string): Read<never> =>
  problem(pointer, "blank", "Empty value", `Must be ${expected}.`)

/** Returns all values, or the problems of all reads. */
const collect = <A>(reads: ReadonlyArray<Read<A>>): Read<ReadonlyArray<A>> => {
  const problems = Array.getFailures(reads).flat()
  return Array.isReadonlyArrayNonEmpty(problems) ? Result.fail(problems) : Result.succeed(Array.getSuccesses(reads))
}

/** Returns all values by name, or the problems of all reads. */
function combine<A extends object>(reads: { readonly [Name in keyof A]: Read<A[Name]> }): Read<A>
function combine(reads: Readonly<Record<string, Read<unknown>>>): Read<unknown> {
  return Result.flatMap(collect(Object.values(reads)), () => Result.all(reads))
}

/** Reads an optional member. */
const optional = <A>(value: unknown, read: () => Read<A>): Read<A | undefined> =>
  value === undefined ? Result.succeed(undefined) : read()

const objectMember = (parent: Members, base: string, name: string): Read<Members> => {
  const value = parent[name]
  if (value === undefined) return missing(base, name, "an object")
  return Predicate.isReadonlyObject(value) ? Result.succeed(value) : invalid(`${base}/${name}`, "an object")
}

/**
 * Maximum length of a list, well above that of any valid list. A longer list is reported as one problem, because a
 * problem per element could add up to megabytes.
 */
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

/** Reads a member whose value must be one of the given words. */
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

/** Reads the detail, which the host may limit. */
const readDetail = (attributes: Members, bindings: Read<ReadonlyArray<Binding> | undefined>, context: ReadContext) =>
  Result.flatMap(wordMember(attributes, attributesPointer, "detail", details), (detail) => {
    const most = Result.isFailure(bindings) ? "full" : context.mostDetail(bindings.success)
    return leastOf(detail, most) === detail
      ? Result.succeed(detail)
      : saidProblem(`${attributesPointer}/detail`, "inclusion", "Value not allowed", say("detail_too_much", { most }))
  })

/**
 * Reads a text that describes the integration to people; undefined keeps the current one. Null or a blank text removes
 * it. Control characters are refused, because lists show a name on one line. A description may have several lines.
 */
const readLabel = (attributes: Members, name: keyof Labels, of: RegExp): Read<string | null | undefined> => {
  const value = attributes[name]
  const pointer = `${attributesPointer}/${name}`
  if (value === undefined || value === null) return Result.succeed(value)
  if (!Predicate.isString(value)) return invalid(pointer, "a text or null")
  const text = value.trim()
  const most = maxLabelLengths[name]
  if (globalThis.Array.from(text).length > most)
    return saidProblem(pointer, "too_long", "Too long", say("text_too_long", { most }))
  return of.test(text) && text.isWellFormed()
    ? Result.succeed(text === "" ? null : text)
    : saidProblem(pointer, "invalid", "Invalid value", say("text_characters"))
}

const readLabels = (attributes: Members): Read<Partial<Labels>> =>
  Result.map(
    combine({
      name: readLabel(attributes, "name", /^\P{Cc}*$/u),
      description: readLabel(attributes, "description", /^[\P{Cc}\t\r\n]*$/u)
    }),
    ({ description, name }) => ({
      ...(name !== undefined && { name }),
      ...(description !== undefined && { description })
    })
  )

const readUrl = (configuration: Members, urlProblem: UrlProblem | null): Read<string> => {
  const { url } = configuration
  const expected = "an absolute http or https URL"
  const pointer = `${configurationPointer}/url`
  if (url === undefined) return missing(configurationPointer, "url", expected)
  if (!Predicate.isString(url)) return invalid(pointer, expected)
  return urlProblem === null
    ? Result.succeed(url)
    : saidProblem(pointer, urlProblem.code, "Invalid URL", urlProblem.said)
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
  // If the type is unknown, the actions of all types are accepted.
  const allowed = definition?.actions ?? [...new Set([...types.values()].flatMap(({ actions }) => actions))]
  const actions = Result.flatMap(listMember(value, base, "actions", "action"), (elements) =>
    collect(elements.map((element, index) => word(element, `${base}/actions/${index}`, allowed)))
  )
  // Ignoring a filter would send more events than the client requested.
  const resource_id = value["resource_id"] ?? null
  const filter =
    resource_id === null
      ? Result.void
      : invalid(`${base}/resource_id`, "null: a binding applies to all resources of its type")
  return combine({ resource_type, actions, filter })
}

/** Merges bindings of the same resource type and their actions, in the order of first mention. */
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

/** Reads the resource of a document. `mismatchOf` checks its type. */
const readData = (document: unknown): Read<Members> =>
  Predicate.isReadonlyObject(document)
    ? objectMember(document, "", "data")
    : invalid("", "an object with a member `data`")

const readType = (data: Members): Read<unknown> =>
  Predicate.isNullish(data["type"]) ? missing("/data", "type", quote([integrationType])) : Result.succeed(data["type"])

/** Reads the document of a POST or PUT, in which only the labels and the status are optional. */
export const readAttributes = (document: unknown, context: ReadContext): Read<IntegrationInput> =>
  Result.flatMap(readData(document), (data) => {
    const attributes = Result.flatMap(objectMember(data, "/data", "attributes"), (members) => {
      const bindings = readBindings(members, context)
      return combine({
        integrator: readIntegrator(members),
        configuration: readConfiguration(members, context),
        bindings,
        labels: readLabels(members),
        detail: optional(members["detail"], () => readDetail(members, bindings, context)),
        status: optional(members["status"], () => readStatus(members))
      })
    })
    return Result.map(
      combine({ type: readType(data), attributes }),
      ({ attributes: { detail, labels, status, ...all } }) => ({
        ...all,
        ...labels,
        ...(detail !== undefined && { detail }),
        ...(status !== undefined && { status })
      })
    )
  })

/** Reads the document of a PATCH. Every member is optional. */
export const readChanges = (document: unknown, context: ReadContext): Read<IntegrationPatch> =>
  Result.flatMap(readData(document), (data) => {
    const changes = Result.flatMap(
      optional(data["attributes"], () => objectMember(data, "/data", "attributes")),
      (members = {}) => {
        const bindings = optional(members["bindings"], () => readBindings(members, context))
        return combine({
          integrator: optional(members["integrator"], () => readIntegrator(members)),
          configuration: optional(members["configuration"], () => readConfigurationChanges(members, context)),
          bindings,
          labels: readLabels(members),
          detail: optional(members["detail"], () => readDetail(members, bindings, context)),
          status: optional(members["status"], () => readStatus(members))
        })
      }
    )
    return Result.map(
      combine({ type: readType(data), changes }),
      ({ changes: { integrator, configuration, bindings, detail, labels, status } }) => ({
        ...labels,
        ...(detail !== undefined && { detail }),
        ...(integrator !== undefined && { integrator }),
        ...(configuration !== undefined && { configuration }),
        ...(bindings !== undefined && { bindings }),
        ...(status !== undefined && { status })
      })
    )
  })
