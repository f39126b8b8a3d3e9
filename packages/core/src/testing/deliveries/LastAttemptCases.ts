/**
 * Rules of `DeliveryStore.lastAttempts`.
 */
import { Effect } from "effect"
import type { DeliveryId } from "../../domain/Ids.ts"
import type { DeliveryStore as Store } from "../../ports/DeliveryStore.ts"
import { DeliveryStore } from "../../ports/DeliveryStore.ts"
import type { IntegrationStore } from "../../ports/IntegrationStore.ts"
import { claimOne, createIntegration, enqueue, records, retryAt, settle, settlement, start } from "../Fixtures.ts"
import type { SuiteCase } from "../SuiteCase.ts"
import { expectEqual } from "../SuiteCase.ts"

/** What is stored of the last attempts of some deliveries: number, outcome and status. */
const lastOf = Effect.fnUntraced(function* (ids: ReadonlyArray<DeliveryId>) {
  const last = yield* (yield* DeliveryStore).lastAttempts(ids)
  return ids.map((id) => {
    const attempt = last.get(id)
    return attempt === undefined ? null : [attempt.number, attempt.outcome]
  })
})

export const lastAttemptCases: ReadonlyArray<SuiteCase<Store | IntegrationStore>> = [
  {
    name: "the last attempt is the one that ended a delivery, or the last of those before",
    run: Effect.gen(function* () {
      const integration = yield* createIntegration()
      const ids = yield* enqueue(...records(1, 3, integration))
      yield* expectEqual("before any", yield* lastOf(ids), [null, null, null])
      yield* settle(start, settlement(yield* claimOne(start)))
      const again = yield* claimOne(start)
      yield* settle(start, retryAt(again, start + 100))
      yield* expectEqual("after one", yield* lastOf(ids), [[1, "acknowledged"], [1, "bad_status"], null])
      yield* settle(start + 100, settlement(yield* claimOne(start + 100)))
      yield* expectEqual("one and none", yield* lastOf([...ids].slice(0, 1)), [[1, "acknowledged"]])
      yield* expectEqual("of nothing", [...(yield* (yield* DeliveryStore).lastAttempts([])).keys()], [])
    })
  },
  {
    name: "what was sent again keeps its last attempt until there is another",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const integration = yield* createIntegration()
      const [id] = yield* enqueue(...records(1, 1, integration))
      if (id === undefined) return yield* expectEqual("stored", 0, 1)
      yield* settle(start, retryAt(yield* claimOne(start), start + 10))
      yield* settle(start + 10, settlement(yield* claimOne(start + 10)))
      yield* expectEqual("ended", yield* lastOf([id]), [[2, "acknowledged"]])
      yield* store.resend(id, start + 20)
      yield* expectEqual("resent", yield* lastOf([id]), [[2, "acknowledged"]])
      yield* settle(start + 20, retryAt(yield* claimOne(start + 20), start + 30))
      const last = (yield* store.lastAttempts([id])).get(id)
      const [, , third] = yield* store.attempts(id)
      yield* expectEqual(
        "the third",
        third && { ...third, response_excerpt: null },
        last && { ...last, response_excerpt: null }
      )
    })
  }
]
