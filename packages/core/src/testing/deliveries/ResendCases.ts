/**
 * Rules for resending one delivery, or all missed deliveries of an integration, with `DeliveryStore.redeliver`.
 */
import { Effect } from "effect"
import type { DeliveryState, LeasedDelivery } from "../../model/Delivery.ts"
import type { Event } from "../../model/Event.ts"
import { DeliveryId } from "../../model/Ids.ts"
import type { Integration } from "../../model/Integration.ts"
import type { Settlement } from "../../ports/DeliveryStore.ts"
import type { DeliveryStore } from "../../ports/DeliveryStore.ts"
import { IntegrationStore } from "../../ports/IntegrationStore.ts"
import {
  heartbeat,
  claim,
  claimOne,
  createIntegration,
  enqueue,
  enqueueOne,
  findDelivery,
  idsOf,
  membershipLength,
  newEvent,
  pending,
  records,
  recover,
  release,
  resend,
  settle,
  settleAs,
  settleWithConsequences,
  settlement,
  standing,
  start
} from "../Fixtures.ts"
import type { SuiteCase } from "../SuiteCase.ts"
import { concurrently, expectEqual } from "../SuiteCase.ts"

/** End of a membership that began at `start`. */
const lapse = start + membershipLength

const ended = (delivery: LeasedDelivery, state: Settlement["state"]): Settlement =>
  settlement(delivery, { state, next_attempt_at: state === "retrying" ? start + 900_000 : null })

/** Stores a delivery, and brings it into `state` with the store's ordinary calls. */
const bringInto = Effect.fnUntraced(function* (
  state: DeliveryState,
  n: number,
  integration: Integration,
  fields: Partial<Event> = {}
) {
  const event = newEvent(n, fields)
  if (state === "skipped") {
    const initial = { state, reason: "integration_disabled" } as const
    const [id = DeliveryId.make(1)] = yield* enqueue({
      event,
      deliveries: [{ ...pending(integration, event), initial }]
    })
    return id
  }
  const id = yield* enqueueOne(event, integration)
  if (state === "pending") return id
  const leased = yield* claimOne(start)
  if (state !== "delivering") yield* settle(start, ended(leased, state))
  return id
})

const settledOrWaiting = [
  "pending",
  "retrying",
  "delivered",
  "exhausted",
  "expired",
  "cancelled",
  "skipped"
] as const satisfies ReadonlyArray<DeliveryState>

