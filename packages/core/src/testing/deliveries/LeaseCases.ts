/**
 * Rules of leases: who holds a delivery, until when, and how it is given back.
 */
import { Effect } from "effect"
import type { Delivery } from "../../domain/Delivery.ts"
import { DeliveryStore } from "../../ports/DeliveryStore.ts"
import type { IntegrationStore } from "../../ports/IntegrationStore.ts"
import {
  claim,
  claimOne,
  createIntegration,
  enqueue,
  enqueueOne,
  findDelivery,
  idsOf,
  newEvent,
  record,
  records,
  settle,
  settlement,
  start
} from "../Fixtures.ts"
import type { SuiteCase } from "../SuiteCase.ts"
import { atOnce, expectEqual } from "../SuiteCase.ts"

export const leaseCases: ReadonlyArray<SuiteCase<DeliveryStore | IntegrationStore>> = [
  {
    name: "a delivery under a live lease is nobody else's; after the lease it is the next one's",
    run: Effect.gen(function* () {
      const integration = yield* createIntegration()
      const id = yield* enqueueOne(newEvent(1), integration)
      const lost = yield* claimOne(start, { lease: { token: "lost", until: start + 1_000 } })
      yield* expectEqual("during the lease", yield* claim(start + 999), [])
      const taken = yield* claimOne(start + 1_000, { lease: { token: "taken", until: start + 2_000 } })
      yield* expectEqual("delivery", [taken.id, taken.lease.token], [id, "taken"])
      yield* expectEqual("settled by the one who lost it", [...(yield* settle(start + 1_500, settlement(lost)))], [])
      yield* expectEqual("state", (yield* findDelivery(id)).state, "delivering")
      yield* expectEqual("settled by the holder", [...(yield* settle(start + 1_500, settlement(taken)))], [id])
    })
  },
  {
    name: "concurrent claimers never get the same delivery",
    run: Effect.gen(function* () {
      const integrations = yield* Effect.replicateEffect(createIntegration(), 4)
      yield* enqueue(...records(1, 50, ...integrations))
      const claims = yield* atOnce(30, (n) =>
        claim(start, { lease: { token: `claimer-${n}`, until: start + 20_000 }, limit: 10 })
      )
      const ids = idsOf(claims.flat())
      yield* expectEqual("different deliveries", new Set(ids).size, ids.length)
      yield* expectEqual("all of them", ids.length, 200)
    })
  },
  {
    name: "at the end of a lease a delivery is settled or claimed anew, never both",
    run: Effect.gen(function* () {
      yield* enqueue(...records(1, 20, yield* createIntegration()))
      const leased = yield* claim(start, { lease: { token: "slow", until: start + 1_000 } })
      const next = { lease: { token: "next", until: start + 9_000 }, limit: 20 }
      const answers = yield* atOnce(21, (n) => {
        const own = leased[n]
        if (own === undefined) return Effect.map(claim(start + 1_000, next), idsOf)
        return Effect.map(settle(start + 1_000, settlement(own)), (applied) => [...applied])
      })
      const ids = answers.flat()
      yield* expectEqual("each once", [ids.length, new Set(ids)], [20, new Set(idsOf(leased))])
    })
  },
  {
    name: "what is settled and given back at once under one token is one of both",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      yield* enqueue(...records(1, 10, yield* createIntegration()))
      const leased = yield* claim(start)
      const applied = yield* Effect.forEach(
        leased.flatMap((delivery, n) => {
          const settling = settle(start + 1, settlement(delivery))
          const releasing = Effect.as(
            store.release([{ delivery_id: delivery.id, token: delivery.lease.token }], start + 500),
            new Set<Delivery["id"]>()
          )
          return n % 2 === 0 ? [settling, releasing] : [releasing, settling]
        }),
        (ending) => ending,
        { concurrency: "unbounded" }
      )
      const settled = new Set(applied.flatMap((ids) => [...ids]))
      for (const { id } of leased) {
        const { attempts, state } = yield* findDelivery(id)
        yield* expectEqual("delivery", [state, attempts], settled.has(id) ? ["delivered", 1] : ["pending", 0])
        yield* expectEqual("attempts", (yield* store.attempts(id)).length, attempts)
      }
    })
  },
  {
    name: "release gives a delivery back for the time it names",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const integration = yield* createIntegration()
      const id = yield* enqueueOne(newEvent(1), integration)
      const first = yield* claimOne(start)
      yield* store.release([{ delivery_id: id, token: first.lease.token }], start + 500)
      const { attempts, next_attempt_at, state } = yield* findDelivery(id)
      yield* expectEqual("stored", [state, attempts, next_attempt_at], ["pending", 0, start + 500])
      yield* expectEqual("before", yield* claim(start + 499), [])
      const second = yield* claimOne(start + 500)
      yield* settle(start + 600, settlement(second, { state: "retrying", next_attempt_at: start + 700 }))
      const third = yield* claimOne(start + 700)
      yield* store.release([{ delivery_id: id, token: third.lease.token }], start + 800)
      yield* expectEqual("state of a retry", (yield* findDelivery(id)).state, "retrying")
      yield* expectEqual("attempts of a retry", (yield* claimOne(start + 800)).attempts, 1)
    })
  },
  {
    name: "release with a stale token changes nothing",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const integration = yield* createIntegration()
      const id = yield* enqueueOne(newEvent(1), integration)
      const { lease } = yield* claimOne(start)
      yield* store.release([{ delivery_id: id, token: `${lease.token}-not` }], start)
      yield* expectEqual("claimed", yield* claim(start + 1), [])
      const held = yield* findDelivery(id)
      yield* expectEqual("state", [held.state, held.next_attempt_at], ["delivering", lease.until])
      yield* store.release([], start)
    })
  },
  {
    name: "release looks at each lease by itself, when a delivery has been leased more than once",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const id = yield* enqueueOne(newEvent(1), yield* createIntegration())
      const lost = yield* claimOne(start, { lease: { token: "lost", until: start + 10 } })
      const held = yield* claimOne(start + 10, { lease: { token: "held", until: start + 100 } })
      const leases = [held, lost].map(({ lease }) => ({ delivery_id: id, token: lease.token }))
      yield* store.release(leases, start + 20)
      yield* expectEqual("next due", yield* store.nextDue, start + 20)
    })
  },
  {
    name: "nextDue is the earliest time at which anything can be claimed, ends of leases included",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      yield* expectEqual("with nothing stored", yield* store.nextDue, null)
      const a = yield* createIntegration()
      const b = yield* createIntegration()
      yield* enqueue(
        record(newEvent(1, { created_at: start + 300 }), a),
        record(newEvent(2, { created_at: start + 200 }), b),
        record(newEvent(3, { created_at: start + 250, resource_type: "call" }), b)
      )
      yield* expectEqual("of those that wait", yield* store.nextDue, start + 200)
      const claimed = yield* claim(start + 300, { lease: { token: "t", until: start + 900 } })
      yield* expectEqual("under lease", yield* store.nextDue, start + 900)
      yield* settle(start + 400, ...claimed.map((delivery) => settlement(delivery)))
      yield* expectEqual("with all delivered", yield* store.nextDue, null)
    })
  }
]
