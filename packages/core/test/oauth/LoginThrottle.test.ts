import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Latch } from "effect"
import { TestClock } from "effect/testing"
import fc from "fast-check"
import * as LoginThrottle from "../../src/oauth/LoginThrottle.ts"
import type { Credential } from "../../src/oauth/LoginThrottle.ts"
import { includes } from "./fixtures.ts"

const user: Credential = { kind: "login", name: "admin@example.com", address: "192.0.2.1" }
const client: Credential = { ...user, kind: "client", name: "acme" }
const elsewhere: Credential = { ...user, address: "192.0.2.2" }
const fail = Effect.succeed(null)
const succeed = Effect.succeed("user")
const throttled = { _tag: "Throttled" } as const
const right = { _tag: "Done", value: "user" } as const

const repeat = <A, E>(times: number, effect: Effect.Effect<A, E>) =>
  Effect.all(Array.from({ length: times }, () => effect))

/** Makes a throttle with the test's clock. */
const makeThrottle = (capacity?: number) =>
  Effect.map(Clock.Clock, (clock) => {
    const throttle = LoginThrottle.make(() => clock.currentTimeMillisUnsafe(), capacity)
    return {
      guard: <A, E, R>(guess: Credential, attempt: Effect.Effect<A | null, E, R>) =>
        Effect.suspend(() => throttle.guard(guess, () => attempt))
    }
  })

