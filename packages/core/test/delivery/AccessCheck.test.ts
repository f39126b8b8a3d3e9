import { assert, describe, it } from "@effect/vitest"
import type { Scope } from "@doorhook/core"
import {
  BuildingId,
  DeliverySettings,
  Directory,
  DirectoryError,
  GrantId,
  StoreError,
  TenantId,
  UserId
} from "@doorhook/core"
import { Deferred, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import fc from "fast-check"
import type { AccessAnswer } from "../../src/delivery/AccessCheck.ts"
import { AccessCheck, ValidGrants } from "../../src/delivery/AccessCheck.ts"

type Right = (user: UserId, scope: Scope) => Effect.Effect<boolean, DirectoryError>

/** Makes an access check over a directory that answers each question with `right`. Lists the questions in `asked`. */
const checkOver = Effect.fnUntraced(function* (right: Right, isValid?: (typeof ValidGrants)["Service"]) {
  const asked: Array<string> = []
  const answer = (user: UserId, scope: Scope) => {
    asked.push(`${user} ${scope.type} ${scope.id}`)
    return right(user, scope)
  }
  const directory = Layer.succeed(Directory, {
    client: () => Effect.succeed(null),
    authenticate: () => Effect.succeed(null),
    isActive: () => Effect.succeed(true),
    administers: (user, id) => answer(user, { type: "building", id }),
    isTenant: (user, id) => answer(user, { type: "tenant", id }),
    buildings: () => Effect.succeed([]),
    tenants: () => Effect.succeed([])
  })
  const make = isValid === undefined ? AccessCheck.make : Effect.provideService(AccessCheck.make, ValidGrants, isValid)
  const check = yield* Effect.provide(make, Layer.merge(directory, Layer.orDie(DeliverySettings.layer())))
  return { asked, check }
})

const ada = UserId.make("ada")
const bert = UserId.make("bert")
const north: Scope = { type: "building", id: BuildingId.make(1) }
const flat: Scope = { type: "tenant", id: TenantId.make(1) }

/**
 * Asks about a right. `atOnce` is the synchronous answer or null, and `later` collects the answers that arrive later.
 */
const record = (check: AccessCheck, user: UserId, scope: Scope, grant?: GrantId) => {
  const later: Array<AccessAnswer> = []
  return { atOnce: check.ask(user, scope, (answer) => void later.push(answer), grant), later }
}

/** Returns the cause of a failure, and any other answer unchanged. */
const causeOf = (answer: AccessAnswer | null | undefined): unknown =>
  answer instanceof DirectoryError ? answer.cause : answer

const unreachable = new DirectoryError({ operation: "administers", cause: new Error("ECONNREFUSED") })

describe("a synchronous answer of the directory", () => {
  for (const [how, answer] of [
    ["as an exit", Effect.succeed(true)],
    ["from an effect that waits for nothing", Effect.sync(() => true)]
  ] as const)
    it.effect(`is returned (${how}), and the callback is not called`, () =>
      Effect.gen(function* () {
        const { check } = yield* checkOver(() => answer)
        const { atOnce, later } = record(check, ada, north)
        yield* TestClock.adjust("1 minute")
        assert.isTrue(atOnce)
        assert.deepStrictEqual(later, [])
      })
    )

  it.effect("may be a failure", () =>
    Effect.gen(function* () {
      const { check } = yield* checkOver(() => Effect.fail(unreachable))
      assert.strictEqual(record(check, ada, north).atOnce, unreachable)
    })
  )

  const defect = new TypeError("users is undefined")
  for (const [how, right] of [
    ["throws", (): never => assert.fail(defect.message)],
    ["dies", () => Effect.die(defect)]
  ] as const)
    it.effect(`of a directory that ${how} is a failure with its cause`, () =>
      Effect.gen(function* () {
        const { check } = yield* checkOver(right)
        const cause = causeOf(record(check, ada, north).atOnce)
        assert.instanceOf(cause, Error)
        assert.include(String(cause), defect.message)
      })
    )

  it.effect("is false for a user who no longer exists, whatever their rights", () =>
    Effect.gen(function* () {
      const directory = Layer.mock(Directory, { isActive: () => Effect.succeed(false) })
      const layer = Layer.merge(directory, Layer.orDie(DeliverySettings.layer()))
      const check = yield* Effect.provide(AccessCheck.make, layer)
      assert.isFalse(record(check, ada, north).atOnce)
    })
  )

  it.effect("is not reused outside of a turn", () =>
    Effect.gen(function* () {
      const { asked, check } = yield* checkOver(() => Effect.succeed(true))
      for (let n = 0; n < 3; n++) assert.isTrue(record(check, ada, north).atOnce)
      assert.lengthOf(asked, 3)
    })
  )

  it.effect("is reused only for identical requests of one turn", () =>
    Effect.gen(function* () {
      const { asked, check } = yield* checkOver((user) => Effect.succeed(user === ada))
      check.withinTurn(() => {
        for (const scope of [north, flat]) {
          for (let n = 0; n < 3; n++) assert.isTrue(record(check, ada, scope).atOnce)
        }
        // A nested turn is part of the outer turn.
        check.withinTurn(() => assert.isTrue(record(check, ada, flat).atOnce))
        assert.isTrue(record(check, ada, flat).atOnce)
        assert.isFalse(record(check, bert, north).atOnce)
      })
      assert.deepStrictEqual(asked, ["ada building 1", "ada tenant 1", "bert building 1"])
    })
  )

  it.effect("is not reused after a turn that throws", () =>
    Effect.gen(function* () {
      const { asked, check } = yield* checkOver(() => Effect.succeed(true))
      const work = () => {
        record(check, ada, north)
        throw new Error("the sender failed")
      }
      assert.throws(() => check.withinTurn(work), "the sender failed")
      record(check, ada, north)
      check.withinTurn(() => void record(check, ada, north))
      assert.lengthOf(asked, 3)
    })
  )

  it.effect("is never reused if it is a failure", () =>
    Effect.gen(function* () {
      const { asked, check } = yield* checkOver(() => Effect.fail(unreachable))
      check.withinTurn(() => {
        for (let n = 0; n < 2; n++) record(check, ada, north)
      })
      assert.lengthOf(asked, 2)
    })
  )

  it.effect("stays the same for the whole turn: a revoked right takes effect in the next turn", () =>
    Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(
          fc.array(
            fc.record({
              revoked: fc.array(fc.tuple(fc.nat(2), fc.nat(2))),
              granted: fc.array(fc.tuple(fc.nat(2), fc.nat(2))),
              asks: fc.array(fc.tuple(fc.nat(2), fc.nat(2)))
            })
          ),
          (turns) =>
            Effect.gen(function* () {
              const rights = new Set<string>()
              const { check } = yield* checkOver((user, { id }) => Effect.sync(() => rights.has(`${user} ${id}`)))
              for (const { asks, granted, revoked } of turns) {
                for (const [user, place] of granted) rights.add(`u${user} ${place + 1}`)
                for (const [user, place] of revoked) rights.delete(`u${user} ${place + 1}`)
                check.withinTurn(() => {
                  for (const [user, place] of asks) {
                    const scope: Scope = { type: "building", id: BuildingId.make(place + 1) }
                    const { atOnce } = record(check, UserId.make(`u${user}`), scope)
                    assert.strictEqual(atOnce, rights.has(`u${user} ${place + 1}`))
                  }
                })
              }
            }).pipe(Effect.scoped, Effect.runPromise)
        )
      )
    )
  )
})

