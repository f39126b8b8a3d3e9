/**
 * Rules for the effects of `DeliveryStore.settle` on the health of integrations, and for notifications.
 */
import { Effect } from "effect"
import type { Integration } from "../../model/Integration.ts"
import type { Settlement } from "../../ports/DeliveryStore.ts"
import { DeliveryStore } from "../../ports/DeliveryStore.ts"
import { IntegrationStore, isUnreadable } from "../../ports/IntegrationStore.ts"
import type { FailureState } from "../../model/FailureState.ts"
import { leastFailedAttempts } from "../../model/FailureState.ts"
import {
  attempt,
  claim,
  claimOne,
  createIntegration,
  disableAfter,
  enqueue,
  enqueueOne,
  findDelivery,
  newEvent,
  record,
  records,
  retryAt,
  settle,
  settlement,
  settleOutcomes,
  settleWithConsequences,
  start
} from "../Fixtures.ts"
import type { SuiteCase } from "../SuiteCase.ts"
import { concurrently, expectEqual, expectPresent } from "../SuiteCase.ts"

const failingOf = Effect.fnUntraced(function* ({ id }: Integration) {
  const found = yield* expectPresent("integration", yield* (yield* IntegrationStore).findWithHealth(id))
  return found.failing
})

/** Fails the only delivery once; its retry is due a millisecond later. */
const fail = Effect.fnUntraced(function* (now: number) {
  const leased = yield* claimOne(now)
  return yield* settleWithConsequences(now, retryAt(leased, now + 1))
})

/** Fails the only delivery several times, a millisecond apart. */
const failOften = Effect.fnUntraced(function* (from: number, times: number) {
  for (let n = 0; n < times; n++) yield* fail(from + n)
})

/** Makes a failure state, by default without warnings and without `Retry-After`. */
const failingSince = (since: number, attempts: number, fields: Partial<FailureState> = {}): FailureState => ({
  since,
  warnings: 0,
  attempts,
  retry_after: null,
  ...fields
})

