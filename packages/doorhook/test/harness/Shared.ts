/**
 * What all tests of a file share: begun before the first of them, ended after the last.
 */
import { afterAll, beforeAll } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"

/** Answers how tests get at it. Nothing is begun where it is not `wanted`, as all tests are skipped then. */
export const shared = <A, E>(make: Effect.Effect<A, E, Scope.Scope>, wanted = true): (() => A) => {
  const scope = Scope.makeUnsafe()
  const begun: Array<A> = []
  beforeAll(async () => {
    if (wanted) begun.push(await Effect.runPromise(Scope.provide(make, scope)))
  })
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  return () => {
    for (const value of begun) return value
    throw new Error("This is there only while tests run.")
  }
}
