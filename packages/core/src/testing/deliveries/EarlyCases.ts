/**
 * Rules for claiming retries before they are due, once their integration acknowledges again.
 */
import { Effect } from "effect"
import { DeliveryId } from "../../model/Ids.ts"
import type { Integration } from "../../model/Integration.ts"
import { DeliveryStore } from "../../ports/DeliveryStore.ts"
import { IntegrationStore } from "../../ports/IntegrationStore.ts"
import {
  attemptsOf,
  heartbeat,
  claim,
  claimOne,
  claimRequest,
  createIntegration,
  enqueue,
  findDelivery,
  idsOf,
  membershipLength,
  newEvent,
  nextDue,
  nothingOf,
  record,
  release,
  resend,
  retryAt,
  settle,
  settlement,
  settleWithConsequences,
  start
} from "../Fixtures.ts"
import type { SuiteCase } from "../SuiteCase.ts"
import { expectEqual } from "../SuiteCase.ts"

/** Scheduled time of the retry. */
const due = start + 900_000

/** Stores a delivery whose first attempt failed and whose retry is due at `at`. */
const retrying = Effect.fnUntraced(function* (
  n: number,
  integration: Integration,
  at: number,
  fields: Parameters<typeof newEvent>[1] = {}
) {
  const [id = DeliveryId.make(1)] = yield* enqueue(record(newEvent(n, fields), integration))
  yield* settle(start, retryAt(yield* claimOne(start), at))
  return id
})

const standing = Effect.fnUntraced(function* (id: DeliveryId) {
  const { attempts, next_attempt_at, state } = yield* findDelivery(id)
  return [state, attempts, next_attempt_at]
})

