/**
 * Deliveries with a due time beyond the largest valid date can still be listed and sent. An earlier version could store
 * such times.
 */
import { DeliveryStore, isoOf, latest } from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { SqliteStore } from "@doorhook/sql"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { describeOnPostgres } from "@doorhook/testkit/postgres/TestServer"
import { keptStore } from "./postgres/KeptStore.ts"
import { temporaryFile } from "./TemporaryFile.ts"

const { claim, claimOne, createIntegration, enqueueOne, idsOf, newEvent, nextDue, retryAt, settle, start } =
  StoreFixtures

const beyond = 1.2 * latest

const canBeListedAndSent = Effect.gen(function* () {
  const store = yield* DeliveryStore
  const integration = yield* createIntegration()
  const first = yield* enqueueOne(newEvent(1), integration)
  const second = yield* enqueueOne(newEvent(2), integration)
  yield* settle(start, ...(yield* claim(start)).map((delivery) => retryAt(delivery, beyond)))

  const listed = yield* store.list({ limit: 10 })
  assert.deepStrictEqual(
    listed.map(({ id, next_attempt_at, state }) => [id, state, isoOf(next_attempt_at ?? 0)]),
    [first, second].map((id) => [id, "retrying", "+275760-09-13T00:00:00.000Z"])
  )
  assert.deepInclude((yield* store.summary(start)).states, { retrying: 2 })
  assert.isAtLeast((yield* nextDue(start)) ?? 0, latest)
  assert.lengthOf(yield* claim(start + 1), 0)

  const one = yield* store.redeliver({ type: "delivery", id: first }, start + 1)
  assert.deepInclude(one, { _tag: "Redelivered", delivery_id: first })
  assert.strictEqual((yield* claimOne(start + 1)).id, first)
  const rest = yield* store.redeliver({ type: "integration", id: integration.id, since: 0 }, start + 2)
  assert.deepInclude(rest, { _tag: "Redelivered", count: 1 })
  assert.deepStrictEqual(idsOf(yield* claim(start + 2)), [second])
})

describe("a due time beyond the largest date", () => {
  it.effect("blocks nothing in SQLite", () =>
    canBeListedAndSent.pipe(
      Effect.provide(Layer.unwrap(Effect.map(temporaryFile, (filename) => SqliteStore.layer({ filename }))))
    )
  )
})

await describeOnPostgres("a due time beyond the largest date", (server) => {
  it.effect("blocks nothing in PostgreSQL", () => Effect.provide(canBeListedAndSent, keptStore(server)))
})
