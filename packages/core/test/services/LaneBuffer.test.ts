import { assert, describe, it } from "@effect/vitest"
import type { LeasedDelivery } from "@doorhook/core"
import { IntegrationId, isRetryLane } from "@doorhook/core"
import fc from "fast-check"
import { LaneBuffer } from "../../src/services/dispatch/LaneBuffer.ts"
import { makeLeased } from "../fixtures.ts"

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
    const buffer = filled({ concurrency: 10, concurrencyPerIntegration: 10 }, [
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
    const buffer = filled({ concurrency: 5, concurrencyPerIntegration: 5 }, [...many, ...few])
    assert.deepStrictEqual(
      drain(buffer).map(({ integration }) => Number(integration.id)),
      [1, 2, 1, 2]
    )
  })

  it("keeps half of all places free of retries", () => {
    const retries = Array.from({ length: 40 }, (_, index) =>
      makeLeased(index + 1, { integration: index + 1, attempts: 1 })
    )
    const buffer = filled({ concurrency: 8, concurrencyPerIntegration: 2 }, retries)
    assert.strictEqual(drain(buffer).length, 4)
    buffer.acceptClaimed(makeLeased(99, { integration: 99 }))
    assert.deepStrictEqual(
      drain(buffer).map((delivery) => Number(delivery.id)),
      [99]
    )
  })

  it("keeps places for calls that access logs can't take", () => {
    const logs = Array.from({ length: 20 }, (_, index) => makeLeased(index + 1))
    const buffer = filled({ concurrency: 100, concurrencyPerIntegration: 10 }, logs)
    assert.strictEqual(drain(buffer).length, 8)
    assert.isTrue(buffer.reserve(id(1), 0), "a call is taken over although the integration's room is used up")
    buffer.acceptReserved(makeLeased(99, { event: call }))
    assert.deepStrictEqual(
      drain(buffer).map((delivery) => Number(delivery.id)),
      [99]
    )
  })

  it("makes new access logs wait behind the backlog of their integration, but not calls", () => {
    const buffer = new LaneBuffer({ concurrency: 10, concurrencyPerIntegration: 2 })
    for (let i = 0; i < 4; i++) assert.isTrue(buffer.reserve(id(1), 2))
    assert.isFalse(buffer.reserve(id(1), 2))
    buffer.unreserve(id(1))
    assert.isFalse(buffer.reserve(id(1), 2), "what came later may not overtake what already waits in the store")
    assert.isTrue(buffer.reserve(id(1), 0))
    assert.isTrue(buffer.reserve(id(2), 2), "another integration is not affected")
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
      fc.record({ op: fc.constant("answer" as const), pick: fc.nat() }),
      fc.record({ op: fc.constant("settle" as const), pick: fc.nat() }),
      fc.record({ op: fc.constant("remove" as const), integration: fc.integer({ min: 1, max: 4 }) })
    )
    fc.assert(
      fc.property(
        fc.array(operation, { maxLength: 120, size: "max" }),
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 1, max: 3 }),
        (operations, concurrency, concurrencyPerIntegration) => {
          const buffer = new LaneBuffer({ concurrency, concurrencyPerIntegration })
          const open: Array<LeasedDelivery> = []
          const answered: Array<LeasedDelivery> = []
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
              if (delivery !== undefined) {
                buffer.answered(delivery)
                answered.push(delivery)
              }
            } else if (step.op === "settle") {
              const [delivery] = answered.splice(step.pick % (answered.length || 1), 1)
              if (delivery !== undefined) buffer.settled(delivery)
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
            const held = open.length + answered.length + queued
            assert.strictEqual(buffer.room, Math.max(0, 2 * concurrency - held))
          }
          // Nothing is stuck: with places freed as they are taken, all that waits is sent.
          let sent = 0
          for (const delivery of open) buffer.answered(delivery)
          for (let delivery = buffer.next(); delivery !== undefined; delivery = buffer.next()) {
            buffer.answered(delivery)
            sent++
          }
          assert.strictEqual(sent, queued)
        }
      ),
      { numRuns: 300 }
    )
  })
})
