/**
 * A resource shared by all tests in a file, acquired before the first test and released after the last.
 */
import { afterAll, beforeAll } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"

/**
 * Returns a function that tests call to get the resource. Pass `wanted` as false if all tests are skipped: then nothing
 * is acquired.
 */
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
