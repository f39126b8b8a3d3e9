/**
 * How settings that people write are read: names must be known, and every problem says which setting and what is accepted.
 */
import { AddressPolicy, didYouMean, DurationText, schemaProblems } from "@doorhook/core"
import { Option, Predicate, Result, Schema } from "effect"

/** A setting that can't be used; the message says which and what is accepted. */
export class InvalidConfig extends Schema.TaggedError<InvalidConfig>()("InvalidConfig", { message: Schema.String }) {}

/** A problem with a setting, or with something in one, like `retry.access_log: must be a list like ["..."]`. */
const problemOf = ({ detail, pointer }: { readonly pointer: string; readonly detail: string }): string =>
  `${pointer.slice(1).replaceAll("/", ".")}: ${detail}${detail === "must be a list" ? ' like ["..."]' : ""}`

/**
 * Reads settings given by people: names must be known, and every problem is told at once. Names may also be written as
 * flags write them (`allow-target`) or as tables do (`allow_targets`).
 */
export const readConfig = <F extends Schema.Struct.Fields>(
  schema: Schema.Struct<F> & { readonly DecodingServices: never },
  given: unknown
): Result.Result<Schema.Struct<F>["Type"], InvalidConfig> => {
  if (!Predicate.isObject(given) || Array.isArray(given)) return invalid("the settings must be an object")
  const names = Object.keys(schema.fields)
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[-_]/g, "")
  const canonical = (name: string): string =>
    names.find((known) => plain(known) === plain(name) || plain(known) === `${plain(name)}s`) ?? name
  const named = Object.fromEntries(Object.entries(given).map(([name, value]) => [canonical(name), value]))
  const twice = names.filter((name) => Object.keys(given).filter((written) => canonical(written) === name).length > 1)
  const unknown = Object.keys(named).filter((name) => !names.includes(name))
  const unknownText = `${unknown.map((name) => `${name}: no such setting${didYouMean(name, names)}`).join("; ")}; there are ${names.join(", ")}`
  const known = Object.fromEntries(Object.entries(named).filter(([name]) => names.includes(name)))
  const decoded = Schema.decodeUnknownResult(schema)(known, { errors: "all", onExcessProperty: "error" })
  const problems = [
    ...(unknown.length > 0 ? [unknownText] : []),
    ...twice.map((name) => `${name}: is given more than once, in different spellings`),
    ...Result.match(decoded, {
      onSuccess: () => [],
      onFailure: (error) => schemaProblems(error).map(problemOf)
    })
  ]
  if (problems.length > 0) return invalid(problems.join("; "))
  return Result.mapError(decoded, () => new InvalidConfig({ message: "the settings can't be used" }))
}

export const invalid = (message: string): Result.Result<never, InvalidConfig> =>
  Result.fail(new InvalidConfig({ message }))

/** What somebody gave in place of something else, in few words: a text or a number as it is, else what kind of thing. */
export const nameOf = (given: unknown): string => {
  if (Predicate.isString(given)) return JSON.stringify(given.slice(0, 40))
  if (Array.isArray(given)) return "a list"
  if (Predicate.isFunction(given)) return "a function"
  return Predicate.isObject(given) ? "an object" : String(given)
}

/** All of these by their names, or every problem that there is with any of them. */
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

/** All of a list, or every problem. */
export const collectAll = <A>(
  read: ReadonlyArray<Result.Result<A, InvalidConfig>>
): Result.Result<ReadonlyArray<A>, InvalidConfig> => tellAll(Result.all(read), read)

/** What is wrong, of those that failed. */
export const problemsIn = (read: ReadonlyArray<Result.Result<unknown, InvalidConfig>>): ReadonlyArray<string> =>
  read.flatMap((one) => (Result.isFailure(one) ? [one.failure.message] : []))

export const parseDuration = (name: string, text: string): Result.Result<number, InvalidConfig> =>
  Option.match(DurationText.parse(text), {
    onNone: () => invalid(`${name}: ${JSON.stringify(text)} is not ${DurationText.expected}`),
    onSome: (millis) => Result.succeed(millis)
  })

export const parseOptional = (
  name: string,
  text: string | undefined
): Result.Result<number | undefined, InvalidConfig> =>
  text === undefined ? Result.succeed(undefined) : parseDuration(name, text)

/** A time span in which something must be able to happen. */
export const parseSpan = (name: string, text: string | undefined): Result.Result<number | undefined, InvalidConfig> =>
  Result.flatMap(parseOptional(name, text), (millis) =>
    millis === 0 ? invalid(`${name}: must be more than 0, like 5s`) : Result.succeed(millis)
  )

/** Networks in CIDR notation, or single addresses. */
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
            message: `${name}: ${JSON.stringify(text)} is no network like 10.0.0.0/8, and no address`
          })
      )
    )
  )
