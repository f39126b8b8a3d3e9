/**
 * Rules of `DeliveryStore.settle`.
 */
import { Effect } from "effect"
import type { DeliveryState } from "../../model/Delivery.ts"
import { DeliveryId } from "../../model/Ids.ts"
import { DeliveryStore } from "../../ports/DeliveryStore.ts"
import { IntegrationStore } from "../../ports/IntegrationStore.ts"
import {
  attempt,
  attemptsOf,
  claim,
  claimOne,
  createIntegration,
  disableAfter,
  enqueue,
  enqueueOne,
  findDelivery,
  newEvent,
  nextDue,
  nothingOf,
  record,
  records,
  settle,
  settleAs,
  settlement,
  settleWithConsequences,
  start,
  worker
} from "../Fixtures.ts"
import type { SuiteCase } from "../SuiteCase.ts"
import { concurrently, expectEqual } from "../SuiteCase.ts"

const endings = [
  ["delivered", null],
  ["exhausted", "schedule_used_up"],
  ["expired", "lifetime_over"],
  ["cancelled", "right_lost"]
] as const satisfies ReadonlyArray<readonly [DeliveryState, string | null]>

export const settleCases: ReadonlyArray<SuiteCase<DeliveryStore | IntegrationStore>> = [
  ...endings.map(([state, reason]) => ({
    name: `a settlement as ${state} ends a delivery`,
    run: Effect.gen(function* () {
      const id = yield* enqueueOne(newEvent(1), yield* createIntegration())
      const applied = yield* settle(start + 5, settlement(yield* claimOne(start), { state, reason }))
      yield* expectEqual("applied", [...applied], [id])
      const found = yield* findDelivery(id)
      yield* expectEqual(
        "delivery",
        [found.state, found.reason, found.attempts, found.next_attempt_at],
        [state, reason, 1, null]
      )
      yield* expectEqual("claimed ever after", yield* claim(start + 1_000_000_000), [])
      yield* expectEqual("next due", yield* nextDue(start), null)
    })
  })),
  {
    name: "a settlement as retrying makes a delivery due at the given time, in the given lane",
    run: Effect.gen(function* () {
      const id = yield* enqueueOne(newEvent(1), yield* createIntegration())
      const first = yield* claimOne(start)
      yield* settle(start + 5, settlement(first, { state: "retrying", next_attempt_at: start + 5_005, lane: 3 }))
      const found = yield* findDelivery(id)
      yield* expectEqual(
        "delivery",
        [found.state, found.reason, found.attempts, found.next_attempt_at],
        ["retrying", null, 1, start + 5_005]
      )
      yield* expectEqual("before", yield* claim(start + 5_004), [])
      const again = yield* claimOne(start + 5_005)
      yield* expectEqual("retry", [again.id, again.attempts, again.lane], [id, 1, 3])
    })
  },
  {
    name: "attempts are recorded in order, with all their data",
    run: Effect.gen(function* () {
      const id = yield* enqueueOne(newEvent(1), yield* createIntegration())
      const made = [
        attempt(1, { outcome: "timeout", status: null, response_excerpt: null, detail: "no answer in 5s" }),
        attempt(2, { outcome: "bad_status", status: 503, response_excerpt: "", duration_ms: 4_999 }),
        attempt(3, { outcome: "blocked_address", status: null, response_excerpt: null, duration_ms: 0 }),
        attempt(4, { started_at: 1_893_456_000_123 })
      ]
      for (const each of made) {
        const now = start + each.number * 100
        const next_attempt_at = now + 50
        const ending = each.number === 4 ? {} : ({ state: "retrying", next_attempt_at } as const)
        yield* settle(now, settlement(yield* claimOne(now), { attempt: each, ...ending }))
      }
      yield* expectEqual("attempts", yield* attemptsOf(id), made)
      const { attempts, state } = yield* findDelivery(id)
      yield* expectEqual("delivery", [attempts, state], [4, "delivered"])
    })
  },
  {
    name: "a settlement counts once; a second settlement of the same lease, or a settlement of an unknown delivery, is stale",
    run: Effect.gen(function* () {
      const id = yield* enqueueOne(newEvent(1), yield* createIntegration())
      const leased = yield* claimOne(start)
      yield* settle(start + 1, settlement(leased))
      const again = settlement(leased, { state: "exhausted", reason: "schedule_used_up" })
      const unknown = { ...settlement(leased), delivery_id: DeliveryId.make(id + 1_000) }
      yield* expectEqual("applied", [...(yield* settle(start + 2, again, unknown))], [])
      yield* expectEqual("state", (yield* findDelivery(id)).state, "delivered")
      yield* expectEqual("attempts", (yield* attemptsOf(id)).length, 1)
      yield* expectEqual("applied of nothing", [...(yield* settle(start + 3))], [])
    })
  },
  {
    name: "of twenty concurrent settlements of one lease, one counts, and only its attempt is stored",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const id = yield* enqueueOne(newEvent(1), yield* createIntegration())
      const leased = yield* claimOne(start)
      const ownAttempt = (n: number) => attempt(1, { duration_ms: n })
      const answers = yield* concurrently(20, (n) => {
        const own = { attempt: ownAttempt(n), state: "exhausted", reason: "schedule_used_up" } as const
        return settleWithConsequences(start + 1, settlement(leased, own))
      })
      const winner = answers.findIndex(({ applied }) => applied.has(id))
      yield* expectEqual("winners", answers.filter(({ applied }) => applied.size > 0).length, 1)
      yield* expectEqual("attempts", yield* attemptsOf(id), [ownAttempt(winner)])
      const { attempts, state } = yield* findDelivery(id)
      yield* expectEqual("delivery", [attempts, state], [1, "exhausted"])
      const notifications = answers.map((answer) => answer.notifications.length)
      yield* expectEqual(
        "notifications",
        notifications,
        answers.map((_, n) => (n === winner ? 1 : 0))
      )
      yield* expectEqual("kept", yield* store.notifications({ limit: 20 }), answers[winner]?.notifications)
    })
  },
  {
    name: "of twenty concurrent settlements with `gone` for the same integration, one disables the integration",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const integration = yield* createIntegration()
      yield* enqueue(...records(1, 20, integration))
      const leased = yield* claim(start)
      const gone = { state: "cancelled", reason: "integration_gone", gone: true } as const
      const answers = yield* Effect.forEach(
        leased,
        (each) => settleWithConsequences(start + 1, settlement(each, gone)),
        { concurrency: "unbounded" }
      )
      yield* expectEqual("settled", answers.map(({ applied }) => applied.size).length, 20)
      yield* expectEqual(
        "changed",
        answers.flatMap(({ changed }) => changed),
        [integration.id]
      )
      const notifications = answers.flatMap((answer) => answer.notifications)
      yield* expectEqual(
        "notifications",
        notifications.map(({ kind }) => kind),
        ["disabled"]
      )
      yield* expectEqual("kept", yield* store.notifications({ limit: 20 }), notifications)
      const found = yield* (yield* IntegrationStore).find(integration.id)
      yield* expectEqual("integration", [found?.disabled_reason, found?.version], ["gone", 2])
    })
  },
  {
    name: "nothing is postponed while no other transaction is open",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      yield* enqueue(...records(1, 3, yield* createIntegration()))
      const [acknowledged, failed, released] = yield* claim(start)
      if (acknowledged === undefined || failed === undefined || released === undefined) return
      const retry = {
        state: "retrying",
        next_attempt_at: start + 9,
        attempt: attempt(1, { outcome: "timeout" })
      } as const
      const settlements = [settlement(acknowledged), settlement(failed, retry)]
      const releases = [{ delivery_id: released.id, due_at: start + 5 }]
      const { applied, postponed } = yield* store.settle({ worker, settlements, releases }, start + 1, disableAfter)
      yield* expectEqual("applied", applied, new Set([acknowledged.id, failed.id]))
      yield* expectEqual("postponed", postponed, new Set())
    })
  },
  {
    name: "stale settlements in a batch change nothing, and the others count",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      yield* enqueue(...records(1, 300, yield* createIntegration()))
      const leased = yield* claim(start)
      const batch = leased.map((delivery, index) =>
        settlement(delivery, index % 3 === 0 ? { attempt: attempt(2) } : {})
      )
      const applied = yield* settle(start + 1, ...batch)
      yield* expectEqual("applied", applied, new Set(leased.filter((_, index) => index % 3 !== 0).map(({ id }) => id)))
      const { states } = yield* store.summary(start + 1)
      yield* expectEqual("states", [states.delivered, states.delivering], [200, 100])
      const histories = yield* Effect.forEach(leased, ({ id }) => attemptsOf(id))
      yield* expectEqual("attempts recorded", histories.flat().length, 200)
    })
  },
  {
    name: "a delivery cancelled during its attempt stays cancelled, and its attempt is recorded",
    run: Effect.gen(function* () {
      const integration = yield* createIntegration()
      const id = yield* enqueueOne(newEvent(1), integration)
      const leased = yield* claimOne(start)
      yield* (yield* IntegrationStore).remove(integration)
      yield* expectEqual("state", (yield* findDelivery(id)).state, "cancelled")
      yield* expectEqual("applied", [...(yield* settle(start + 2, settlement(leased)))], [id])
      const found = yield* findDelivery(id)
      yield* expectEqual(
        "delivery",
        [found.state, found.reason, found.attempts, found.next_attempt_at],
        ["cancelled", "integration_deleted", 1, null]
      )
      yield* expectEqual("attempts", (yield* attemptsOf(id)).length, 1)
      yield* expectEqual("applied twice", [...(yield* settle(start + 3, settlement(leased)))], [])
      yield* expectEqual("attempts after that", (yield* attemptsOf(id)).length, 1)
    })
  },
  {
    name: "a settlement with `gone` disables the integration once and cancels its waiting deliveries",
    run: Effect.gen(function* () {
      const integrations = yield* IntegrationStore
      const integration = yield* createIntegration()
      const other = yield* createIntegration()
      const [first, second, done, retrying, waiting] = yield* enqueue(...records(1, 5, integration))
      const [untouched] = yield* enqueue(record(newEvent(6), other))
      const leased = yield* claim(start, { limit: 4, limits: nothingOf(other) })
      const settlements = leased.map((delivery) => {
        if (delivery.id === done) return settlement(delivery)
        if (delivery.id === retrying) return settlement(delivery, { state: "retrying", next_attempt_at: start + 1_000 })
        return settlement(delivery, { state: "cancelled", reason: "integration_gone", gone: true })
      })
      const { changed, notifications } = yield* settleWithConsequences(start + 7, ...settlements)
      yield* expectEqual("changed", changed, [integration.id])
      yield* expectEqual(
        "notifications",
        notifications.map(({ at, integration_id, kind }) => [kind, integration_id, at]),
        [["disabled", integration.id, start + 7]]
      )
      const disabled = {
        ...integration,
        status: "disabled",
        disabled_reason: "gone",
        version: 2,
        updated_at: start + 7
      } as const
      yield* expectEqual("integration", yield* integrations.find(integration.id), disabled)
      yield* expectEqual("another integration", yield* integrations.find(other.id), other)
      const stands = Effect.fnUntraced(function* (id: DeliveryId | undefined) {
        const found = yield* findDelivery(id ?? DeliveryId.make(1))
        return [found.state, found.reason, found.next_attempt_at]
      })
      yield* expectEqual("the first delivery with a 410", yield* stands(first), ["cancelled", "integration_gone", null])
      yield* expectEqual("another delivery with a 410", yield* stands(second), ["cancelled", "integration_gone", null])
      yield* expectEqual("acknowledged in the same batch", yield* stands(done), ["delivered", null, null])
      yield* expectEqual("to be retried", yield* stands(retrying), ["cancelled", "integration_gone", null])
      yield* expectEqual("waiting", yield* stands(waiting), ["cancelled", "integration_gone", null])
      yield* expectEqual("of another integration", yield* stands(untouched), ["pending", null, start])
    })
  },
  {
    name: "a stale 410, or a 410 for a delivery cancelled during its attempt, does not disable the integration",
    run: Effect.gen(function* () {
      const integrations = yield* IntegrationStore
      const integration = yield* createIntegration()
      yield* enqueue(...records(1, 2, integration))
      const [stale, cancelled] = yield* claim(start)
      if (stale === undefined || cancelled === undefined) return yield* expectEqual("claimed", 0, 2)
      const gone = { state: "cancelled", reason: "integration_gone", gone: true } as const
      yield* settleAs("other", start + 1, settlement(stale, gone))
      yield* settle(start + 1, settlement(stale, { ...gone, attempt: attempt(2) }))
      yield* expectEqual("after the stale 410", yield* integrations.find(integration.id), integration)
      const off = { ...integration, status: "disabled", disabled_reason: "manual", version: 2 } as const
      yield* integrations.update(off, 1)
      const on = { ...integration, version: 3 }
      yield* integrations.update(on, 2)
      yield* settle(start + 2, settlement(cancelled, gone))
      yield* expectEqual("after the 410 for the cancelled delivery", yield* integrations.find(integration.id), on)
    })
  }
]
