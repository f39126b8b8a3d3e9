import { assert, describe, it } from "@effect/vitest"
import type { Lane, LeasedDelivery } from "@doorhook/core"
import { IntegrationId, isRetryLane, JsonText } from "@doorhook/core"
import fc from "fast-check"
import type { FairQueueOptions } from "../../src/delivery/FairQueue.ts"
import { FairQueue, concurrencyOf } from "../../src/delivery/FairQueue.ts"
import { makeLeased } from "../fixtures.ts"

/** Capacity of a queue in bytes, more than any of these tests needs. */
const queueBytes = 1024 * 1024 * 1024

/** Returns options for a queue with room for 1,000 deliveries. */
const places = (concurrency: number, concurrencyPerIntegration: number): FairQueueOptions => ({
  concurrency,
  concurrencyPerIntegration,
  buffer: 1_000,
  queueBytes
})

/** Number of bytes to reserve for an event's data. */
const size = makeLeased(1).event.data.length

/** Publishes a delivery: reserves room, then adds the delivery. Returns whether the queue holds it. */
const publish = (queue: FairQueue, delivery: LeasedDelivery): boolean => {
  const { event, integration, lane } = delivery
  if (!queue.reserve(integration.id, lane, event.data.length)) return false
  queue.unreserve(integration.id, event.data.length)
  queue.add(delivery)
  return true
}

const id = (value: number) => IntegrationId.make(value)
const call = { resource_type: "call" } as const

/** Returns all deliveries that can be sent now, in order. */
const drain = (queue: FairQueue): ReadonlyArray<LeasedDelivery> => {
  const sent: Array<LeasedDelivery> = []
  for (let delivery = queue.next(); delivery !== undefined; delivery = queue.next()) sent.push(delivery)
  return sent
}

const filled = (options: FairQueueOptions, deliveries: ReadonlyArray<LeasedDelivery>) => {
  const queue = new FairQueue(options)
  for (const delivery of deliveries) queue.add(delivery)
  return queue
}

/** Makes a delivery to an integration with this rate limit, in requests per second. */
const paced = (delivery: LeasedDelivery, requests_per_second: number): LeasedDelivery => ({
  ...delivery,
  integration: { ...delivery.integration, overrides: { requests_per_second } }
})

