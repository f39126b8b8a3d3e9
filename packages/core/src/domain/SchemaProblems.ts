/**
 * What a schema found wrong with a value, as people who wrote the value understand it.
 */
import type { Schema } from "effect"
import { JsonPointer, Predicate, SchemaIssue } from "effect"

const format = SchemaIssue.makeFormatterStandardSchemaV1()

const kinds: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  boolean: "true or false",
  object: "an object",
  array: "a list"
}

/** What is said of a member that the schema does not have. */
export const notKnown = "is not known here"

/** What is said of a member that must be there and is not. */
export const missingMember = "is missing"

/** What is said for the schema's own words. */
const sayings: Readonly<Record<string, string>> = {
  "Expected no excess property": notKnown,
  "Missing key": missingMember
}

/** What is accepted. That a member may be left out is no news to who has given it. */
const kindOf = (expected: string): string =>
  expected
    .split(" | ")
    .filter((kind) => kind !== "undefined")
    .map((kind) => kinds[kind] ?? kind)
    .join(" or ")

const reword = (message: string): string =>
  sayings[message] ?? message.replace(/^Expected (.*)$/, (_, expected: string) => `must be ${kindOf(expected)}`)

const pointerOf = (path: ReadonlyArray<unknown> | undefined): string =>
  (path ?? []).map((key) => `/${JsonPointer.escapeToken(String(key))}`).join("")

/** Each problem with a JSON Pointer (RFC 6901) to where it is. */
export const schemaProblems = ({
  issue
}: Schema.SchemaError): ReadonlyArray<{ readonly pointer: string; readonly detail: string }> =>
  format(issue).issues.map(({ message, path }) => ({ pointer: pointerOf(path), detail: reword(message) }))

/** A value that was given, in few words: a text or a number as it is, else what kind of thing it is. */
export const nameOf = (given: unknown): string => {
  if (Predicate.isString(given)) return JSON.stringify(given.slice(0, 40))
  if (Array.isArray(given)) return "a list"
  if (Predicate.isFunction(given)) return "a function"
  if (Predicate.isDate(given)) return Number.isNaN(given.getTime()) ? "an invalid date" : "a date"
  return Predicate.isObject(given) ? "an object" : String(given)
}
