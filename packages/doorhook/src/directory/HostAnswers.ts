/**
 * Answers of a host's functions, checked: a host in plain JavaScript has no types to rely on, and an answer that can't be used
 * is reported with what is expected.
 */
import { DirectoryError, schemaProblems } from "@doorhook/core"
import { Effect, Exit, Predicate, Schema } from "effect"
import { kindOf } from "../config/ReadingSettings.ts"

/** An answer of the host's function, or a promise of it. */
export type Answer<A> = A | Promise<A>

/** Continues with an answer: at once where it is there. */
const whenAnswered = <A, B>(answer: Answer<A>, next: (answer: A) => B): Answer<B> =>
  Predicate.isPromiseLike(answer) ? answer.then(next) : next(answer)

type Asked<A> = Effect.Effect<A, DirectoryError>

/** Waits for a promise of the host. A rejection is handled even if nobody runs the effect. */
const settled = (operation: Question, promise: Promise<unknown>): Asked<unknown> => {
  const outcome = promise.then(Effect.succeed, (cause: unknown) =>
    Effect.fail(new DirectoryError({ operation, cause }))
  )
  return Effect.callback((resume) => void outcome.then(resume))
}

/**
 * Asks the host right now, not when the effect is run: a synchronous answer is an `Exit`, without a promise or a timer. Deadlines
 * are set by `withDeadlines`.
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

/** What a question may be answered with, in words. */
const expected = {
  client: "a client like { id, name, secret, redirect_uris }, or null",
  authenticate: "a user like { id }, or null",
  session: "a user like { id, name }, a place like { login_url }, or null",
  isActive: "true or false",
  administers: "true or false",
  isTenant: "true or false",
  buildings: "a list of buildings like { id, name, time_zone }",
  tenants: "a list of tenants like { id, building_id, unit }"
} as const
type Question = keyof typeof expected

/** A failure that says what is wrong with an answer, and nothing that the answer holds. */
const unusable = (operation: Question, answer: unknown, cause?: Schema.SchemaError): DirectoryError => {
  const inside = cause === undefined ? [] : schemaProblems(cause).filter(({ pointer }) => pointer !== "")
  const found =
    inside.length === 0 ? kindOf(answer) : inside.map(({ detail, pointer }) => `${pointer} ${detail}`).join(", ")
  const isNothing = answer === undefined || answer === null
  const hint = isNothing && expected[operation] === "true or false" ? "; write `?? false` where that means no" : ""
  const flaw = `must return ${expected[operation]}${inside.length === 0 ? ", not " : ": "}${found}${hint}`
  return new DirectoryError({ operation, flaw, cause: cause ?? new TypeError(flaw) })
}

/** A question whose answers have the shape of a schema. */
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

/** Asks a question whose answer is `true` or `false`. This is asked before each attempt, so it needs no schema. */
export const askWhether = (
  operation: "isActive" | "administers" | "isTenant",
  question: () => Answer<unknown>
): Asked<boolean> => ask(operation, question, checkBoolean)

/** Asks for one of many: what finds none in a list or a map of its own answers undefined. */
export const found =
  (question: () => Answer<unknown>): (() => Answer<unknown>) =>
  () =>
    whenAnswered(question(), (answer) => answer ?? null)

/** Asks for a list, which may be left out when it is empty. */
export const foundList =
  (question: () => Answer<unknown>): (() => Answer<unknown>) =>
  () =>
    whenAnswered(question(), (answer) => answer ?? [])

/** Asks for a user. Only whole numbers that JavaScript holds exactly are texts without a doubt: no two of them have one text. */
export const foundUser =
  (question: () => Answer<unknown>): (() => Answer<unknown>) =>
  () =>
    whenAnswered(found(question)(), (user) => {
      if (!Predicate.hasProperty(user, "id")) return user
      const isWhole = Number.isSafeInteger(user.id) || Predicate.isBigInt(user.id)
      return isWhole ? { id: String(user.id), name: Reflect.get(user, "name") } : user
    })
