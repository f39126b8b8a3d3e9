/**
 * Reads settings that users write. Refuses unknown names. Each problem names its setting and the accepted values.
 */
import type { InvalidInput, Problem } from "@doorhook/core"
import { AddressPolicy, didYouMean, DurationText, nameOf, schemaProblems } from "@doorhook/core"
import { JsonPointer, Predicate, Record, Result, Schema } from "effect"

/** Error for an invalid setting. The message names the setting and the accepted values. */
export class InvalidConfig extends Schema.TaggedError<InvalidConfig>()("InvalidConfig", { message: Schema.String }) {}

/** Returns the type of a value in words, never the value itself, which might be a secret. */
export const kindOf = (given: unknown): string => {
  if (Predicate.isString(given)) return "a text"
  if (Predicate.isNumber(given)) return "a number"
  return nameOf(given)
}

const pathOf = (pointer: string): ReadonlyArray<string> => pointer.split("/").slice(1).map(JsonPointer.unescapeToken)

/** Returns the value at a JSON Pointer. */
const valueAt = (given: unknown, pointer: string): unknown =>
  pathOf(pointer).reduce((value: unknown, key) => (Predicate.hasProperty(value, key) ? value[key] : undefined), given)

/** Describes a problem with a setting or a value inside it, like `retry.access_log: must be a list`. */
const settingText = ({ detail, pointer }: Problem): string => `${pathOf(pointer).join(".")}: ${detail}`

/**
 * Describes a problem, with an example and the type of the given value, like `must be a list like ["..."], not a text`.
 */
const problemOf = ({ detail, pointer }: Problem, given: unknown): string => {
  const example = detail === "must be a list" ? ' like ["..."]' : ""
  const value = valueAt(given, pointer)
  const found = /^must be (?:a|an) /.test(detail)
    ? `, not ${typeof value === "number" && /number|integer/.test(detail) ? value : kindOf(value)}`
    : ""
  return settingText({ pointer, detail: `${detail}${example}${found}` })
}

/** Converts core's error for invalid input to an error with the settings' names. */
export const asConfig = ({ problems }: InvalidInput): InvalidConfig =>
  new InvalidConfig({ message: problems.map(settingText).join("; ") })

/** Describes unknown names, with suggestions. If a name has no suggestion, all known names are listed. */
const unknownNames = (unknown: ReadonlyArray<string>, names: ReadonlyArray<string>): ReadonlyArray<string> => {
  const meant = unknown.map((name) => didYouMean(name, names))
  const told = unknown.map((name, at) => `${name}: no such setting${meant[at] ?? ""}`)
  return meant.includes("") ? [...told.slice(0, -1), `${told.at(-1) ?? ""}; there are ${names.join(", ")}`] : told
}

/** Returns a value without the members at these JSON Pointers. */
const without = (given: unknown, pointers: ReadonlySet<string>, at = ""): unknown => {
  const isLeft = (name: string | number): boolean => !pointers.has(`${at}/${name}`)
  if (Array.isArray(given)) {
    return given.flatMap((item: unknown, index) => (isLeft(index) ? [without(item, pointers, `${at}/${index}`)] : []))
  }
  if (!Predicate.isObject(given)) return given
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) =>
      isLeft(name) ? [[name, without(value, pointers, `${at}/${name}`)]] : []
    )
  )
}

/** The valid settings, and the problems of the invalid ones. */
export interface Reading<A> {
  readonly usable: A
  readonly problems: ReadonlyArray<string>
}

/**
 * Reads settings, all of them optional. Accepts the schema's names, and the names in `others`, which the caller reads.
 * Names may be written as in flags (`allow-target`) or in snake case (`allow_targets`).
 */
export const readSettings = <F extends Schema.Struct.Fields>(
  schema: Schema.Struct<F> & { readonly DecodingServices: never },
  given: unknown,
  others: ReadonlyArray<string> = []
): Reading<Schema.Struct<F>["Type"]> => {
  const decode = Schema.decodeUnknownResult(schema)
  const isReadable = Predicate.isObject(given) && !Array.isArray(given)
  const written = isReadable ? Object.entries(given) : []
  const names = Object.keys(schema.fields)
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[-_]/g, "")
  const canonical = (name: string): string =>
    names.find((known) => plain(known) === plain(name) || plain(known) === `${plain(name)}s`) ?? name
  const named = written.map(([name, value]) => [canonical(name), value] as const)
  const twice = names.filter((name) => named.filter(([known]) => known === name).length > 1)
  const unknown = named.flatMap(([name]) => (names.includes(name) || others.includes(name) ? [] : [name]))
  const known = Object.fromEntries(named.filter(([name]) => names.includes(name)))
  const wrong = Result.match(decode(known, { errors: "all", onExcessProperty: "error" }), {
    onSuccess: () => [],
    onFailure: schemaProblems
  })
  // Drops invalid members, so that the others are still checked. If a setting is invalid even without these members,
  // drops the whole setting.
  const members = new Set(wrong.map(({ pointer }) => pointer))
  const settings = new Set(wrong.map(({ pointer }) => pointer.split("/").slice(0, 2).join("/")))
  const usable = Result.orElse(decode(without(known, members)), () => decode(without(known, settings)))
  return {
    usable: Result.getOrThrow(usable),
    problems: [
      ...(isReadable ? [] : ["the settings must be an object"]),
      ...twice.map((name) => `${name}: is given more than once, in different spellings`),
      ...wrong.map((problem) => problemOf(problem, known)),
      ...unknownNames(unknown, [...names, ...others])
    ]
  }
}

