/**
 * Invalid input: one error for every document, request and file, with all of its problems at once; and the problems that a schema
 * finds, in plain words.
 */
import { Array, JsonPointer, Predicate, Schema, SchemaIssue } from "effect"
import { Sentence } from "./Sentences.ts"

/** A problem with a value. */
export const Problem = Schema.Struct({
  /** JSON Pointer (RFC 6901) to the value; empty for the input as a whole. */
  pointer: Schema.String,
  /** With a `code` a sentence, like "Must be an object."; without one it continues the pointer, like "must be an object". */
  detail: Schema.String,
  /** A word for programs. */
  code: Schema.optionalKey(Schema.String),
  /** The same for every problem of a code. */
  title: Schema.optionalKey(Schema.String),
  /** The detail as a sentence, where pages show it in their language. */
  said: Schema.optionalKey(Sentence)
})
export type Problem = typeof Problem.Type

/** At least one problem. */
export type Problems = Array.NonEmptyReadonlyArray<Problem>

/** Input that can't be used. Nothing was changed. */
export class InvalidInput extends Schema.TaggedError<InvalidInput>()("InvalidInput", {
  /** The kind of input, like "Invalid client". */
  title: Schema.String,
  problems: Schema.NonEmptyArray(Problem)
}) {
  /** The error of these problems; null without any. */
  static of(title: string, problems: ReadonlyArray<Problem>): InvalidInput | null {
    return Array.isReadonlyArrayNonEmpty(problems) ? new InvalidInput({ title, problems }) : null
  }

  override get message(): string {
    return this.problems
      .map(({ code, detail, pointer }, at) => {
        const end = at === this.problems.length - 1 || code !== undefined ? "" : ";"
        return `${pointer === "" ? "" : `${pointer}: `}${detail}${end}`
      })
      .join(" ")
  }
}

const format = SchemaIssue.makeFormatterStandardSchemaV1()

const kinds: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  boolean: "true or false",
  object: "an object",
  array: "a list"
}

/** Detail of a member that the schema does not have. */
export const notKnown = "is not known here"

/** Detail of a required member that is missing. */
export const missingMember = "is missing"

/** Details by the schema's own words. */
const sayings: Readonly<Record<string, string>> = {
  "Expected no excess property": notKnown,
  "Missing key": missingMember
}

/** The accepted kinds of value. That a member is optional is of no use to someone who has given it. */
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

/** The problems that a schema found. */
export const schemaProblems = ({ issue }: Schema.SchemaError): Problems => {
  const problems = format(issue).issues.map(({ message, path }) => ({
    pointer: pointerOf(path),
    detail: reword(message)
  }))
  return Array.isReadonlyArrayNonEmpty(problems) ? problems : [{ pointer: "", detail: "is invalid" }]
}

/** A given value in a few words: a text or a number as it is, anything else by its kind. */
export const nameOf = (given: unknown): string => {
  if (Predicate.isString(given)) return JSON.stringify(given.slice(0, 40))
  if (globalThis.Array.isArray(given)) return "a list"
  if (Predicate.isFunction(given)) return "a function"
  if (Predicate.isDate(given)) return Number.isNaN(given.getTime()) ? "an invalid date" : "a date"
  return Predicate.isObject(given) ? "an object" : String(given)
}
