/**
 * Rules of `DeliveryStore.enqueue`.
 */
import { Effect } from "effect"
import { DeliveryId } from "../../model/Ids.ts"
import { DeliveryStore } from "../../ports/DeliveryStore.ts"
import { IntegrationStore } from "../../ports/IntegrationStore.ts"
import {
  heartbeat,
  claim,
  claimOne,
  createIntegration,
  enqueue,
  enqueueOne,
  eventId,
  findDelivery,
  keptEvent,
  membershipLength,
  newEvent,
  nextDue,
  pending,
  record,
  records,
  start,
  worker
} from "../Fixtures.ts"
import type { SuiteCase } from "../SuiteCase.ts"
import { concurrently, expectEqual } from "../SuiteCase.ts"

export const enqueueCases: ReadonlyArray<SuiteCase<DeliveryStore | IntegrationStore>> = [
  {
    name: "`enqueue` assigns ascending ids to the deliveries in the given order, and returns them",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const a = yield* createIntegration()
      const b = yield* createIntegration()
      const answer = yield* store.enqueue([
        record(newEvent(1), b, a),
        record(newEvent(2)),
        record(newEvent(3), a),
        record(newEvent(4), a, b)
      ])
      yield* expectEqual(
        "number of deliveries per event",
        answer.map((ids) => ids.length),
        [2, 0, 1, 2]
      )
      const ids = answer.flat().map(({ id }) => id)
      yield* expectEqual(
        "ids in ascending order",
        ids,
        [...ids].toSorted((left, right) => left - right)
      )
      yield* expectEqual("different ids", new Set(ids).size, 5)
      const found = yield* Effect.forEach(ids, findDelivery)
      yield* expectEqual(
        "event and integration of each delivery",
        found.map(({ event_id, integration_id }) => [event_id, integration_id]),
        [
          [eventId(1), b.id],
          [eventId(1), a.id],
          [eventId(3), a.id],
          [eventId(4), a.id],
          [eventId(4), b.id]
        ]
      )
    })
  },
  {
    name: "a new delivery is pending and due at the time of its event",
    run: Effect.gen(function* () {
      const integration = yield* createIntegration()
      const id = yield* enqueueOne(newEvent(1, { created_at: start + 7 }), integration)
      yield* expectEqual("delivery", yield* findDelivery(id), {
        id,
        event_id: eventId(1),
        integration_id: integration.id,
        state: "pending",
        reason: null,
        attempts: 0,
        next_attempt_at: start + 7,
        created_at: start + 7
      })
    })
  },
  {
    name: "a delivery can start as leased to the publishing worker; the lease ends with the worker's membership",
    run: Effect.gen(function* () {
      const integration = yield* createIntegration()
      const event = newEvent(1)
      yield* heartbeat(start)
      yield* heartbeat(start, "another")
      const initial = { state: "delivering", worker } as const
      const [id] = yield* enqueue({ event, deliveries: [{ ...pending(integration, event), initial }] })
      yield* heartbeat(start + membershipLength - 1, "another")
      yield* expectEqual("claimed during the lease", yield* claim(start + 1, { worker: "another" }), [])
      yield* expectEqual("next due", yield* nextDue(start + 1), null)
      yield* heartbeat(start + membershipLength, "another")
      yield* expectEqual("due at the original time", yield* nextDue(start + 1), start)
      const other = yield* claimOne(start + membershipLength, { worker: "another" })
      yield* expectEqual("claimed after the lease", other.id, id)
    })
  },
  {
    name: "a delivery can start as skipped, with its reason",
    run: Effect.gen(function* () {
      const integration = yield* createIntegration({ status: "disabled", disabled_reason: "manual" })
      const event = newEvent(1)
      const initial = { state: "skipped", reason: "integration_disabled" } as const
      const [id = DeliveryId.make(1)] = yield* enqueue({
        event,
        deliveries: [{ ...pending(integration, event), initial }]
      })
      const delivery = yield* findDelivery(id)
      yield* expectEqual("state", delivery.state, "skipped")
      yield* expectEqual("reason", delivery.reason, "integration_disabled")
      yield* expectEqual("next attempt", delivery.next_attempt_at, null)
      yield* expectEqual("claimed", yield* claim(start), [])
    })
  },
  {
    name: "no delivery waits for an integration that was deleted or disabled after the event was matched",
    run: Effect.gen(function* () {
      const integrations = yield* IntegrationStore
      const deleted = yield* createIntegration()
      const disabled = yield* createIntegration()
      yield* integrations.remove(deleted)
      yield* integrations.update({ ...disabled, status: "disabled", disabled_reason: "manual", version: 2 }, 1)
      const [stored = []] = yield* (yield* DeliveryStore).enqueue([record(newEvent(1), deleted, disabled)])
      yield* expectEqual(
        "answer",
        stored.map(({ state }) => state),
        ["cancelled", "skipped"]
      )
      const ids = stored.map(({ id }) => id)
      const found = yield* Effect.forEach(ids, findDelivery)
      yield* expectEqual(
        "where they stand",
        found.map(({ next_attempt_at, reason, state }) => [state, reason, next_attempt_at]),
        [
          ["cancelled", "integration_deleted", null],
          ["skipped", "integration_disabled", null]
        ]
      )
      yield* expectEqual("claimed", yield* claim(start), [])
    })
  },
  {
    name: "if its integration was changed after the event was matched, a delivery waits for a claim instead of being leased",
    run: Effect.gen(function* () {
      const matched = yield* createIntegration()
      const configuration = { url: "https://elsewhere.example/", method: "post" } as const
      const changed = { ...matched, configuration, version: 2 }
      yield* (yield* IntegrationStore).update(changed, 1)
      const leased = { ...pending(matched, newEvent(1)), initial: { state: "delivering", worker } } as const
      const current = { ...leased, matched_version: 2 }
      const [[stale] = [], [fresh] = []] = yield* (yield* DeliveryStore).enqueue([
        { event: newEvent(1), deliveries: [leased] },
        { event: newEvent(2), deliveries: [current] }
      ])
      yield* expectEqual("answer", [stale?.state, fresh?.state], ["pending", "delivering"])
      const again = yield* claimOne(start)
      yield* expectEqual("claimed", [again.id, again.integration.configuration], [stale?.id, configuration])
    })
  },
  {
    name: "a call with a used event id is refused and stores nothing",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const integration = yield* createIntegration()
      yield* enqueueOne(newEvent(1), integration)
      const refused = yield* Effect.flip(store.enqueue(records(1, 3, integration).toReversed()))
      yield* expectEqual("error", refused._tag, "StoreError")
      const twice = yield* Effect.flip(store.enqueue([record(newEvent(9)), record(newEvent(9))]))
      yield* expectEqual("error of a repetition", twice._tag, "StoreError")
      for (const n of [2, 3, 9]) yield* expectEqual(`event ${n}`, yield* keptEvent(newEvent(n)), undefined)
      yield* expectEqual("deliveries", (yield* store.list({ limit: 10 })).length, 1)
      const { events, states } = yield* store.summary(start)
      yield* expectEqual("counts", [events, states.pending], [1, 1])
    })
  },
  {
    name: "of ten concurrent calls that store the same event, one succeeds",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const integration = yield* createIntegration()
      const answers = yield* concurrently(10, (n) =>
        store.enqueue([record(newEvent(1), integration), record(newEvent(n + 2))]).pipe(
          Effect.as("stored"),
          Effect.catchTag("StoreError", () => Effect.succeed("refused"))
        )
      )
      yield* expectEqual("stored", answers.filter((answer) => answer === "stored").length, 1)
      const { events, states } = yield* store.summary(start)
      yield* expectEqual("counts", [events, states.pending], [2, 1])
      const other = newEvent(answers.indexOf("stored") + 2)
      yield* expectEqual("the other event of the successful call", yield* keptEvent(other), other)
    })
  },
  {
    name: "a thousand events with three deliveries each are stored in one call",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const three = [yield* createIntegration(), yield* createIntegration(), yield* createIntegration()]
      const answer = yield* store.enqueue(records(1, 1_000, ...three))
      yield* expectEqual("deliveries", new Set(answer.flat().map(({ id }) => id)).size, 3_000)
      for (const n of [1, 500, 1_000]) {
        const ofEvent = yield* store.list({ event_id: eventId(n), limit: 10 })
        yield* expectEqual(
          `deliveries of event ${n}`,
          ofEvent.map(({ id }) => id),
          answer[n - 1]?.map(({ id }) => id)
        )
        yield* expectEqual(
          `integrations of event ${n}`,
          ofEvent.map(({ integration_id }) => integration_id),
          three.map(({ id }) => id)
        )
      }
      yield* expectEqual("claimed", (yield* claim(start, { limit: 5_000, limitPerIntegration: 5_000 })).length, 3_000)
    })
  },
  {
    name: "`find` returns null for an id without a delivery",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      yield* expectEqual("delivery", yield* store.find(DeliveryId.make(77)), null)
    })
  }
]
