/**
 * Rules for probes of disabled integrations with `DeliveryStore.redeliver`.
 */
import { Effect } from "effect"
import { IntegrationId } from "../../model/Ids.ts"
import type { DeliveryStore } from "../../ports/DeliveryStore.ts"
import { IntegrationStore } from "../../ports/IntegrationStore.ts"
import {
  attemptsOf,
  claim,
  claimOne,
  createIntegration,
  enqueue,
  enqueueOne,
  findDelivery,
  newEvent,
  probe,
  records,
  retryAt,
  settle,
  settlement,
  settleWithConsequences,
  start
} from "../Fixtures.ts"
import type { SuiteCase } from "../SuiteCase.ts"
import { concurrently, expectEqual } from "../SuiteCase.ts"

/** Stores two deliveries of one integration, and disables the integration: the first delivery is answered with 410. */
const gone = Effect.gen(function* () {
  const integration = yield* createIntegration()
  const ids = yield* enqueue(...records(1, 2, integration))
  const end = { state: "cancelled", reason: "integration_gone", gone: true } as const
  yield* settle(start, settlement(yield* claimOne(start), end))
  return { integration, ids }
})

export const probeCases: ReadonlyArray<SuiteCase<DeliveryStore | IntegrationStore>> = [
  {
    name: "a probe sends the newest unacknowledged delivery once; an acknowledgement enables the integration",
    run: Effect.gen(function* () {
      const { ids, integration } = yield* gone
      yield* expectEqual("answer", yield* probe(integration.id, start + 10), [1, ids[1]])
      const claimed = yield* claim(start + 10)
      yield* expectEqual(
        "claimed",
        claimed.map(({ id, resend }) => [id, resend]),
        [[ids[1], true]]
      )
      const [leased] = claimed
      if (leased === undefined) return
      const { changed, notifications } = yield* settleWithConsequences(start + 20, settlement(leased))
      yield* expectEqual("changed", changed, [integration.id])
      yield* expectEqual(
        "notifications",
        notifications.map(({ kind }) => kind),
        ["recovered"]
      )
      const found = yield* (yield* IntegrationStore).find(integration.id)
      yield* expectEqual(
        "integration",
        [found?.status, found?.disabled_reason, found?.version, found?.updated_at],
        ["enabled", null, 3, start + 20]
      )
      yield* expectEqual("the delivery", (yield* findDelivery(leased.id)).state, "delivered")
      yield* expectEqual("nothing else was sent", yield* claim(start + 1_000_000), [])
    })
  },
  {
    name: "of ten concurrent probes, no two send the same delivery",
    run: Effect.gen(function* () {
      const { ids, integration } = yield* gone
      const results = yield* concurrently(10, () => probe(integration.id, start + 10))
      const sent = results.flatMap((result) => (result === "nothing_to_send" ? [] : [result[1]]))
      yield* expectEqual("sent", [sent.length, new Set(sent)], [ids.length, new Set(ids)])
      yield* expectEqual("claimed", (yield* claim(start + 10)).length, ids.length)
    })
  },
  {
    name: "a failed probe changes neither its delivery's state nor the integration, and stores no notification",
    run: Effect.gen(function* () {
      const { integration } = yield* gone
      yield* probe(integration.id, start + 10)
      const leased = yield* claimOne(start + 10)
      const { changed, notifications } = yield* settleWithConsequences(start + 20, retryAt(leased, start + 30))
      yield* expectEqual("followed", [changed, notifications], [[], []])
      const asItWas = Effect.gen(function* () {
        const { next_attempt_at, reason, state } = yield* findDelivery(leased.id)
        yield* expectEqual("delivery", [state, reason, next_attempt_at], ["cancelled", "integration_gone", null])
      })
      yield* asItWas
      yield* probe(integration.id, start + 32)
      const last = settlement(yield* claimOne(start + 32), { state: "exhausted", reason: "schedule_used_up" })
      const given = yield* settleWithConsequences(start + 34, last)
      yield* expectEqual("followed the last", [given.changed, given.notifications], [[], []])
      yield* asItWas
      const found = yield* (yield* IntegrationStore).find(integration.id)
      yield* expectEqual("integration", [found?.status, found?.disabled_reason], ["disabled", "gone"])
      yield* expectEqual("claimed", yield* claim(start + 1_000_000), [])
      yield* expectEqual("again", yield* probe(integration.id, start + 40), [1, leased.id])
    })
  },
  {
    name: "a probe does not send deliveries that a worker may still be sending",
    run: Effect.gen(function* () {
      const integration = yield* createIntegration()
      const [older] = yield* enqueue(...records(1, 2, integration))
      const [first, open] = yield* claim(start)
      if (first === undefined || open === undefined) return yield* expectEqual("claimed", 0, 2)
      yield* settle(start, settlement(first, { state: "cancelled", reason: "integration_gone", gone: true }))
      yield* expectEqual("answer", yield* probe(integration.id, start + 10), [1, older])
      const claimed = yield* claim(start + 10)
      yield* expectEqual(
        "claimed",
        claimed.map(({ id }) => id),
        [older]
      )
      yield* expectEqual("while both are in flight", yield* probe(integration.id, start + 15), "nothing_to_send")
      yield* settle(start + 20, settlement(open))
      yield* expectEqual("attempts of the other delivery", (yield* attemptsOf(open.id)).length, 1)
      yield* expectEqual("once the other delivery is settled", yield* probe(integration.id, start + 25), [1, open.id])
    })
  },
  {
    name: "an integration can be probed only if doorhook disabled it and it has unacknowledged deliveries",
    run: Effect.gen(function* () {
      const integrations = yield* IntegrationStore
      const enabled = yield* createIntegration()
      yield* enqueueOne(newEvent(1), enabled)
      yield* expectEqual("enabled", yield* probe(enabled.id, start), "not_disabled")
      yield* integrations.update({ ...enabled, status: "disabled", disabled_reason: "manual", version: 2 }, 1)
      yield* expectEqual("by hand", yield* probe(enabled.id, start), "not_disabled")
      const idle = yield* createIntegration({ status: "disabled", disabled_reason: "failing" })
      yield* expectEqual("without deliveries", yield* probe(idle.id, start), "nothing_to_send")
      yield* expectEqual("unknown", yield* probe(IntegrationId.make(999), start), "not_found")
      yield* expectEqual("claimed", yield* claim(start + 1), [])
    })
  }
]