describe("LoginThrottle", () => {
  it.effect("allows ten failures, then makes that address wait for that account", () =>
    Effect.gen(function* () {
      const { guard } = yield* makeThrottle()
      for (const result of yield* repeat(10, guard(user, fail))) includes(result, { _tag: "Done", value: null })
      yield* TestClock.adjust("5 minutes")
      // Even the right password is refused without a check.
      assert.deepStrictEqual(yield* guard(user, succeed), { _tag: "Throttled", retry_after: 600 })
      includes(yield* guard(elsewhere, succeed), right)
      includes(yield* guard({ ...user, name: "other" }, succeed), { _tag: "Done" })
    })
  )

  it.effect("forgets failures after fifteen minutes", () =>
    Effect.gen(function* () {
      const { guard } = yield* makeThrottle()
      yield* repeat(10, guard(user, fail))
      yield* TestClock.adjust(15 * 60_000 - 1)
      includes(yield* guard(user, succeed), { ...throttled, retry_after: 1 })
      yield* TestClock.adjust(1)
      includes(yield* guard(user, succeed), right)
    })
  )

  it.effect("makes no caller wait longer because the clock was set back", () =>
    Effect.gen(function* () {
      const { guard } = yield* makeThrottle()
      yield* TestClock.setTime(3_600_000)
      yield* repeat(10, guard(user, fail))
      yield* TestClock.setTime(1_000)
      includes(yield* guard(user, succeed), right)
      yield* repeat(10, guard(user, fail))
      includes(yield* guard(user, succeed), { ...throttled, retry_after: 900 })
    })
  )

  it.effect("forgets failures after a successful login", () =>
    Effect.gen(function* () {
      const { guard } = yield* makeThrottle()
      yield* repeat(9, guard(user, fail))
      yield* guard(user, succeed)
      for (const result of yield* repeat(10, guard(user, fail))) includes(result, { _tag: "Done" })
      includes(yield* guard(user, fail), throttled)
    })
  )

  it.effect(
    "tries no more concurrent logins than may fail, so that nobody can keep the host busy hashing passwords",
    () =>
      Effect.gen(function* () {
        const { guard } = yield* makeThrottle()
        let tried = 0
        const slowly = Effect.suspend(() => {
          tried++
          return Effect.as(Effect.yieldNow, null)
        })
        const many = Effect.all(
          Array.from({ length: 50 }, () => guard(user, slowly)),
          { concurrency: "unbounded" }
        )
        const results = yield* many
        assert.deepStrictEqual([tried, results.filter(({ _tag }) => _tag === "Done").length], [10, 10])
        yield* TestClock.adjust("15 minutes")
        // A wrong login counts even if its sender leaves. A login that ends with an error does not block further logins.
        const gate = yield* Latch.make()
        const held = guard(user, Effect.as(gate.await, null))
        yield* Fiber.interrupt(yield* Effect.forkChild(held, { startImmediately: true }))
        yield* gate.open
        yield* Effect.flip(guard(user, Effect.fail("down")))
        tried = 0
        yield* many
        assert.strictEqual(tried, 9)
      })
  )

  it.effect("reveals no more about concurrent attempts than about ten in a row", () =>
    Effect.gen(function* () {
      const { guard } = yield* makeThrottle()
      const slowly = Effect.as(Effect.yieldNow, null)
      const [results, late] = yield* Effect.all(
        [
          Effect.all(
            Array.from({ length: 50 }, () => guard(client, slowly)),
            { concurrency: "unbounded" }
          ),
          // This attempt starts before any failure is counted, and ends after all are counted.
          guard(client, Effect.delay(succeed, 1_000)),
          TestClock.adjust(1_000)
        ],
        { concurrency: "unbounded" }
      )
      assert.strictEqual(results.filter(({ _tag }) => _tag === "Done").length, 10)
      includes(late, throttled)
    })
  )

  it.effect("never counts many concurrent right attempts as failures", () =>
    Effect.gen(function* () {
      const { guard } = yield* makeThrottle()
      const slowly = Effect.as(Effect.yieldNow, "user")
      const results = yield* Effect.all(
        Array.from({ length: 500 }, () => guard(client, slowly)),
        { concurrency: "unbounded" }
      )
      for (const result of results) includes(result, right)
    })
  )

  it.effect("does not count failures of the directory", () =>
    Effect.gen(function* () {
      const { guard } = yield* makeThrottle()
      yield* repeat(20, Effect.flip(guard(user, Effect.fail("down"))))
      includes(yield* guard(user, succeed), right)
    })
  )

  it.effect("counts spellings of one login together, but not those of a client id", () =>
    Effect.gen(function* () {
      const { guard } = yield* makeThrottle()
      yield* repeat(10, guard(user, fail))
      includes(yield* guard({ ...user, name: " ADMIN@example.com" }, fail), throttled)
      yield* repeat(10, guard(client, fail))
      includes(yield* guard({ ...client, name: "Acme" }, succeed), right)
      includes(yield* guard(client, succeed), throttled)
    })
  )

  it.effect("counts logins, clients and the authorize step separately", () =>
    Effect.gen(function* () {
      const { guard } = yield* makeThrottle()
      yield* repeat(10, guard(user, fail))
      for (const kind of ["client", "authorize"] as const) includes(yield* guard({ ...user, kind }, succeed), right)
    })
  )

  it.effect.each([
    ["2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true],
    ["2001:db8:1:2::1", "2001:db8:1:3::1", false],
    ["192.0.2.1", "::ffff:192.0.2.1", true],
    ["fe80::1%eth0", "fe80::2%eth1", true],
    ["192.0.2.1", "192.0.2.2", false]
  ] as const)("takes %s and %s for one address: %s", ([one, other, isOne]) =>
    Effect.gen(function* () {
      const { guard } = yield* makeThrottle()
      yield* repeat(10, guard({ ...user, address: one }, fail))
      includes(yield* guard({ ...user, address: other }, succeed), isOne ? throttled : right)
    })
  )

  it.effect("allows each address one try after a hundred failures for an account, and locks out no other address", () =>
    Effect.gen(function* () {
      const { guard } = yield* makeThrottle()
      for (let at = 0; at < 100; at++) yield* guard({ ...user, address: `198.51.100.${at}` }, fail)
      includes(yield* guard(user, fail), { _tag: "Done", value: null })
      includes(yield* guard(user, succeed), throttled)
      includes(yield* guard(elsewhere, succeed), right)
      includes(yield* guard(elsewhere, succeed), right)
    })
  )

  it.effect("allows an address one failure every two seconds after 450 failures for any names", () =>
    Effect.gen(function* () {
      const { guard } = yield* makeThrottle()
      for (const kind of ["login", "client"] as const) {
        const at = (name: number): Credential => ({ ...user, kind, name: `user ${name}` })
        for (let n = 0; n < 450; n++) includes(yield* guard(at(n), fail), { _tag: "Done", value: null })
        includes(yield* guard(at(450), fail), { ...throttled, retry_after: 2 })
        // A login is refused without a check even if its password is right, because a check costs the host some work. A
        // right client secret is accepted.
        includes(yield* guard(at(451), succeed), kind === "login" ? { ...throttled, retry_after: 2 } : right)
        includes(yield* guard({ ...at(452), address: elsewhere.address }, succeed), right)
        yield* TestClock.adjust("2 seconds")
        includes(yield* guard(at(453), succeed), right)
        includes(yield* guard(at(454), fail), { _tag: "Done", value: null })
        includes(yield* guard(at(455), fail), throttled)
      }
    })
  )

  it.effect("treats unknown and known client ids alike", () =>
    Effect.gen(function* () {
      const { guard } = yield* makeThrottle()
      const known: Credential = { ...client, name: "known" }
      const madeUp: Credential = { ...client, name: "made up", isMadeUp: true }
      for (let n = 0; n < 12; n++) assert.deepStrictEqual(yield* guard(madeUp, fail), yield* guard(known, fail))
      for (let n = 0; n < 450; n++) yield* guard({ ...madeUp, name: `made up ${n}` }, fail)
      for (const guess of [known, madeUp, { ...known, name: "another" }, { ...madeUp, name: "another made up" }])
        includes(yield* guard(guess, fail), throttled)
    })
  )

  it.effect("tries five concurrent logins of one source, lets twenty wait, and refuses more immediately", () =>
    Effect.gen(function* () {
      const { guard } = yield* makeThrottle()
      const sources: ReadonlyArray<(n: number) => Credential> = [
        () => ({ ...user, address: null }),
        (n) => ({ ...user, name: `user ${n}` })
      ]
      for (const guessAt of sources) {
        const gate = yield* Latch.make()
        let [trying, most, tried] = [0, 0, 0]
        const slowly = Effect.gen(function* () {
          tried++
          most = Math.max(most, ++trying)
          yield* gate.await
          trying--
          return "user"
        })
        const all = yield* Effect.forEach(
          Array.from({ length: 2_000 }, (_, n) => guessAt(n)),
          (guess) => Effect.forkChild(guard(guess, slowly), { startImmediately: true })
        )
        assert.strictEqual(tried, 5)
        // Guesses with another login from another address do not wait for these guesses.
        const other = yield* Effect.forkChild(guard({ ...elsewhere, name: "other" }, slowly), {
          startImmediately: true
        })
        assert.strictEqual(tried, 6)
        yield* gate.open
        includes(yield* Fiber.join(other), right)
        const results = yield* Effect.forEach(all, Fiber.join)
        assert.deepStrictEqual([tried, most], [26, 6])
        assert.lengthOf(
          results.filter(({ _tag }) => _tag === "Done"),
          25
        )
        includes(results.at(-1), { ...throttled, retry_after: 8 })
      }
    })
  )

  it.effect("keeps the place of a login until the host has answered, even if its sender leaves", () =>
    Effect.gen(function* () {
      const { guard } = yield* makeThrottle()
      const gate = yield* Latch.make()
      let tried = 0
      const slowly = Effect.suspend(() => {
        tried++
        return Effect.as(gate.await, "user")
      })
      for (let n = 0; n < 100; n++) {
        const login = guard({ ...user, name: `user ${n}` }, slowly)
        yield* Fiber.interrupt(yield* Effect.forkChild(login, { startImmediately: true }))
      }
      assert.strictEqual(tried, 5)
      yield* gate.open
      includes(yield* guard(user, slowly), right)
      assert.strictEqual(tried, 6)
    })
  )

  it.effect("tries at most five logins in two seconds from unknown addresses after ten failures", () =>
    Effect.gen(function* () {
      const { guard } = yield* makeThrottle()
      const unknown: Credential = { ...user, address: null }
      yield* repeat(10, guard(unknown, fail))
      let tried = 0
      const attempt = Effect.sync(() => {
        tried++
        return null
      })
      for (let n = 0; n < 2_000; n++) yield* Effect.forkChild(guard(unknown, attempt), { startImmediately: true })
      for (const expected of [0, 5, 10, 15, 20, 25, 25]) {
        assert.strictEqual(tried, expected)
        yield* TestClock.adjust("2 seconds")
      }
    })
  )

  it.effect("does not count a login that was interrupted before it was tried", () =>
    Effect.gen(function* () {
      const { guard } = yield* makeThrottle()
      const at = (n: number): Credential => ({ ...user, name: `user ${n}` })
      const gate = yield* Latch.make()
      const trying = yield* Effect.forEach([1, 2, 3, 4, 5], (n) =>
        Effect.forkChild(guard(at(n), Effect.as(gate.await, "user")), { startImmediately: true })
      )
      const waiting = yield* Effect.forEach(Array.from({ length: 10 }), () =>
        Effect.forkChild(guard(user, succeed), { startImmediately: true })
      )
      yield* Fiber.interruptAll(waiting)
      yield* gate.open
      yield* Effect.forEach(trying, Fiber.join)
      includes(yield* guard(user, succeed), right)
    })
  )

  it.effect("keeps waits and locks out no innocent client if its tables are full", () =>
    Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(
          fc.array(
            fc.record({
              kind: fc.constantFrom("login", "client"),
              name: fc.integer({ min: 1, max: 9 }).map(String),
              address: fc.integer({ min: 1, max: 9 }).map((n) => `192.0.2.${n}`),
              times: fc.integer({ min: 1, max: 12 }),
              isMadeUp: fc.boolean(),
              later: fc.constantFrom(0, 0, 0, 1_000, 60_000, 400_000)
            }),
            { maxLength: 60, size: "max" }
          ),
          (failures) =>
            Effect.gen(function* () {
              const { guard } = yield* makeThrottle(5)
              /** For each source, the time until which a guess must not be tried. */
              const waits = new Map<string, { readonly guess: Credential; readonly until: number }>()
              const run = Effect.fnUntraced(function* (guess: Credential, attempt: Effect.Effect<string | null>) {
                const fiber = yield* Effect.forkChild(guard(guess, attempt), { startImmediately: true })
                // An attempt that can't be counted is delayed.
                yield* TestClock.adjust("2 seconds")
                return yield* Fiber.join(fiber)
              })
              for (const { later, times, ...guess } of failures) {
                yield* TestClock.adjust(later)
                for (let n = 0; n < times; n++) {
                  const result = yield* run(guess, fail)
                  const now = yield* Clock.currentTimeMillis
                  if (result._tag === "Throttled" && result.retry_after > 3)
                    waits.set(JSON.stringify(guess), { guess, until: now - 2_000 + (result.retry_after - 1) * 1_000 })
                }
                for (const { guess: waiting, until } of waits.values())
                  if ((yield* Clock.currentTimeMillis) + 2_000 < until)
                    includes(yield* run(waiting, succeed), throttled)
                includes(yield* run({ ...guess, address: "198.51.100.1" }, succeed), right)
              }
            }).pipe(Effect.provide(TestClock.layer()), Effect.runPromise)
        ),
        { numRuns: 50 }
      )
    )
  )

  it.effect("delays tries from unknown addresses and refuses none, whatever failed before", () =>
    Effect.gen(function* () {
      const { guard } = yield* makeThrottle()
      const unknown: Credential = { ...user, address: null }
      const timed = Effect.gen(function* () {
        const begin = yield* Clock.currentTimeMillis
        const result = yield* guard(unknown, succeed)
        return { result, after: (yield* Clock.currentTimeMillis) - begin }
      })
      yield* repeat(9, guard(unknown, fail))
      assert.deepStrictEqual(yield* timed, { result: right, after: 0 })
      yield* guard(unknown, fail)
      for (let at = 0; at < 100; at++) yield* guard({ ...user, address: `198.51.100.${at}` }, fail)
      const waiting = yield* Effect.forkChild(timed)
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(yield* Fiber.join(waiting), { result: right, after: 2_000 })
    })
  )
})
