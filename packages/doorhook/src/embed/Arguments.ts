/**
 * Checks arguments of calls, because plain JavaScript has no type checks. Errors name the argument, the given value and
 * the accepted values.
 */
import { didYouMean, nameOf } from "@doorhook/core"
import { Predicate } from "effect"
import { DoorhookError } from "../DoorhookError.ts"

/** Returns the error for an invalid argument. */
export const badArgument = (name: string, expected: string, given: unknown, hint = ""): DoorhookError =>
  new DoorhookError("bad_request", `${name}: must be ${expected}, not ${nameOf(given)}${hint}`)

/** Reads an id. Converts a whole number to text. Refuses an empty text, and a text with half of a surrogate pair. */
export const idIn = (name: string, given: unknown, expected: string): string => {
  const id: unknown = Number.isSafeInteger(given) ? String(given) : given
  if (Predicate.isString(id) && id.isWellFormed() && id !== "") return id
  throw badArgument(name, expected, given)
}

/** Reads an id for a URL path. Refuses `.` and `..`, which can't be path segments. */
export const idInPath = (given: unknown, expected: string): string => {
  const id = idIn("id", given, expected)
  if (/^\.{1,2}$/.test(id)) throw badArgument("id", expected, given)
  return id
}

/** Returns the given options; `{}` for undefined and null. */
const givenOf = <A extends object>(given: A | null | undefined): Partial<A> => {
  if (given === undefined || given === null) return {}
  if (Predicate.isObject(given)) return given
  throw badArgument("options", "an object or left out", given)
}

/** Reads the options of a call. Refuses unknown names, because most are typos. */
export const optionsOf = <A extends object>(
  given: A | null | undefined,
  known: ReadonlyArray<keyof A & string>
): Partial<A> => {
  const options = givenOf(given)
  const unknown = Object.keys(options).filter((name) => !known.some((one) => one === name))
  if (unknown.length === 0) return options
  const hint = (name: string): string => didYouMean(name, known) || `; there is ${known.join(", ")}`
  const problems = unknown.map((name) => `${name}: no such option${hint(name)}`)
  throw new DoorhookError("bad_request", `options: ${problems.join("; ")}`)
}

/** Reads the required object of a call. */
export const bodyOf = (name: string, given: unknown, example: string): object => {
  if (Predicate.isObject(given)) return given
  throw badArgument(name, `an object like ${example}`, given)
}

const isPlain = (value: unknown): value is string | number | bigint | boolean =>
  Predicate.isString(value) || Predicate.isNumber(value) || Predicate.isBigInt(value) || Predicate.isBoolean(value)

/**
 * Encodes options as a query string without the question mark. Leaves out undefined and null values, but refuses a null
 * `after`: it is the `next` of the last page, and a loop that passed it on would start over and never end.
 */
export const queryOf = (options: object | null | undefined): string => {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(givenOf(options))) {
    if (name === "after" && value === null) {
      throw new DoorhookError(
        "bad_request",
        "after: must not be null, the `next` of the last page. End the loop when `next` is null; for the first page, leave out `after`"
      )
    }
    if (value === undefined || value === null) continue
    const values: ReadonlyArray<unknown> = Array.isArray(value) ? value : [value]
    if (!values.every(isPlain)) throw badArgument(name, "a text, a number or a list of these", value)
    query.set(name, values.join(","))
  }
  return query.toString()
}
