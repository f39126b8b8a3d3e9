/**
 * The contract of `IdempotencyStore`, and of the calls in `DeliveryStore` and `IntegrationStore` that store keys.
 */
import { Effect } from "effect"
import { DeliveryStore } from "../ports/DeliveryStore.ts"
import type { IdempotencyRecord } from "../ports/IdempotencyStore.ts"
import { IdempotencyStore } from "../ports/IdempotencyStore.ts"
import { IntegrationStore } from "../ports/IntegrationStore.ts"
import { createIntegration, keptEvent, newEvent, newIntegration, record, start } from "./Fixtures.ts"
import type { SuiteCase } from "./SuiteCase.ts"
import { concurrently, expectEqual } from "./SuiteCase.ts"

const remembered = (key: string, fields: Partial<IdempotencyRecord> = {}): IdempotencyRecord => ({
  key,
  fingerprint: `hash of ${key}`,
  answer: `[{"id":"évt","deliveries":1}]`,
  created_at: start,
  expires_at: start + 1_000,
  ...fields
})

export const cases: ReadonlyArray<SuiteCase<IdempotencyStore | DeliveryStore | IntegrationStore>> = [
  {
    name: "a key is stored with the events of its request, and is found until it expires",
    run: Effect.gen(function* () {
      const keys = yield* IdempotencyStore
      const [a, b] = [remembered("a"), remembered("b", { expires_at: start + 5 })]
      yield* (yield* DeliveryStore).enqueue([record(newEvent(1))], [a, b])
      yield* expectEqual("found", yield* keys.find(["a", "unknown"], start), [a])
      yield* expectEqual("both", (yield* keys.find(["a", "b"], start + 4)).length, 2)
      yield* expectEqual("expired", yield* keys.find(["a", "b"], start + 5), [a])
      yield* expectEqual("none asked for", yield* keys.find([], start), [])
    })
  },
  {
    name: "a key is also stored for a request without events",
    run: Effect.gen(function* () {
      const deliveries = yield* DeliveryStore
      yield* expectEqual("stored", yield* deliveries.enqueue([], [remembered("a")]), [])
      yield* expectEqual("found", yield* (yield* IdempotencyStore).find(["a"], start), [remembered("a")])
      yield* expectEqual("counted", (yield* deliveries.summary(start)).events, 0)
    })
  },
  {
    name: "a call with a used key is refused and stores nothing",
    run: Effect.gen(function* () {
      const deliveries = yield* DeliveryStore
      const keys = yield* IdempotencyStore
      yield* deliveries.enqueue([record(newEvent(1))], [remembered("a")])
      const refused = yield* Effect.flip(
        deliveries.enqueue(
          [record(newEvent(2))],
          [remembered("b"), remembered("a", { fingerprint: "another", created_at: start + 999 })]
        )
      )
      yield* expectEqual(
        "error",
        [refused._tag, refused._tag === "IdempotencyConflict" && refused.key],
        ["IdempotencyConflict", "a"]
      )
      yield* expectEqual("event", yield* keptEvent(newEvent(2)), undefined)
      yield* expectEqual("counted", (yield* deliveries.summary(start)).events, 1)
      yield* expectEqual("other key", yield* keys.find(["b"], start), [])
    })
  },
  {
    name: "an expired key can be used again, even before it is purged",
    run: Effect.gen(function* () {
      const deliveries = yield* DeliveryStore
      yield* deliveries.enqueue([record(newEvent(1))], [remembered("a")])
      const again = remembered("a", { answer: "again", created_at: start + 1_000, expires_at: start + 2_000 })
      yield* deliveries.enqueue([record(newEvent(2))], [again])
      yield* expectEqual("found", yield* (yield* IdempotencyStore).find(["a"], start + 1_000), [again])
    })
  },
  {
    name: "creating an integration stores its key, with the integration's id as the answer",
    run: Effect.gen(function* () {
      const integrations = yield* IntegrationStore
      const { answer: _, ...key } = remembered("a")
      const created = yield* integrations.create(newIntegration(), key)
      const found = yield* (yield* IdempotencyStore).find(["a"], start)
      yield* expectEqual("found", found, [{ ...key, answer: String(created.id) }])
      const refused = yield* Effect.flip(integrations.create(newIntegration(), key))
      yield* expectEqual("taken", refused._tag, "IdempotencyConflict")
      const { total } = yield* integrations.list(created.scope, { offset: 0, limit: 10 })
      yield* expectEqual("created once", total, 1)
    })
  },
  {
    name: "of concurrent calls with the same key, one is carried out",
    run: Effect.gen(function* () {
      const deliveries = yield* DeliveryStore
      const integration = yield* createIntegration()
      const answers = yield* concurrently(10, (n) =>
        deliveries.enqueue([record(newEvent(n + 1), integration)], [remembered("a")]).pipe(
          Effect.as("carried out"),
          Effect.catchTag("IdempotencyConflict", ({ key }) => Effect.succeed(key))
        )
      )
      yield* expectEqual("answers", answers.toSorted(), [...Array.from({ length: 9 }, () => "a"), "carried out"])
      yield* expectEqual("events", (yield* deliveries.summary(start)).events, 1)
    })
  },
  {
    name: "of concurrent calls that create an integration with the same key, one succeeds, and the key's answer is the id of its integration",
    run: Effect.gen(function* () {
      const integrations = yield* IntegrationStore
      const { answer: _, ...key } = remembered("a")
      const answers = yield* concurrently(10, () =>
        integrations
          .create(newIntegration(), key)
          .pipe(Effect.catchTag("IdempotencyConflict", () => Effect.succeed(null)))
      )
      const created = answers.filter((answer) => answer !== null)
      yield* expectEqual("created", created.length, 1)
      const { items } = yield* integrations.list(newIntegration().scope, { offset: 0, limit: 20 })
      yield* expectEqual("stored", items, created)
      const found = yield* (yield* IdempotencyStore).find(["a"], start)
      yield* expectEqual(
        "answers",
        found.map(({ answer }) => answer),
        created.map(({ id }) => String(id))
      )
    })
  },
  {
    name: "`purgeExpired` deletes expired keys in batches, and no others",
    run: Effect.gen(function* () {
      const keys = yield* IdempotencyStore
      const names = ["a", "b", "c", "d", "e"]
      const all = names.map((name, n) => remembered(name, { expires_at: start + n + 1 }))
      yield* (yield* DeliveryStore).enqueue([record(newEvent(1))], all)
      const purge = keys.purgeExpired(start + 4, 3)
      yield* expectEqual("batches", [yield* purge, yield* purge, yield* purge], [3, 1, 0])
      yield* expectEqual("left", yield* keys.find(names, start), all.slice(4))
    })
  }
]
