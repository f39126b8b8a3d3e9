/**
 * What a host's functions answer, checked: a host in plain JavaScript has no types to rely on, and what can't be used is told
 * with what would be.
 */
import { DirectoryError, schemaProblems, withinDeadline } from "@doorhook/core"
import { Effect, Predicate, Schema } from "effect"
import { kindOf } from "../config/ReadingSettings.ts"

/** What a function of the host may answer with: a thing, or a promise of it. */
export type Answer<A> = A | Promise<A>

/** Carries on with an answer: at once, if it is there. */
const whenAnswered = <A, B>(answer: Answer<A>, next: (answer: A) => B): Answer<B> =>
  Predicate.isPromiseLike(answer) ? answer.then(next) : next(answer)

/** Waits for a promise of the host, but not forever. */
const settled = (operation: string, promise: Promise<unknown>): Effect.Effect<unknown, DirectoryError> =>
  withinDeadline(
    operation,
    Effect.tryPromise({ try: () => promise, catch: (cause) => new DirectoryError({ operation, cause }) })
  )

/** Asks the host. A synchronous answer needs no timer. */
const ask = (operation: string, question: () => Answer<unknown>): Effect.Effect<unknown, DirectoryError> =>
  Effect.flatMap(
    Effect.try({ try: question, catch: (cause) => new DirectoryError({ operation, cause }) }),
    (answer): Effect.Effect<unknown, DirectoryError> =>
      Predicate.isPromiseLike(answer) ? settled(operation, Promise.resolve(answer)) : Effect.succeed(answer)
  )

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

/** What is wrong with an answer, in words that hold nothing of it. */
const flawOf = (question: Question, answer: unknown, error: Schema.SchemaError): string => {
  const inside = schemaProblems(error).filter(({ pointer }) => pointer !== "")
  const found =
    inside.length === 0 ? kindOf(answer) : inside.map(({ detail, pointer }) => `${pointer} ${detail}`).join(", ")
  const isNothing = answer === undefined || answer === null
  const hint = isNothing && expected[question] === "true or false" ? "; write `?? false` where that means no" : ""
  return `must return ${expected[question]}${inside.length === 0 ? ", not " : ": "}${found}${hint}`
}

/** Asks, and checks the shape of what came back. */
export const askFor = <A>(
  operation: Question,
  schema: Schema.Codec<A, unknown>,
  question: () => Answer<unknown>
): Effect.Effect<A, DirectoryError> =>
  Effect.flatMap(ask(operation, question), (value) =>
    Schema.decodeUnknownEffect(schema)(value).pipe(
      Effect.mapError((cause) => new DirectoryError({ operation, flaw: flawOf(operation, value, cause), cause }))
    )
  )

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
