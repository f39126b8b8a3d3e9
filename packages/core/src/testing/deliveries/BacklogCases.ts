/**
 * Rules for disabling or deleting an integration with a large backlog. A store may cancel the stored deliveries later,
 * if no call reveals the delay.
 */
import { Effect } from "effect"
import { activeStates, deliveryStates } from "../../model/Delivery.ts"
import type { Integration } from "../../model/Integration.ts"
import type { DeliveryStore as Store } from "../../ports/DeliveryStore.ts"
import { DeliveryStore } from "../../ports/DeliveryStore.ts"
import { IntegrationStore } from "../../ports/IntegrationStore.ts"
import {
  attemptsOf,
  heartbeat,
  claim,
  createIntegration,
  enqueue,
  findDelivery,
  idsOf,
  membershipLength,
  nextDue,
  nothingOf,
  probe,
  records,
  recover,
  release,
  resend,
  settle,
  settlement,
  settleWithConsequences,
  start
} from "../Fixtures.ts"
import type { SuiteCase } from "../SuiteCase.ts"
import { expectEqual, expectPresent } from "../SuiteCase.ts"

/** More deliveries than a store changes in one transaction. */
const many = 2_500

/**
 * Stores an integration with many deliveries, of which the first three are leased, and another with a single delivery.
 */
const fill = Effect.gen(function* () {
  yield* heartbeat(start)
  const dead = yield* createIntegration()
  const well = yield* createIntegration()
  const ids = yield* enqueue(...records(1, many, dead))
  const [other] = yield* enqueue(...records(many + 1, many + 1, well))
  const leased = yield* claim(start, { limit: 3, limits: nothingOf(well) })
  const first = yield* expectPresent("a first lease", leased[0])
  const second = yield* expectPresent("a second lease", leased[1])
  const third = yield* expectPresent("a third lease", leased[2])
  return { dead, well, ids, other, first, second, third }
})

/** Fails unless every call shows the deliveries of the first integration as cancelled. */
const expectAllCancelled = Effect.fnUntraced(function* (
  { dead, ids, other }: Effect.Success<typeof fill>,
  reason: string
) {
  const store = yield* DeliveryStore
  const { states } = yield* store.summary(start)
  yield* expectEqual("counted", [states.cancelled, states.pending, states.delivering], [many, 1, 0])
  for (const state of deliveryStates) {
    const listed = yield* store.list({ integration_id: dead.id, states: [state], limit: many + 1 })
    yield* expectEqual(`listed as ${state}`, listed.length, state === "cancelled" ? many : 0)
  }
  for (const state of activeStates) {
    const listed = idsOf(yield* store.list({ states: [state], limit: 10 }))
    yield* expectEqual(`all listed as ${state}`, listed, state === "pending" ? [other] : [])
  }
  const newest = yield* store.list({ states: ["cancelled"], order: "newest", limit: 4 })
  yield* expectEqual("the newest", idsOf(newest), ids.slice(-4).toReversed())
  const after = yield* expectPresent("a delivery", ids[9])
  for (const filter of [{ integration_id: dead.id }, { states: ["cancelled"] } as const]) {
    const page = yield* store.list({ ...filter, after, limit: 10 })
    yield* expectEqual("a page", idsOf(page), ids.slice(10, 20))
    yield* expectEqual(
      "as they stand",
      new Set(page.map((each) => [each.state, each.reason, each.next_attempt_at].join(" "))),
      new Set([`cancelled ${reason} `])
    )
  }
  const { items: feed } = yield* store.feed({ integration_id: dead.id, after, limit: 3 })
  yield* expectEqual(
    "the feed",
    feed.map(({ delivery: { id, state } }) => [id, state]),
    ids.slice(10, 13).map((id) => [id, "cancelled"])
  )
})

const enabled = (integration: Integration, version: number): Integration => ({
  ...integration,
  status: "enabled",
  disabled_reason: null,
  version
})

