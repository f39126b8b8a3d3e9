/**
 * Arguments of calls: plain JavaScript has no types to rely on. An error names the argument, what was given and what is
 * accepted.
 */
import { didYouMean, nameOf } from "@doorhook/core"
import { Predicate } from "effect"
import { DoorhookError } from "../DoorhookError.ts"

/** Refuses an argument. */
export const badArgument = (name: string, expected: string, given: unknown, hint = ""): DoorhookError =>
  new DoorhookError("bad_request", `${name}: must be ${expected}, not ${nameOf(given)}${hint}`)

/** An id. A whole number counts as its text; nothing, or half a character, can be none. */
export const idIn = (name: string, given: unknown, expected: string): string => {
  const id: unknown = Number.isSafeInteger(given) ? String(given) : given
  if (Predicate.isString(id) && id.isWellFormed() && id !== "") return id
  throw badArgument(name, expected, given)
}

/** An id that goes into a path, which dots alone can't be part of. */
export const idInPath = (given: unknown, expected: string): string => {
  const id = idIn("id", given, expected)
  if (/^\.{1,2}$/.test(id)) throw badArgument("id", expected, given)
  return id
}

/** Options that may be left out; null is none too. */
const givenOf = <A extends object>(given: A | null | undefined): Partial<A> => {
  if (given === undefined || given === null) return {}
  if (Predicate.isObject(given)) return given
  throw badArgument("options", "an object or left out", given)
}

/** Options of a call that knows these; a name that is none of them was meant for one, and is refused. */
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

/** What a call is about, which can't be left out. */
export const bodyOf = (name: string, given: unknown, example: string): object => {
  if (Predicate.isObject(given)) return given
  throw badArgument(name, `an object like ${example}`, given)
}

const isPlain = (value: unknown): value is string | number | bigint | boolean =>
  Predicate.isString(value) || Predicate.isNumber(value) || Predicate.isBigInt(value) || Predicate.isBoolean(value)

/**
 * Options as a query, without its question mark; undefined and null are left out. A null `after` is refused: it is the `next` of
 * the last page, and a loop that begins again with it would never end.
 */
export const queryOf = (options: object | null | undefined): string => {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(givenOf(options))) {
    if (name === "after" && value === null) {
      throw new DoorhookError(
        "bad_request",
        "after: null is the `next` of the last page, and nothing comes after it. End the loop when `next` is null; to begin with the first page leave `after` out"
      )
    }
    if (value === undefined || value === null) continue
    const values: ReadonlyArray<unknown> = Array.isArray(value) ? value : [value]
    if (!values.every(isPlain)) throw badArgument(name, "a text, a number or a list of these", value)
    query.set(name, values.join(","))
  }
  return query.toString()
}
