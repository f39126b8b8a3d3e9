/**
 * Reads published events from JSON text or from values, and reports all problems together.
 */
import { Array, Effect, Option, Predicate, Result, Schema } from "effect"
import { callMarkOf } from "../model/CallMark.ts"
import type { NewEvent } from "../model/Event.ts"
import { maxDataBytes, maxEventsPerPublish } from "../model/Event.ts"
import { BuildingId, hostIdFlaw, readHostId, TenantId } from "../model/Ids.ts"
import * as JsonEncoding from "./JsonEncoding.ts"
import { elementsOf, fromObjectText, membersNamed } from "../model/JsonText.ts"
import type { JsonText } from "../model/JsonText.ts"
import type { Problem } from "../model/InvalidInput.ts"
import { InvalidInput, nameOf } from "../model/InvalidInput.ts"
import type { Action, ResourceTypeTable } from "../model/ResourceType.ts"
import { callEndType, publishableText, ResourceType, ResourceTypes } from "../model/ResourceType.ts"
import { didYouMean } from "../model/Nearest.ts"

/** Published events, and whether they were given as a list. */
export interface PublishRequest {
  readonly events: ReadonlyArray<NewEvent>
  readonly isList: boolean
  /** Warnings about probably misspelled members. */
  readonly oversights: ReadonlyArray<string>
}

const title = "Invalid event"

/**
 * A value that was read, or its problems. A problem points to the invalid member, or to the parent of a missing member.
 */
type Read<A> = Result.Result<A, ReadonlyArray<Problem>>

const wrong = (pointer: string, detail: string): Read<never> => Result.fail([{ pointer, detail }])

/** The resource types and actions that may be published. */
interface Kinds {
  readonly types: string
  readonly hasType: (type: string) => boolean
  readonly actions: (type: string | null) => string
  /** Whether the type has the action. `type` is null if it is not one of `types`. */
  readonly hasAction: (type: string | null, action: string) => boolean
  /** Problems for which the data of a type is refused. */
  readonly problemsIn: (type: string, data: JsonText) => ReadonlyArray<Problem>
}

const kindsOf = (types: ResourceTypeTable): Kinds => {
  const all = [...new Set([...types.values()].flatMap(({ actions }) => actions))]
  const actionsOf = (type: string | null): ReadonlyArray<Action> => types.get(type ?? "")?.actions ?? all
  return {
    types: publishableText(types),
    hasType: (type) => types.has(type),
    actions: (type) => actionsOf(type).join(" or "),
    hasAction: (type, action) => actionsOf(type).includes(action),
    problemsIn: (type, data) => {
      const check = types.get(type)?.check
      return check?.mode === "refuse" ? check.problemsIn(data) : []
    }
  }
}

const isName = Schema.is(ResourceType)

const anyKind: Kinds = {
  types: "a resource type",
  hasType: isName,
  actions: () => "an action, like create",
  hasAction: (_, action) => isName(action),
  problemsIn: () => []
}

/** Reads a member whose value must be one of several words. */
const wordIn = (
  record: Readonly<Record<PropertyKey, unknown>>,
  base: string,
  name: string,
  { expected, has }: { readonly expected: string; readonly has: (word: string) => boolean }
): Read<string> => {
  const value = record[name]
  if (value === undefined) return wrong(base, `\`${name}\` is missing; it must be ${expected}`)
  return Predicate.isString(value) && has(value)
    ? Result.succeed(value)
    : wrong(`${base}/${name}`, `must be ${expected}`)
}

/** Reads the id of a building or tenant. */
const idAt = <A>(given: unknown, pointer: string, make: (id: number) => A): Read<A> => {
  const id = readHostId(given)
  return id === null ? wrong(pointer, hostIdFlaw(given)) : Result.succeed(make(id))
}

const buildingIn = ({ building_id: given }: Readonly<Record<PropertyKey, unknown>>, base: string): Read<BuildingId> =>
  given === undefined
    ? wrong(base, "`building_id` is missing; it must be a positive whole number")
    : idAt(given, `${base}/building_id`, (id) => BuildingId.make(id, { disableChecks: true }))

