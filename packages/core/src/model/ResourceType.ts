/**
 * Resource types: the subjects of events. `call` and `access_log` are built in; a host may declare more.
 *
 * Parsers, services and routes read the table of types from `ResourceTypes`. The table determines bindings, publishing,
 * priority, retries, read routes, OpenAPI, metrics and page texts.
 */
import { Array, Context, Predicate, Record, Result, Schema } from "effect"
import type { RetryPolicies, RetryPolicy } from "./RetryPolicy.ts"
import { problemOf } from "./RetryPolicy.ts"
import * as DurationText from "./DurationText.ts"
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
}

export interface ResourceTypeDefinition extends ResourceTypeWords {
  readonly actions: ReadonlyArray<Action>
  /** Whether deliveries of this type are sent before non-urgent ones. */
  readonly urgent: boolean
  /** Retry schedule and lifetime. Settings of the service or the integration can replace the schedule. */
  readonly retry: RetryPolicy
  /** Last segment of the read routes, and the JSON:API `type` of their resources. */
  readonly path: string
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
const callEnd: ResourceTypeDefinition = { ...builtInTypes.call, path: "call_ends" }

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

/** A host's declaration of a resource type. */
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
  summary: Schema.optional(Schema.Union([Schema.String, SummarizeFunction]))
})
export type ResourceTypeDeclaration = typeof ResourceTypeDeclaration.Type

/** Maximum number of actions of a type, as in a binding. */
const mostActions = 20

/** Names that are already used, by doorhook's own webhooks or by routes next to the read routes. */
const reserved: ReadonlySet<string> = new Set([
  "notification",
  "integrations",
  callEnd.path,
  ...builtIn.map(([, { path }]) => path)
])

const nameProblem = (name: string): string | null => {
  if (!nameRule.test(name)) return `must have ${nameRuleText}`
  if (name === callEndType) return "is built in; switch it on with `callEnd`"
  if (isBuiltIn(name)) return "is built in; set its schedule with `retry`"
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

const declare = (name: string, declaration: ResourceTypeDeclaration): Declared => {
  const at = `/resourceTypes/${name}`
  const problem = nameProblem(name)
  if (problem !== null)
    return Result.fail([{ pointer: "/resourceTypes", detail: `${JSON.stringify(name)} ${problem}` }])
  const { actions = ["create"], lifetime, priority = "normal", retry, ...words } = declaration
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
  return Result.succeed([name, { actions, urgent: priority === "high", retry: policy, path: name, ...words }])
}

/** Returns the resource types of a service with declared types. `hasCallEnd`: whether it also has `call_end`. */
export const declareTypes = (
  declarations: Readonly<Record<string, ResourceTypeDeclaration>>,
  hasCallEnd = false
): Result.Result<ResourceTypeTable, InvalidInput> => {
  const declared = Object.entries(declarations).map(([name, declaration]) => declare(name, declaration))
  const invalid = InvalidInput.of("Invalid resource types", Array.getFailures(declared).flat())
  return invalid === null
    ? Result.succeed(
        new Map([...builtIn, ...(hasCallEnd ? [[callEndType, callEnd] as const] : []), ...Array.getSuccesses(declared)])
      )
    : Result.fail(invalid)
}
