/**
 * Work after the response: it is retried until it succeeds, reported when given up, resumed after a crash, and left for
 * the next process on closing.
 */
import { memoryStore } from "@doorhook/receiver"
import type { Delivery, Problem, ReceiverStore } from "@doorhook/receiver"
import { assert, describe, it } from "@effect/vitest"
import { eventBody, makeKit, now, requestOf } from "./support.ts"

const delivery: Delivery = {
  id: "evt_0",
  attempt: 1,
  expiresAt: null,
  isReplay: false,
  receivedAt: now,
  body: eventBody,
  event: { resource_type: "call", action: "create", data: {} }
}

describe("work", () => {
  it("is retried until it succeeds, and its failures become alerts", async () => {
    let clock = now
    const failures: Array<number> = []
    const done = Promise.withResolvers<void>()
    const { problems, receiver } = makeKit({
      now: () => (clock += 1_000),
      retryDelaysMs: [1, 1, 1, 1],
      alertAfter: 2,
      work: async (_, context) => {
        failures.push(context.failures)
        if (context.failures < 3) throw new Error("the panel is offline")
        done.resolve()
      }
    })
    assert.strictEqual((await receiver.handle(requestOf())).status, 200)
    await done.promise
    await receiver.close()
    assert.deepStrictEqual(failures, [0, 1, 2, 3])
    assert.deepStrictEqual(
      problems.map(({ kind, severity }) => [kind, severity]),
      [
        ["work_failed", "warning"],
        ["work_failed", "alert"],
        ["work_failed", "alert"]
      ]
    )
  })

  it("is not done for duplicates", async () => {
    const worked: Array<string> = []
    const second = Promise.withResolvers<void>()
    const { receiver } = makeKit({
      work: ({ id }) => {
        worked.push(id)
        if (id === "evt_2") second.resolve()
      }
    })
    await receiver.handle(requestOf())
    await receiver.handle(requestOf())
    await receiver.handle(requestOf({ headers: { "webhook-id": "evt_2" } }))
    await second.promise
    await receiver.close()
    assert.deepStrictEqual(worked, ["evt_1", "evt_2"])
  })

  it("is reported when given up", async () => {
    const given = Promise.withResolvers<Problem>()
    const { receiver } = makeKit({
      retryDelaysMs: [],
      work: () => Promise.reject(new Error("no")),
      onProblem: (problem) => given.resolve(problem)
    })
    await receiver.handle(requestOf())
    assert.deepInclude(await given.promise, { kind: "work_given_up", severity: "alert", id: "evt_1" })
    await receiver.close()
  })

  it("that an earlier process left resumes at the start", async () => {
    const store = memoryStore()
    await store.keep("evt_0", delivery, () => undefined, now)
    const done = Promise.withResolvers<string>()
    const { receiver } = makeKit({ store, work: ({ id }) => done.resolve(id) })
    receiver.start()
    assert.strictEqual(await done.promise, "evt_0")
    await receiver.close()
  })

  it("belongs to one worker at a time", async () => {
    const store = memoryStore()
    const worked: Array<string> = []
    const begun = Promise.withResolvers<void>()
    const finish = Promise.withResolvers<void>()
    const workers = ["a", "b"].map((name) =>
      makeKit({
        store,
        work: async ({ id }) => {
          worked.push(`${name} ${id}`)
          begun.resolve()
          await finish.promise
        }
      })
    )
    const [a, b] = workers.map(({ receiver }) => receiver)
    await a?.handle(requestOf())
    await begun.promise
    b?.start()
    const closed = b?.close()
    finish.resolve()
    await Promise.all([closed, a?.close()])
    assert.deepStrictEqual(worked, ["a evt_1"])
    assert.isNull(await store.nextDue())
  })

  it("respects the limit of concurrency", async () => {
    let running = 0
    let most = 0
    let left = 12
    const done = Promise.withResolvers<void>()
    const { receiver } = makeKit({
      concurrency: 3,
      work: async () => {
        most = Math.max(most, ++running)
        await new Promise(setImmediate)
        running -= 1
        if (--left === 0) done.resolve()
      }
    })
    await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        receiver.handle(requestOf({ headers: { "webhook-id": `evt_${index}` } }))
      )
    )
    await done.promise
    await receiver.close()
    assert.strictEqual(most, 3)
  })

  it("interrupted by closing is not a failure, and is due in the next process", async () => {
    const store = memoryStore()
    const begun = Promise.withResolvers<void>()
    const { problems, receiver } = makeKit({
      store,
      work: async (_, { signal }) => {
        begun.resolve()
        await new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason))
        })
      }
    })
    await receiver.handle(requestOf())
    await begun.promise
    await receiver.close()
    assert.deepStrictEqual(problems, [])
    assert.deepStrictEqual(
      (await store.claim(now, now, 10)).map((one) => [one.key, "failures" in one ? one.failures : one.damage]),
      [["evt_1", 0]]
    )
  })

  it("that the store can't read is given up, and the rest is done", async () => {
    const inner = memoryStore()
    const done = Promise.withResolvers<string>()
    const given = Promise.withResolvers<Problem>()
    const store: ReceiverStore<undefined> = {
      ...inner,
      claim: async (...limits) =>
        (await inner.claim(...limits)).map((one) =>
          one.key === "evt_1" ? { key: one.key, id: one.key, damage: "no JSON" } : one
        )
    }
    for (const id of ["evt_1", "evt_2"]) await store.keep(id, { ...delivery, id }, () => undefined, now)
    const { receiver } = makeKit({ store, work: ({ id }) => done.resolve(id), onProblem: given.resolve })
    receiver.start()
    assert.strictEqual(await done.promise, "evt_2")
    assert.deepInclude(await given.promise, { kind: "work_given_up", severity: "alert", id: "evt_1" })
    await receiver.close()
    assert.isNull(await store.nextDue())
  })

  it("continues after the store failed", async () => {
    let isBroken = true
    const inner = memoryStore()
    const reported = Promise.withResolvers<Problem>()
    const done = Promise.withResolvers<void>()
    const { receiver } = makeKit({
      store: {
        ...inner,
        claim: async (...args) => {
          if (isBroken) throw new Error("no connection")
          return inner.claim(...args)
        }
      },
      work: () => done.resolve(),
      onProblem: (problem) => reported.resolve(problem)
    })
    await receiver.handle(requestOf())
    assert.deepInclude(await reported.promise, { kind: "store_failed", severity: "alert" })
    isBroken = false
    await receiver.handle(requestOf({ headers: { "webhook-id": "evt_2" } }))
    await done.promise
    await receiver.close()
  })
})
