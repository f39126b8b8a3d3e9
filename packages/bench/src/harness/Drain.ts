/**
 * Publishes events as fast as the engine accepts them, and measures how many deliveries per second it settles.
 */
import { Publisher } from "@doorhook/core"
import { Effect } from "effect"
import { countDelivered, delivered } from "./Integrations.ts"
import { eventOf, openRequests } from "./Workload.ts"

const publishBatch = 100
const publishers = 4

/**
 * Settings that give the engine as many open requests as the peers have. Deliveries of access logs use at most four
 * fifths of `concurrency`.
 */
export const settings = { concurrency: (openRequests * 5) / 4 }

/** Publishes events without waiting for their deliveries. */
const publishAll = Effect.fnUntraced(function* (count: number) {
  const publisher = yield* Publisher
  const batches = Array.from({ length: Math.ceil(count / publishBatch) }, (_, batch) =>
    Array.from({ length: Math.min(publishBatch, count - batch * publishBatch) }, (_, index) =>
      eventOf(batch * publishBatch + index)
    )
  )
  yield* Effect.forEach(batches, (events) => publisher.publish(events), { concurrency: publishers, discard: true })
})

/** Publishes events and waits until all are settled. Returns deliveries and publications per second. */
export const drain = Effect.fnUntraced(function* (count: number) {
  const before = yield* countDelivered
  const began = performance.now()
  yield* publishAll(count)
  const published = performance.now()
  yield* delivered(before + count)
  const ended = performance.now()
  return { rate: (count * 1_000) / (ended - began), published: (count * 1_000) / (published - began) }
})
