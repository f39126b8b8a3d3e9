/**
 * The cap of ten concurrent requests, and refusals by a receiver with its own limit.
 */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import type { ServerResponse } from "node:http"
import { execute } from "../src/execution/Perform.ts"
import { Slots } from "../src/execution/Slots.ts"
import { accessLog } from "../src/history/Events.ts"
import { newEvent, raceNew } from "../src/history/History.ts"
import type { Operation } from "../src/history/Operations.ts"
import { classify } from "../src/judgement/Criteria.ts"
import { requirements } from "../src/requirements/Catalogue.ts"
import { answer, receiver } from "./support/receiver.ts"
import { executed, services, settingOf, criteria } from "./support/setting.ts"

describe("slots", () => {
  it.live("let ten of fourteen workers send at the same time, and a request alone when asked", () =>
    Effect.gen(function* () {
      const slots = new Slots(() => performance.now(), null, 0)
      const seen: Array<number> = []
      const aloneWith: Array<number> = []
      let underWay = 0
      const send = (counts: Array<number>) =>
        slots.counted(() =>
          Effect.gen(function* () {
            underWay += 1
            counts.push(underWay)
            yield* Effect.sleep(2)
            underWay -= 1
          })
        )
      const worker = Effect.replicateEffect(slots.one(send(seen)), 20)
      yield* Effect.all([...Array.from({ length: 14 }, () => worker), slots.alone(send(aloneWith))], {
        concurrency: "unbounded"
      })
      assert.strictEqual(Math.max(...seen), 10)
      assert.deepStrictEqual(aloneWith, [1])
      assert.strictEqual(seen.length, 280)
    }).pipe(Effect.provide(services))
  )

  it.live("count the most concurrent requests during a request, including those that began after it", () =>
    Effect.gen(function* () {
      const slots = new Slots(() => performance.now(), null, 0)
      const [begun, over] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const first = slots.counted((flight) =>
        Deferred.succeed(begun, undefined).pipe(
          Effect.andThen(Deferred.await(over)),
          Effect.map(() => flight.atOnce)
        )
      )
      const second = Deferred.await(begun).pipe(
        Effect.andThen(slots.counted((flight) => Effect.sync(() => flight.atOnce))),
        Effect.tap(Deferred.succeed(over, undefined))
      )
      assert.deepStrictEqual(yield* Effect.all([first, second], { concurrency: "unbounded" }), [2, 2])
    }).pipe(Effect.provide(services))
  )
})

/**
 * Starts a receiver that accepts `limit` concurrent requests. It answers no accepted request until it has refused one.
 */
const limited = (limit: number, status = 503) => {
  const counts = { atOnce: 0, most: 0 }
  const held: Array<() => void> = []
  let hasRefused = limit === Infinity
  const serve = (response: ServerResponse): void => {
    counts.atOnce += 1
    counts.most = Math.max(counts.most, counts.atOnce)
    const isTooMany = counts.atOnce > limit
    const finish = (): void => {
      counts.atOnce -= 1
      answer(response, isTooMany ? status : 200)
    }
    if (isTooMany) {
      hasRefused = true
      finish()
      for (const one of held.splice(0)) one()
    } else if (hasRefused) setTimeout(finish, 5)
    else held.push(finish)
  }
  return Effect.map(
    receiver((_, response) => serve(response)),
    ({ url }) => ({ url, counts })
  )
}

/** Executes histories concurrently, as a run does. */
const beside = (url: string, ...histories: ReadonlyArray<ReadonlyArray<Operation>>) =>
  Effect.suspend(() => {
    const setting = settingOf(new URL(url))
    return Effect.forEach(
      histories,
      (ops) => execute({ v: 1, ops }, setting, { title: "a case", allElseDone: Effect.void, fillerTime: 1_000 }),
      { concurrency: "unbounded" }
    )
  }).pipe(Effect.provide(services))

