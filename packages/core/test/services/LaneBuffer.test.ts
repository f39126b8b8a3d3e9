import { assert, describe, it } from "@effect/vitest"
import type { Lane, LeasedDelivery } from "@doorhook/core"
import { IntegrationId, isRetryLane, JsonText } from "@doorhook/core"
import fc from "fast-check"
import { LaneBuffer } from "../../src/services/dispatch/LaneBuffer.ts"
import { maxData } from "../../src/services/dispatch/Room.ts"
import { makeLeased } from "../fixtures.ts"

/** So many places and no more. */
const places = (concurrency: number, concurrencyPerIntegration: number) => ({
  concurrency,
  concurrencyPerIntegration,
  buffer: 1_000
})

const id = (value: number) => IntegrationId.make(value)
const call = { resource_type: "call" } as const

/** Everything that can be sent now, in order. */
const drain = (buffer: LaneBuffer): ReadonlyArray<LeasedDelivery> => {
  const sent: Array<LeasedDelivery> = []
  for (let delivery = buffer.next(); delivery !== undefined; delivery = buffer.next()) sent.push(delivery)
  return sent
}

const filled = (options: ConstructorParameters<typeof LaneBuffer>[0], deliveries: ReadonlyArray<LeasedDelivery>) => {
  const buffer = new LaneBuffer(options)
  for (const delivery of deliveries) buffer.acceptClaimed(delivery)
  return buffer
}

