/**
 * Checks what a host's functions return, because a host in plain JavaScript has no type checks. The error for an
 * invalid answer says what is expected.
 */
import { DirectoryError, schemaProblems } from "@doorhook/core"
import { Effect, Exit, Predicate, Schema } from "effect"
import { kindOf } from "../config/ReadingSettings.ts"

/** The return value of a host's function, or a promise of this value. */
export type Answer<A> = A | Promise<A>

/** Passes an answer to `next`, synchronously unless the answer is a promise. */
const whenAnswered = <A, B>(answer: Answer<A>, next: (answer: A) => B): Answer<B> =>
  Predicate.isPromiseLike(answer) ? answer.then(next) : next(answer)

type Asked<A> = Effect.Effect<A, DirectoryError>

/** Waits for a promise that the host returned. A rejection counts as handled even if the effect never runs. */
const settled = (operation: Question, promise: Promise<unknown>): Asked<unknown> => {
  const outcome = promise.then(Effect.succeed, (cause: unknown) =>
    Effect.fail(new DirectoryError({ operation, cause }))
  )
  return Effect.callback((resume) => void outcome.then(resume))
}

/**
 * Calls the host's function immediately, not when the effect runs. A synchronous answer needs no promise and no timer.
 * `withDeadlines` sets deadlines.
 */
const ask = <A>(
  operation: Question,
  question: () => Answer<unknown>,
  check: (operation: Question, answer: unknown) => Asked<A>
): Asked<A> => {
  let answer: Answer<unknown>
  try {
    answer = question()
  } catch (cause) {
    return Effect.fail(new DirectoryError({ operation, cause }))
  }
  if (!Predicate.isPromiseLike(answer)) return check(operation, answer)
  return Effect.flatMap(settled(operation, Promise.resolve(answer)), (value) => check(operation, value))
}

/** The expected return value of each function, in words. */
const expected = {
  client: "a client like { id, name, secret, redirect_uris }, or null",
  authenticate: "a user like { id }, or null",
  session: "a user like { id, name }, a login page like { login_url }, or null",
  serviceUser: "a user's id, or null",
  isActive: "true or false",
  administers: "true or false",
  isTenant: "true or false",
  buildings: "a list of buildings like { id, name, time_zone }",
  tenants: "a list of tenants like { id, building_id, unit }"
} as const
type Question = keyof typeof expected

/** Returns the error for an invalid answer, without the answer's content. */
const unusable = (operation: Question, answer: unknown, cause?: Schema.SchemaError): DirectoryError => {
  const inside = cause === undefined ? [] : schemaProblems(cause).filter(({ pointer }) => pointer !== "")
  const found =
    inside.length === 0 ? kindOf(answer) : inside.map(({ detail, pointer }) => `${pointer} ${detail}`).join(", ")
  const isNothing = answer === undefined || answer === null
  const hint = isNothing && expected[operation] === "true or false" ? "; if that means no, write `?? false`" : ""
  const flaw = `must return ${expected[operation]}${inside.length === 0 ? ", not " : ": "}${found}${hint}`
  return new DirectoryError({ operation, flaw, cause: cause ?? new TypeError(flaw) })
}

/** Returns a function that calls a host's function and checks its answer with a schema. */
export const questionFor = <A>(operation: Question, schema: Schema.Codec<A, unknown>) => {
  const decode = Schema.decodeUnknownExit(schema)
  const check = (_: Question, answer: unknown): Asked<A> =>
    Exit.mapError(decode(answer), (error) => unusable(operation, answer, error))
  return (question: () => Answer<unknown>): Asked<A> => ask(operation, question, check)
}

const yes = Effect.succeed(true)
const no = Effect.succeed(false)

const checkBoolean = (operation: Question, answer: unknown): Asked<boolean> => {
  if (answer === true) return yes
  return answer === false ? no : Effect.fail(unusable(operation, answer))
}

/**
 * Calls a host's function that must return `true` or `false`. Checks the answer without a schema, because such a call
 * precedes each attempt and must be fast.
 */
export const askWhether = (
  operation: "isActive" | "administers" | "isTenant",
  question: () => Answer<unknown>
): Asked<boolean> => ask(operation, question, checkBoolean)

/** Converts undefined to null, because a lookup in a list or map returns undefined for a missing item. */
export const found =
  (question: () => Answer<unknown>): (() => Answer<unknown>) =>
  () =>
    whenAnswered(question(), (answer) => answer ?? null)

/** Converts a missing list to an empty list. */
export const foundList =
  (question: () => Answer<unknown>): (() => Answer<unknown>) =>
  () =>
    whenAnswered(question(), (answer) => answer ?? [])

const isWhole = (id: unknown): boolean => Number.isSafeInteger(id) || Predicate.isBigInt(id)

/** Converts a numeric id of a user to text. */
export const foundId =
  (question: () => Answer<unknown>): (() => Answer<unknown>) =>
  () =>
    whenAnswered(found(question)(), (id) => (isWhole(id) ? String(id) : id))

/** Converts a user's numeric id to text. A number must be a safe integer, because other numbers have no unique text. */
export const foundUser =
  (question: () => Answer<unknown>): (() => Answer<unknown>) =>
  () =>
    whenAnswered(found(question)(), (user) => {
      if (!Predicate.hasProperty(user, "id")) return user
      return isWhole(user.id) ? { id: String(user.id), name: Reflect.get(user, "name") } : user
    })
