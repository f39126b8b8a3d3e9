/**
 * Reads what a client says about an integration, and finds every problem with it at once.
 *
 * Unknown members are ignored. Resource types named twice are merged, `method` may be in any case, and a binding's
 * `resource_id` may be null: clients in the field send all of these.
 */
import { Array, Predicate, Result } from "effect"
import type { UrlProblem } from "../rules/UrlPolicy.ts"
import type { Binding, Configuration, Integration, IntegrationAttributes } from "./Integration.ts"
import { integrationType } from "./IntegrationDocument.ts"
import type { DocumentProblem } from "./IntegrationDocument.ts"
import type { ResourceType, ResourceTypeTable } from "./ResourceType.ts"

/** What a reader must know besides the document. */
export interface ReadContext {
  /** What is wrong with the URL that `candidateUrl` finds; null when nothing is. */
  readonly urlProblem: UrlProblem | null
  readonly types: ResourceTypeTable
  /** Other names that clients may use for resource types. */
  readonly aliases: Readonly<Record<string, ResourceType>>
}

/** What a POST or a PUT carries: all attributes, and the status where one is wanted. */
export interface WrittenIntegration extends IntegrationAttributes {
  readonly status?: Integration["status"]
}

/** The members that a PATCH carries. */
export interface IntegrationChanges {
  readonly integrator?: IntegrationAttributes["integrator"]
  readonly configuration?: Partial<Configuration>
  readonly bindings?: ReadonlyArray<Binding>
  readonly status?: Integration["status"]
}

const attributesPointer = "/data/attributes"
const configurationPointer = `${attributesPointer}/configuration`

type Read<A> = Result.Result<A, ReadonlyArray<DocumentProblem>>
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
  return problems.length > 0 ? Result.fail(problems) : Result.succeed(Array.getSuccesses(reads))
}

/** All of the values by name, or the problems of all of them. */
function gather<A extends object>(reads: { readonly [Name in keyof A]: Read<A[Name]> }): Read<A>
function gather(reads: Readonly<Record<string, Read<unknown>>>): Read<unknown> {
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

/** Far more than there is to say; without a limit one request could ask for megabytes of problems. */
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
    : problem(pointer, urlProblem.code, "Invalid URL", `The URL ${urlProblem.message}.`)
}

const readMethod = (configuration: Members) =>
  wordMember(configuration, configurationPointer, "method", ["post"], (text) => text.toLowerCase())

const readConfiguration = (attributes: Members, context: ReadContext): Read<Configuration> =>
  Result.flatMap(objectMember(attributes, attributesPointer, "configuration"), (configuration) =>
    gather({ url: readUrl(configuration, context.urlProblem), method: readMethod(configuration) })
  )

const readConfigurationChanges = (attributes: Members, context: ReadContext): Read<Partial<Configuration>> =>
  Result.flatMap(objectMember(attributes, attributesPointer, "configuration"), (configuration) =>
    Result.map(
      gather({
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
  // Under an unknown type, an action of any type is no further problem.
  const allowed = definition?.actions ?? [...new Set([...types.values()].flatMap(({ actions }) => actions))]
  const actions = Result.flatMap(listMember(value, base, "actions", "action"), (elements) =>
    collect(elements.map((element, index) => word(element, `${base}/actions/${index}`, allowed)))
  )
  // A filter that is silently not applied would send more than was asked for.
  const resource_id = value["resource_id"] ?? null
  const filter =
    resource_id === null
      ? Result.void
      : invalid(`${base}/resource_id`, "null: a binding is to all resources of its type")
  return gather({ resource_type, actions, filter })
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

/** The resource of a document. A type that is there but wrong is no problem of reading: see `mismatchOf`. */
const readData = (document: unknown): Read<Members> =>
  Predicate.isReadonlyObject(document)
    ? objectMember(document, "", "data")
    : invalid("", "an object with a member `data`")

const readType = (data: Members): Read<unknown> =>
  Predicate.isNullish(data["type"]) ? missing("/data", "type", quote([integrationType])) : Result.succeed(data["type"])

/** Reads the document of a POST or a PUT: everything must be there, but for the status. */
export const readAttributes = (document: unknown, context: ReadContext): Read<WrittenIntegration> =>
  Result.flatMap(readData(document), (data) => {
    const attributes = Result.flatMap(objectMember(data, "/data", "attributes"), (members) =>
      gather({
        integrator: readIntegrator(members),
        configuration: readConfiguration(members, context),
        bindings: readBindings(members, context),
        status: optional(members["status"], () => readStatus(members))
      })
    )
    return Result.map(gather({ type: readType(data), attributes }), ({ attributes: { status, ...all } }) => ({
      ...all,
      ...(status !== undefined && { status })
    }))
  })

/** Reads the document of a PATCH: what is not there is not changed. */
export const readChanges = (document: unknown, context: ReadContext): Read<IntegrationChanges> =>
  Result.flatMap(readData(document), (data) => {
    const changes = Result.flatMap(
      optional(data["attributes"], () => objectMember(data, "/data", "attributes")),
      (members = {}) =>
        gather({
          integrator: optional(members["integrator"], () => readIntegrator(members)),
          configuration: optional(members["configuration"], () => readConfigurationChanges(members, context)),
          bindings: optional(members["bindings"], () => readBindings(members, context)),
          status: optional(members["status"], () => readStatus(members))
        })
    )
    return Result.map(
      gather({ type: readType(data), changes }),
      ({ changes: { integrator, configuration, bindings, status } }) => ({
        ...(integrator !== undefined && { integrator }),
        ...(configuration !== undefined && { configuration }),
        ...(bindings !== undefined && { bindings }),
        ...(status !== undefined && { status })
      })
    )
  })
