/**
 * What a contract suite consists of. Cases are data: no test runner is imported, so that any runner can run them.
 */
import { Effect, Equal, Formatter, Layer, Schema } from "effect"

/** One rule that a store must keep. It passes when `run` succeeds, on a store that is new. */
export interface SuiteCase<R> {
  readonly name: string
  readonly run: Effect.Effect<void, unknown, R>
}

/** A rule was not kept. */
export class RuleBroken extends Schema.TaggedError<RuleBroken>()("RuleBroken", {
  what: Schema.String,
  expected: Schema.Unknown,
  actual: Schema.Unknown
}) {
  override get message(): string {
    return `${this.what}: expected ${Formatter.format(this.expected)}, got ${Formatter.format(this.actual)}`
  }
}

/** Fails unless two values are equal: by content, redacted values included. */
export const expectEqual = (what: string, actual: unknown, expected: unknown): Effect.Effect<void, RuleBroken> =>
  Equal.equals(actual, expected) ? Effect.void : Effect.fail(new RuleBroken({ what, expected, actual }))

/** Fails when there is nothing. */
export const expectPresent = <A>(what: string, actual: A | null | undefined): Effect.Effect<A, RuleBroken> =>
  actual === null || actual === undefined
    ? Effect.fail(new RuleBroken({ what, expected: "a value", actual }))
    : Effect.succeed(actual)

/** Asks that many times at once, from number 0 on; the answers are in the order of the numbers. */
export const concurrently = <A, E, R>(
  times: number,
  ask: (n: number) => Effect.Effect<A, E, R>
): Effect.Effect<ReadonlyArray<A>, E, R> =>
  Effect.forEach(
    Array.from({ length: times }, (_, n) => n),
    ask,
    { concurrency: "unbounded" }
  )

/** Gives each case a store of its own: `layer` is built anew for each. */
export const provideEach = <R, E>(
  cases: ReadonlyArray<SuiteCase<R>>,
  layer: Layer.Layer<R, E>
): ReadonlyArray<SuiteCase<never>> =>
  cases.map(({ name, run }) => ({ name, run: Effect.provide(run, Layer.fresh(layer)) }))