export const failingCases: ReadonlyArray<SuiteCase<DeliveryStore | IntegrationStore>> = [
  {
    name: "an integration fails from its first failed attempt until an acknowledgement",
    run: Effect.gen(function* () {
      const integration = yield* createIntegration()
      yield* enqueue(...records(1, 2, integration))
      const troubled = Effect.gen(function* () {
        const found = yield* (yield* IntegrationStore).listAll({ status: "unhealthy", after: 0, limit: 10 })
        return found.map((one) => (isUnreadable(one) ? one.id : one.integration.id))
      })
      yield* expectEqual("at first", yield* failingOf(integration), null)
      yield* expectEqual("troubled at first", yield* troubled, [])
      const [one, two] = yield* claim(start)
      if (one === undefined || two === undefined) return yield* expectEqual("claimed", 0, 2)
      const first = yield* settleWithConsequences(start + 5, retryAt(one, start + 6))
      yield* expectEqual("after one failure", yield* failingOf(integration), failingSince(start + 5, 1))
      yield* expectEqual("unhealthy", yield* troubled, [integration.id])
      yield* expectEqual("warned", first.notifications, [])
      yield* settle(start + 50, retryAt(yield* claimOne(start + 50), start + 51))
      yield* expectEqual("after another", yield* failingOf(integration), failingSince(start + 5, 2))
      yield* settle(start + 60, settlement(two))
      yield* expectEqual("acknowledged", yield* failingOf(integration), null)
      yield* fail(start + 70)
      yield* expectEqual("failing again", yield* failingOf(integration), failingSince(start + 70, 1))
      const found = yield* (yield* IntegrationStore).find(integration.id)
      yield* expectEqual("the integration is unchanged", found, integration)
    })
  },
  {
    name: "operators get one warning each at 50, 70 and 90 % of `disableAfter`, and at 100 % the integration is disabled",
    run: Effect.gen(function* () {
      const integration = yield* createIntegration()
      const other = yield* createIntegration()
      const id = yield* enqueueOne(newEvent(1), integration)
      const warned: Array<unknown> = []
      for (const share of [0, 0.2, 0.49, 0.5, 0.6, 0.75, 0.8, 0.9, 0.99, 1]) {
        const now = start + share * disableAfter
        const { changed, notifications } = yield* fail(now)
        warned.push(...notifications.map((notification) => [share, notification.kind]))
        yield* expectEqual(`changed at ${share}`, changed, share === 1 ? [integration.id] : [])
        for (const notification of notifications) {
          yield* expectEqual("at", notification.at, now)
          if (notification.kind !== "failing") continue
          const times = [notification.failing_since, notification.disables_at]
          yield* expectEqual("times", times, [start, start + disableAfter])
        }
      }
      yield* expectEqual("warned", warned, [
        [0.5, "failing"],
        [0.75, "failing"],
        [0.9, "failing"],
        [1, "disabled"]
      ])
      const integrations = yield* IntegrationStore
      yield* expectEqual("integration", yield* integrations.find(integration.id), {
        ...integration,
        status: "disabled",
        disabled_reason: "failing",
        version: 2,
        updated_at: start + disableAfter
      })
      yield* expectEqual("another", yield* integrations.find(other.id), other)
      const { next_attempt_at, reason, state } = yield* findDelivery(id)
      yield* expectEqual("delivery", [state, reason, next_attempt_at], ["cancelled", "integration_disabled", null])
      const kept = yield* (yield* DeliveryStore).notifications({ limit: 10 })
      yield* expectEqual(
        "kept",
        kept.map(({ kind }) => kind),
        ["failing", "failing", "failing", "disabled"]
      )
    })
  },
  {
    name: "without a new attempt, each warning is stored once when it is due, and nothing is disabled",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const integration = yield* createIntegration()
      yield* createIntegration()
      yield* enqueueOne(newEvent(1), integration)
      yield* expectEqual("while none fails", yield* store.warn(start + 9 * disableAfter, disableAfter, 10), [])
      yield* failOften(start, leastFailedAttempts - 1)
      const warned: Array<unknown> = []
      for (const share of [0, 0.49, 0.5, 0.6, 0.95, 1, 9]) {
        const now = start + share * disableAfter
        for (const { id, ...notification } of yield* store.warn(now, disableAfter, 10)) {
          warned.push(share)
          const times = { at: now, failing_since: start, disables_at: start + disableAfter }
          const { id: integration_id, scope } = integration
          yield* expectEqual("notification", notification, { kind: "failing", integration_id, scope, ...times })
          const kept = yield* store.notifications({ order: "newest", limit: 1 })
          yield* expectEqual("kept", kept, [{ ...notification, id }])
        }
      }
      yield* expectEqual("warned at", warned, [0.5, 0.95])
      yield* expectEqual(
        "failing",
        yield* failingOf(integration),
        failingSince(start, leastFailedAttempts - 1, { warnings: 3 })
      )
      yield* expectEqual("integration", yield* (yield* IntegrationStore).find(integration.id), integration)
      const { changed, notifications } = yield* fail(start + 10 * disableAfter)
      const kinds = notifications.map(({ kind }) => kind)
      yield* expectEqual("at the next failure", [changed, kinds], [[integration.id], ["disabled"]])
      yield* expectEqual("disabled", yield* store.warn(start + 20 * disableAfter, disableAfter, 10), [])
    })
  },
  {
    name: "a call stores at most the requested number of warnings, and the next call stores the others",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const integrations = [yield* createIntegration(), yield* createIntegration(), yield* createIntegration()]
      yield* enqueue(record(newEvent(1), ...integrations))
      for (const leased of yield* claim(start)) yield* settle(start, retryAt(leased, start + 1))
      const some = Effect.map(store.warn(start + 0.5 * disableAfter, disableAfter, 2), (notifications) =>
        notifications.map(({ integration_id }) => integration_id)
      )
      const [first, second, third] = [yield* some, yield* some, yield* some]
      yield* expectEqual("how many", [first.length, second.length, third.length], [2, 1, 0])
      yield* expectEqual(
        "of which",
        [...first, ...second].toSorted((a, b) => a - b),
        integrations.map(({ id }) => id)
      )
    })
  },
  {
    name: "twenty concurrent calls of `warn` store one warning for each integration",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const integrations = [yield* createIntegration(), yield* createIntegration(), yield* createIntegration()]
      yield* enqueue(record(newEvent(1), ...integrations))
      for (const leased of yield* claim(start)) yield* settle(start, retryAt(leased, start + 1))
      const warned = (yield* concurrently(20, () => store.warn(start + 0.5 * disableAfter, disableAfter, 10))).flat()
      yield* expectEqual(
        "warned of",
        warned.map(({ integration_id }) => integration_id).toSorted((a, b) => a - b),
        integrations.map(({ id }) => id)
      )
      const kept = yield* store.notifications({ limit: 100 })
      yield* expectEqual(
        "kept",
        kept,
        warned.toSorted((a, b) => a.id - b.id)
      )
    })
  },
  {
    name: "the latest Retry-After time is stored while an integration fails",
    run: Effect.gen(function* () {
      const integration = yield* createIntegration()
      yield* enqueue(...records(1, 6, integration))
      const leased = [...(yield* claim(start))]
      const failWith = Effect.fnUntraced(function* (now: number, ...waits: ReadonlyArray<number | null>) {
        const settlements = waits.flatMap((retry_after) => {
          const next = leased.shift()
          return next === undefined ? [] : [{ ...retryAt(next, start + 900_000), retry_after }]
        })
        yield* settle(now, ...settlements)
        return (yield* failingOf(integration))?.retry_after
      })
      yield* expectEqual("none", yield* failWith(start, null), null)
      yield* expectEqual("one of two", yield* failWith(start + 1, start + 500, null), start + 500)
      yield* expectEqual("an earlier one", yield* failWith(start + 2, start + 300), start + 500)
      yield* expectEqual("a later one", yield* failWith(start + 3, start + 800), start + 800)
      const [last] = leased
      if (last === undefined) return yield* expectEqual("left", 0, 1)
      const { recovered } = yield* settleWithConsequences(start + 4, settlement(last))
      const recovery = { integration_id: integration.id, failing_since: start, retry_after: start + 800 }
      yield* expectEqual("recovered", recovered, [recovery])
    })
  },
  {
    name: "the acknowledgement that ends a failure reports the recovery once, with the start of the failure",
    run: Effect.gen(function* () {
      const [one, two] = [yield* createIntegration(), yield* createIntegration()]
      yield* enqueue(...records(1, 5, one, two))
      const leased = yield* claim(start)
      const of = ({ id }: Integration) => leased.filter(({ integration }) => integration.id === id)
      const [failed, ...rest] = of(one)
      const [first, second, third, fourth] = rest
      if (!failed || !first || !second || !third || !fourth) return yield* expectEqual("claimed", leased.length, 10)
      const recoveredBy = (now: number, ...settlements: ReadonlyArray<Settlement>) =>
        Effect.map(settleWithConsequences(now, ...settlements), ({ recovered }) => recovered)
      yield* expectEqual("not failing", yield* recoveredBy(start + 1, settlement(first)), [])
      yield* expectEqual("failing", yield* recoveredBy(start + 2, retryAt(failed, start + 9e9)), [])
      const ofTwo = of(two).map((each) => settlement(each))
      yield* expectEqual("of another", yield* recoveredBy(start + 3, ...ofTwo), [])
      const recovery = { integration_id: one.id, failing_since: start + 2, retry_after: null }
      const batch = [settlement(second), retryAt(third, start + 9e9)]
      yield* expectEqual("acknowledged", yield* recoveredBy(start + 4, ...batch), [recovery])
      yield* expectEqual("once", yield* recoveredBy(start + 5, settlement(fourth)), [])
    })
  },
  {
    name: "of twenty concurrent acknowledgements, one ends the failure of the integration",
    run: Effect.gen(function* () {
      const integration = yield* createIntegration()
      yield* enqueue(...records(1, 21, integration))
      const [failed, ...leased] = yield* claim(start)
      if (failed === undefined) return yield* expectEqual("claimed", 0, 21)
      yield* settle(start, retryAt(failed, start + 9e9))
      const answers = yield* Effect.forEach(leased, (each) => settleWithConsequences(start + 1, settlement(each)), {
        concurrency: "unbounded"
      })
      yield* expectEqual(
        "recovered",
        answers.flatMap(({ recovered }) => recovered),
        [{ integration_id: integration.id, failing_since: start, retry_after: null }]
      )
    })
  },
  {
    name: "exhausted deliveries are counted in one notification per integration",
    run: Effect.gen(function* () {
      const [one, two] = [yield* createIntegration(), yield* createIntegration()]
      yield* enqueue(...records(1, 3, one), record(newEvent(4), two))
      const leased = yield* claim(start)
      const given = { state: "exhausted", reason: "schedule_used_up" } as const
      const { notifications } = yield* settleWithConsequences(start, ...leased.map((each) => settlement(each, given)))
      yield* expectEqual(
        "notifications",
        notifications.map((notification) => [
          notification.integration_id,
          notification.kind,
          notification.kind === "exhausted" && notification.deliveries
        ]),
        [
          [one.id, "exhausted", 3],
          [two.id, "exhausted", 1]
        ]
      )
    })
  },
  {
    name: "a change by users resets an integration's failure state",
    run: Effect.gen(function* () {
      const integration = yield* createIntegration()
      yield* enqueueOne(newEvent(1), integration)
      yield* failOften(start, leastFailedAttempts)
      yield* (yield* IntegrationStore).update({ ...integration, version: 2 }, 1)
      yield* expectEqual("failing", yield* failingOf(integration), null)
      yield* expectEqual("disabled", (yield* fail(start + 2 * disableAfter)).changed, [])
    })
  },
  {
    name: "a stale settlement does not affect its integration",
    run: Effect.gen(function* () {
      const integration = yield* createIntegration()
      yield* enqueueOne(newEvent(1), integration)
      const leased = yield* claimOne(start)
      const settlements = [retryAt(leased, start + 9)]
      const { notifications } = yield* settleOutcomes(start + 1, { worker: "other", settlements })
      yield* expectEqual("notifications", notifications, [])
      const ahead = { attempt: attempt(2), state: "exhausted", reason: "schedule_used_up" } as const
      const other = yield* settleWithConsequences(start + 1, settlement(leased, ahead))
      yield* expectEqual("of another attempt", [other.notifications, other.recovered], [[], []])
      yield* expectEqual("failing", yield* failingOf(integration), null)
    })
  },
  {
    name: "notifications are listed by id, optionally for one integration, after an id and up to a limit",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const [one, two] = [yield* createIntegration(), yield* createIntegration()]
      yield* enqueue(...records(1, 2, one, two))
      const given = { state: "exhausted", reason: "schedule_used_up" } as const
      for (const leased of yield* claim(start)) yield* settle(start, settlement(leased, given))
      const all = yield* store.notifications({ limit: 10 })
      yield* expectEqual("all", all.length, 4)
      yield* expectEqual(
        "in order",
        all,
        [...all].toSorted((a, b) => a.id - b.id)
      )
      const [first, second] = all
      if (first === undefined || second === undefined) return yield* expectEqual("notifications", all.length, 4)
      yield* expectEqual("the second alone", yield* store.notifications({ after: first.id, limit: 1 }), [second])
      yield* expectEqual("the newest", yield* store.notifications({ order: "newest", limit: 10 }), all.toReversed())
      const before = yield* store.notifications({ order: "newest", after: second.id, limit: 10 })
      yield* expectEqual("the notification before the second", before, [first])
      const ofTwo = yield* store.notifications({ integration_id: two.id, limit: 10 })
      yield* expectEqual(
        "of one",
        ofTwo,
        all.filter(({ integration_id }) => integration_id === two.id)
      )
      yield* expectEqual("whose", ofTwo[0]?.scope, two.scope)
    })
  },
  {
    name: "a notification about the service is stored with the others, and is in no integration's list",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const integration = yield* createIntegration()
      yield* enqueue(...records(1, 1, integration))
      const given = { state: "exhausted", reason: "schedule_used_up" } as const
      for (const leased of yield* claim(start)) yield* settle(start, settlement(leased, given))
      const about = { integration_id: null, scope: null, at: start, ahead_ms: 5, until: start + 7 } as const
      const kept = yield* store.addNotification({ kind: "retention_paused", ...about })
      yield* expectEqual("the same as added", kept, { kind: "retention_paused", ...about, id: kept.id })
      const all = yield* store.notifications({ limit: 10 })
      yield* expectEqual("the newest", all.at(-1), kept)
      yield* expectEqual("all", all.length, 2)
      const ofOne = yield* store.notifications({ integration_id: integration.id, limit: 10 })
      yield* expectEqual("of one", ofOne, all.slice(0, 1))
    })
  }
]
