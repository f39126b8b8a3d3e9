/**
 * Every page of a feed except the last is full, because readers stop at the first incomplete page.
 */
import { DeliveryStore } from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { onStore, tamper } from "./OpenedStore.ts"
import { temporaryFile } from "./TemporaryFile.ts"

const { createIntegration, enqueue, eventId, records } = StoreFixtures

it.effect("later deliveries replace those whose events are purged during the read", () =>
  Effect.gen(function* () {
    const filename = yield* temporaryFile
    const use = Effect.gen(function* () {
      const integration = yield* createIntegration()
      yield* enqueue(...records(1, 6, integration))
      // Simulates a purge between the two reads of a page: the deliveries still exist, but their events are gone.
      yield* tamper(filename, `DELETE FROM events WHERE id IN ('${eventId(1)}', '${eventId(2)}', '${eventId(4)}')`)
      const read = Effect.fnUntraced(function* (limit: number) {
        const { items } = yield* (yield* DeliveryStore).feed({ integration_id: integration.id, after: 0, limit })
        return items.map(({ event }) => event.id)
      })
      assert.deepEqual(yield* read(2), [eventId(3), eventId(5)])
      assert.deepEqual(yield* read(3), [eventId(3), eventId(5), eventId(6)])
      assert.deepEqual(yield* read(4), [eventId(3), eventId(5), eventId(6)])
    })
    yield* onStore({ filename }, use)
  })
)
