/**
 * Resource types: the subjects of events. `call` and `access_log` are built in; a host may declare more.
 *
 * Parsers, services and routes read the table of types from `ResourceTypes`. The table determines bindings, publishing,
 * priority, retries, read routes, OpenAPI, metrics and page texts.
 */
import { Array, Context, Predicate, Record, Result, Schema } from "effect"
import type { RetryPolicies, RetryPolicy } from "./RetryPolicy.ts"
import { problemOf } from "./RetryPolicy.ts"
import { checkerOf } from "./DataSchema.ts"
import type { DataSchema, DataCheck } from "./DataSchema.ts"
import * as DurationText from "./DurationText.ts"
import { AccessLogData, CallData, CallEndData } from "./EventData.ts"
import type { Problem } from "./InvalidInput.ts"
import { InvalidInput } from "./InvalidInput.ts"

const nameRule = /^[a-z][a-z0-9_]{0,63}$/

const nameRuleText = "1 to 64 lower-case letters, digits and underscores, starting with a letter"

const Name = Schema.String.check(Schema.isPattern(nameRule, { message: `must be a name: ${nameRuleText}` }))

/** The name of a resource type. A type in the store might not be declared any more. */
export const ResourceType = Name
export type ResourceType = typeof ResourceType.Type

/** The name of an action on a resource. The built-in types only have `create` (interface document, section 2.2). */
export const Action = Name
export type Action = typeof Action.Type

/** Describes an event to people in one line, from its data. */
export type Summarize = (data: Readonly<Record<string, unknown>>, action: string) => string

/** Words about a resource type, for people who choose events and look at deliveries. */
export interface ResourceTypeWords {
  /** Like "Parcel". */
  readonly title?: string | undefined
  /** One sentence that says when an event of this type is published. */
  readonly description?: string | undefined
  /** The data of a typical event. */
  readonly example?: Readonly<Record<string, unknown>> | undefined
  /** A function, or a text with members of the data in braces, like `{carrier} brought a parcel for {unit.label}`. */
  readonly summary?: string | Summarize | undefined
  /** What the data looks like. */
  readonly schema?: DataSchema | undefined
  /** Members of the data that are personal: null in redacted events. */
  readonly personal?: ReadonlyArray<string> | undefined
}

export interface ResourceTypeDefinition extends ResourceTypeWords {
  readonly actions: ReadonlyArray<Action>
  /** Whether deliveries of this type are sent before non-urgent ones. */
  readonly urgent: boolean
  /** Retry schedule and lifetime. Settings of the service or the integration can replace the schedule. */
  readonly retry: RetryPolicy
  /** Last segment of the read routes, and the JSON:API `type` of their resources. */
  readonly path: string
  /** How published data is compared with the schema. Absent if it is not. */
  readonly check?: DataCheck | undefined
}

const second = 1_000
const minute = 60 * second
const hour = 60 * minute

export const builtInTypes = {
  // Calls get a few quick retries, because a late ring is useless.
  call: {
    actions: ["create"],
    urgent: true,
    retry: { delays: [1 * second, 3 * second, 8 * second], lifetime: 45 * second },
    path: "calls",
    schema: CallData,
    personal: ["image_url"],
    example: {
      id: 4711,
      guid: "8f14e45f-ceea-467f-9af3-a1b6d8a5e3c1",
      logged_at: "2026-03-02T16:32:04.000Z",
      status: "initializing",
      notification_type: "visitor",
      unit: { id: 7, label: "4B" },
      panel: { id: 3, name: "Main entrance" },
      image_url: null
    }
  },
  // Retries continue for about three days, so that audit records survive a receiver that is down for a weekend.
  access_log: {
    actions: ["create"],
    urgent: false,
    retry: {
      delays: [
        5 * second,
        30 * second,
        2 * minute,
        10 * minute,
        30 * minute,
        2 * hour,
        6 * hour,
        12 * hour,
        24 * hour,
        24 * hour
      ],
      lifetime: null
    },
    path: "access_logs",
    schema: AccessLogData,
    personal: ["name", "image_url"],
    example: {
      id: 4712,
      logged_at: "2026-03-02T16:32:30.000Z",
      access_point: 11,
      entry_method: "app",
      release_status: "Unlocked",
      name: "Ann Miller",
      image_url: null
    }
  }
} as const satisfies Record<string, ResourceTypeDefinition>

