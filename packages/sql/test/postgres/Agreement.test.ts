/**
 * Heartbeats of workers whose settings are compared.
 */
import { AgreedSettings, DeliveryStore, SettingStore } from "@doorhook/core"
import { describeOnPostgres, pooledDatabase } from "@doorhook/testkit/postgres/TestServer"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import pg from "pg"
import * as PostgresStore from "../../src/postgres/PostgresStore.ts"

const lasting = 2 ** 45

const beat = (worker: string, settings: AgreedSettings.AgreedSettings, until: number | null = lasting) =>
  DeliveryStore.use((store) => store.heartbeat({ worker, now: 1, until, settings }))

const agreed = SettingStore.use((store) => store.find(AgreedSettings.agreedName)).pipe(
  Effect.map((text) => AgreedSettings.decodeAgreed(text ?? ""))
)

await describeOnPostgres("workers whose settings are compared", (server) => {
  const withStore = (name: string, body: (url: string) => Effect.Effect<void, unknown, DeliveryStore | SettingStore>) =>
    it.live(name, () =>
      Effect.gen(function* () {
        const { url } = yield* pooledDatabase(server)
        const services = yield* Layer.build(Layer.fresh(PostgresStore.layer({ url: Redacted.make(url) })))
        yield* Effect.provide(body(url), services)
      }).pipe(Effect.scoped)
    )

  withStore("the first stores its settings, and only workers with the same become members", () =>
    Effect.gen(function* () {
      assert.deepInclude(yield* beat("a", { signing: "both" }), { workers: 1, continued: false })
      assert.deepStrictEqual(yield* agreed, { signing: "both" })
      assert.deepInclude(yield* beat("b", { signing: "both" }), { workers: 2, rank: 1 })
      const refused = yield* beat("c", {})
      assert.deepStrictEqual(refused, {
        workers: 2,
        rank: 2,
        continued: false,
        disagreement: { stored: { signing: "both" }, isReplaced: false }
      })
      assert.notProperty(yield* beat("a", { signing: "both" }), "disagreement")
    })
  )

  withStore("a worker replaces the settings once it is alone, but never the directory", () =>
    Effect.gen(function* () {
      yield* beat("a", { directory: "file" })
      assert.isFalse((yield* beat("b", { directory: "file", signing: "off" })).disagreement?.isReplaced)
      yield* beat("a", { directory: "file" }, null)
      assert.deepStrictEqual((yield* beat("b", { directory: "file", signing: "off" })).disagreement, {
        stored: { directory: "file" },
        isReplaced: true
      })
      assert.deepStrictEqual(yield* agreed, { directory: "file", signing: "off" })
      yield* beat("b", { directory: "file", signing: "off" }, null)
      assert.isFalse((yield* beat("c", { directory: "functions" })).disagreement?.isReplaced)
      // A worker without a directory keeps the stored kind.
      assert.isTrue((yield* beat("d", {})).disagreement?.isReplaced)
      assert.deepStrictEqual(yield* agreed, { directory: "file" })
    })
  )

  withStore("of workers with different settings that start at once, those of one become members", () =>
    Effect.gen(function* () {
      yield* beat("before", { signing: "off" })
      yield* beat("before", { signing: "off" }, null)
      for (let round = 0; round < 10; round++) {
        const all = Array.from({ length: 8 }, (_, n) => ({
          worker: `${round} ${n}`,
          settings: { ackTimeout: `${round} ${n % 4}` }
        }))
        const answers = yield* Effect.all(
          all.map(({ settings, worker }) =>
            Effect.map(beat(worker, settings), ({ disagreement }) => ({ settings, worker, disagreement }))
          ),
          { concurrency: "unbounded" }
        )
        const joined = answers.filter(({ disagreement }) => disagreement === undefined || disagreement.isReplaced)
        const kept = yield* agreed
        assert.isAtLeast(joined.length, 1)
        for (const { settings } of joined) assert.deepStrictEqual(settings, kept)
        for (const { settings, worker } of joined) yield* beat(worker, settings, null)
      }
    })
  )

  withStore("a member remains one when other settings are accepted, until it leaves", () =>
    Effect.gen(function* () {
      yield* beat("a", {})
      yield* SettingStore.use((store) => store.put(AgreedSettings.agreedName, '{"signing":"off"}'))
      const answer = yield* beat("a", {})
      assert.deepInclude(answer, { continued: true, workers: 1 })
      assert.deepStrictEqual(answer.disagreement, { stored: { signing: "off" }, isReplaced: false })
      assert.deepStrictEqual(yield* agreed, { signing: "off" })
    })
  )

  withStore("a session that holds the settings forever stops no member, and no heartbeat waits for it", (url) =>
    Effect.gen(function* () {
      yield* beat("a", {})
      const vanished = yield* Effect.acquireRelease(
        Effect.promise(async () => {
          const client = new pg.Client({ connectionString: url })
          await client.connect()
          await client.query("BEGIN")
          await client.query("SELECT 1 FROM doorhook.settings FOR UPDATE")
          return client
        }),
        (client) => Effect.promise(() => client.end())
      )
      assert.deepInclude(yield* beat("a", {}), { continued: true })
      assert.deepStrictEqual((yield* beat("b", {})).disagreement, { stored: {}, isReplaced: false })
      yield* Effect.promise(() => vanished.query("ROLLBACK"))
      assert.notProperty(yield* beat("b", {}), "disagreement")
    }).pipe(Effect.scoped)
  )
})
