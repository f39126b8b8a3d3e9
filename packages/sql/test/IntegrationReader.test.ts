/**
 * An integration is decoded again only after its row was changed, by this process or another.
 */
import type { Integration } from "@doorhook/core"
import { IntegrationId, IntegrationStore } from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { nextTurn } from "@doorhook/testkit/Turn"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Redacted } from "effect"
import { onStore, tamper } from "./OpenedStore.ts"
import { temporaryFile } from "./TemporaryFile.ts"

/** For each column, a changed value and the member of the integration that must show it. */
const changes: ReadonlyArray<readonly [column: string, value: string, shown: (integration: Integration) => unknown]> = [
  ["scope_type", "'tenant'", ({ scope }) => scope.type],
  ["scope_id", "7", ({ scope }) => scope.id],
  ["url", "'https://other.example/hook'", ({ configuration }) => configuration.url],
  ["bindings", `'[{"resource_type":"call","actions":["create"]}]'`, ({ bindings }) => bindings[0]?.resource_type],
  ["status", "'disabled'", ({ status }) => status],
  ["disabled_reason", "'manual'", ({ disabled_reason }) => disabled_reason],
  ["created_by_user", "'another user'", ({ created_by }) => created_by.user_id],
  ["created_by_client", "'another client'", ({ created_by }) => created_by.client_id],
  ["signing_secret", "'whsec_YW5vdGhlcg=='", ({ signing_secret }) => Redacted.value(signing_secret)],
  ["previous_secrets", `'[{"secret":"whsec_b2xk","until":5}]'`, ({ previous_secrets }) => previous_secrets.length],
  ["overrides", `'{"acknowledge":"2xx"}'`, ({ overrides }) => overrides.acknowledge],
  ["version", "9", ({ version }) => version],
  ["created_at", "1", ({ created_at }) => created_at],
  ["updated_at", "2", ({ updated_at }) => updated_at]
]

/** For each column that can be invalid, an invalid value and the path that the error names. */
const damages = [
  ["scope_type", "'house'", '["scope"]'],
  ["scope_id", "-1", '["scope"]'],
  ["integrator", "'odd'", '["integrator"]'],
  ["method", "'odd'", '["configuration"]["method"]'],
  ["bindings", "'{}'", '["bindings"]'],
  ["bindings", "'odd'", '["bindings"]'],
  ["status", "'odd'", '["status"]'],
  ["disabled_reason", "'odd'", '["disabled_reason"]'],
  ["created_by_user", "''", '["created_by"]["user_id"]'],
  ["created_by_client", "'a' || char(7)", '["created_by"]["client_id"]'],
  ["overrides", `'{"acknowledge":"3xx"}'`, '["overrides"]["acknowledge"]']
] as const

describe("a row of an integration", () => {
  for (const [column, value, place] of damages) {
    it.effect(`with ${value} for ${column} is refused, and the error names the place`, () =>
      Effect.gen(function* () {
        const filename = yield* temporaryFile
        yield* onStore(
          { filename },
          Effect.gen(function* () {
            const { id } = yield* StoreFixtures.createIntegration()
            yield* tamper(filename, `UPDATE integrations SET ${column} = ${value}`)
            const store = yield* IntegrationStore
            const { message } = yield* Effect.flip(store.find(id))
            assert.match(message, /integration 1 of \S+ -?\d+ can't be read: /)
            assert.include(message, `at ${place}`)
            assert.include(message, "Repair it, delete the integration, or restore a backup")
          })
        )
      })
    )
  }
})

describe("reading an integration again", () => {
  it.effect("needs no fiber, whether it exists or not", () =>
    Effect.gen(function* () {
      const filename = yield* temporaryFile
      yield* onStore(
        { filename, encryptionKey: Redacted.make("the key") },
        Effect.gen(function* () {
          const integration = yield* StoreFixtures.createIntegration()
          const store = yield* IntegrationStore
          const found = store.find(integration.id)
          const located = store.findRef(integration.id)
          const missing = store.find(IntegrationId.make(integration.id + 1))
          assert.deepStrictEqual([found, located, missing].map(Exit.isExit), [true, true, true])
          assert.deepStrictEqual(yield* found, integration)
          assert.isNull(yield* missing)
        })
      )
    })
  )

  it.effect("decodes its row only once", () =>
    Effect.gen(function* () {
      const filename = yield* temporaryFile
      yield* onStore(
        { filename, encryptionKey: Redacted.make("the key") },
        Effect.gen(function* () {
          const { id } = yield* StoreFixtures.createIntegration()
          const store = yield* IntegrationStore
          assert.strictEqual(yield* store.find(id), yield* store.find(id))
        })
      )
    })
  )

  for (const [column, value, shown] of changes) {
    it.effect(`sees a change of ${column} by another process in the next turn`, () =>
      Effect.gen(function* () {
        const filename = yield* temporaryFile
        yield* onStore(
          { filename },
          Effect.gen(function* () {
            const { id } = yield* StoreFixtures.createIntegration()
            const store = yield* IntegrationStore
            const find = Effect.suspend(() => Effect.flatMap(store.find(id), Effect.fromNullishOr))
            const before = shown(yield* find)
            yield* tamper(filename, `UPDATE integrations SET ${column} = ${value}`)
            yield* nextTurn
            assert.notDeepEqual(shown(yield* find), before)
          })
        )
      })
    )
  }
})