export const earlyCases: ReadonlyArray<SuiteCase<DeliveryStore | IntegrationStore>> = [
  {
    name: "an early claim takes retries of one integration that are not yet due, the oldest delivery first",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const integration = yield* createIntegration()
      const other = yield* createIntegration()
      const now = start + 100
      const one = yield* retrying(1, integration, start + 5_000)
      const two = yield* retrying(2, integration, start + 4_000)
      const dueNow = yield* retrying(3, integration, now)
      const four = yield* retrying(4, integration, start + 3_000, { resource_type: "call" })
      const ofOther = yield* retrying(5, other, start + 2_000)
      const six = yield* retrying(6, integration, now + 1)
      const [firstAttempt] = yield* enqueue(record(newEvent(7, { created_at: start + 2_500 }), integration))
      const earlyOf = integration.id
      const none = yield* store.claim(claimRequest(now, { earlyOf, limit: 0 }))
      yield* expectEqual("none asked for", none, { deliveries: [], next_due: now })
      yield* expectEqual("none allowed", yield* claim(now, { earlyOf, limits: nothingOf(integration) }), [])
      const first = yield* store.claim(claimRequest(now, { earlyOf, limit: 2 }))
      yield* expectEqual(
        "the two oldest",
        first.deliveries.map(({ attempts, early_due_at, id }) => [id, attempts, early_due_at]),
        [
          [one, 1, start + 5_000],
          [two, 1, start + 4_000]
        ]
      )
      yield* expectEqual("next due", first.next_due, now)
      yield* expectEqual("leased", yield* standing(one), ["delivering", 1, null])
      const next = yield* claim(now, { earlyOf, limitPerIntegration: 1 })
      yield* expectEqual("the next delivery, whatever its lane", idsOf(next), [four])
      const limited = yield* claim(now, { earlyOf, limitPerIntegration: 0, limits: new Map([[earlyOf, 5]]) })
      yield* expectEqual("the last", idsOf(limited), [six])
      yield* expectEqual("leased deliveries are not claimed", yield* claim(now, { earlyOf }), [])
      const scheduled = yield* claim(now)
      yield* expectEqual(
        "due deliveries are claimed as usual",
        scheduled.map(({ early_due_at, id }) => [id, early_due_at]),
        [[dueNow, null]]
      )
      yield* expectEqual("left", idsOf(yield* claim(start + 10_000)), [firstAttempt, ofOther])
    })
  },
  {
    name: "a failed early attempt is recorded and counted as early, and the delivery keeps its due time",
    run: Effect.gen(function* () {
      const integration = yield* createIntegration()
      const id = yield* retrying(1, integration, due)
      for (const early of [0, 1]) {
        const leased = yield* claimOne(start + 10, { earlyOf: integration.id })
        yield* expectEqual("early ones before", [leased.attempts, leased.early], [1 + early, early])
        yield* settle(start + 20, { ...retryAt(leased, due), early: early + 1 })
        yield* expectEqual("stored", yield* standing(id), ["retrying", 2 + early, due])
      }
      yield* expectEqual("attempts", (yield* attemptsOf(id)).length, 3)
      const scheduled = yield* claimOne(due)
      yield* expectEqual("by its schedule", [scheduled.attempts, scheduled.early, scheduled.early_due_at], [3, 2, null])
      yield* settle(due, retryAt(scheduled, due + 10))
      yield* expectEqual("afterwards", (yield* claimOne(due + 10)).early, 2)
    })
  },
  {
    name: "a delivery keeps its due time if its early attempt is released or its worker dies",
    run: Effect.gen(function* () {
      yield* heartbeat(start)
      yield* heartbeat(start, "other")
      const integration = yield* createIntegration()
      const id = yield* retrying(1, integration, due)
      const lost = yield* claimOne(start + 10, { earlyOf: integration.id })
      yield* heartbeat(start + membershipLength, "other")
      yield* expectEqual("lost", yield* standing(id), ["retrying", 1, due])
      yield* expectEqual("next due", yield* nextDue(start), due)
      yield* expectEqual("settled", [...(yield* settle(start + membershipLength, settlement(lost)))], [])
      const again = yield* claimOne(start + membershipLength, { earlyOf: integration.id })
      yield* expectEqual("as before", [again.attempts, again.early, again.early_due_at], [1, 0, due])
      yield* release(start + membershipLength, due, [again])
      yield* expectEqual("given back", yield* standing(id), ["retrying", 1, due])
    })
  },
  {
    name: "a delivery resent during an early attempt is due as soon as the attempt fails, is released or loses its worker",
    run: Effect.gen(function* () {
      yield* heartbeat(start)
      yield* heartbeat(start, "other")
      const integration = yield* createIntegration()
      const [failing, lost] = [yield* retrying(1, integration, due), yield* retrying(2, integration, due)]
      const [first, second] = yield* claim(start + 10, { earlyOf: integration.id })
      if (first === undefined || second === undefined) return yield* expectEqual("claimed", 0, 2)
      for (const id of [failing, lost]) yield* expectEqual("resent", yield* resend(id, start + 20), [1, id])
      const { hasDueDeliveries } = yield* settleWithConsequences(start + 30, { ...retryAt(first, due), early: 1 })
      yield* expectEqual("failed", [hasDueDeliveries, ...(yield* standing(failing))], [true, "pending", 2, start + 30])
      yield* heartbeat(start + membershipLength, "other")
      yield* expectEqual("lost", yield* standing(lost), ["pending", 1, start + 20])
      const again = yield* claim(start + membershipLength)
      yield* expectEqual(
        "sent once more",
        again.map(({ early, early_due_at, id, resend: asked }) => [id, early, early_due_at, asked]),
        [
          [lost, 0, null, true],
          [failing, 1, null, true]
        ]
      )
    })
  },
  {
    name: "deliveries cancelled with their integration are not claimed early",
    run: Effect.gen(function* () {
      const integration = yield* createIntegration()
      yield* retrying(1, integration, due)
      const off = { ...integration, status: "disabled", disabled_reason: "manual", version: 2 } as const
      yield* (yield* IntegrationStore).update(off, 1)
      yield* expectEqual("claimed", yield* claim(start + 10, { earlyOf: integration.id }), [])
    })
  }
]
