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
    name: "a beat answers how many workers live: those that beat lately and did not leave",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const beat = (worker: string, now: number) => store.beat(worker, start + now, start + now + 100)
      yield* expectEqual("alone", yield* beat("a", 0), 1)
      yield* expectEqual("two", yield* beat("b", 50), 2)
      yield* expectEqual("again", yield* beat("a", 90), 2)
      yield* expectEqual("until its end", yield* beat("a", 149), 2)
      yield* expectEqual("from its end on", yield* beat("a", 150), 1)
      yield* expectEqual("back", yield* beat("b", 160), 2)
      yield* store.leave("b")
      yield* store.leave("unknown")
      yield* expectEqual("left", yield* beat("a", 170), 1)
    })
  }
]
