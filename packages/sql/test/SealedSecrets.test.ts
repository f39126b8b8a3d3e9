/**
 * How signing secrets are stored in a file, with and without an encryption key.
 */
import { IntegrationStore, SettingStore } from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { readFileSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { onStore, open, refusal, tamper } from "./OpenedStore.ts"
import { temporaryFile } from "./TemporaryFile.ts"

describe("signing secrets in a file", () => {
  const key = Redacted.make("the key")
  const secretOf = Effect.flatMap(IntegrationStore, (store) =>
    Effect.map(store.list(StoreFixtures.building(1), { offset: 0, limit: 10 }), ({ items }) => items)
  )
  const stored = (filename: string) =>
    Effect.sync(() => {
      const db = new DatabaseSync(filename)
      const rows = db.prepare("SELECT signing_secret FROM integrations ORDER BY id").all()
      db.close()
      return rows.map(({ signing_secret }) => String(signing_secret))
    })

  it.effect("are sealed with a key and stored in clear without one; with the key, both kinds can be read", () =>
    Effect.gen(function* () {
      const filename = yield* temporaryFile
      const plain = yield* onStore({ filename }, StoreFixtures.createIntegration())
      const sealed = yield* onStore({ filename, encryptionKey: key }, StoreFixtures.createIntegration())
      const [first, second] = yield* stored(filename)
      assert.strictEqual(first, Redacted.value(plain.signing_secret))
      assert.isTrue(second?.startsWith("sealed:"))
      const found = yield* onStore({ filename, encryptionKey: key }, secretOf)
      assert.deepEqual(
        found.map(({ signing_secret }) => Redacted.value(signing_secret)),
        [plain, sealed].map(({ signing_secret }) => Redacted.value(signing_secret))
      )
    })
  )

  it.effect("are not in clear anywhere in a file that had a key from the start", () =>
    Effect.gen(function* () {
      const filename = yield* temporaryFile
      yield* onStore({ filename, encryptionKey: key }, StoreFixtures.createIntegration())
      assert.isFalse(readFileSync(filename).includes("whsec_"))
    })
  )

  it.effect("that are sealed can't be used without their key, which is reported when the file is opened", () =>
    Effect.gen(function* () {
      const filename = yield* temporaryFile
      yield* onStore({ filename, encryptionKey: key }, StoreFixtures.createIntegration())
      const without = yield* refusal({ filename })
      assert.strictEqual(without.why, "sealed_secrets")
      assert.include(without.message, "Set the encryption key")
      const wrong = yield* refusal({ filename, encryptionKey: Redacted.make("another key") })
      assert.strictEqual(wrong.why, "sealed_secrets")
      assert.include(wrong.message, "under another key")
      yield* open({ filename, encryptionKey: key })
    })
  )

  it.effect("that become unreadable while the file is open cause a StoreError", () =>
    Effect.gen(function* () {
      const filename = yield* temporaryFile
      const error = yield* onStore(
        { filename, encryptionKey: key },
        Effect.gen(function* () {
          yield* StoreFixtures.createIntegration()
          yield* tamper(filename, "UPDATE integrations SET signing_secret = 'sealed:v1:AAAA'")
          return yield* Effect.flip(secretOf)
        })
      )
      assert.strictEqual(error.operation, "IntegrationStore.list")
      assert.include(
        error.message,
        "integration 1 of building 1 can't be read: its signing secret can't be decrypted with"
      )
      assert.include(error.message, "delete the integration, or restore a backup")
      assert.notInclude(error.message, "reachable")
    })
  )

  it.effect("in rows that doorhook did not write cause a StoreError", () =>
    Effect.gen(function* () {
      const filename = yield* temporaryFile
      const error = yield* onStore(
        { filename },
        Effect.gen(function* () {
          yield* StoreFixtures.createIntegration()
          yield* tamper(filename, "UPDATE integrations SET status = 'odd'")
          return yield* Effect.flip(secretOf)
        })
      )
      assert.match(
        error.message,
        /integration 1 of building 1 can't be read: [^]* at \["status"\]\. Nothing was changed; that row is damaged/
      )
      assert.notInclude(error.message, "reachable")
    })
  )
})

describe("secrets among the settings of a file", () => {
  const key = Redacted.make("the key")
  const secretOr = (candidate: string) =>
    Effect.flatMap(SettingStore, (store) =>
      Effect.map(store.getOrCreateSecret("portal_secret", Redacted.make(candidate)), Redacted.value)
    )
  const stored = (filename: string) =>
    Effect.sync(() => {
      const db = new DatabaseSync(filename)
      const row = db.prepare("SELECT value FROM settings WHERE name = 'portal_secret'").get()
      db.close()
      return String(row?.["value"])
    })

  it.effect("are sealed with a key, including replaced ones, and refused at start without it", () =>
    Effect.gen(function* () {
      const filename = yield* temporaryFile
      assert.strictEqual(yield* onStore({ filename, encryptionKey: key }, secretOr("sentinel one")), "sentinel one")
      assert.match(yield* stored(filename), /^sealed:v1:/)
      yield* onStore(
        { filename, encryptionKey: key },
        Effect.flatMap(SettingStore, (store) => store.replaceSecret("portal_secret", Redacted.make("sentinel two")))
      )
      assert.match(yield* stored(filename), /^sealed:v1:/)
      assert.strictEqual(yield* onStore({ filename, encryptionKey: key }, secretOr("another")), "sentinel two")
      assert.isFalse(readFileSync(filename).includes("sentinel"))
      for (const encryptionKey of [undefined, Redacted.make("another key")]) {
        const { message, why } = yield* refusal({ filename, encryptionKey })
        assert.strictEqual(why, "sealed_secrets")
        assert.match(message, /Set the (encryption )?key that they were encrypted with/)
      }
    })
  )

  it.effect("that were stored in clear are replaced once there is a key, so an old copy of the file is useless", () =>
    Effect.gen(function* () {
      const filename = yield* temporaryFile
      assert.strictEqual(yield* onStore({ filename }, secretOr("readable")), "readable")
      assert.strictEqual(yield* stored(filename), "readable")
      assert.strictEqual(yield* onStore({ filename, encryptionKey: key }, secretOr("made later")), "made later")
      assert.match(yield* stored(filename), /^sealed:v1:/)
    })
  )
})
