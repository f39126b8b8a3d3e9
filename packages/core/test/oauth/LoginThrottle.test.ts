import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import * as LoginThrottle from "../../src/services/authorization/LoginThrottle.ts"
import { includes } from "./fixtures.ts"

const user = { login: "admin@example.com", address: "192.0.2.1" }
const elsewhere = { ...user, address: "192.0.2.2" }
const fail = Effect.succeed(null)
const succeed = Effect.succeed("user")
const throttled = { _tag: "Throttled" } as const

const repeat = <A, E>(times: number, effect: Effect.Effect<A, E>) =>
  Effect.all(Array.from({ length: times }, () => effect))

describe("LoginThrottle", () => {
  it.effect("lets ten failures happen, then makes that address wait for that account", () =>
    Effect.gen(function* () {
      const { guard } = LoginThrottle.make()
      for (const result of yield* repeat(10, guard(user, fail))) includes(result, { _tag: "Done", value: null })
      yield* TestClock.adjust("5 minutes")
      // Even the right password is not tried.
      assert.deepStrictEqual(yield* guard(user, succeed), { _tag: "Throttled", retry_after: 600 })
      includes(yield* guard(elsewhere, succeed), { _tag: "Done", value: "user" })
      includes(yield* guard({ ...user, login: "other" }, succeed), { _tag: "Done" })
    })
  )

  it.effect("forgets failures after fifteen minutes", () =>
    Effect.gen(function* () {
      const { guard } = LoginThrottle.make()
      yield* repeat(10, guard(user, fail))
      yield* TestClock.adjust(15 * 60_000 - 1)
      includes(yield* guard(user, succeed), { ...throttled, retry_after: 1 })
      yield* TestClock.adjust(1)
      includes(yield* guard(user, succeed), { _tag: "Done", value: "user" })
    })
  )

  it.effect("forgives after a login that worked", () =>
    Effect.gen(function* () {
      const { guard } = LoginThrottle.make()
      yield* repeat(9, guard(user, fail))
      yield* guard(user, succeed)
      for (const result of yield* repeat(10, guard(user, fail))) includes(result, { _tag: "Done" })
      includes(yield* guard(user, fail), throttled)
    })
  )

  it.effect("counts attempts that run at once one by one", () =>
    Effect.gen(function* () {
      const { guard } = LoginThrottle.make()
      const slowly = Effect.as(Effect.yieldNow, null)
      const results = yield* Effect.all(
        Array.from({ length: 50 }, () => guard(user, slowly)),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(results.filter(({ _tag }) => _tag === "Done").length, 10)
    })
  )

  it.effect("does not hold a directory that is down against anybody", () =>
    Effect.gen(function* () {
      const { guard } = LoginThrottle.make()
      yield* repeat(20, Effect.flip(guard(user, Effect.fail("down"))))
      includes(yield* guard(user, succeed), { _tag: "Done", value: "user" })
    })
  )

  it.effect("takes spellings of one login for one account", () =>
    Effect.gen(function* () {
      const { guard } = LoginThrottle.make()
      yield* repeat(10, guard(user, fail))
      includes(yield* guard({ ...user, login: " ADMIN@example.com" }, fail), throttled)
    })
  )

  it.effect(
    "gives each address one try when an account failed a hundred times, and locks out none that did nothing",
    () =>
      Effect.gen(function* () {
        const { guard } = LoginThrottle.make()
        for (let at = 0; at < 100; at++) yield* guard({ ...user, address: `198.51.100.${at}` }, fail)
        includes(yield* guard(user, fail), { _tag: "Done", value: null })
        includes(yield* guard(user, succeed), throttled)
        includes(yield* guard(elsewhere, succeed), { _tag: "Done", value: "user" })
        includes(yield* guard(elsewhere, succeed), { _tag: "Done", value: "user" })
      })
  )
})
