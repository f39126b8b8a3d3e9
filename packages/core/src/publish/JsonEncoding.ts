/**
 * What keeps a value of JavaScript from being written as JSON, in words: what `JSON.stringify` throws at, and what it would
 * empty without saying so.
 */
import { Predicate, Result } from "effect"

/** What JSON keeps nothing of, by the name that the language has for it: what it is, and what to give in its place. */
const lossy: ReadonlyMap<string, readonly [what: string, instead: string]> = new Map([
  ["[object Map]", ["a Map", "give Object.fromEntries(map)"]],
  ["[object Set]", ["a Set", "give a list, [...set]"]],
  ["[object Promise]", ["a Promise", "await it first"]]
])

const said = (thrown: unknown): string => (Predicate.isError(thrown) ? thrown.message : "something that is no Error")

const placeOf = (path: ReadonlyArray<string>): string => (path.length === 0 ? "" : ` in ${path.join(".")}`)

/** A member as JSON takes it: where it has a `toJSON`, what that answers. */
const memberOf = (holder: object, key: string): unknown => {
  const value: unknown = Reflect.get(holder, key)
  const toJson: unknown = value === undefined || value === null ? undefined : Reflect.get(Object(value), "toJSON")
  return Predicate.isFunction(toJson) ? Reflect.apply(toJson, value, [key]) : value
}

/** The first flaw of a member and all that is in it, in the order in which JSON is written; `within` are the objects around it. */
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
    return `can't be read${placeOf(path)}, which throws: ${said(thrown)}`
  }
  if (Predicate.isBigInt(value)) return `holds a BigInt${placeOf(path)}, which JSON can't: give a text or a number`
  if (Predicate.isNumber(value) && !Number.isFinite(value)) {
    return `holds ${value}${placeOf(path)}, which JSON writes as null: give a number, or null`
  }
  if (!Predicate.isObjectOrArray(value)) return null
  if (within.includes(value)) return `refers to itself${placeOf(path)}`
  const [what, instead] = lossy.get(Object.prototype.toString.call(value)) ?? []
  if (what !== undefined) {
    return `${path.length === 0 ? "is" : "holds"} ${what}${placeOf(path)}, of which JSON keeps nothing: ${instead}`
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
    // Deeper than calls can go.
    return null
  }
}

/** A value as JSON text, undefined where there is nothing to write (a function, undefined); or why it can't be written. */
export const encode = (value: unknown): Result.Result<string | undefined, string> => {
  try {
    const text: string | undefined = JSON.stringify(value)
    // Looked for only where something may have been emptied: it takes longer than writing.
    const lost = /\{\}|null/.test(text ?? "") ? problemIn(value) : null
    return lost === null ? Result.succeed(text) : Result.fail(lost)
  } catch (thrown) {
    const flaw = thrown instanceof RangeError ? "it is nested too deeply, or too large" : said(thrown)
    return Result.fail(problemIn(value) ?? `can't be written as JSON: ${flaw}`)
  }
}