/** The type of the end of a call, which a service has only with `callEnd`. */
export const callEndType = "call_end"

/** The end of a call is as urgent as the call, and as useless when it is late. */
const callEnd: ResourceTypeDefinition = {
  ...builtInTypes.call,
  path: "call_ends",
  schema: CallEndData,
  personal: [],
  example: { id: 4713, call_id: 4711, reason: "answered_elsewhere", ended_at: "2026-03-02T16:32:11.000Z" }
}

export type BuiltInType = keyof typeof builtInTypes

/** All resource types of a service by name: the built-in types, then the declared types in order of declaration. */
export type ResourceTypeTable = ReadonlyMap<ResourceType, ResourceTypeDefinition>

const builtIn: ReadonlyArray<readonly [ResourceType, ResourceTypeDefinition]> = Object.entries(builtInTypes)

export const builtInTable: ResourceTypeTable = new Map(builtIn)

/** The resource types of this service, by default the built-in types only. */
export const ResourceTypes = Context.Reference<ResourceTypeTable>("@doorhook/core/model/ResourceTypes", {
  defaultValue: () => builtInTable
})

const isBuiltIn = (name: string): boolean => builtInTable.has(name) || name === callEndType

/** Returns the declared types of a table, without the built-in types. */
export const declaredIn = (types: ResourceTypeTable): ResourceTypeTable =>
  new Map([...types].filter(([name]) => !isBuiltIn(name)))

/** Joins the names of a table for a sentence, like `call or access_log`. */
export const namesIn = (types: ResourceTypeTable, conjunction: "and" | "or"): string =>
  [...types.keys()].join(` ${conjunction} `)

/** Lists the types that can be published, and says how to declare others. */
export const publishableText = (types: ResourceTypeTable): string =>
  `${namesIn(types, "or")}; the setting resourceTypes declares others`

/** Returns bindings to all types and actions. */
export const bindAll = (
  types: ResourceTypeTable
): ReadonlyArray<{ readonly resource_type: ResourceType; readonly actions: ReadonlyArray<Action> }> =>
  [...types].map(([resource_type, { actions }]) => ({ resource_type, actions }))

