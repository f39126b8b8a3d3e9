/**
 * The elements of a contract suite. Cases are data and import no test runner, so any runner can run them.
 */
import { Effect, Equal, Formatter, Layer, Schema } from "effect"

/** A rule for an implementation of a port. An implementation follows the rule if `run` succeeds on a new instance. */
export interface SuiteCase<R> {
  readonly name: string
  readonly run: Effect.Effect<void, unknown, R>
}

/** An implementation violates the rule. */
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

/** Fails for null and undefined; returns any other value. */
export const expectPresent = <A>(what: string, actual: A | null | undefined): Effect.Effect<A, RuleBroken> =>
  actual === null || actual === undefined
    ? Effect.fail(new RuleBroken({ what, expected: "a value", actual }))
    : Effect.succeed(actual)

/** Makes `times` concurrent calls, numbered from 0, and returns their answers in the order of the numbers. */
export const concurrently = <A, E, R>(
  times: number,
  ask: (n: number) => Effect.Effect<A, E, R>
): Effect.Effect<ReadonlyArray<A>, E, R> =>
  Effect.forEach(
    Array.from({ length: times }, (_, n) => n),
    ask,
    { concurrency: "unbounded" }
  )

/** Builds `layer` once for each case. */
export const provideEach = <R, E>(
  cases: ReadonlyArray<SuiteCase<R>>,
  layer: Layer.Layer<R, E>
): ReadonlyArray<SuiteCase<never>> =>
  cases.map(({ name, run }) => ({ name, run: Effect.provide(run, Layer.fresh(layer)) }))
