/**
 * A part of a feed is full as long as there is more: whoever reads it takes one that is not full for the last.
 */
import { DeliveryStore } from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { onStore, tamper } from "./OpenedStore.ts"
import { temporaryFile } from "./TemporaryFile.ts"

const { createIntegration, enqueue, eventId, records } = StoreFixtures

it.effect("what comes after takes the place of deliveries whose events were purged while it was read", () =>
  Effect.gen(function* () {
    const filename = yield* temporaryFile
    const use = Effect.gen(function* () {
      const integration = yield* createIntegration()
      yield* enqueue(...records(1, 6, integration))
      // As it is between the two reads: the deliveries were seen, and their events are not there any more.
      yield* tamper(filename, `DELETE FROM events WHERE id IN ('${eventId(1)}', '${eventId(2)}', '${eventId(4)}')`)
      const read = Effect.fnUntraced(function* (limit: number) {
        const items = yield* (yield* DeliveryStore).feed({ integration_id: integration.id, after: 0, limit })
        return items.map(({ event }) => event.id)
      })
      assert.deepEqual(yield* read(2), [eventId(3), eventId(5)])
      assert.deepEqual(yield* read(3), [eventId(3), eventId(5), eventId(6)])
      assert.deepEqual(yield* read(4), [eventId(3), eventId(5), eventId(6)])
    })
    yield* onStore({ filename }, use)
  })
)
