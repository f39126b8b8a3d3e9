/**
 * Rules for leases and for the memberships of workers.
 */
import { Effect } from "effect"
import { DeliveryId } from "../../model/Ids.ts"
import { DeliveryStore } from "../../ports/DeliveryStore.ts"
import { IntegrationStore } from "../../ports/IntegrationStore.ts"
import {
  attempt,
  attemptsOf,
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
  nextDue,
  record,
  records,
  recover,
  release,
  retryAt,
  settle,
  settleAs,
  settlement,
  settleOutcomes,
  standing,
  start,
  worker
} from "../Fixtures.ts"
import type { SuiteCase } from "../SuiteCase.ts"
import { concurrently, expectEqual, expectPresent } from "../SuiteCase.ts"

/** End of a membership that began at `start`. */
const lapse = start + membershipLength

const leave = Effect.fnUntraced(function* (now: number, by: string) {
  return yield* (yield* DeliveryStore).heartbeat({ worker: by, now, until: null })
})

export const leaseCases: ReadonlyArray<SuiteCase<DeliveryStore | IntegrationStore>> = [
  {
    name: "a delivery stays leased after its worker's membership has expired, until a heartbeat of any worker ends the membership",
    run: Effect.gen(function* () {
      yield* heartbeat(start, "lost")
      yield* heartbeat(start, "other")
      const id = yield* enqueueOne(newEvent(1), yield* createIntegration())
      const lost = yield* claimOne(start + 1_000, { worker: "lost" })
      yield* heartbeat(lapse - 1, "other")
      yield* expectEqual("during the membership", yield* claim(lapse - 1, { worker: "other" }), [])
      yield* expectEqual("during the membership, by its own worker", yield* claim(lapse - 1, { worker: "lost" }), [])
      yield* expectEqual("stored", yield* standing(id), ["delivering", 0, null])
      yield* heartbeat(lapse, "other")
      yield* expectEqual("released, due at the original time", yield* standing(id), ["pending", 0, start])
      yield* expectEqual("next due", yield* nextDue(lapse), start)
      const taken = yield* claimOne(lapse, { worker: "other" })
      yield* expectEqual("delivery", taken.id, id)
      yield* expectEqual(
        "settled by the worker that lost the lease",
        [...(yield* settleAs("lost", lapse, settlement(lost)))],
        []
      )
      yield* expectEqual("still leased", yield* standing(id), ["delivering", 0, null])
      yield* expectEqual("its attempts", yield* attemptsOf(id), [])
      yield* expectEqual(
        "settled by the worker with the lease",
        [...(yield* settleAs("other", lapse, settlement(taken)))],
        [id]
      )
    })
  },
  {
    name: "a worker that leaves releases all deliveries leased to it, with their due times, and no others",
    run: Effect.gen(function* () {
      yield* heartbeat(start, "leaving")
      yield* heartbeat(start, "staying")
      const integration = yield* createIntegration()
      const retried = yield* enqueueOne(newEvent(1), integration)
      const first = yield* claimOne(start, { worker: "leaving" })
      yield* settleAs("leaving", start + 5, retryAt(first, start + 100))
      const [fresh, other] = yield* enqueue(...records(2, 3, integration))
      for (const by of ["leaving", "staying", "leaving"]) yield* claimOne(start + 200, { worker: by })
      yield* leave(start + 300, "leaving")
      yield* expectEqual("a retry", yield* standing(retried), ["retrying", 1, start + 100])
      yield* expectEqual("a first attempt", yield* standing(fresh ?? retried), ["pending", 0, start])
      yield* expectEqual("of the other", yield* standing(other ?? retried), ["delivering", 0, null])
      const again = yield* claim(start + 300, { worker: "staying" })
      yield* expectEqual("claimed", idsOf(again), [fresh, retried])
      yield* leave(start + 400, "unknown")
      yield* expectEqual("after an unknown worker left", yield* claim(start + 400, { worker: "staying" }), [])
    })
  },
  {
    name: "a heartbeat returns whether the membership continued; if not, the worker has no leases",
    run: Effect.gen(function* () {
      const continued = Effect.fnUntraced(function* (now: number, by: string) {
        return (yield* heartbeat(now, by)).continued
      })
      yield* expectEqual("the first", yield* continued(start, "a"), false)
      yield* expectEqual("the next", yield* continued(start + 1, "a"), true)
      yield* expectEqual("of another", yield* continued(start + 1, "b"), false)
      const id = yield* enqueueOne(newEvent(1), yield* createIntegration())
      yield* claimOne(start + 1, { worker: "a" })
      yield* expectEqual("just in time", yield* continued(lapse, "a"), true)
      yield* expectEqual("lease of a membership that continued", yield* standing(id), ["delivering", 0, null])
      yield* expectEqual("at its end", yield* continued(lapse + membershipLength, "a"), false)
      yield* expectEqual("lease of a membership that ended", yield* standing(id), ["pending", 0, start])
      yield* claimOne(lapse + membershipLength, { worker: "a" })
      yield* leave(lapse + membershipLength + 1, "a")
      yield* expectEqual("after it left", yield* continued(lapse + membershipLength + 2, "a"), false)
      yield* expectEqual("then, too", yield* standing(id), ["pending", 0, start])
    })
  },
  {
    name: "a heartbeat after a jump of the store's clock ends no membership that seems to have expired",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      yield* heartbeat(start, "jumped")
      yield* heartbeat(start, "other")
      const ids = yield* enqueue(...records(1, 2, yield* createIntegration()))
      for (const by of ["jumped", "other"]) yield* claimOne(start, { worker: by })
      const states = Effect.forEach(ids, (id) => Effect.map(findDelivery(id), ({ state }) => state))
      const later = lapse + 250_000
      const beat = (now: number, spares: boolean) =>
        store.heartbeat({ worker: "jumped", now, until: now + membershipLength, spares })
      yield* expectEqual("the own membership", (yield* beat(later, true)).continued, true)
      yield* expectEqual("leases", yield* states, ["delivering", "delivering"])
      yield* expectEqual("the own membership, then", (yield* beat(later + 1, false)).continued, true)
      yield* expectEqual("leases after an ordinary heartbeat", yield* states, ["delivering", "pending"])
      const leaving = { worker: "jumped", now: later * 2, until: null, spares: true } as const
      yield* heartbeat(later + 1, "other")
      yield* store.heartbeat(leaving)
      yield* expectEqual("leases after it left", yield* states, ["pending", "pending"])
      yield* expectEqual("membership of the other", (yield* heartbeat(later + 2, "other")).continued, true)
    })
  },
  {
    name: "a heartbeat returns the number of workers and this worker's rank, not counting workers that expired or left",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const beats = Effect.fnUntraced(function* (by: string, now: number) {
        const { rank, workers } = yield* store.heartbeat({ worker: by, now: start + now, until: start + now + 100 })
        return [workers, rank]
      })
      yield* expectEqual("alone", yield* beats("b", 0), [1, 0])
      yield* expectEqual("before it", yield* beats("a", 50), [2, 0])
      yield* expectEqual("again", yield* beats("b", 90), [2, 1])
      yield* expectEqual("until its end", yield* beats("b", 149), [2, 1])
      yield* expectEqual("after its end", yield* beats("b", 150), [1, 0])
      yield* expectEqual("back", yield* beats("a", 160), [2, 0])
      yield* leave(start + 165, "a")
      yield* leave(start + 165, "unknown")
      yield* expectEqual("left", yield* beats("b", 170), [1, 0])
    })
  },
  {
    name: "a heartbeat that lists held deliveries releases the worker's other leases, except newer leases",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      yield* heartbeat(start)
      yield* heartbeat(start, "other")
      const integration = yield* createIntegration()
      const [held, lostOne, lostTwo, ofOther, fresh] = yield* enqueue(
        ...[0, 1, 2, 3, 10].map((at, n) => record(newEvent(n + 1, { created_at: start + at }), integration))
      )
      yield* claim(start + 2)
      yield* claim(start + 3, { worker: "other" })
      yield* claim(start + 10)
      const beatWith = (now: number, ids: ReadonlyArray<DeliveryId>, before: number) =>
        store.heartbeat({ worker, now, until: now + membershipLength, holds: { ids, before } })
      const known = yield* expectPresent("a delivery", held)
      yield* expectEqual("continued", (yield* beatWith(start + 11, [known], start + 10)).continued, true)
      const states = Effect.forEach([held, lostOne, lostTwo, ofOther, fresh], (id) =>
        Effect.map(findDelivery(id ?? known), ({ state }) => state)
      )
      const [gone, kept] = ["pending", "delivering"]
      yield* expectEqual("where they stand", yield* states, [kept, gone, gone, kept, kept])
      yield* expectEqual("due at the original time", yield* nextDue(start + 11), start + 1)
      yield* beatWith(start + 12, [known, DeliveryId.make(known + 1_000)], start + 11)
      yield* expectEqual("later", yield* states, [kept, gone, gone, kept, gone])
      yield* beatWith(start + 13, [], start + 11)
      yield* expectEqual("without any", yield* states, [gone, gone, gone, kept, gone])
    })
  },
  {
    name: "a heartbeat that lists held deliveries also releases deliveries cancelled during the lease",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const integrations = yield* IntegrationStore
      yield* heartbeat(start)
      const integration = yield* createIntegration()
      const [held, lost] = yield* enqueue(...records(1, 2, integration))
      yield* claim(start)
      yield* integrations.update({ ...integration, status: "disabled", disabled_reason: "manual", version: 2 }, 1)
      const ids = [yield* expectPresent("a delivery", held)]
      yield* store.heartbeat({ worker, now: start + 1, until: lapse, holds: { ids, before: start + 1 } })
      yield* integrations.update({ ...integration, version: 3 }, 2)
      yield* expectEqual("resent", yield* recover(integration.id, 0, start + 2), [2, null])
      yield* expectEqual("waits for nobody", idsOf(yield* claim(start + 2)), [lost])
    })
  },
  {
    name: "deliveries claimed or published by a worker after its membership expired are not lost",
    run: Effect.gen(function* () {
      yield* heartbeat(start, "late")
      const integration = yield* createIntegration()
      const id = yield* enqueueOne(newEvent(1), integration)
      yield* heartbeat(lapse, "other")
      yield* claim(lapse, { worker: "late" })
      const initial = { state: "delivering", worker: "late" } as const
      const event = newEvent(2)
      const delivery = { integration_id: integration.id, lane: 2, matched_version: 1, initial } as const
      const [published] = yield* enqueue({ event, deliveries: [delivery] })
      yield* heartbeat(lapse + 1, "other")
      yield* expectEqual("claimed", idsOf(yield* claim(lapse + 1, { worker: "other" })), [id, published])
    })
  },
  {
    name: "a settlement from a worker without the lease, or with the wrong attempt number, is stale",
    run: Effect.gen(function* () {
      const id = yield* enqueueOne(newEvent(1), yield* createIntegration())
      const first = yield* claimOne(start)
      yield* expectEqual("another worker", [...(yield* settleAs("other", start + 1, settlement(first)))], [])
      const skipping = settlement(first, { attempt: attempt(2) })
      yield* expectEqual("an attempt ahead", [...(yield* settle(start + 1, skipping))], [])
      const unattempted = { attempt: null, state: "expired", reason: "lifetime_over" } as const
      const ended = settlement(first, unattempted)
      yield* expectEqual("without an attempt, by another worker", [...(yield* settleAs("other", start + 1, ended))], [])
      yield* settle(start + 2, retryAt(first, start + 10))
      yield* expectEqual("no lease", [...(yield* settle(start + 3, settlement(first, { attempt: attempt(2) })))], [])
      yield* expectEqual("without a lease and without an attempt", [...(yield* settle(start + 3, ended))], [])
      const second = yield* claimOne(start + 10)
      yield* release(start + 11, start + 20, [second])
      yield* expectEqual("given back", [...(yield* settle(start + 12, settlement(second)))], [])
      const third = yield* claimOne(start + 20)
      yield* expectEqual("for the first attempt, again", [...(yield* settle(start + 21, settlement(first)))], [])
      yield* expectEqual("stored", yield* standing(id), ["delivering", 1, null])
      yield* expectEqual("attempts", (yield* attemptsOf(id)).length, 1)
      yield* expectEqual("for the attempt in progress", [...(yield* settle(start + 22, settlement(third)))], [id])
      yield* expectEqual("in the end", yield* standing(id), ["delivered", 2, null])
    })
  },
  {
    name: "the settlements and releases of one call are handled independently",
    run: Effect.gen(function* () {
      yield* enqueue(...records(1, 5, yield* createIntegration()))
      const leased = yield* claim(start)
      const [done, both, given, later, stale] = leased
      if (!done || !both || !given || !later || !stale) return yield* expectEqual("claimed", leased.length, 5)
      const { applied } = yield* settleOutcomes(start + 5, {
        settlements: [settlement(done), settlement(both), settlement(stale, { attempt: attempt(9) })],
        releases: [
          { delivery_id: both.id, due_at: start + 6 },
          { delivery_id: given.id, due_at: start + 7 },
          { delivery_id: later.id, due_at: start + 8 },
          { delivery_id: DeliveryId.make(stale.id + 1_000), due_at: start }
        ]
      })
      yield* expectEqual("applied", applied, new Set([done.id, both.id]))
      yield* expectEqual("settled", yield* standing(done.id), ["delivered", 1, null])
      yield* expectEqual("settled and released", yield* standing(both.id), ["delivered", 1, null])
      yield* expectEqual("given back", yield* standing(given.id), ["pending", 0, start + 7])
      yield* expectEqual("released for later", yield* standing(later.id), ["pending", 0, start + 8])
      yield* expectEqual("neither", yield* standing(stale.id), ["delivering", 0, null])
    })
  },
  {
    name: "a delivery released in the call that disables its integration is cancelled",
    run: Effect.gen(function* () {
      yield* enqueue(...records(1, 2, yield* createIntegration()))
      const [one, two] = yield* claim(start)
      if (one === undefined || two === undefined) return yield* expectEqual("claimed", 0, 2)
      yield* settleOutcomes(start + 5, {
        settlements: [settlement(one, { state: "cancelled", reason: "integration_gone", gone: true })],
        releases: [{ delivery_id: two.id, due_at: start + 6 }]
      })
      yield* expectEqual("stored", yield* standing(two.id), ["cancelled", 0, null])
      yield* expectEqual("claimed", yield* claim(start + 1_000_000), [])
    })
  },
  {
    name: "a release makes a delivery due at the given time",
    run: Effect.gen(function* () {
      const id = yield* enqueueOne(newEvent(1), yield* createIntegration())
      yield* release(start, start + 500, [yield* claimOne(start)])
      yield* expectEqual("stored", yield* standing(id), ["pending", 0, start + 500])
      yield* expectEqual("before", yield* claim(start + 499), [])
      const second = yield* claimOne(start + 500)
      yield* settle(start + 600, retryAt(second, start + 700))
      yield* release(start + 700, start + 800, [yield* claimOne(start + 700)])
      yield* expectEqual("a retry", yield* standing(id), ["retrying", 1, start + 800])
      yield* expectEqual("attempts of a retry", (yield* claimOne(start + 800)).attempts, 1)
    })
  },
  {
    name: "a delivery cancelled during its attempt stays cancelled when its lease ends; a later settlement of the attempt is stale",
    run: Effect.gen(function* () {
      yield* heartbeat(start)
      yield* heartbeat(start, "other")
      const integration = yield* createIntegration()
      yield* enqueue(...records(1, 2, integration))
      const leased = yield* claim(start)
      const [givenBack, lost] = leased
      if (givenBack === undefined || lost === undefined) return yield* expectEqual("claimed", leased.length, 2)
      yield* (yield* IntegrationStore).remove(integration)
      yield* release(start + 1, start + 2, [givenBack])
      yield* heartbeat(lapse, "other")
      yield* expectEqual("settled", [...(yield* settle(lapse, settlement(givenBack), settlement(lost)))], [])
      for (const { id } of leased) yield* expectEqual("stored", yield* standing(id), ["cancelled", 0, null])
      yield* expectEqual("claimed", yield* claim(lapse), [])
      yield* expectEqual("next due", yield* nextDue(lapse), null)
    })
  },
  {
    name: "concurrent claims never return the same delivery",
    run: Effect.gen(function* () {
      const integrations = yield* Effect.replicateEffect(createIntegration(), 4)
      yield* enqueue(...records(1, 50, ...integrations))
      const claims = yield* concurrently(30, (n) => claim(start, { worker: `claimer-${n}`, limit: 10 }))
      const ids = idsOf(claims.flat())
      yield* expectEqual("different deliveries", new Set(ids).size, ids.length)
      yield* expectEqual("all of them", ids.length, 200)
    })
  },
  {
    name: "at the end of a membership, a delivery is either settled or claimed by another worker, never both",
    run: Effect.gen(function* () {
      yield* heartbeat(start, "slow")
      yield* heartbeat(start, "next")
      yield* enqueue(...records(1, 20, yield* createIntegration()))
      const leased = yield* claim(start, { worker: "slow" })
      const rest = Effect.map(claim(lapse, { worker: "next" }), idsOf)
      const answers = yield* concurrently(21, (n) => {
        const own = leased[n]
        if (own === undefined) return Effect.andThen(heartbeat(lapse, "next"), rest)
        return Effect.map(settleAs("slow", lapse, settlement(own)), (applied) => [...applied])
      })
      // A claim may skip rows locked by another claim.
      const ids = [...answers.flat(), ...(yield* rest)]
      yield* expectEqual("each once", [ids.length, new Set(ids)], [20, new Set(idsOf(leased))])
    })
  },
  {
    name: "a delivery that its worker settles and releases concurrently is either settled or released",
    run: Effect.gen(function* () {
      yield* enqueue(...records(1, 10, yield* createIntegration()))
      const leased = yield* claim(start)
      const applied = yield* Effect.forEach(
        leased.flatMap((delivery, n) => {
          const settling = settle(start + 1, settlement(delivery))
          const releasing = Effect.map(release(start + 1, start + 500, [delivery]), (outcome) => outcome.applied)
          return n % 2 === 0 ? [settling, releasing] : [releasing, settling]
        }),
        (ending) => ending,
        { concurrency: "unbounded" }
      )
      const settled = new Set(applied.flatMap((ids) => [...ids]))
      for (const { id } of leased) {
        const { attempts, state } = yield* findDelivery(id)
        yield* expectEqual("delivery", [state, attempts], settled.has(id) ? ["delivered", 1] : ["pending", 0])
        yield* expectEqual("attempts", (yield* attemptsOf(id)).length, attempts)
      }
    })
  }
]
