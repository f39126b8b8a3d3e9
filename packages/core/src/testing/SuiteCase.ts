/**
 * The elements of a contract suite. Cases are data and import no test runner, so any runner can run them.
 */
import { Effect, Equal, Formatter, Layer, Schema } from "effect"

/** One rule that a store must satisfy. It passes if `run` succeeds on a new store. */
export interface SuiteCase<R> {
  readonly name: string
  readonly run: Effect.Effect<void, unknown, R>
}

/** The rule is violated. */
export class RuleBroken extends Schema.TaggedError<RuleBroken>()("RuleBroken", {
  what: Schema.String,
  expected: Schema.Unknown,
  actual: Schema.Unknown
}) {
  override get message(): string {
    return `${this.what}: expected ${Formatter.format(this.expected)}, got ${Formatter.format(this.actual)}`
  }
}

/** Fails unless two values are equal. Compares contents, including redacted values. */
export const expectEqual = (what: string, actual: unknown, expected: unknown): Effect.Effect<void, RuleBroken> =>
  Equal.equals(actual, expected) ? Effect.void : Effect.fail(new RuleBroken({ what, expected, actual }))

/** Fails for null and undefined. */
export const expectPresent = <A>(what: string, actual: A | null | undefined): Effect.Effect<A, RuleBroken> =>
  actual === null || actual === undefined
    ? Effect.fail(new RuleBroken({ what, expected: "a value", actual }))
    : Effect.succeed(actual)

/** Makes concurrent calls, numbered from 0. The answers are in the order of the calls. */
export const concurrently = <A, E, R>(
  times: number,
  ask: (n: number) => Effect.Effect<A, E, R>
): Effect.Effect<ReadonlyArray<A>, E, R> =>
  Effect.forEach(
    Array.from({ length: times }, (_, n) => n),
    ask,
    { concurrency: "unbounded" }
  )

/** Provides each case with its own store, for which `layer` is built again. */
export const provideEach = <R, E>(
  cases: ReadonlyArray<SuiteCase<R>>,
  layer: Layer.Layer<R, E>
): ReadonlyArray<SuiteCase<never>> =>
  cases.map(({ name, run }) => ({ name, run: Effect.provide(run, Layer.fresh(layer)) }))