export const invalid = (message: string): Result.Result<never, InvalidConfig> =>
  Result.fail(new InvalidConfig({ message }))

/** Returns settings without those that were not given, which have their defaults. */
export function givenOf<A extends object>(settings: A): { readonly [K in keyof A]?: Exclude<A[K], undefined> }
export function givenOf(settings: Readonly<Record<string, unknown>>): unknown {
  return Record.filter(settings, Predicate.isNotUndefined)
}

/** Combines named results into one value, or fails with all problems. */
export function collect<A extends object>(read: {
  readonly [K in keyof A]: Result.Result<A[K], InvalidConfig>
}): Result.Result<A, InvalidConfig>
export function collect(
  read: Readonly<Record<string, Result.Result<unknown, InvalidConfig>>>
): Result.Result<unknown, InvalidConfig> {
  return tellAll(Result.all(read), Object.values(read))
}

const tellAll = <A>(
  all: Result.Result<A, InvalidConfig>,
  read: ReadonlyArray<Result.Result<unknown, InvalidConfig>>
): Result.Result<A, InvalidConfig> =>
  Result.mapError(all, () => new InvalidConfig({ message: problemsIn(read).join("; ") }))

/** Combines a list of results into one list, or fails with all problems. */
export const collectAll = <A>(
  read: ReadonlyArray<Result.Result<A, InvalidConfig>>
): Result.Result<ReadonlyArray<A>, InvalidConfig> => tellAll(Result.all(read), read)

/** Returns the messages of all failed results. */
export const problemsIn = (read: ReadonlyArray<Result.Result<unknown, InvalidConfig>>): ReadonlyArray<string> =>
  read.flatMap((one) => (Result.isFailure(one) ? [one.failure.message] : []))

export const parseDuration = (name: string, text: string): Result.Result<number, InvalidConfig> =>
  Result.mapError(
    DurationText.read(text),
    (wanted) => new InvalidConfig({ message: `${name}: ${JSON.stringify(text)} is not ${wanted}` })
  )

export const parseOptional = (
  name: string,
  text: string | undefined
): Result.Result<number | undefined, InvalidConfig> =>
  text === undefined ? Result.succeed(undefined) : parseDuration(name, text)

/** Reads a duration of more than 0. */
export const parseSpan = (name: string, text: string | undefined): Result.Result<number | undefined, InvalidConfig> =>
  Result.flatMap(parseOptional(name, text), (millis) =>
    millis === 0 ? invalid(`${name}: must be more than 0, like 5s`) : Result.succeed(millis)
  )

/** Maximum value of a timeout setting, in milliseconds. */
const longestTimeout = 3_600_000

/** Reads a timeout setting. Returns milliseconds. */
export const parseTimeout = (
  name: string,
  text: string | undefined
): Result.Result<number | undefined, InvalidConfig> =>
  Result.flatMap(parseSpan(name, text), (millis) =>
    millis !== undefined && millis > longestTimeout
      ? invalid(`${name}: must be at most ${DurationText.format(longestTimeout)}, not ${DurationText.format(millis)}`)
      : Result.succeed(millis)
  )

/** Reads networks in CIDR notation, or single addresses. */
export const parseNetworks = (
  name: string,
  texts: ReadonlyArray<string> = []
): Result.Result<AddressPolicy.AllowList, InvalidConfig> =>
  collectAll(
    texts.map((text) =>
      Result.fromOption(
        AddressPolicy.parseNetwork(text),
        () =>
          new InvalidConfig({
            message: `${name}: ${JSON.stringify(text)} is neither a network like 10.0.0.0/8 nor an address`
          })
      )
    )
  )

/** Adds a setting's flag or environment variable after its name in a message. */
export const withPlaces =
  (places: Readonly<Record<string, string>>) =>
  ({ message }: InvalidConfig): InvalidConfig =>
    new InvalidConfig({
      // Problems are separated by `; `. Each begins with the name of a setting and, if the problem is inside the
      // setting, the path to it.
      message: message.replaceAll(/(?<=^|; )([a-z]+)(\.[^\s:;]+)?(?=[ :])/gi, (found, name: string) =>
        Object.hasOwn(places, name) ? `${found} (${places[name] ?? ""})` : found
      )
    })