describe("LaneBuffer", () => {
  it("sends calls before access logs and first attempts before retries", () => {
    const buffer = filled(places(10, 10), [
      makeLeased(1, { attempts: 1 }),
      makeLeased(2),
      makeLeased(3, { event: call, attempts: 2 }),
      makeLeased(4, { event: call })
    ])
    assert.deepStrictEqual(
      drain(buffer).map((delivery) => Number(delivery.id)),
      [4, 3, 2, 1]
    )
  })

  it("lets integrations take turns, however much one of them has waiting", () => {
    const many = Array.from({ length: 20 }, (_, index) => makeLeased(index + 1, { integration: 1 }))
    const few = [makeLeased(21, { integration: 2 }), makeLeased(22, { integration: 2 })]
    const buffer = filled(places(5, 5), [...many, ...few])
    assert.deepStrictEqual(
      drain(buffer).map(({ integration }) => Number(integration.id)),
      [1, 2, 1, 2]
    )
  })

  it("keeps half of all places free of retries", () => {
    const retries = Array.from({ length: 40 }, (_, index) =>
      makeLeased(index + 1, { integration: index + 1, attempts: 1 })
    )
    const buffer = filled(places(8, 2), retries)
    assert.strictEqual(drain(buffer).length, 4)
    buffer.acceptClaimed(makeLeased(99, { integration: 99 }))
    assert.deepStrictEqual(
      drain(buffer).map((delivery) => Number(delivery.id)),
      [99]
    )
  })

  it("keeps places for calls that access logs can't take", () => {
    const logs = Array.from({ length: 20 }, (_, index) => makeLeased(index + 1))
    const buffer = filled(places(100, 10), logs)
    assert.strictEqual(drain(buffer).length, 8)
    assert.isTrue(buffer.reserve(id(1), 0), "a call is taken over although the integration's room is used up")
    buffer.acceptReserved(makeLeased(99, { event: call }))
    assert.deepStrictEqual(
      drain(buffer).map((delivery) => Number(delivery.id)),
      [99]
    )
  })

  it("makes new access logs wait behind the backlog of their integration, but not calls", () => {
    const buffer = new LaneBuffer({ concurrency: 10, concurrencyPerIntegration: 2, buffer: 32 })
    assert.strictEqual(buffer.depth, 4)
    for (let i = 0; i < 4; i++) assert.isTrue(buffer.reserve(id(1), 2))
    assert.isFalse(buffer.reserve(id(1), 2))
    buffer.unreserve(id(1))
    assert.isFalse(buffer.reserve(id(1), 2), "what came later may not overtake what already waits in the store")
    assert.isTrue(buffer.reserve(id(1), 0))
    assert.isTrue(buffer.reserve(id(2), 2), "another integration is not affected")
  })

  it("holds less of an integration that was too slow, and more again once it keeps up", () => {
    const buffer = filled({ concurrency: 10, concurrencyPerIntegration: 2, buffer: 800 }, [])
    for (let i = 1; i <= 100; i++) {
      assert.isTrue(buffer.reserve(id(1), 2))
      buffer.acceptReserved(makeLeased(i))
    }
    assert.isFalse(buffer.reserve(id(1), 2))
    assert.strictEqual(buffer.removeLate(id(1), 19_000).length, 0, "their leases last longer")
    assert.strictEqual(buffer.removeLate(id(1), 21_000).length, 100)
    assert.strictEqual(buffer.appetites.get(id(1)), 4)
    for (const [index, depth] of [8, 16, 32, 64, 100, 100].entries()) {
      buffer.acceptClaimed(makeLeased(200 + index))
      const [sent] = drain(buffer)
      if (sent !== undefined) buffer.answered(sent, "prompt")
      assert.strictEqual(buffer.appetites.get(id(1)) ?? buffer.allowance, depth)
    }
  })

  it("keeps room for a healthy integration beside many dead ones, however small it is", () => {
    const buffer = new LaneBuffer({ concurrency: 250, concurrencyPerIntegration: 10, buffer: 300 })
    const healthy = 21
    let nextId = 1
    let sent = 0
    for (let round = 0; round < 50; round++) {
      // A store in which all have a backlog gives to each in turn, the dead ones first: theirs is older.
      const { allowance, appetites, depth } = buffer
      const places = Array.from({ length: healthy }, (_, index) => appetites.get(id(index + 1)) ?? allowance)
      for (let room = buffer.room, turn = 0; room > 0 && turn < depth; turn++) {
        for (const [index, limit] of places.entries()) {
          if (turn >= limit || room === 0) continue
          buffer.acceptClaimed(makeLeased(nextId++, { integration: index + 1 }))
          room--
        }
      }
      for (let integration = 1; integration <= healthy; integration++) buffer.setBehind(id(integration), true)
      for (const delivery of drain(buffer)) {
        if (delivery.integration.id !== id(healthy)) continue
        sent++
        buffer.answered(delivery, null)
      }
    }
    assert.isAtLeast(sent, 50)
  })

  it("never holds more than the buffer, and keeps an eighth of it for what is urgent", () => {
    const buffer = new LaneBuffer({ concurrency: 100, concurrencyPerIntegration: 10, buffer: 200 })
    const reserved = (lane: Lane) =>
      Array.from({ length: 1_000 }, (_, index) => buffer.reserve(id(index + 1), lane)).filter(Boolean).length
    assert.strictEqual(reserved(2), 175)
    assert.strictEqual(buffer.room, 0)
    assert.strictEqual(reserved(0), 25)
    assert.strictEqual(buffer.held, 200)
    assert.isFalse(buffer.hasAppetite, "there is no room for it")
    for (let integration = 1; integration <= 30; integration++) buffer.unreserve(id(integration))
    assert.isTrue(buffer.hasAppetite)
  })

  it("keeps the room for a claim under way", () => {
    const buffer = new LaneBuffer({ concurrency: 10, concurrencyPerIntegration: 10, buffer: 100 })
    assert.strictEqual(buffer.beginClaim(80), 65, "a quarter is kept for those of whom little is held")
    const taken = Array.from({ length: 50 }, (_, index) => buffer.reserve(id(index + 1), 2)).filter(Boolean).length
    assert.strictEqual(taken, 25)
    buffer.endClaim()
    assert.strictEqual(buffer.room, 65)
  })

  it("takes over what a healthy integration needs though others, not yet known to be dead, hold all that they may", () => {
    const buffer = new LaneBuffer({ concurrency: 512, concurrencyPerIntegration: 10, buffer: 8_192 })
    const dead = 20
    const reserved = (integration: number) =>
      Array.from({ length: 1_000 }, () => buffer.reserve(id(integration), 2)).filter(Boolean).length
    for (let integration = 1; integration <= dead; integration++) assert.isAtLeast(reserved(integration), 20)
    // What they have in the store is claimed for as long as there is any appetite.
    for (let limit = buffer.beginClaim(150); buffer.hasAppetite; limit = buffer.beginClaim(150)) {
      assert.isAbove(limit, 0)
      const { allowance, appetites } = buffer
      for (let integration = 1; integration <= dead; integration++) {
        const count = Math.min(limit, appetites.get(id(integration)) ?? allowance)
        for (let n = 0; n < count; n++, limit--) buffer.acceptClaimed(makeLeased(n, { integration }))
      }
      buffer.endClaim()
    }
    assert.strictEqual(reserved(dead + 1), buffer.minimum)
    assert.strictEqual(buffer.beginClaim(150), 150)
    assert.strictEqual(buffer.allowance, buffer.minimum)
  })

  it("takes over nothing more once what is held is too large", () => {
    const buffer = new LaneBuffer(places(64, 64))
    const data = JsonText.JsonText.make(JSON.stringify("x".repeat(maxData / 40)))
    for (let i = 1; i <= 40; i++) buffer.acceptClaimed(makeLeased(i, { event: { data } }))
    assert.strictEqual(buffer.room, 0)
    assert.isFalse(buffer.reserve(id(2), 2))
    for (const delivery of drain(buffer)) buffer.answered(delivery, "prompt")
    assert.isTrue(buffer.reserve(id(3), 2))
  })

  it("leaves half of the room to others than slow integrations, however many these are", () => {
    const buffer = new LaneBuffer({ concurrency: 4_000, concurrencyPerIntegration: 10, buffer: 4_000 })
    let nextId = 1
    for (let integration = 1; integration <= 3_000; integration++)
      buffer.acceptClaimed(makeLeased(nextId++, { integration }))
    for (const delivery of drain(buffer)) {
      for (let n = 0; n < 2; n++)
        if (buffer.reserve(delivery.integration.id, 2))
          buffer.acceptReserved(makeLeased(nextId++, { integration: Number(delivery.integration.id) }))
      buffer.answered(delivery, "slow")
    }
    const healthy = Array.from({ length: 1_000 }, () => buffer.reserve(id(9_999), 2)).filter(Boolean).length
    assert.isAtLeast(healthy, buffer.depth)
  })

  it("holds no more than its buffer of thousands of integrations, and sends all that any of them has in the end", () => {
    const shape = fc.record({
      integrations: fc.integer({ min: 1_000, max: 1_500 }),
      buffer: fc.integer({ min: 64, max: 512 }),
      concurrency: fc.integer({ min: 8, max: 64 }),
      slowOf: fc.integer({ min: 2, max: 5 }),
      each: fc.constantFrom(1, 2)
    })
    fc.assert(
      fc.property(shape, ({ buffer: size, concurrency, each, integrations, slowOf }) => {
        const buffer = new LaneBuffer({ concurrency, concurrencyPerIntegration: 10, buffer: size })
        /** What waits in the store: the integrations in turn, the earliest due first. */
        const store: Array<LeasedDelivery> = Array.from({ length: integrations * each }, (_, index) =>
          makeLeased(index + 1, { integration: 1 + (index % integrations) })
        )
        let sent = 0
        let open: Array<LeasedDelivery> = []
        for (let round = 0; sent < integrations * each; round++) {
          assert.isBelow(round, 20_000, "everything is sent in the end")
          const { allowance, appetites, behind } = buffer
          const limit = buffer.beginClaim(150)
          const claimed = new Map<IntegrationId, number>(behind.map((each) => [each, 0]))
          const taken: Array<LeasedDelivery> = []
          for (let at = 0; at < store.length && taken.length < limit; at++) {
            const delivery = store[at]
            if (delivery === undefined) continue
            const count = claimed.get(delivery.integration.id) ?? 0
            if (count >= (appetites.get(delivery.integration.id) ?? allowance)) continue
            claimed.set(delivery.integration.id, count + 1)
            taken.push(...store.splice(at--, 1))
          }
          for (const delivery of taken) buffer.acceptClaimed(delivery)
          for (const [integration, count] of claimed)
            buffer.setBehind(integration, taken.length === limit || count >= (appetites.get(integration) ?? allowance))
          buffer.endClaim()
          open.push(...drain(buffer))
          assert.isAtMost(buffer.held, size)
          for (const delivery of open) {
            const slow = Number(delivery.integration.id) % slowOf === 0
            store.push(...buffer.answered(delivery, slow ? "slow" : "prompt"))
            sent++
          }
          open = []
        }
        assert.strictEqual(buffer.held, 0)
      }),
      { numRuns: 3 }
    )
  })

  it("gives back what it holds of an integration that becomes slow, but for what its places need", () => {
    const buffer = new LaneBuffer({ concurrency: 100, concurrencyPerIntegration: 10, buffer: 8_000 })
    for (let i = 1; i <= 500; i++) {
      assert.isTrue(buffer.reserve(id(1), 2))
      buffer.acceptReserved(makeLeased(i))
    }
    const open = drain(buffer)
    assert.lengthOf(open, 8)
    const [first, second, ...rest] = open
    if (first === undefined || second === undefined) return assert.fail("nothing was sent")
    const surplus = buffer.answered(first, "slow")
    assert.strictEqual(500 - 1 - surplus.length, buffer.minimum, "held: open and queued")
    assert.isFalse(buffer.reserve(id(1), 2), "more waits in the store")
    assert.lengthOf(buffer.answered(second, "slow"), 0, "once")
    for (const delivery of rest) buffer.answered(delivery, "prompt")
    assert.lengthOf(drain(buffer), 8)
  })

  it("leaves half of all places to others than slow integrations, but for what is urgent", () => {
    const buffer = new LaneBuffer({ concurrency: 10, concurrencyPerIntegration: 4, buffer: 1_000 })
    let nextId = 1
    for (let integration = 1; integration <= 4; integration++) {
      for (let n = 0; n < 5; n++) buffer.acceptClaimed(makeLeased(nextId++, { integration }))
    }
    const first = drain(buffer)
    assert.lengthOf(first, 8)
    for (const delivery of first) buffer.answered(delivery, "slow")
    assert.lengthOf(drain(buffer), 5)
    buffer.acceptClaimed(makeLeased(nextId++, { integration: 1, event: call }))
    assert.lengthOf(drain(buffer), 1, "a call")
    for (let n = 0; n < 5; n++) buffer.acceptClaimed(makeLeased(nextId++, { integration: 9 }))
    assert.lengthOf(drain(buffer), 2, "the ordinary places that are left")
  })

  it("keeps every cap and every count, whatever happens in whatever order", () => {
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
          const buffer = new LaneBuffer(places(concurrency, concurrencyPerIntegration))
          const open: Array<LeasedDelivery> = []
          let queued = 0
          let nextId = 1
          for (const step of operations) {
            if (step.op === "accept") {
              const event = step.urgent ? call : {}
              buffer.acceptClaimed(makeLeased(nextId++, { ...step, event }))
              queued++
            } else if (step.op === "next") {
              const delivery = buffer.next()
              if (delivery !== undefined) {
                open.push(delivery)
                queued--
              }
            } else if (step.op === "answer") {
              const [delivery] = open.splice(step.pick % (open.length || 1), 1)
              if (delivery !== undefined) queued -= buffer.answered(delivery, step.pace).length
            } else {
              queued -= buffer.removeOf(id(step.integration)).length
            }
            assert.strictEqual(buffer.open, open.length)
            assert.strictEqual(buffer.queued, queued)
            assert.isAtMost(open.length, concurrency)
            assert.isAtMost(
              open.filter(({ lane }) => isRetryLane(lane)).length,
              Math.max(1, Math.floor(concurrency / 2))
            )
            for (const integration of [1, 2, 3, 4]) {
              const used = open.filter((delivery) => delivery.integration.id === id(integration)).length
              assert.isAtMost(used, concurrencyPerIntegration)
            }
            assert.strictEqual(buffer.held, open.length + queued)
            assert.strictEqual(buffer.room, 1_000 - concurrency - open.length - queued)
          }
          // Nothing is stuck: with places freed as they are taken, all that waits is sent.
          let sent = 0
          for (const delivery of open) buffer.answered(delivery, null)
          for (let delivery = buffer.next(); delivery !== undefined; delivery = buffer.next()) {
            buffer.answered(delivery, null)
            sent++
          }
          assert.strictEqual(sent, queued)
        }
      ),
      { numRuns: 300 }
    )
  })
})
