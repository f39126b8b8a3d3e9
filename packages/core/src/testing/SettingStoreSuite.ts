/**
 * The contract of `SettingStore`.
 */
import { Effect } from "effect"
import { SettingStore } from "../ports/SettingStore.ts"
import type { SuiteCase } from "./SuiteCase.ts"
import { atOnce, expectEqual } from "./SuiteCase.ts"

export const cases: ReadonlyArray<SuiteCase<SettingStore>> = [
  {
    name: "a setting is made once and kept",
    run: Effect.gen(function* () {
      const store = yield* SettingStore
      yield* expectEqual("first", yield* store.getOrCreate("key", "a"), { value: "a", created: true })
      yield* expectEqual("second", yield* store.getOrCreate("key", "b"), { value: "a", created: false })
      yield* expectEqual("another", yield* store.getOrCreate("other", "b"), { value: "b", created: true })
    })
  },
  {
    name: "of concurrent callers one makes the setting, and all get the same value",
    run: Effect.gen(function* () {
      const store = yield* SettingStore
      const answers = yield* atOnce(20, (n) => store.getOrCreate("key", `candidate ${n}`))
      yield* expectEqual("values", new Set(answers.map(({ value }) => value)).size, 1)
      yield* expectEqual("makers", answers.filter(({ created }) => created).length, 1)
    })
  }
]