describe("requests in progress", () => {
  it.effect("are shared by identical calls, and each caller gets the answer once", () =>
    Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(
          fc.array(fc.tuple(fc.constantFrom(ada, bert), fc.constantFrom(north, flat)), { minLength: 1 }),
          (questions) =>
            Effect.gen(function* () {
              const gate = yield* Deferred.make<void>()
              const mayRead = (user: UserId, scope: Scope) => user === ada || scope.type === "tenant"
              const { asked, check } = yield* checkOver((user, scope) =>
                Effect.as(Deferred.await(gate), mayRead(user, scope))
              )
              const answers = questions.map(([user, scope]) => record(check, user, scope))
              for (const { atOnce, later } of answers) assert.deepStrictEqual([atOnce, later], [null, []])
              const different = new Set(questions.map(([user, scope]) => `${user} ${scope.type} ${scope.id}`))
              assert.deepStrictEqual(asked, [...different])
              yield* Deferred.succeed(gate, undefined)
              yield* Effect.yieldNow
              for (const [index, [user, scope]] of questions.entries()) {
                assert.deepStrictEqual(answers[index]?.later, [mayRead(user, scope)])
              }
              record(check, ada, north)
              assert.lengthOf(asked, different.size + 1)
            }).pipe(Effect.scoped, Effect.runPromise)
        )
      )
    )
  )

  it.effect("are not confused, whatever characters a user's id has", () =>
    Effect.gen(function* () {
      const { asked, check } = yield* checkOver(() => Effect.never)
      record(check, UserId.make("1 ada"), { type: "building", id: BuildingId.make(1) })
      record(check, ada, { type: "building", id: BuildingId.make(11) })
      record(check, ada, { type: "building", id: BuildingId.make(1) })
      assert.lengthOf(asked, 3)
    })
  )

  it.effect("share a failure", () =>
    Effect.gen(function* () {
      const { asked, check } = yield* checkOver(() => Effect.delay(Effect.fail(unreachable), 100))
      const [first, second] = [record(check, ada, north), record(check, ada, north)]
      yield* TestClock.adjust(100)
      assert.deepStrictEqual([first.later, second.later], [[unreachable], [unreachable]])
      assert.lengthOf(asked, 1)
    })
  )

  it.effect("share a defect, as a failure with its cause", () =>
    Effect.gen(function* () {
      const defect = new TypeError("users is undefined")
      const { check } = yield* checkOver(() => Effect.delay(Effect.die(defect), 100))
      const [first, second] = [record(check, ada, north), record(check, ada, north)]
      yield* TestClock.adjust(100)
      for (const { later } of [first, second]) assert.strictEqual(causeOf(later[0]), defect)
    })
  )

  it.effect("each have a deadline, counted from their own start, even for callers that join later", () =>
    Effect.gen(function* () {
      const { asked, check } = yield* checkOver(() => Effect.never)
      const first = record(check, ada, north)
      yield* TestClock.adjust(3_000)
      const joined = record(check, ada, north)
      const other = record(check, bert, north)
      yield* TestClock.adjust(1_999)
      assert.deepStrictEqual([first.later, joined.later], [[], []])
      yield* TestClock.adjust(1)
      for (const { later } of [first, joined]) {
        assert.lengthOf(later, 1)
        assert.include(String(causeOf(later[0])), "no answer within 5000 ms")
      }
      assert.deepStrictEqual(other.later, [])
      const again = record(check, ada, north)
      assert.lengthOf(asked, 3)
      yield* TestClock.adjust(3_000)
      assert.deepStrictEqual([other.later.length, again.later.length], [1, 0])
    })
  )

  it.effect("are interrupted at their deadline", () =>
    Effect.gen(function* () {
      let interrupted = 0
      const hanging = Effect.onInterrupt(Effect.never, () => Effect.sync(() => interrupted++))
      const { check } = yield* checkOver(() => hanging)
      const { later } = record(check, ada, north)
      yield* TestClock.adjust(5_000)
      assert.deepStrictEqual([interrupted, later.length], [1, 1])
    })
  )

  it.effect(
    "fail at their deadline even if they can't be interrupted, and a late answer is not used for newer requests",
    () =>
      Effect.gen(function* () {
        const [old, newer] = [yield* Deferred.make<boolean>(), yield* Deferred.make<boolean>()]
        const answers = [old, newer]
        const { check } = yield* checkOver(() =>
          Effect.uninterruptible(Effect.flatMap(Effect.fromNullishOr(answers.shift()), Deferred.await)).pipe(
            Effect.orDie
          )
        )
        const first = record(check, ada, north)
        yield* TestClock.adjust(5_000)
        assert.lengthOf(first.later, 1)
        const second = record(check, ada, north)
        yield* Deferred.succeed(old, true)
        yield* TestClock.adjust(1)
        assert.deepStrictEqual([first.later.length, second.later], [1, []])
        yield* Deferred.succeed(newer, false)
        yield* TestClock.adjust(1)
        assert.deepStrictEqual(second.later, [false])
      })
  )

  it.effect("are made again after an answer: an asynchronous answer is never reused", () =>
    Effect.gen(function* () {
      let may = true
      const { asked, check } = yield* checkOver(() =>
        Effect.delay(
          Effect.sync(() => may),
          100
        )
      )
      const before = record(check, ada, north)
      yield* TestClock.adjust(100)
      may = false
      const after = record(check, ada, north)
      yield* TestClock.adjust(100)
      assert.deepStrictEqual([before.later, after.later], [[true], [false]])
      assert.lengthOf(asked, 2)
    })
  )

  it.effect("can be repeated by a caller within its callback", () =>
    Effect.gen(function* () {
      const { asked, check } = yield* checkOver(() => Effect.delay(Effect.succeed(true), 100))
      const answers: Array<AccessAnswer> = []
      check.ask(ada, north, () => void check.ask(ada, north, (answer) => void answers.push(answer)))
      yield* TestClock.adjust(100)
      assert.lengthOf(asked, 2)
      yield* TestClock.adjust(100)
      assert.deepStrictEqual(answers, [true])
    })
  )

  it.effect("are interrupted without an answer when the layer closes", () =>
    Effect.gen(function* () {
      let interrupted = 0
      const hanging = Effect.onInterrupt(Effect.never, () => Effect.sync(() => interrupted++))
      const { later } = yield* Effect.scoped(
        Effect.map(
          checkOver(() => hanging),
          ({ check }) => record(check, ada, north)
        )
      )
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual([interrupted, later.length], [1, 0])
    })
  )
})

