/**
 * Rules for which deliveries `DeliveryStore.claim` takes, and in which order.
 */
import { Effect } from "effect"
import type { IntegrationId } from "../../model/Ids.ts"
import { DeliveryStore } from "../../ports/DeliveryStore.ts"
import { IntegrationStore } from "../../ports/IntegrationStore.ts"
import {
  claim,
  claimOne,
  claimRequest,
  createIntegration,
  enqueue,
  enqueueOne,
  findDelivery,
  idsOf,
  newEvent,
  nextDue,
  nothingOf,
  record,
  records,
  retryAt,
  settle,
  settlement,
  start
} from "../Fixtures.ts"
import type { SuiteCase } from "../SuiteCase.ts"
import { expectEqual, expectPresent } from "../SuiteCase.ts"

/** Returns the integration ids of claimed deliveries. */
const integrationsOf = (claimed: ReadonlyArray<{ readonly integration: { readonly id: IntegrationId } }>) =>
  claimed.map(({ integration }) => integration.id)

export const claimCases: ReadonlyArray<SuiteCase<DeliveryStore | IntegrationStore>> = [
  {
    name: "`claim` leases a delivery with everything that an attempt needs",
    run: Effect.gen(function* () {
      const integration = yield* createIntegration()
      const event = newEvent(1, { resource_type: "call" })
      const id = yield* enqueueOne(event, integration)
      yield* expectEqual("claimed", yield* claimOne(start), {
        id,
        lane: 0,
        attempts: 0,
        early: 0,
        early_due_at: null,
        resend: false,
        event,
        integration
      })
      const { attempts, next_attempt_at, state } = yield* findDelivery(id)
      yield* expectEqual(
        "stored",
        { attempts, next_attempt_at, state },
        { attempts: 0, next_attempt_at: null, state: "delivering" }
      )
    })
  },
  {
    name: "`claim` returns the current state of the integration",
    run: Effect.gen(function* () {
      const integration = yield* createIntegration()
      yield* enqueue(...records(1, 2, integration))
      yield* claimOne(start)
      const changed = {
        ...integration,
        configuration: { url: "https://elsewhere.example/", method: "post" },
        version: 2,
        updated_at: start + 1
      } as const
      yield* (yield* IntegrationStore).update(changed, 1)
      yield* expectEqual("integration", (yield* claimOne(start)).integration, changed)
    })
  },
  {
    name: "`claim` takes deliveries that are due now, and none that are due later",
    run: Effect.gen(function* () {
      const integration = yield* createIntegration()
      const [first, second] = yield* enqueue(
        record(newEvent(1, { created_at: start + 1_000 }), integration),
        record(newEvent(2, { created_at: start + 1_001 }), integration)
      )
      yield* expectEqual("a millisecond before", yield* claim(start + 999), [])
      yield* expectEqual("at the moment", idsOf(yield* claim(start + 1_000)), [first])
      yield* expectEqual("a millisecond after", idsOf(yield* claim(start + 1_001)), [second])
    })
  },
  {
    name: "the deliveries of an integration are claimed by the urgency of their lane, then by due time",
    run: Effect.gen(function* () {
      const integration = yield* createIntegration()
      const call = { resource_type: "call", created_at: start + 5 } as const
      const [logLate, logEarly, callLate, callEarly] = yield* enqueue(
        record(newEvent(1, { created_at: start + 2 }), integration),
        record(newEvent(2, { created_at: start + 1 }), integration),
        record(newEvent(3, { ...call, created_at: start + 6 }), integration),
        record(newEvent(4, call), integration)
      )
      const claimed = yield* claim(start + 10)
      yield* expectEqual("order", idsOf(claimed), [callEarly, callLate, logEarly, logLate])
      yield* expectEqual(
        "lanes",
        claimed.map(({ lane }) => lane),
        [0, 0, 2, 2]
      )
    })
  },
  {
    name: "retries are claimed after first attempts of the same type, and before deliveries of less urgent types",
    run: Effect.gen(function* () {
      const integration = yield* createIntegration()
      const call = { resource_type: "call" } as const
      const [retriedLog, retriedCall] = yield* enqueue(
        record(newEvent(1), integration),
        record(newEvent(2, call), integration)
      )
      const first = yield* claim(start)
      const retry = { state: "retrying", next_attempt_at: start + 10 } as const
      yield* settle(start + 5, ...first.map((delivery) => settlement(delivery, retry)))
      const [log, ring] = yield* enqueue(
        record(newEvent(3, { created_at: start + 100 }), integration),
        record(newEvent(4, { ...call, created_at: start + 100 }), integration)
      )
      const claimed = yield* claim(start + 100)
      yield* expectEqual("order", idsOf(claimed), [ring, retriedCall, log, retriedLog])
      yield* expectEqual(
        "lanes",
        claimed.map(({ lane }) => lane),
        [0, 1, 2, 3]
      )
      yield* expectEqual(
        "attempts made",
        claimed.map(({ attempts }) => attempts),
        [0, 1, 0, 1]
      )
    })
  },
  {
    name: "a claim takes at most `limit` deliveries, and the next claim takes the remaining deliveries",
    run: Effect.gen(function* () {
      const integration = yield* createIntegration()
      const ids = yield* enqueue(...records(1, 5, integration))
      yield* expectEqual("first", idsOf(yield* claim(start, { limit: 3 })), ids.slice(0, 3))
      yield* expectEqual("second", idsOf(yield* claim(start, { limit: 3 })), ids.slice(3))
      yield* expectEqual("third", yield* claim(start, { limit: 3 }), [])
    })
  },
  {
    name: "a claim returns the due time of the next unleased delivery; with limit 0, it does nothing else",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      yield* expectEqual("with nothing stored", yield* nextDue(start), null)
      const a = yield* createIntegration()
      const b = yield* createIntegration()
      const [first] = yield* enqueue(
        record(newEvent(1, { created_at: start + 300 }), a),
        record(newEvent(2, { created_at: start + 200 }), b),
        record(newEvent(3, { created_at: start + 250, resource_type: "call" }), b)
      )
      yield* expectEqual("due time of the earliest waiting delivery", yield* nextDue(start), start + 200)
      yield* expectEqual("due time that has passed", yield* nextDue(start + 1_000), start + 200)
      const early = yield* store.claim(claimRequest(start + 199))
      yield* expectEqual("before all", early, { deliveries: [], next_due: start + 200 })
      const none = yield* store.claim(claimRequest(start + 1_000, { limits: nothingOf(a, b) }))
      yield* expectEqual("due time from a claim that may take nothing", none, { deliveries: [], next_due: start + 200 })
      const claimed = yield* store.claim(claimRequest(start + 250))
      yield* expectEqual("the rest", [claimed.deliveries.length, claimed.next_due], [2, start + 300])
      const last = yield* store.claim(claimRequest(start + 300))
      yield* expectEqual("the last", [idsOf(last.deliveries), last.next_due], [[first], null])
      yield* settle(start + 400, ...claimed.deliveries.map((delivery) => retryAt(delivery, start + 900)))
      yield* expectEqual("of retries", yield* nextDue(start + 400), start + 900)
    })
  },
  {
    name: "`limitPerIntegration` limits the claimed deliveries of each integration, in all lanes together",
    run: Effect.gen(function* () {
      const a = yield* createIntegration()
      const b = yield* createIntegration()
      yield* enqueue(
        ...records(1, 5, a, b),
        record(newEvent(6, { resource_type: "call" }), a),
        record(newEvent(7, { resource_type: "call" }), a)
      )
      const claimed = yield* claim(start, { limitPerIntegration: 3 })
      yield* expectEqual(
        "lanes of the first integration",
        claimed.filter(({ integration }) => integration.id === a.id).map(({ lane }) => lane),
        [0, 0, 2]
      )
      yield* expectEqual("of the second", integrationsOf(claimed).filter((id) => id === b.id).length, 3)
    })
  },
  {
    name: "`limits` override `limitPerIntegration` for the integrations they name; 0 takes nothing",
    run: Effect.gen(function* () {
      const none = yield* createIntegration()
      const more = yield* createIntegration()
      const other = yield* createIntegration()
      yield* enqueue(...records(1, 6, none, more, other), record(newEvent(7, { resource_type: "call" }), more))
      const limits = new Map([
        [none.id, 0],
        [more.id, 4]
      ])
      const claimed = integrationsOf(yield* claim(start, { limitPerIntegration: 2, limits }))
      const taken = [none, more, other].map(({ id }) => claimed.filter((each) => each === id).length)
      yield* expectEqual("taken of each", taken, [0, 4, 2])
      const rest = integrationsOf(yield* claim(start, { limits: nothingOf(more, other) }))
      yield* expectEqual("remaining deliveries of the first integration", rest, Array(6).fill(none.id))
    })
  },
  {
    name: "`urgent` limits let a claim take urgent deliveries beyond the other limits, and never lower those",
    run: Effect.gen(function* () {
      const full = yield* createIntegration()
      const open = yield* createIntegration()
      const none = yield* createIntegration()
      const call = { resource_type: "call" } as const
      yield* enqueue(
        ...records(1, 5, full, open, none),
        ...[6, 7, 8, 9].map((n) => record(newEvent(n, call), full, open, none))
      )
      const retry = { state: "retrying", next_attempt_at: start } as const
      const [first] = yield* claim(start, { limit: 1, limits: nothingOf(open, none) })
      yield* settle(start, settlement(yield* expectPresent("a call", first), retry))
      const limits = new Map([
        [full.id, 0],
        [open.id, 5],
        [none.id, 0]
      ])
      const urgent = { limit: 1_000, limitPerIntegration: 3, limits: nothingOf(none) }
      const claimed = yield* claim(start + 1, { limits, urgent })
      const lanesOf = (id: IntegrationId) =>
        claimed.filter(({ integration }) => integration.id === id).map(({ lane }) => lane)
      yield* expectEqual("beyond a limit of 0", lanesOf(full.id), [0, 0, 0])
      yield* expectEqual("within a higher limit", lanesOf(open.id), [0, 0, 0, 0, 2])
      yield* expectEqual("without any limit", lanesOf(none.id), [])
      const again = yield* claim(start + 1, { limits: nothingOf(open, full, none), urgent })
      yield* expectEqual(
        "a retry",
        again.map(({ integration, lane }) => [integration.id, lane]),
        [[full.id, 1]]
      )
    })
  },
  {
    name: "an `urgent` limit above `limit` applies to urgent deliveries only",
    run: Effect.gen(function* () {
      const a = yield* createIntegration()
      const b = yield* createIntegration()
      const calls = [6, 7, 8].map((n) => record(newEvent(n, { resource_type: "call" }), a, b))
      yield* enqueue(...records(1, 5, a, b), ...calls)
      const urgent = { limit: 5, limitPerIntegration: 10, limits: new Map() }
      const lanesWith = (limit: number) =>
        Effect.map(claim(start, { limit, urgent }), (all) => all.map(({ lane }) => lane))
      yield* expectEqual("with limit 0", yield* lanesWith(0), [0, 0, 0, 0, 0])
      yield* expectEqual("with limit 3", yield* lanesWith(3), [0, 2, 2])
      yield* expectEqual("with limit 0 and no urgent delivery", yield* lanesWith(0), [])
    })
  },
  {
    name: "a claim that can't take all due deliveries divides its limit equally among the integrations, whatever their backlogs",
    run: Effect.gen(function* () {
      const big = yield* createIntegration()
      const small = yield* createIntegration()
      const last = yield* createIntegration()
      yield* enqueue(...records(1, 500, big), ...records(501, 503, small), ...records(504, 513, last))
      const claimed = integrationsOf(yield* claim(start, { limit: 9 }))
      for (const { id } of [big, small, last]) {
        yield* expectEqual(`share of ${id}`, claimed.filter((other) => other === id).length, 3)
      }
      const more = integrationsOf(yield* claim(start, { limit: 100 }))
      yield* expectEqual("remaining deliveries of the big one", more.filter((id) => id === big.id).length, 93)
    })
  },
  {
    name: "if more integrations than `limit` have due deliveries, a claim takes the deliveries that are due earliest",
    run: Effect.gen(function* () {
      const integrations = yield* Effect.replicateEffect(createIntegration(), 5)
      const ids = yield* enqueue(
        ...integrations.map((integration, index) => record(newEvent(index, { created_at: start - index }), integration))
      )
      const earliestFirst = ids.toReversed()
      yield* expectEqual("first", idsOf(yield* claim(start, { limit: 2 })), earliestFirst.slice(0, 2))
      yield* expectEqual("then", idsOf(yield* claim(start, { limit: 2 })), earliestFirst.slice(2, 4))
    })
  },
  {
    name: "urgent deliveries of one integration are claimed before the backlog of others",
    run: Effect.gen(function* () {
      const backlog = yield* Effect.replicateEffect(createIntegration(), 5)
      const ringing = yield* createIntegration()
      yield* enqueue(...records(1, 20, ...backlog), record(newEvent(21, { resource_type: "call" }), ringing))
      yield* expectEqual("first", integrationsOf(yield* claim(start, { limit: 1 })), [ringing.id])
    })
  }
]
