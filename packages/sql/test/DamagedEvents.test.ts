/**
 * An event's row that doorhook did not write so is refused by name and place, when it is claimed and when it is looked up;
 * nothing is leased by that.
 */
import { DeliveryStore } from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { onStore, tamper } from "./OpenedStore.ts"
import { temporaryFile } from "./TemporaryFile.ts"

const { claim, claimOne, createIntegration, enqueueOne, eventId, newEvent, start } = StoreFixtures

/** What stands in a column, and where the complaint says that it is. */
const damages = [
  ["tenant_ids", "'1, 2'", '["tenant_ids"]'],
  ["tenant_ids", "'{}'", '["tenant_ids"]'],
  ["tenant_ids", "'[1, 0]'", '["tenant_ids"][1]'],
  ["resource_type", "'odd'", '["resource_type"]']
] as const

describe("an event's row", () => {
  for (const [column, value, place] of damages) {
    it.effect(`with ${value} for ${column} is refused, and nothing is leased`, () =>
      Effect.gen(function* () {
        const filename = yield* temporaryFile
        yield* onStore(
          { filename },
          Effect.gen(function* () {
            yield* enqueueOne(newEvent(1), yield* createIntegration())
            yield* tamper(filename, `UPDATE events SET ${column} = ${value}`)
            const refusals = [yield* Effect.flip(claim(start)), yield* Effect.flip(findEvent)]
            for (const { message } of refusals) {
              assert.include(message, `at ${["[0]", place].join("")}`)
              assert.include(message, "a stored row is not as doorhook writes it")
            }
            yield* tamper(filename, "UPDATE events SET tenant_ids = '[101,102]', resource_type = 'access_log'")
            assert.strictEqual((yield* claimOne(start)).event.id, eventId(1))
          })
        )
      })
    )
  }
})

const findEvent = DeliveryStore.use((store) => store.findEvent(eventId(1)))
