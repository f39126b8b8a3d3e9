/**
 * The error for invalid documents, requests and files, with all their problems. Also describes schema errors in plain
 * words.
 */
import { Array, JsonPointer, Predicate, Schema, SchemaIssue } from "effect"
import { Sentence } from "./Sentences.ts"

/** A problem with a value. */
export const Problem = Schema.Struct({
  /** JSON Pointer (RFC 6901) to the value; empty for the input as a whole. */
  pointer: Schema.String,
  /**
   * A sentence if there is a `code`, like "Must be an object."; otherwise a continuation of the pointer, like "must be
   * an object".
   */
  detail: Schema.String,
  /** An identifier for programs. */
  code: Schema.optionalKey(Schema.String),
  /** Summary of the problem, the same for all problems with this code. */
  title: Schema.optionalKey(Schema.String),
  /** The detail as a translatable sentence, for pages. */
  said: Schema.optionalKey(Sentence)
})
export type Problem = typeof Problem.Type

/** At least one problem. */
export type Problems = Array.NonEmptyReadonlyArray<Problem>

/** The input is invalid. Nothing was changed. */
export class InvalidInput extends Schema.TaggedError<InvalidInput>()("InvalidInput", {
  /** The kind of input, like "Invalid client". */
  title: Schema.String,
  problems: Schema.NonEmptyArray(Problem)
}) {
  /** Returns an error with these problems; null if there are none. */
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

/** Detail for a member that is not in the schema. */
export const notKnown = "is not known here"

/** Detail for a missing required member. */
export const missingMember = "is missing"

/** Replacements for messages of the schema library. */
const sayings: Readonly<Record<string, string>> = {
  "Expected no excess property": notKnown,
  "Missing key": missingMember
}

/** Describes the accepted kinds of value. Leaves out `undefined`, because the caller has given a value. */
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

/** Returns the problems found by a schema. */
export const schemaProblems = ({ issue }: Schema.SchemaError): Problems => {
  const problems = format(issue).issues.map(({ message, path }) => ({
    pointer: pointerOf(path),
    detail: reword(message)
  }))
  return Array.isReadonlyArrayNonEmpty(problems) ? problems : [{ pointer: "", detail: "is invalid" }]
}

/** Describes a value briefly: a text or number as it is, anything else by its kind. */
export const nameOf = (given: unknown): string => {
  if (Predicate.isString(given)) return JSON.stringify(given.slice(0, 40))
  if (globalThis.Array.isArray(given)) return "a list"
  if (Predicate.isFunction(given)) return "a function"
  if (Predicate.isDate(given)) return Number.isNaN(given.getTime()) ? "an invalid date" : "a date"
  return Predicate.isObject(given) ? "an object" : String(given)
}