describe("FairQueue", () => {
  it("never exceeds the rate limit of an integration, over all workers", () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.1, max: 100, noNaN: true }),
        fc.integer({ min: 1, max: 4 }),
        fc.array(fc.integer({ min: 0, max: 3_000 }), { minLength: 1, maxLength: 100 }),
        (rate, workers, steps) => {
          const queue = filled(places(100, 100), [])
          queue.shareWith({ workers, rank: 0 })
          const times: Array<number> = []
          let now = 1_000_000
          let number = 0
          for (const step of steps) {
            queue.add(paced(makeLeased(++number), rate))
            now += step
            queue.resume(now)
            for (let next = queue.next(); next !== undefined; next = queue.next()) {
              times.push(now)
              queue.pace(next, now)
              // The slot is free again immediately, so only the rate limit delays the next delivery.
              queue.finish(next, null)
            }
            assert.isTrue(queue.queued === 0 || (queue.resumesAt(now) ?? 0) > now, "what waits is waited for")
          }
          const interval = (1_000 * workers) / rate
          for (const [first, at] of times.entries()) {
            const many = Math.floor((50 + 1_000) / interval) + 1
            assert.isAtMost(times.slice(first).filter((other) => other < at + 1_000).length, many)
          }
          now += 1_000_000
          queue.resume(now)
          assert.isNull(queue.resumesAt(now))
        }
      )
    )
  })

  it("forgets an integration with a rate limit once it has no deliveries and may send again", () => {
    const queue = filled(places(10, 10), [paced(makeLeased(1), 1)])
    const [sent] = drain(queue)
    if (sent === undefined) return assert.fail("nothing was sent")
    queue.pace(sent, 0)
    queue.finish(sent, "prompt")
    assert.deepEqual([...queue.demand(150).limits.keys()], [id(1)], "so that its next delivery waits, too")
    assert.strictEqual(queue.resumesAt(0), 1_000)
    queue.resume(1_000)
    assert.isNull(queue.resumesAt(1_000))
    assert.lengthOf([...queue.demand(150).limits], 0)
  })

  it("delays an integration with a rate limit by at most one interval after the clock was set back", () => {
    const hour = 3_600_000
    for (const isPaused of [true, false]) {
      const queue = filled(places(10, 10), [])
      const start = (now: number) => {
        const next = queue.next()
        if (next === undefined) return assert.fail("nothing can be sent")
        queue.pace(next, now)
        queue.finish(next, "prompt")
      }
      for (let n = 1; n <= 3; n++) queue.add(paced(makeLeased(n), 1))
      start(hour)
      if (!isPaused) queue.resume(hour + 1_000)
      if (isPaused) assert.strictEqual(queue.resumesAt(0), 1_000, "before `resume`")
      queue.resume(0)
      if (isPaused) {
        assert.strictEqual(queue.resumesAt(0), 1_000)
        assert.isUndefined(queue.next())
        queue.resume(1_000)
      }
      start(1_000)
      assert.strictEqual(queue.resumesAt(1_000), 2_000)
    }
  })

  it("sends calls before access logs and first attempts before retries", () => {
    const queue = filled(places(10, 10), [
      makeLeased(1, { attempts: 1 }),
      makeLeased(2),
      makeLeased(3, { event: call, attempts: 2 }),
      makeLeased(4, { event: call })
    ])
    assert.deepStrictEqual(
      drain(queue).map((delivery) => Number(delivery.id)),
      [4, 3, 2, 1]
    )
  })

  it("lets integrations take turns, whatever their backlogs", () => {
    const many = Array.from({ length: 20 }, (_, index) => makeLeased(index + 1, { integration: 1 }))
    const few = [makeLeased(21, { integration: 2 }), makeLeased(22, { integration: 2 })]
    const queue = filled(places(5, 5), [...many, ...few])
    assert.deepStrictEqual(
      drain(queue).map(({ integration }) => Number(integration.id)),
      [1, 2, 1, 2]
    )
  })

  it("keeps half of all places free of retries", () => {
    const retries = Array.from({ length: 40 }, (_, index) =>
      makeLeased(index + 1, { integration: index + 1, attempts: 1 })
    )
    const queue = filled(places(8, 2), retries)
    assert.strictEqual(drain(queue).length, 4)
    queue.add(makeLeased(99, { integration: 99 }))
    assert.deepStrictEqual(
      drain(queue).map((delivery) => Number(delivery.id)),
      [99]
    )
  })

  it("reserves places for calls", () => {
    const logs = Array.from({ length: 20 }, (_, index) => makeLeased(index + 1))
    const queue = filled(places(100, 10), logs)
    assert.strictEqual(drain(queue).length, 8)
    assert.isTrue(
      publish(queue, makeLeased(99, { event: call })),
      "though the integration's places for logs are used up"
    )
    assert.deepStrictEqual(
      drain(queue).map((delivery) => Number(delivery.id)),
      [99]
    )
  })

  it("makes new access logs wait behind the backlog of their integration, but not calls", () => {
    const queue = new FairQueue({ concurrency: 10, concurrencyPerIntegration: 2, buffer: 32, queueBytes })
    for (let i = 0; i < 4; i++) assert.isTrue(queue.reserve(id(1), 2, size))
    assert.isFalse(queue.reserve(id(1), 2, size))
    queue.unreserve(id(1), size)
    assert.isFalse(queue.reserve(id(1), 2, size), "what came later may not overtake what already waits in the store")
    assert.isTrue(queue.reserve(id(1), 0, size))
    assert.isTrue(queue.reserve(id(2), 2, size), "another integration is not affected")
  })

  it("holds fewer deliveries of a slow integration, and more again once it is fast", () => {
    const queue = filled({ concurrency: 10, concurrencyPerIntegration: 2, buffer: 800, queueBytes }, [])
    for (let i = 1; i <= 100; i++) assert.isTrue(publish(queue, makeLeased(i)))
    assert.isFalse(publish(queue, makeLeased(101)))
    const [slow] = drain(queue)
    if (slow === undefined) return assert.fail("nothing was sent")
    assert.lengthOf(queue.finish(slow, "slow"), 95)
    assert.strictEqual(queue.queued, 4)
    for (let left = 4; left > 0; left--) for (const sent of drain(queue)) queue.finish(sent, "prompt")
    assert.strictEqual(queue.demand(150).limits.get(id(1)), 8)
    for (const [index, depth] of [16, 32, 64, 100, 100].entries()) {
      queue.add(makeLeased(200 + index))
      for (const sent of drain(queue)) queue.finish(sent, "prompt")
      assert.strictEqual(queue.demand(150).limits.get(id(1)), depth)
    }
  })

  it("keeps room for a small healthy integration among many dead ones", () => {
    const queue = new FairQueue({ concurrency: 250, concurrencyPerIntegration: 10, buffer: 300, queueBytes })
    const healthy = 21
    let nextId = 1
    let sent = 0
    for (let round = 0; round < 50; round++) {
      // Imitates a store with a backlog for every integration. It claims from the integrations in turn, beginning with
      // the dead ones, whose deliveries are older.
      const { limitPerIntegration: allowance, limits } = queue.demand(150)
      const places = Array.from({ length: healthy }, (_, index) => limits.get(id(index + 1)) ?? allowance)
      for (let room = queue.room, turn = 0; room > 0 && turn < 37; turn++) {
        for (const [index, limit] of places.entries()) {
          if (turn >= limit || room === 0) continue
          queue.add(makeLeased(nextId++, { integration: index + 1 }))
          room--
        }
      }
      // The store has more deliveries for each healthy integration.
      const behind = Array.from({ length: healthy }, (_, index) => id(index + 1))
      const nothing = { limit: 0, limitPerIntegration: 0, limits: new Map() }
      queue.claimed({ ...nothing, urgent: nothing, behind }, [])
      for (const delivery of drain(queue)) {
        if (delivery.integration.id !== id(healthy)) continue
        sent++
        queue.finish(delivery, null)
      }
    }
    assert.isAtLeast(sent, 50)
  })

  it("never holds more than the buffer, and reserves an eighth of it for urgent deliveries", () => {
    const queue = new FairQueue({ concurrency: 100, concurrencyPerIntegration: 10, buffer: 200, queueBytes })
    const reserved = (lane: Lane) =>
      Array.from({ length: 1_000 }, (_, index) => queue.reserve(id(index + 1), lane, size)).filter(Boolean).length
    assert.strictEqual(reserved(2), 175)
    assert.strictEqual(queue.room, 0)
    assert.strictEqual(reserved(0), 25)
    assert.strictEqual(queue.inMemory, 200)
    assert.isFalse(queue.needsRefill, "there is no room for it")
    for (let integration = 1; integration <= 30; integration++) queue.unreserve(id(integration), size)
    assert.isTrue(queue.needsRefill)
  })

  it("claims urgent deliveries of an integration whose other deliveries fill its limit, as long as they fit", () => {
    const queue = new FairQueue({ concurrency: 10, concurrencyPerIntegration: 10, buffer: 160, queueBytes })
    for (let n = 1; n <= 20; n++) queue.add(makeLeased(n))
    const full = queue.demand(150)
    assert.strictEqual(full.limits.get(id(1)), 0)
    assert.isUndefined(full.urgent.limits.get(id(1)))
    assert.strictEqual(full.urgent.limitPerIntegration, 10)
    const calls = Array.from({ length: 10 }, (_, n) => makeLeased(21 + n, { event: call, attempts: 1 }))
    for (const delivery of calls) queue.add(delivery)
    assert.isTrue(queue.claimed(full, calls), "more may be due")
    assert.strictEqual(queue.demand(150).urgent.limits.get(id(1)), 0)
    assert.isFalse(queue.claimed(queue.demand(150), []))
    assert.lengthOf(queue.demand(150).behind, 0, "nothing is known about its other deliveries")
    const [first] = drain(queue)
    if (first === undefined) return assert.fail("nothing was sent")
    queue.finish(first, "prompt")
    assert.strictEqual(queue.demand(150).urgent.limits.get(id(1)), 1)
  })

  it("claims urgent deliveries into the reserved eighth of the buffer", () => {
    const queue = new FairQueue({ concurrency: 100, concurrencyPerIntegration: 10, buffer: 200, queueBytes })
    for (let n = 1; n <= 175; n++) queue.add(makeLeased(n, { integration: n }))
    const { limit, urgent } = queue.demand(150)
    assert.deepStrictEqual([limit, urgent.limit], [0, 25])
    for (let n = 1; n <= 25; n++) queue.add(makeLeased(n, { integration: n, event: call }))
    assert.strictEqual(queue.demand(150).urgent.limit, 0)
  })

  it("leaves the last quarter of the room to integrations with few held deliveries", () => {
    const queue = new FairQueue({ concurrency: 10, concurrencyPerIntegration: 10, buffer: 1_000, queueBytes })
    for (let n = 1; n <= 750; n++) queue.add(makeLeased(n, { integration: 1 + (n % 5) }))
    assert.isFalse(queue.reserve(id(1), 2, size))
    const taken = Array.from({ length: 300 }, (_, index) => queue.reserve(id(index + 10), 2, size)).filter(Boolean)
    assert.lengthOf(taken, 240)
    assert.strictEqual(queue.room, 0)
  })

  it("accepts deliveries of a healthy integration while dead integrations that are not yet known as slow are at their limits", () => {
    const queue = new FairQueue({ concurrency: 512, concurrencyPerIntegration: 10, buffer: 8_192, queueBytes })
    const dead = 20
    const reserved = (integration: number) =>
      Array.from({ length: 1_000 }, () => queue.reserve(id(integration), 2, size)).filter(Boolean).length
    for (let integration = 1; integration <= dead; integration++) assert.isAtLeast(reserved(integration), 20)
    // Claims deliveries of the dead integrations from the store until the queue needs no more.
    for (let limit = queue.claimLimit(150); queue.needsRefill; limit = queue.claimLimit(150)) {
      assert.isAbove(limit, 0)
      const { limitPerIntegration: allowance, limits } = queue.demand(150)
      for (let integration = 1; integration <= dead; integration++) {
        const count = Math.min(limit, limits.get(id(integration)) ?? allowance)
        for (let n = 0; n < count; n++, limit--) queue.add(makeLeased(n, { integration }))
      }
    }
    assert.isAtLeast(queue.room, 1_024, "half of the last quarter, which dead integrations use only for few deliveries")
    assert.strictEqual(reserved(dead + 1), 20, "twice its concurrency")
    assert.strictEqual(queue.demand(150).limitPerIntegration, 20)
  })

  it("holds at most `queueBytes` of event data, of which an eighth is reserved for calls", () => {
    const queue = new FairQueue({ ...places(64, 64), queueBytes: 1_000_000 })
    const data = JsonText.JsonText.make(JSON.stringify("x".repeat(25_000)))
    const event = (n: number, urgent = false) =>
      makeLeased(n, { integration: n, event: urgent ? { ...call, data } : { data } })
    const published = (urgent: boolean, from: number) =>
      Array.from({ length: 100 }, (_, n) => publish(queue, event(from + n, urgent))).filter(Boolean).length
    assert.strictEqual(published(false, 1), 35)
    assert.strictEqual(queue.room, 0, "nor is anything claimed")
    assert.strictEqual(published(true, 101), 5)
    for (const sent of drain(queue)) queue.finish(sent, "prompt")
    assert.isAbove(queue.room, 0)
    assert.isTrue(publish(queue, event(201)))
  })

  it("counts event data as it is in memory: two bytes for each character if one needs them", () => {
    const queue = new FairQueue({ ...places(64, 64), queueBytes: 8_000 })
    const filler = (character: string) => JsonText.JsonText.make(JSON.stringify(character.repeat(1_498)))
    queue.add(makeLeased(1, { integration: 1, event: { data: filler("é") } }))
    queue.add(makeLeased(2, { integration: 2, event: { data: filler("é") } }))
    queue.add(makeLeased(3, { integration: 3, event: { data: filler("é") } }))
    assert.isAbove(queue.room, 0)
    queue.add(makeLeased(4, { integration: 4, event: { data: filler("€") } }))
    assert.strictEqual(queue.room, 0)
  })

  it("frees exactly the reserved room, whatever was stored", () => {
    const queue = new FairQueue({ ...places(4, 4), queueBytes: 1_000 })
    for (let n = 1; n <= 10_000; n++) {
      assert.isTrue(queue.reserve(id(n), 2, 300))
      queue.unreserve(id(n), 300)
    }
    assert.strictEqual(queue.inMemory, 0)
  })

  it("leaves half of the room to integrations that are not slow, however many slow ones there are", () => {
    const queue = new FairQueue({ concurrency: 4_000, concurrencyPerIntegration: 10, buffer: 4_000, queueBytes })
    let nextId = 1
    for (let integration = 1; integration <= 3_000; integration++) queue.add(makeLeased(nextId++, { integration }))
    for (let round = 1; round <= 3; round++)
      for (const delivery of drain(queue)) {
        const { integration } = delivery
        for (let n = 0; n < 2; n++) publish(queue, makeLeased(nextId++, { integration: Number(integration.id) }))
        queue.finish(delivery, "slow")
      }
    const healthy = Array.from({ length: 1_000 }, () => queue.reserve(id(9_999), 2, size)).filter(Boolean).length
    assert.isAtLeast(healthy, 20, "twice its concurrency")
  })

  it("holds no more than its buffer with thousands of integrations, and finally sends all their deliveries", () => {
    const shape = fc.record({
      integrations: fc.integer({ min: 1_000, max: 1_500 }),
      buffer: fc.integer({ min: 64, max: 512 }),
      concurrency: fc.integer({ min: 8, max: 64 }),
      slowOf: fc.integer({ min: 2, max: 5 }),
      each: fc.constantFrom(1, 2)
    })
    fc.assert(
      fc.property(shape, ({ buffer: size, concurrency, each, integrations, slowOf }) => {
        const queue = new FairQueue({ concurrency, concurrencyPerIntegration: 10, buffer: size, queueBytes })
        /** The deliveries in the store, earliest due first, with integrations in turn. */
        const store: Array<LeasedDelivery> = Array.from({ length: integrations * each }, (_, index) =>
          makeLeased(index + 1, { integration: 1 + (index % integrations) })
        )
        let sent = 0
        let open: Array<LeasedDelivery> = []
        for (let round = 0; sent < integrations * each; round++) {
          assert.isBelow(round, 20_000, "everything is sent in the end")
          const demand = queue.demand(150)
          const { limit, limitPerIntegration, limits } = demand
          const claimed = new Map<IntegrationId, number>()
          const taken: Array<LeasedDelivery> = []
          for (let at = 0; at < store.length && taken.length < limit; at++) {
            const delivery = store[at]
            if (delivery === undefined) continue
            const count = claimed.get(delivery.integration.id) ?? 0
            if (count >= (limits.get(delivery.integration.id) ?? limitPerIntegration)) continue
            claimed.set(delivery.integration.id, count + 1)
            taken.push(...store.splice(at--, 1))
          }
          for (const delivery of taken) queue.add(delivery)
          queue.claimed(demand, taken)
          open.push(...drain(queue))
          assert.isAtMost(queue.inMemory, size)
          for (const delivery of open) {
            const slow = Number(delivery.integration.id) % slowOf === 0
            store.push(...queue.finish(delivery, slow ? "slow" : "prompt"))
            sent++
          }
          open = []
        }
        assert.strictEqual(queue.inMemory, 0)
      }),
      { numRuns: 3 }
    )
  })

  it("releases the deliveries of an integration that becomes slow, except those its places need", () => {
    const queue = new FairQueue({ concurrency: 100, concurrencyPerIntegration: 10, buffer: 8_000, queueBytes })
    for (let i = 1; i <= 500; i++) assert.isTrue(publish(queue, makeLeased(i)))
    const open = drain(queue)
    assert.lengthOf(open, 8)
    const [first, second, ...rest] = open
    if (first === undefined || second === undefined) return assert.fail("nothing was sent")
    const surplus = queue.finish(first, "slow")
    assert.strictEqual(500 - 1 - surplus.length, 20, "held: open and queued")
    assert.isFalse(queue.reserve(id(1), 2, size), "more waits in the store")
    assert.lengthOf(queue.finish(second, "slow"), 0, "once")
    for (const delivery of rest) queue.finish(delivery, "prompt")
    assert.lengthOf(drain(queue), 8)
  })

  it("holds early retries of a slow integration in addition to what its places need", () => {
    const queue = new FairQueue({ concurrency: 100, concurrencyPerIntegration: 10, buffer: 8_000, queueBytes })
    for (let n = 1; n <= 40; n++) queue.add(makeLeased(n, { attempts: 1, early_due_at: 1 }))
    for (let n = 41; n <= 70; n++) queue.add(makeLeased(n))
    const [first, ...rest] = drain(queue)
    if (first === undefined) return assert.fail("nothing was sent")
    const surplus = queue.finish(first, "slow")
    assert.deepStrictEqual(
      surplus.map((delivery) => Number(delivery.id)),
      [62, 63, 64, 65, 66, 67, 68, 69, 70]
    )
    assert.isTrue(queue.reserve(id(1), 0, size), "calls still fit")
    queue.unreserve(id(1), size)
    for (const delivery of rest) queue.finish(delivery, "slow")
    for (let sent = drain(queue); sent.length > 0; sent = drain(queue))
      for (const each of sent) queue.finish(each, "slow")
    assert.strictEqual(queue.inMemory, 0)
  })

  it("leaves half of all places to integrations that are not slow, except for urgent deliveries", () => {
    const queue = new FairQueue({ concurrency: 10, concurrencyPerIntegration: 4, buffer: 1_000, queueBytes })
    let nextId = 1
    for (let integration = 1; integration <= 4; integration++) {
      for (let n = 0; n < 5; n++) queue.add(makeLeased(nextId++, { integration }))
    }
    const first = drain(queue)
    assert.lengthOf(first, 8)
    for (const delivery of first) queue.finish(delivery, "slow")
    assert.lengthOf(drain(queue), 5)
    queue.add(makeLeased(nextId++, { integration: 1, event: call }))
    assert.lengthOf(drain(queue), 1, "a call")
    for (let n = 0; n < 5; n++) queue.add(makeLeased(nextId++, { integration: 9 }))
    assert.lengthOf(drain(queue), 2, "the ordinary places that are left")
  })

  it("keeps all limits and counts, whatever happens in any order", () => {
    const operation = fc.oneof(
      fc.record({
        op: fc.constant("accept" as const),
        integration: fc.integer({ min: 1, max: 4 }),
        urgent: fc.boolean(),
        attempts: fc.integer({ min: 0, max: 2 })
      }),
      fc.record({ op: fc.constant("next" as const) }),
      fc.record({
        op: fc.constant("answer" as const),
        pick: fc.nat(),
        pace: fc.constantFrom("prompt" as const, "slow" as const, null)
      }),
      fc.record({ op: fc.constant("remove" as const), integration: fc.integer({ min: 1, max: 4 }) })
    )
    fc.assert(
      fc.property(
        fc.array(operation, { maxLength: 120, size: "max" }),
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 1, max: 3 }),
        (operations, concurrency, concurrencyPerIntegration) => {
          const queue = new FairQueue(places(concurrency, concurrencyPerIntegration))
          const open: Array<LeasedDelivery> = []
          let queued = 0
          let nextId = 1
          for (const step of operations) {
            if (step.op === "accept") {
              const event = step.urgent ? call : {}
              queue.add(makeLeased(nextId++, { ...step, event }))
              queued++
            } else if (step.op === "next") {
              const delivery = queue.next()
              if (delivery !== undefined) {
                open.push(delivery)
                queued--
              }
            } else if (step.op === "answer") {
              const [delivery] = open.splice(step.pick % (open.length || 1), 1)
              if (delivery !== undefined) queued -= queue.finish(delivery, step.pace).length
            } else {
              queued -= queue.removeOf(id(step.integration)).length
            }
            assert.strictEqual(queue.inFlight, open.length)
            assert.strictEqual(queue.queued, queued)
            assert.isAtMost(open.length, concurrency)
            assert.isAtMost(
              open.filter(({ lane }) => isRetryLane(lane)).length,
              Math.max(1, Math.floor(concurrency / 2))
            )
            for (const integration of [1, 2, 3, 4]) {
              const used = open.filter((delivery) => delivery.integration.id === id(integration)).length
              assert.isAtMost(used, concurrencyPerIntegration)
            }
            assert.strictEqual(queue.inMemory, open.length + queued)
            assert.strictEqual(queue.room, 1_000 - concurrency - open.length - queued)
          }
          // No delivery is stuck: if each slot is freed immediately, all queued deliveries are sent.
          let sent = 0
          for (const delivery of open) queue.finish(delivery, null)
          for (let delivery = queue.next(); delivery !== undefined; delivery = queue.next()) {
            queue.finish(delivery, null)
            sent++
          }
          assert.strictEqual(sent, queued)
        }
      ),
      { numRuns: 300 }
    )
  })

  it("holds less when other workers join, and more again when it is alone", () => {
    const queue = new FairQueue({ concurrency: 100, concurrencyPerIntegration: 10, buffer: 8_000, queueBytes })
    for (let n = 1; n <= 500; n++) assert.isTrue(publish(queue, makeLeased(n)))
    assert.strictEqual(queue.concurrencyTo(id(1)), 10)
    const surplus = queue.shareWith({ workers: 4, rank: 0 })
    assert.strictEqual(queue.inMemory, 48, "16 for each of its three places")
    assert.lengthOf(surplus, 452)
    assert.notInclude(
      surplus.map((delivery) => Number(delivery.id)),
      1,
      "the newest are given up"
    )
    assert.isFalse(publish(queue, makeLeased(501)), "the store has more")
    assert.lengthOf(queue.shareWith({ workers: 4, rank: 1 }), 0)
    queue.shareWith({ workers: 1, rank: 0 })
    assert.strictEqual(queue.demand(150).limitPerIntegration, 1_000)
    for (let sent = 0; sent < 48;) {
      for (const each of drain(queue)) {
        queue.finish(each, "prompt")
        sent++
      }
    }
    assert.strictEqual(queue.inMemory, 0)
  })

  it("needs no more claims after it has released all deliveries of an integration", () => {
    const queue = new FairQueue({ concurrency: 8, concurrencyPerIntegration: 2, buffer: 1_000, queueBytes })
    for (let n = 1; n <= 992; n++) queue.add(makeLeased(n))
    assert.strictEqual(queue.room, 0)
    assert.isNotEmpty(queue.shareWith({ workers: 2, rank: 0 }))
    for (let sent = drain(queue); sent.length > 0; sent = drain(queue))
      for (const each of sent) queue.finish(each, "prompt")
    queue.claimed(queue.demand(150), [])
    assert.isFalse(queue.needsRefill)
    assert.deepEqual(queue.demand(150).behind, [])
  })

  it("shares an integration's places between workers: at least one each, and no more in total if there are enough", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100 }),
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 1, max: 1_000 }),
        (count, workers, integration) => {
          const shares = Array.from({ length: workers }, (_, rank) =>
            concurrencyOf(count, id(integration), { workers, rank })
          )
          const sum = shares.reduce((total, each) => total + each, 0)
          assert.isAtLeast(Math.min(...shares), 1)
          assert.isAtMost(Math.max(...shares) - Math.min(...shares), 1)
          assert.strictEqual(sum, Math.max(count, workers))
        }
      )
    )
  })
})
