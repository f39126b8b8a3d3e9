/**
 * Rules for an integration that takes no more while very much waits for it. A store may move what has ended by and by; no
 * call shows it.
 */
import { Effect } from "effect"
import { activeStates, deliveryStates } from "../../domain/Delivery.ts"
import type { Integration } from "../../domain/Integration.ts"
import type { DeliveryStore as Store } from "../../ports/DeliveryStore.ts"
import { DeliveryStore } from "../../ports/DeliveryStore.ts"
import { IntegrationStore } from "../../ports/IntegrationStore.ts"
import {
  claim,
  createIntegration,
  enqueue,
  findDelivery,
  idsOf,
  nothingOf,
  records,
  settle,
  settlement,
  settleWithConsequences,
  start
} from "../Fixtures.ts"
import type { SuiteCase } from "../SuiteCase.ts"
import { expectEqual, expectPresent } from "../SuiteCase.ts"

/** More than a store moves in one transaction. */
const many = 2_500

/** Two integrations, one with many deliveries of which the first three are under lease, and one with a single one. */
const fill = Effect.gen(function* () {
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

/** What all calls say of it while nothing is moved or claimed any more. */
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
    yield* expectEqual(`of all listed as ${state}`, listed, state === "pending" ? [other] : [])
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
  const feed = yield* store.feed({ integration_id: dead.id, after, limit: 3 })
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
    name: "very many deliveries are cancelled at once with their integration, and can be recovered as soon as it is enabled",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const integrations = yield* IntegrationStore
      const filled = yield* fill
      const { dead, first, other, second, third, well } = filled
      const disabled = { ...dead, status: "disabled", disabled_reason: "manual", version: 2 } as const
      yield* expectEqual("disabled", yield* integrations.update(disabled, 1), true)
      yield* expectAllCancelled(filled, "integration_disabled")
      yield* expectEqual("claimed", idsOf(yield* claim(start)), [other])
      yield* expectEqual("claimed after all leases", idsOf(yield* claim(start + 20_000)), [other])
      yield* expectEqual("next due", yield* store.nextDue, start + 40_000)
      yield* expectEqual("resent", yield* store.resend(second.id, start), "integration_disabled")
      yield* expectEqual("recovered", yield* store.recover(dead.id, 0, start), 0)
      // What was under way is recorded once, and changes nothing else.
      yield* expectEqual("settled", [...(yield* settle(start, settlement(first)))], [first.id])
      yield* expectEqual("settled again", [...(yield* settle(start, settlement(first)))], [])
      yield* store.release([{ delivery_id: second.id, token: second.lease.token }], start)
      for (const { id } of [first, second, third])
        yield* expectEqual("stays", (yield* findDelivery(id)).state, "cancelled")
      yield* expectEqual("attempts", (yield* store.attempts(first.id)).length, 1)

      yield* expectEqual("enabled", yield* integrations.update(enabled(dead, 3), 2), true)
      const [fresh] = yield* enqueue(...records(many + 2, many + 2, enabled(dead, 3)))
      const limits = nothingOf(well)
      yield* expectEqual("due of it", idsOf(yield* claim(start, { limits })), [fresh])
      yield* expectEqual("recovered", yield* store.recover(dead.id, 0, start + 1), many)
      yield* expectEqual("recovered again", yield* store.recover(dead.id, 0, start + 1), 0)
      yield* expectEqual("of a lease before", [...(yield* settle(start, settlement(third)))], [])
      const { states } = yield* store.summary(start)
      yield* expectEqual("counted", [states.cancelled, states.pending, states.delivering], [0, many, 2])
      const all = yield* claim(start + 1, { limit: 2 * many, limitPerIntegration: 2 * many, limits })
      yield* expectEqual("claimed in the end", all.length, many)
    })
  },
  {
    name: "very many deliveries of a receiver that is gone are cancelled at once, and it can be probed, then deleted",
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
      yield* expectEqual("probed", yield* store.probe(dead.id, start, 0), last)
      const { states } = yield* store.summary(start)
      yield* expectEqual("counted", [states.cancelled, states.pending], [many - 1, 2])
      // A late acknowledgement of what was cancelled is not one of the probe.
      yield* settle(start, settlement(second))
      yield* expectEqual("status", (yield* integrations.find(dead.id))?.status, "disabled")
      yield* expectEqual("deleted", yield* integrations.remove((yield* integrations.find(dead.id)) ?? dead), true)
      yield* expectEqual("its reason", (yield* findDelivery(last)).reason, "integration_deleted")
      yield* expectEqual("cancelled", (yield* store.summary(start)).states.cancelled, many)
    })
  }
]
