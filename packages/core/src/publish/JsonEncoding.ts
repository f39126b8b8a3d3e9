/**
 * Encodes values as JSON, and explains why a value can't be encoded. It also rejects values that `JSON.stringify` would
 * silently reduce to `{}` or `null`.
 */
import { Predicate, Result } from "effect"

/** Types that JSON reduces to an empty object. Maps a `toString` tag to the words for messages: a name and a fix. */
const lossy: ReadonlyMap<string, readonly [what: string, instead: string]> = new Map([
  ["[object Map]", ["a Map", "give Object.fromEntries(map)"]],
  ["[object Set]", ["a Set", "give a list, [...set]"]],
  ["[object Promise]", ["a Promise", "await it first"]]
])

const said = (thrown: unknown): string => (Predicate.isError(thrown) ? thrown.message : "a value that is not an Error")

const placeOf = (path: ReadonlyArray<string>): string => (path.length === 0 ? "" : ` in ${path.join(".")}`)

/** Returns the value of a member as JSON encodes it, after `toJSON` if it has one. */
const memberOf = (holder: object, key: string): unknown => {
  const value: unknown = Reflect.get(holder, key)
  const toJson: unknown = value === undefined || value === null ? undefined : Reflect.get(Object(value), "toJSON")
  return Predicate.isFunction(toJson) ? Reflect.apply(toJson, value, [key]) : value
}

/**
 * Returns the first problem in a member or in its contents, in the order of JSON output. `within` lists the enclosing
 * objects.
 */
const problemOf = (
  holder: object,
  key: string,
  path: ReadonlyArray<string>,
  within: ReadonlyArray<object>
): string | null => {
  let value: unknown
  try {
    value = memberOf(holder, key)
  } catch (thrown) {
    return `can't be read${placeOf(path)}: ${said(thrown)}`
  }
  if (Predicate.isBigInt(value))
    return `holds a BigInt${placeOf(path)}, which JSON can't represent: give a text or a number`
  if (Predicate.isNumber(value) && !Number.isFinite(value)) {
    return `holds ${value}${placeOf(path)}, which JSON writes as null: give a number, or null`
  }
  if (!Predicate.isObjectOrArray(value)) return null
  if (within.includes(value)) return `refers to itself${placeOf(path)}`
  const [what, instead] = lossy.get(Object.prototype.toString.call(value)) ?? []
  if (what !== undefined) {
    return `${path.length === 0 ? "is" : "holds"} ${what}${placeOf(path)}, which JSON can't represent: ${instead}`
  }
  for (const name of Object.keys(value)) {
    const flaw = problemOf(value, name, [...path, name], [...within, value])
    if (flaw !== null) return flaw
  }
  return null
}

const problemIn = (value: unknown): string | null => {
  try {
    return problemOf({ "": value }, "", [], [])
  } catch {
    // The value is nested more deeply than the call stack allows.
    return null
  }
}

/**
 * Encodes a value as JSON text; undefined for values that JSON omits (functions, undefined). Fails with the reason if a
 * value can't be encoded.
 */
export const encode = (value: unknown): Result.Result<string | undefined, string> => {
  try {
    const text: string | undefined = JSON.stringify(value)
    // Searches for lost values only if the text contains `{}` or `null`, because the search takes longer than encoding.
    const lost = /\{\}|null/.test(text ?? "") ? problemIn(value) : null
    return lost === null ? Result.succeed(text) : Result.fail(lost)
  } catch (thrown) {
    const flaw = thrown instanceof RangeError ? "it is nested too deeply, or too large" : said(thrown)
    return Result.fail(problemIn(value) ?? `can't be written as JSON: ${flaw}`)
  }
}