export const resendCases: ReadonlyArray<SuiteCase<DeliveryStore | IntegrationStore>> = [
  ...settledOrWaiting.map((state) => ({
    name: `a resend makes a ${state} delivery due immediately, for one further attempt`,
    run: Effect.gen(function* () {
      const integration = yield* createIntegration()
      const id = yield* bringInto(state, 1, integration)
      const { attempts } = yield* findDelivery(id)
      const now = start + 100_000
      yield* expectEqual("answer", yield* resend(id, now), [1, id])
      const resent = yield* findDelivery(id)
      yield* expectEqual(
        "delivery",
        [resent.state, resent.reason, resent.attempts, resent.next_attempt_at],
        ["pending", null, attempts, now]
      )
      const claimed = yield* claim(now)
      yield* expectEqual("claimed", idsOf(claimed), [id])
      yield* expectEqual("asked for", claimed[0]?.resend, true)
      yield* expectEqual("attempts before", claimed[0]?.attempts, attempts)
      for (const delivery of claimed) yield* settle(now + 1, settlement(delivery))
      yield* expectEqual("claimed again later", yield* claim(now + 1_000_000_000), [])
      yield* expectEqual("attempts", (yield* findDelivery(id)).attempts, attempts + 1)
    })
  })),
  {
    name: "a resend during an attempt causes another attempt afterwards, whatever the outcome of the current attempt",
    run: Effect.gen(function* () {
      const integration = yield* createIntegration()
      for (const [index, state] of (["delivered", "retrying", "exhausted"] as const).entries()) {
        const now = start + index * 1_000_000
        const id = yield* enqueueOne(newEvent(index + 1), integration)
        const leased = yield* claimOne(now)
        yield* expectEqual("answer", yield* resend(id, now + 10), [1, id])
        yield* expectEqual("answer to another", yield* resend(id, now + 11), [1, id])
        yield* expectEqual("claimed during the attempt", yield* claim(now + 12), [])
        const { applied, hasDueDeliveries } = yield* settleWithConsequences(now + 20, ended(leased, state))
        yield* expectEqual("applied", [[...applied], hasDueDeliveries], [[id], true])
        const due = yield* findDelivery(id)
        yield* expectEqual("due", [due.state, due.reason, due.next_attempt_at], ["pending", null, now + 20])
        const again = yield* claimOne(now + 20)
        yield* expectEqual("the requested attempt", [again.id, again.attempts, again.resend], [id, 1, true])
        yield* settle(now + 30, settlement(again))
        const done = yield* findDelivery(id)
        yield* expectEqual("in the end", [done.state, done.attempts], ["delivered", 2])
      }
    })
  },
  {
    name: "a delivery cancelled during its attempt and then resent waits until the attempt or its lease ends",
    run: Effect.gen(function* () {
      yield* heartbeat(start)
      yield* heartbeat(start + 1, "next")
      const integration = yield* createIntegration()
      yield* enqueue(...records(1, 3, integration))
      const leased = yield* claim(start)
      const [settled, givenBack, lost] = leased
      if (settled === undefined || givenBack === undefined || lost === undefined)
        return yield* expectEqual("claimed", leased.length, 3)
      const integrations = yield* IntegrationStore
      yield* integrations.update({ ...integration, status: "disabled", disabled_reason: "manual", version: 2 }, 1)
      for (const { id } of leased) yield* expectEqual("cancelled", yield* standing(id), ["cancelled", 0, null])
      yield* integrations.update({ ...integration, version: 3 }, 2)
      yield* expectEqual("first", yield* resend(settled.id, start + 1), [1, settled.id])
      yield* expectEqual("others", yield* recover(integration.id, 0, start + 1), [2, null])
      yield* expectEqual("claimed during the attempts", yield* claim(start + 2), [])
      for (const { id } of leased) yield* expectEqual("leased", yield* standing(id), ["delivering", 0, null])
      yield* expectEqual("settled", [...(yield* settle(start + 3, settlement(settled)))], [settled.id])
      yield* expectEqual("settled, due", yield* standing(settled.id), ["pending", 1, start + 3])
      yield* release(start + 3, start + 4, [givenBack])
      yield* expectEqual(
        "both",
        idsOf(yield* claim(start + 4, { worker: "next" })).toSorted((a, b) => a - b),
        [settled.id, givenBack.id]
      )
      yield* heartbeat(lapse, "next")
      yield* expectEqual("late", [...(yield* settle(lapse, settlement(lost)))], [])
      yield* expectEqual(
        "lost",
        (yield* claim(lapse, { worker: "next" })).map(({ id, resend: again }) => [id, again]),
        [[lost.id, true]]
      )
    })
  },
  {
    name: "if a delivery is resent during an attempt and the worker dies, the next attempt is the resend",
    run: Effect.gen(function* () {
      yield* heartbeat(start, "lost")
      const id = yield* enqueueOne(newEvent(1), yield* createIntegration())
      const lost = yield* claimOne(start, { worker: "lost" })
      yield* resend(id, start + 10)
      yield* heartbeat(lapse)
      const again = yield* claimOne(lapse)
      yield* expectEqual("asked for", again.resend, true)
      yield* settle(lapse + 10, settlement(again))
      yield* expectEqual("late", [...(yield* settleAs("lost", lapse + 20, settlement(lost)))], [])
      const { attempts, state } = yield* findDelivery(id)
      yield* expectEqual("delivery", [state, attempts], ["delivered", 1])
      yield* expectEqual("claimed again", yield* claim(lapse + 1_000_000), [])
    })
  },
  {
    name: "a resend after a lost lease is due immediately, and the former worker can't settle it",
    run: Effect.gen(function* () {
      yield* heartbeat(start, "lost")
      const id = yield* enqueueOne(newEvent(1), yield* createIntegration())
      const lost = yield* claimOne(start, { worker: "lost" })
      yield* heartbeat(lapse)
      yield* resend(id, lapse)
      yield* expectEqual("late", [...(yield* settleAs("lost", lapse + 1, settlement(lost)))], [])
      yield* expectEqual("claimed", idsOf(yield* claim(lapse + 1)), [id])
    })
  },
  {
    name: "a requested resend is still pending after a release without an attempt",
    run: Effect.gen(function* () {
      const id = yield* bringInto("exhausted", 1, yield* createIntegration())
      yield* resend(id, start + 10)
      yield* release(start + 10, start + 20, [yield* claimOne(start + 10)])
      yield* expectEqual("state", (yield* findDelivery(id)).state, "pending")
      yield* expectEqual("asked for", (yield* claimOne(start + 20)).resend, true)
    })
  },
  {
    name: "a delivery resent during a lease is due as soon as it is released, whatever due time the release gives",
    run: Effect.gen(function* () {
      const id = yield* enqueueOne(newEvent(1), yield* createIntegration())
      const leased = yield* claimOne(start)
      yield* resend(id, start + 10)
      yield* release(start + 20, start + 900_000, [leased])
      yield* expectEqual("due", yield* standing(id), ["pending", 0, start])
      const again = yield* claimOne(start + 20)
      yield* expectEqual("asked for", [again.id, again.resend], [id, true])
    })
  },
  {
    name: "nothing is resent to a disabled or deleted integration, and an unknown delivery is refused",
    run: Effect.gen(function* () {
      const integrations = yield* IntegrationStore
      const disabled = yield* createIntegration()
      const deleted = yield* createIntegration()
      const ofDisabled = yield* bringInto("delivered", 1, disabled)
      const ofDeleted = yield* bringInto("delivered", 2, deleted)
      yield* integrations.update({ ...disabled, status: "disabled", disabled_reason: "manual", version: 2 }, 1)
      yield* integrations.remove(deleted)
      yield* expectEqual("disabled", yield* resend(ofDisabled, start), "integration_disabled")
      yield* expectEqual("deleted", yield* resend(ofDeleted, start), "integration_deleted")
      yield* expectEqual("unknown", yield* resend(DeliveryId.make(ofDeleted + 1), start), "not_found")
      yield* expectEqual(
        "recovery of a disabled integration",
        yield* recover(disabled.id, 0, start),
        "integration_disabled"
      )
      yield* expectEqual("recovery of a deleted integration", yield* recover(deleted.id, 0, start), "not_found")
      yield* expectEqual("claimed", yield* claim(start + 1), [])
    })
  },
  {
    name: "a recovery makes due all unacknowledged deliveries since a given time, including skipped deliveries and retries",
    run: Effect.gen(function* () {
      const integration = yield* createIntegration()
      const other = yield* createIntegration()
      const states = ["exhausted", "expired", "cancelled", "skipped", "retrying"] as const
      const lost = yield* Effect.forEach(states, (state, index) => bringInto(state, index + 1, integration))
      const delivered = yield* bringInto("delivered", 6, integration)
      const ofOther = yield* bringInto("exhausted", 7, other)
      const retryingOfOther = yield* bringInto("retrying", 8, other)
      const now = start + 1_000
      yield* expectEqual("recovered", yield* recover(integration.id, start, now), [5, null])
      const stands = Effect.fnUntraced(function* (id: DeliveryId) {
        const found = yield* findDelivery(id)
        return [found.state, found.reason, found.next_attempt_at]
      })
      for (const id of lost) yield* expectEqual("recovered", yield* stands(id), ["pending", null, now])
      yield* expectEqual("delivered", yield* stands(delivered), ["delivered", null, null])
      yield* expectEqual("waiting for its retry", yield* stands(retryingOfOther), ["retrying", null, start + 900_000])
      yield* expectEqual("of another integration", (yield* findDelivery(ofOther)).state, "exhausted")
      const claimed = yield* claim(now)
      yield* expectEqual("claimed", new Set(idsOf(claimed)), new Set(lost))
      yield* expectEqual("again", yield* recover(integration.id, start, now), [0, null])
    })
  },
  {
    name: "a recovery leaves out events of a type that were published before the time given for this type",
    run: Effect.gen(function* () {
      const integration = yield* createIntegration()
      const call = { resource_type: "call" } as const
      const late = yield* bringInto("expired", 1, integration, { ...call, created_at: start - 1 })
      const retrying = yield* bringInto("retrying", 2, integration, { ...call, created_at: start - 1 })
      const log = yield* bringInto("exhausted", 3, integration)
      const inTime = yield* bringInto("expired", 4, integration, call)
      const now = start + 1_000
      yield* expectEqual("recovered", yield* recover(integration.id, 0, now, { call: start }), [2, null])
      const states = yield* Effect.forEach([late, retrying, log, inTime], (id) =>
        Effect.map(findDelivery(id), ({ state }) => state)
      )
      yield* expectEqual("states", states, ["expired", "retrying", "pending", "pending"])
      yield* expectEqual("the others", yield* recover(integration.id, 0, now), [2, null])
    })
  },
  {
    name: "of ten concurrent recoveries of an integration, each counts different deliveries",
    run: Effect.gen(function* () {
      const integration = yield* createIntegration()
      const lost = yield* Effect.forEach([1, 2, 3, 4], (n) => bringInto("exhausted", n, integration))
      const results = yield* concurrently(10, () => recover(integration.id, start, start + 1_000))
      yield* expectEqual(
        "recovered",
        results.reduce((sum, result) => sum + (typeof result === "string" ? Number.NaN : result[0]), 0),
        lost.length
      )
      yield* expectEqual("claimed", new Set(idsOf(yield* claim(start + 1_000))), new Set(lost))
    })
  }
]