describe("a receiver with its own limit", () => {
  it.live.each([503, 429])("gets a request again alone if it answered %i beyond its limit", (status) =>
    Effect.gen(function* () {
      const { counts, url } = yield* limited(5, status)
      const ops = [newEvent(accessLog), newEvent(accessLog)]
      const all = yield* beside(url, ...Array.from({ length: 8 }, () => ops))
      const attempts = all.flatMap(({ trace }) => trace.attempts)
      const refused = attempts.filter((one) => one.limit !== null)
      assert.isNotEmpty(refused)
      assert.isTrue(refused.every(({ inFlight }) => inFlight > 1))
      for (const { trace } of all) {
        for (const [event] of trace.events.entries()) {
          const own = trace.attempts.filter((one) => one.event === event)
          const last = own.at(-1)
          if (last === undefined) return assert.fail("an attempt of each event")
          assert.strictEqual(classify(last.exchange, criteria), "acknowledged")
          assert.deepInclude(last, { limit: null, first: true, number: own.length })
          assert.isTrue(own.slice(0, -1).every((one) => one.limit !== null))
        }
      }
      assert.isAtMost(counts.most, 10)
    })
  )

  it.live("is not excused if it refuses a single request", () =>
    Effect.gen(function* () {
      const { url } = yield* limited(0)
      const { trace } = yield* executed(url, [newEvent(accessLog)])
      assert.deepStrictEqual(
        trace.attempts.map(({ inFlight, limit }) => [limit, inFlight]),
        [[null, 1]]
      )
    })
  )

  it.live("gets only a few of its refusals again alone in a run", () =>
    Effect.gen(function* () {
      const { url } = yield* limited(0)
      const ops = Array.from({ length: 10 }, () => newEvent(accessLog))
      const all = yield* beside(url, ...Array.from({ length: 8 }, () => ops))
      const attempts = all.flatMap(({ trace }) => trace.attempts)
      assert.isAtMost(attempts.length - attempts.filter(({ number }) => number === 1).length, 60)
    })
  )

  /**
   * Starts a receiver on a machine that stalls: it handles no request until a load is over for more than a second, and
   * then all at once. It handles 5 requests a second. Refused requests count, too.
   */
  const stalling = (refuses: (id: string) => boolean) => {
    const handled: Array<number> = []
    const held: Array<() => void> = []
    let isOver = false
    return receiver(({ headers }, response) => {
      const handle = (): void => {
        const now = performance.now()
        const isTooMany = handled.filter((at) => at > now - 1_000).length >= 5
        handled.push(now)
        if (!isTooMany && !refuses(String(headers["webhook-id"]))) return answer(response, 200)
        response.writeHead(429, { "retry-after": "1" }).end()
      }
      if (isOver) return handle()
      held.push(handle)
      if (held.length < 10) return
      setTimeout(() => {
        isOver = true
        for (const one of held) one()
      }, 1_200)
    })
  }

  const underLoad = Effect.fnUntraced(function* (refuses: (id: string) => boolean) {
    const { url } = yield* stalling(refuses)
    const { trace } = yield* executed(url, [{ k: "load", factor: 1, ms: 100 }], { peakRate: 100 })
    const { judge } = requirements.find(({ id }) => id === "R-ACK-05") ?? assert.fail("R-ACK-05")
    return { trace, finding: judge(trace, criteria) }
  })

  it.live("is seen although the machine stalls between the sending and the handling of a load", () =>
    Effect.gen(function* () {
      const { finding, trace } = yield* underLoad(() => false)
      assert.deepInclude(finding, { verdict: "FAIL", strength: "SHOULD" })
      assert.isTrue(trace.attempts.some(({ limit, number }) => number > 1 && limit !== null))
    })
  )

  it.live("does not excuse that what was refused once is refused for good", () =>
    Effect.gen(function* () {
      let accepted = 0
      const known = new Map<string, boolean>()
      const { finding } = yield* underLoad((id) => {
        known.set(id, known.get(id) ?? ++accepted > 5)
        return known.get(id) === true
      })
      assert.deepInclude(finding, { verdict: "FAIL", strength: "MUST" })
    })
  )

  it.live("may refuse copies of one event", () =>
    Effect.gen(function* () {
      const { counts, url } = yield* limited(1)
      const { trace } = yield* executed(url, [raceNew(accessLog, 10)])
      assert.strictEqual(trace.attempts.length, 10)
      assert.isTrue(trace.attempts.every(({ limit, raced }) => raced && limit === null))
      assert.isAbove(counts.most, 1)
    })
  )

  it.live("gets an event beside unfinished requests, however few requests it takes at once", () =>
    Effect.gen(function* () {
      const { url } = yield* receiver((_, response) => answer(response, 200))
      const setting = settingOf(new URL(url))
      const refused = { atOnce: 2, began: Infinity, ended: Infinity, refused: true }
      for (let times = 0; times < 3; times++) setting.slots.adapt(refused, { asked: 0, before: 1 })
      const { trace } = yield* execute(
        { v: 1, ops: [{ k: "stalled", count: 4, percent: 0 }, newEvent(accessLog)] },
        setting,
        { title: "a case", allElseDone: Effect.void, fillerTime: 1_000 }
      )
      assert.deepStrictEqual(
        trace.attempts.map(({ exchange, kind }) => [kind, classify(exchange, criteria)]),
        [["delivery", "acknowledged"]]
      )
    }).pipe(Effect.provide(services))
  )

  it.live("gets at most ten concurrent requests, whatever the histories do", () =>
    Effect.gen(function* () {
      const { counts, url } = yield* limited(Infinity)
      const filler: Operation = { k: "filler", count: 30 }
      const storm: Operation = { k: "abort_storm", count: 20, percent: 50 }
      const races = [raceNew(accessLog, 10), raceNew(accessLog, 10)]
      yield* beside(url, races, races, [filler], [filler], [raceNew(accessLog, 4)], [storm], [filler])
      assert.isAtMost(counts.most, 10)
    })
  )
})