describe("a grant", () => {
  const [live, ended, unknown] = ["live", "ended", "unknown"].map((name) => GrantId.make(name))
  const down = new StoreError({ operation: "TokenStore.findGrant", cause: new Error("down") })

  it.effect("counts in addition to the right, for each question, also where the scope was asked about before", () =>
    Effect.gen(function* () {
      const grants: Array<GrantId> = []
      const { asked, check } = yield* checkOver(
        (user) => Effect.succeed(user === ada),
        (grant) => {
          grants.push(grant)
          return grant === unknown ? Effect.fail(down) : Effect.succeed(grant === live)
        }
      )
      check.withinTurn(() => {
        assert.strictEqual(record(check, ada, north).atOnce, true)
        assert.strictEqual(record(check, ada, north, live).atOnce, true)
        assert.strictEqual(record(check, ada, north, ended).atOnce, false)
        assert.strictEqual(record(check, ada, north).atOnce, true)
        assert.strictEqual(causeOf(record(check, ada, north, unknown).atOnce), down)
        assert.strictEqual(record(check, bert, north, live).atOnce, false)
      })
      // Whose right is lost is not asked about.
      assert.deepStrictEqual(grants, [live, ended, unknown])
      assert.strictEqual(asked.length, 5)
    })
  )

  it.effect("that is looked up later answers only those who asked about it", () =>
    Effect.gen(function* () {
      const answer = yield* Deferred.make<boolean>()
      const { check } = yield* checkOver(
        () => Effect.succeed(true),
        (grant) => (grant === live ? Effect.succeed(true) : Deferred.await(answer))
      )
      const waiting = [record(check, ada, north, ended), record(check, ada, north, ended)]
      assert.strictEqual(record(check, ada, north, live).atOnce, true)
      assert.strictEqual(record(check, ada, north).atOnce, true)
      yield* Deferred.succeed(answer, false)
      yield* TestClock.adjust("1 millis")
      for (const { atOnce, later } of waiting) assert.deepStrictEqual([atOnce, later], [null, [false]])
    })
  )
})
