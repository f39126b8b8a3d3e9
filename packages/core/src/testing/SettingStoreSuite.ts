/**
 * The contract of `SettingStore`.
 */
import { Effect, Redacted } from "effect"
import { SettingStore } from "../ports/SettingStore.ts"
import type { SuiteCase } from "./SuiteCase.ts"
import { concurrently, expectEqual } from "./SuiteCase.ts"

export const cases: ReadonlyArray<SuiteCase<SettingStore>> = [
  {
    name: "a setting is created once and kept",
    run: Effect.gen(function* () {
      const store = yield* SettingStore
      yield* expectEqual("first", yield* store.getOrCreate("key", "a"), { value: "a", created: true })
      yield* expectEqual("second", yield* store.getOrCreate("key", "b"), { value: "a", created: false })
      yield* expectEqual("another", yield* store.getOrCreate("other", "b"), { value: "b", created: true })
    })
  },
  {
    name: "a setting is found and replaced",
    run: Effect.gen(function* () {
      const store = yield* SettingStore
      yield* expectEqual("none", yield* store.find("key"), null)
      yield* store.put("key", "a")
      yield* expectEqual("stored", yield* store.find("key"), "a")
      yield* store.put("key", "b")
      yield* expectEqual("replaced", yield* store.getOrCreate("key", "c"), { value: "b", created: false })
    })
  },
  {
    name: "of concurrent callers, one creates the setting, and all get the same value",
    run: Effect.gen(function* () {
      const store = yield* SettingStore
      const answers = yield* concurrently(20, (n) => store.getOrCreate("key", `candidate ${n}`))
      yield* expectEqual("values", new Set(answers.map(({ value }) => value)).size, 1)
      yield* expectEqual("makers", answers.filter(({ created }) => created).length, 1)
    })
  },
  {
    name: "a secret is created once, even by concurrent callers, and kept until it is replaced",
    run: Effect.gen(function* () {
      const store = yield* SettingStore
      const get = (candidate: string) =>
        Effect.map(store.getOrCreateSecret("secret", Redacted.make(candidate)), Redacted.value)
      const answers = yield* concurrently(20, (n) => get(`candidate ${n}`))
      const [first = ""] = answers
      yield* expectEqual("secrets", new Set(answers).size, 1)
      yield* expectEqual("later", yield* get("another"), first)
      yield* store.replaceSecret("secret", Redacted.make("replaced"))
      yield* expectEqual("replaced", yield* get("another"), "replaced")
      yield* store.replaceSecret("new", Redacted.make("made by replacing"))
      const made = yield* store.getOrCreateSecret("new", Redacted.make("another"))
      yield* expectEqual("made by replacing", Redacted.value(made), "made by replacing")
    })
  }
]