/** Returns a resource type in words, like `Access log`. */
export const labelOf = (type: ResourceType): string => {
  const words = type.replaceAll("_", " ")
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** Returns the member of some data at a path like `unit.label`, as text; empty if it is no text or number. */
const memberText = (data: unknown, path: string): string => {
  let value = data
  for (const name of path.split(".")) {
    if (!Predicate.isReadonlyObject(value) || !Object.hasOwn(value, name)) return ""
    value = value[name]
  }
  return Predicate.isString(value) || Predicate.isNumber(value) ? String(value) : ""
}

/** Fills a summary's text with members of an event's data. */
export const fillSummary = (text: string, data: unknown): string =>
  text.replaceAll(/\{([\w.]+)\}/g, (_, path: string) => memberText(data, path))

/** Returns the retry schedule and lifetime of each type. */
export const policiesOf = (types: ResourceTypeTable): RetryPolicies => ({
  ...Record.map(builtInTypes, ({ retry }) => retry),
  ...Object.fromEntries([...types].map(([name, { retry }]) => [name, retry]))
})

const SummarizeFunction = Schema.declare((value: unknown): value is Summarize => Predicate.isFunction(value), {
  identifier: "a function that returns a text"
})

/** Whether published data is compared with the schema of its type, and what happens if it doesn't fit. */
export const CheckMode = Schema.Literals(["off", "warn", "refuse"])
export type CheckMode = typeof CheckMode.Type

/** A host's declaration of a resource type, or of what people and receivers learn about a built-in one. */
export const ResourceTypeDeclaration = Schema.Struct({
  /** Actions of the type. Default: `create`. */
  actions: Schema.optional(Schema.Array(Schema.String)),
  /**
   * Delays between attempts, like `["5s", "30s"]`. An empty list means no retries. Default: the delays of `access_log`.
   */
  retry: Schema.optional(Schema.Array(Schema.String)),
  /** How long an event may be sent after its publication, like `10m`. Default: no limit. */
  lifetime: Schema.optional(Schema.String),
  /** Deliveries with priority `high`, such as those of `call`, are sent first. Default: `normal`. */
  priority: Schema.optional(Schema.Literals(["high", "normal"])),
  /** The type's name on pages, like `Parcel`. Default: the type in words. */
  title: Schema.optional(Schema.String.check(Schema.isMaxLength(80))),
  /** When an event of this type is published, in one sentence for owners of integrations. Default none. */
  description: Schema.optional(Schema.String.check(Schema.isMaxLength(500))),
  /** The data of a typical event, shown to owners of integrations and sent as test event. Default none. */
  example: Schema.optional(Schema.Record(Schema.String, Schema.Unknown)),
  /**
   * One line about an event, shown in lists of deliveries: a text with members of the data, like `{carrier} brought a
   * parcel for {unit.label}`, or a function of the data and the action. Default: title and id.
   */
  summary: Schema.optional(Schema.Union([Schema.String, SummarizeFunction])),
  /** JSON Schema 2020-12 of the data, published at `GET /v4/resource_types`. Default: any object. */
  schema: Schema.optional(Schema.Record(Schema.String, Schema.Unknown)),
  /** Personal members of the data, like `["name", "image_url"]`, which are null in redacted events. Default none. */
  personal: Schema.optional(Schema.Array(Schema.String)),
  /** What happens with data that does not fit `schema`. Default: the setting `check`. */
  check: Schema.optional(CheckMode)
})
export type ResourceTypeDeclaration = typeof ResourceTypeDeclaration.Type

/** Maximum number of actions of a type, as in a binding. */
const mostActions = 20

/** Names that are already used, by doorhook's own webhooks or by routes next to the read routes. */
const reserved: ReadonlySet<string> = new Set([
  "notification",
  "integrations",
  "events",
  callEnd.path,
  ...builtIn.map(([, { path }]) => path)
])

const nameProblem = (name: string): string | null => {
  if (!nameRule.test(name)) return `must have ${nameRuleText}`
  return reserved.has(name) ? "is reserved; choose another name" : null
}

const actionProblems = (pointer: string, actions: ReadonlyArray<string>): ReadonlyArray<Problem> => {
  if (actions.length === 0) return [{ pointer, detail: 'must be a list of at least one action, like ["create"]' }]
  if (actions.length > mostActions) return [{ pointer, detail: `must be a list of at most ${mostActions} actions` }]
  return [
    ...actions.flatMap((action, index) =>
      nameRule.test(action)
        ? []
        : [{ pointer: `${pointer}/${index}`, detail: `must have ${nameRuleText}, not ${JSON.stringify(action)}` }]
    ),
    ...(new Set(actions).size < actions.length ? [{ pointer, detail: "must not repeat an action" }] : [])
  ]
}

type Declared = Result.Result<readonly [ResourceType, ResourceTypeDefinition], ReadonlyArray<Problem>>

/** Adds the check of published data to a definition. A schema that can't be checked is a problem. */
const withCheck = (name: string, definition: ResourceTypeDefinition, mode: CheckMode): Declared => {
  const { schema } = definition
  if (mode === "off" || schema === undefined) return Result.succeed([name, definition])
  return Result.mapBoth(checkerOf(schema), {
    onSuccess: (problemsIn) => [name, { ...definition, check: { mode, problemsIn } }],
    onFailure: (detail) => [{ pointer: `/resourceTypes/${name}/schema`, detail: `can't be checked: ${detail}` }]
  })
}

/** Applies the words about a built-in type. */
const describeBuiltIn = (
  name: string,
  definition: ResourceTypeDefinition | undefined,
  declaration: ResourceTypeDeclaration,
  mode: CheckMode
): Declared => {
  if (definition === undefined) {
    return Result.fail([{ pointer: "/resourceTypes", detail: `"${name}" is built in; switch it on with \`callEnd\`` }])
  }
  const { check = mode, actions, lifetime, priority, retry, ...words } = declaration
  const fixed = Object.entries({ actions, lifetime, priority, retry }).flatMap(([member, value]) =>
    value === undefined ? [] : [member]
  )
  return fixed.length === 0
    ? withCheck(name, { ...definition, ...words }, check)
    : Result.fail(
        fixed.map((member) => ({
          pointer: `/resourceTypes/${name}/${member}`,
          detail: `can't be changed, because the type is built in${member === "retry" ? "; use the setting `retry`" : ""}`
        }))
      )
}

const declare = (name: string, declaration: ResourceTypeDeclaration, mode: CheckMode): Declared => {
  const at = `/resourceTypes/${name}`
  const problem = nameProblem(name)
  if (problem !== null)
    return Result.fail([{ pointer: "/resourceTypes", detail: `${JSON.stringify(name)} ${problem}` }])
  const { actions = ["create"], check = mode, lifetime, priority = "normal", retry, ...words } = declaration
  const problems = [...actionProblems(`${at}/actions`, actions)]
  const millisOf = (pointer: string, text: string): number => {
    const read = DurationText.read(text)
    if (Result.isSuccess(read)) return read.success
    problems.push({ pointer, detail: `${JSON.stringify(text)} is not ${read.failure}` })
    return 0
  }
  const lives = lifetime === undefined ? null : millisOf(`${at}/lifetime`, lifetime)
  const delays =
    retry?.map((text, index) => millisOf(`${at}/retry/${index}`, text)) ?? builtInTypes.access_log.retry.delays
  if (problems.length > 0) return Result.fail(problems)
  if (lives === 0) return Result.fail([{ pointer: `${at}/lifetime`, detail: "must be more than 0, like 10m" }])
  const policy = { delays, lifetime: lives }
  const flaw = problemOf(policy)
  if (flaw !== null) return Result.fail([{ pointer: `${at}/retry/${flaw.at}`, detail: flaw.detail }])
  return withCheck(name, { actions, urgent: priority === "high", retry: policy, path: name, ...words }, check)
}

/** Settings of the table of types. */
export interface TypeOptions {
  /** Whether the service has `call_end`. */
  readonly hasCallEnd?: boolean
  /** What happens with data that does not fit the schema of its type, unless the type says so itself. */
  readonly check?: CheckMode
}

/** Returns the resource types of a service: the built-in ones and those that are declared. */
export const declareTypes = (
  declarations: Readonly<Record<string, ResourceTypeDeclaration>>,
  { check = "off", hasCallEnd = false }: TypeOptions = {}
): Result.Result<ResourceTypeTable, InvalidInput> => {
  const own: ResourceTypeTable = new Map([...builtIn, ...(hasCallEnd ? [[callEndType, callEnd] as const] : [])])
  const names = new Set([...own.keys(), ...Object.keys(declarations)])
  const declared = Array.fromIterable(names).map((name) => {
    const declaration = Object.hasOwn(declarations, name) ? (declarations[name] ?? {}) : {}
    return isBuiltIn(name)
      ? describeBuiltIn(name, own.get(name), declaration, check)
      : declare(name, declaration, check)
  })
  const invalid = InvalidInput.of("Invalid resource types", Array.getFailures(declared).flat())
  return invalid === null ? Result.succeed(new Map(Array.getSuccesses(declared))) : Result.fail(invalid)
}