export const backlogCases: ReadonlyArray<SuiteCase<Store | IntegrationStore>> = [
  {
    name: "disabling an integration immediately cancels a large backlog, which can be recovered as soon as the integration is enabled",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const integrations = yield* IntegrationStore
      const filled = yield* fill
      const { dead, first, other, second, third, well } = filled
      const disabled = { ...dead, status: "disabled", disabled_reason: "manual", version: 2 } as const
      yield* expectEqual("disabled", yield* integrations.update(disabled, 1), true)
      yield* expectAllCancelled(filled, "integration_disabled")
      yield* expectEqual("claimed", idsOf(yield* claim(start)), [other])
      yield* expectEqual("next due", yield* nextDue(start), null)
      yield* expectEqual("resent", yield* resend(second.id, start), "integration_disabled")
      yield* expectEqual("recovered", yield* recover(dead.id, 0, start), "integration_disabled")
      // The outcome of an attempt in progress is recorded once and changes nothing else.
      yield* expectEqual("settled", [...(yield* settle(start, settlement(first)))], [first.id])
      yield* expectEqual("settled again", [...(yield* settle(start, settlement(first)))], [])
      yield* release(start, start, [second])
      yield* expectEqual("settled after its release", [...(yield* settle(start, settlement(second)))], [])
      // The worker dies, and the heartbeat of another worker ends the dead worker's membership.
      yield* heartbeat(start + membershipLength, "another")
      yield* expectEqual("claimed after the end of all leases", idsOf(yield* claim(start + membershipLength)), [other])
      for (const { id } of [first, second, third])
        yield* expectEqual("stays", (yield* findDelivery(id)).state, "cancelled")
      yield* expectEqual("attempts", (yield* attemptsOf(first.id)).length, 1)

      yield* expectEqual("enabled", yield* integrations.update(enabled(dead, 3), 2), true)
      const [fresh] = yield* enqueue(...records(many + 2, many + 2, enabled(dead, 3)))
      const limits = nothingOf(well)
      yield* expectEqual("due of it", idsOf(yield* claim(start, { limits })), [fresh])
      yield* expectEqual("recovered", yield* recover(dead.id, 0, start + 1), [many, null])
      yield* expectEqual("recovered again", yield* recover(dead.id, 0, start + 1), [0, null])
      yield* expectEqual("of a lease before", [...(yield* settle(start, settlement(third)))], [])
      const { states } = yield* store.summary(start)
      yield* expectEqual("counted", [states.cancelled, states.pending, states.delivering], [0, many, 2])
      const all = yield* claim(start + 1, { limit: 2 * many, limitPerIntegration: 2 * many, limits })
      yield* expectEqual("claimed in total", all.length, many)
    })
  },
  {
    name: "a 410 immediately cancels a large backlog, and the integration can be probed, then deleted",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const integrations = yield* IntegrationStore
      const filled = yield* fill
      const { dead, first, ids, second } = filled
      const gone = settlement(first, { state: "cancelled", reason: "integration_gone", gone: true })
      const { changed } = yield* settleWithConsequences(start, gone)
      yield* expectEqual("disabled", changed, [dead.id])
      yield* expectAllCancelled(filled, "integration_gone")
      const last = yield* expectPresent("the last", ids.at(-1))
      yield* expectEqual("probed", yield* probe(dead.id, start), [1, last])
      const { states } = yield* store.summary(start)
      yield* expectEqual("counted", [states.cancelled, states.pending], [many - 1, 2])
      // A late acknowledgement of a cancelled delivery must not count as an acknowledgement of the probe.
      yield* settle(start, settlement(second))
      yield* expectEqual("status", (yield* integrations.find(dead.id))?.status, "disabled")
      yield* expectEqual("deleted", yield* integrations.remove((yield* integrations.find(dead.id)) ?? dead), true)
      yield* expectEqual("its reason", (yield* findDelivery(last)).reason, "integration_deleted")
      yield* expectEqual("cancelled", (yield* store.summary(start)).states.cancelled, many)
    })
  }
]