const tenantsIn = (
  { tenant_ids: given }: Readonly<Record<PropertyKey, unknown>>,
  base: string
): Read<ReadonlyArray<TenantId>> => {
  if (given === undefined) return Result.succeed([])
  const pointer = `${base}/tenant_ids`
  if (!globalThis.Array.isArray(given)) {
    return wrong(pointer, `must be a list of positive whole numbers, not ${nameOf(given)}`)
  }
  // `map` skips holes in a sparse list. Spreading turns them into undefined, which is refused.
  const reads = [...given].map((item: unknown, index) =>
    idAt(item, `${pointer}/${index}`, (id) => TenantId.make(id, { disableChecks: true }))
  )
  const problems = Array.getFailures(reads).flat()
  return problems.length > 0 ? Result.fail(problems) : Result.succeed(Array.getSuccesses(reads))
}

const encoder = new TextEncoder()

/**
 * Whether a text is longer than `maxDataBytes` in UTF-8. A UTF-16 code unit takes at most three bytes, so most texts
 * need not be encoded for this check.
 */
const isTooLong = (text: string): boolean =>
  text.length * 3 > maxDataBytes && (text.length > maxDataBytes || encoder.encode(text).length > maxDataBytes)

/** Reads one event from `value`, except for its `data`, which the caller has read. */
const readEvent = (kinds: Kinds, value: unknown, data: Read<JsonText>, base: string): Read<NewEvent> => {
  if (!Predicate.isObject(value) || globalThis.Array.isArray(value)) return wrong(base, "must be an object")
  const resource_type = wordIn(value, base, "resource_type", { expected: kinds.types, has: kinds.hasType })
  const type = Result.getOrNull(resource_type)
  const action = wordIn(value, base, "action", {
    expected: kinds.actions(type),
    has: (word) => kinds.hasAction(type, word)
  })
  const building_id = buildingIn(value, base)
  const tenant_ids = tenantsIn(value, base)
  const unfit =
    type === null || Result.isFailure(data)
      ? []
      : kinds
          .problemsIn(type, data.success)
          .map(({ detail, pointer }) => ({ pointer: `${base}/data${pointer}`, detail }))
  const problems = [...Array.getFailures([resource_type, action, building_id, tenant_ids, data]).flat(), ...unfit]
  if (problems.length > 0) return Result.fail(problems)
  return Result.flatMap(Result.all({ resource_type, action, building_id, tenant_ids, data }), (event) =>
    event.resource_type === callEndType && callMarkOf(event) === null
      ? wrong(`${base}/data/call_id`, "must be the `data.id` of the call that ends: a whole number, or a text")
      : Result.succeed(event)
  )
}

const readData = (texts: ReadonlyArray<string>, base: string): Read<JsonText> => {
  const text = texts[0]
  if (text === undefined) return wrong(base, "`data` is missing; it must be an object")
  if (texts.length > 1) return wrong(`${base}/data`, "is given more than once")
  if (isTooLong(text)) return wrong(`${base}/data`, `must be at most ${maxDataBytes / 1024} KiB`)
  return Option.match(fromObjectText(text), {
    onNone: () => wrong(`${base}/data`, "must be an object"),
    onSome: (data) => Result.succeed(data)
  })
}

// Members whose name is probably a misspelling of the optional `tenant_ids`. Such a member causes a warning, because an
// event without `tenant_ids` reaches no tenant. It is not an error, because hosts may send additional members.

const optionalMember = "tenant_ids"

/** The known members of an event, which are never reported as misspellings. */
const knownMembers = new Set(["resource_type", "action", "building_id", optionalMember, "data"])

/** Maximum length of a name that is compared with `tenant_ids`. */
const longestCompared = 2 * optionalMember.length

const misspelledIn = (value: unknown): ReadonlyArray<string> =>
  !Predicate.isObject(value) || Reflect.get(value, optionalMember) !== undefined
    ? []
    : Object.keys(value).flatMap((name) => {
        const meant = knownMembers.has(name) || name.length > longestCompared ? "" : didYouMean(name, [optionalMember])
        return meant === "" ? [] : [`${name} is not a member of an event and was ignored${meant}`]
      })

