/**
 * Rules of `DeliveryStore.beat` and `leave`.
 */
import { Effect } from "effect"
import { DeliveryStore } from "../../ports/DeliveryStore.ts"
import { start } from "../Fixtures.ts"
import type { SuiteCase } from "../SuiteCase.ts"
import { expectEqual } from "../SuiteCase.ts"

export const workerCases: ReadonlyArray<SuiteCase<DeliveryStore>> = [
  {
    name: "a beat answers how many workers live, and where this one stands: those that beat lately and did not leave",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const beat = (worker: string, now: number) => store.beat(worker, start + now, start + now + 100)
      yield* expectEqual("alone", yield* beat("b", 0), { workers: 1, rank: 0 })
      yield* expectEqual("before it", yield* beat("a", 50), { workers: 2, rank: 0 })
      yield* expectEqual("again", yield* beat("b", 90), { workers: 2, rank: 1 })
      yield* expectEqual("until its end", yield* beat("b", 149), { workers: 2, rank: 1 })
      yield* expectEqual("from its end on", yield* beat("b", 150), { workers: 1, rank: 0 })
      yield* expectEqual("back", yield* beat("a", 160), { workers: 2, rank: 0 })
      yield* store.leave("a")
      yield* store.leave("unknown")
      yield* expectEqual("left", yield* beat("b", 170), { workers: 1, rank: 0 })
    })
  }
]