/** Returns the distinct warnings about probably misspelled members of valid events. */
const misspelledMembers = (values: ReadonlyArray<unknown>): ReadonlyArray<string> => [
  ...new Set(values.flatMap(misspelledIn))
]

const collect = (
  reads: ReadonlyArray<Read<NewEvent>>,
  values: ReadonlyArray<unknown>,
  isList: boolean
): Result.Result<PublishRequest, InvalidInput> => {
  const invalid = InvalidInput.of(title, Array.getFailures(reads).flat())
  return invalid !== null
    ? Result.fail(invalid)
    : Result.succeed({ events: Array.getSuccesses(reads), isList, oversights: misspelledMembers(values) })
}

const refuse = (detail: string): Result.Result<never, InvalidInput> =>
  Result.fail(new InvalidInput({ title, problems: [{ pointer: "", detail }] }))

const tooMany = (count: number): boolean => count > maxEventsPerPublish

const tooManyDetail = `at most ${maxEventsPerPublish} events can be published in one call; split the list`

/** Reads one event from its parsed `value` and its `text`. */
const readText = (kinds: Kinds, value: unknown, text: string, base: string): Read<NewEvent> =>
  readEvent(kinds, value, readData(membersNamed(text, "data"), base), base)

const fromText = (kinds: Kinds, text: string): Result.Result<PublishRequest, InvalidInput> => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return refuse("the body is not JSON")
  }
  if (!globalThis.Array.isArray(value)) return collect([readText(kinds, value, text, "")], [value], false)
  if (tooMany(value.length)) return refuse(tooManyDetail)
  const values: ReadonlyArray<unknown> = value
  const texts = elementsOf(text)
  return collect(
    values.map((item, index) => readText(kinds, item, texts[index] ?? "", `/${index}`)),
    values,
    true
  )
}

/** Encodes `data` of an event that is a JavaScript value instead of JSON text. */
const encodeData = (item: unknown, base: string): Read<JsonText> => {
  const data = Predicate.hasProperty(item, "data") ? item.data : undefined
  if (data === undefined) return readData([], base)
  return Result.match(JsonEncoding.encode(data), {
    onFailure: (flaw) => wrong(`${base}/data`, flaw),
    onSuccess: (text) => readData([text ?? ""], base)
  })
}

/** Reads one event that is given as a value. The host's getters might throw. */
const readValue = (kinds: Kinds, item: unknown, base: string): Read<NewEvent> => {
  try {
    return readEvent(kinds, item, encodeData(item, base), base)
  } catch (thrown) {
    return wrong(base, `can't be read: ${Predicate.isError(thrown) ? thrown.message : "it throws"}`)
  }
}

const fromValue = (kinds: Kinds, value: unknown): Result.Result<PublishRequest, InvalidInput> => {
  const isList = globalThis.Array.isArray(value)
  const values: ReadonlyArray<unknown> = isList ? value : [value]
  if (tooMany(values.length)) return refuse(tooManyDetail)
  // `map` skips holes in a sparse list. Spreading turns them into undefined, which is refused.
  const reads = [...values].map((item, index) => readValue(kinds, item, isList ? `/${index}` : ""))
  return collect(reads, values, isList)
}

/** Reads publish requests. */
export interface PublishReader {
  /** Reads a request body with one event or a list of events. The text of `data` is kept byte for byte. */
  readonly fromText: (text: string) => Result.Result<PublishRequest, InvalidInput>
  /** Reads events given as values by the host's program. */
  readonly fromValue: (value: unknown) => Result.Result<PublishRequest, InvalidInput>
}

const readerWith = (kinds: Kinds): PublishReader => ({
  fromText: (text) => fromText(kinds, text),
  fromValue: (value) => fromValue(kinds, value)
})

/** Makes a reader for these resource types. Reuse it for all requests. */
export const readerOf = (types: ResourceTypeTable): PublishReader => readerWith(kindsOf(types))

/** The reader for the resource types of this service. */
export const reader: Effect.Effect<PublishReader> = Effect.map(ResourceTypes, readerOf)

/** A reader that leaves the check of resource type and action to the database (`doorhook.publish` in SQL). */
export const uncheckedReader: PublishReader = readerWith(anyKind)
