/**
 * A connection breaks after the server has executed a call and before its answer arrives. The outcome is unknown, so the
 * error must not say that nothing was changed.
 */
import { DeliveryStore } from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { PostgresStore } from "@doorhook/sql/postgres"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { once } from "node:events"
import { connect, createServer } from "node:net"
import { describeOnPostgres, pooledDatabase } from "@doorhook/testkit/postgres/TestServer"

/**
 * Starts a proxy between client and server. After `loseAnswerTo(text)`, it resets the connection instead of passing on
 * the answer to a statement that contains `text`.
 */
const startProxy = (url: URL) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      let losing: string | null = null
      const proxy = createServer((client) => {
        const upstream = connect(Number(url.port), url.hostname)
        let lose = false
        client.on("data", (bytes) => {
          if (losing !== null && bytes.includes(losing)) lose = true
          upstream.write(bytes)
        })
        upstream.on("data", (bytes) => {
          if (lose) client.resetAndDestroy()
          else client.write(bytes)
        })
        for (const socket of [client, upstream]) socket.on("error", () => undefined)
        client.on("close", () => upstream.end())
        upstream.on("close", () => client.end())
      }).listen(0, "127.0.0.1")
      await once(proxy, "listening")
      const address = proxy.address()
      const through = new URL(url)
      through.port = String(address !== null && typeof address === "object" ? address.port : 0)
      return {
        url: through.href,
        loseAnswerTo: (text: string | null) => Effect.sync(() => void (losing = text)),
        close: () => proxy.close()
      }
    }),
    ({ close }) => Effect.sync(close)
  )

await describeOnPostgres("lost answers", (server) => {
  it.live("are reported as unknown outcomes, for one statement and for a transaction", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy(new URL((yield* pooledDatabase(server)).url))
      const onProxy = Layer.fresh(PostgresStore.layer({ url: Redacted.make(proxy.url) }))
      const use = Effect.gen(function* () {
        const store = yield* DeliveryStore
        const integration = yield* StoreFixtures.createIntegration()
        yield* StoreFixtures.enqueue(...StoreFixtures.records(1, 1, integration))
        const marked = StoreFixtures.newEvent(2)
        yield* proxy.loseAnswerTo(marked.id)
        const enqueue = store
          .enqueue([StoreFixtures.record(marked, integration)])
          .pipe(Effect.catchTag("IdempotencyConflict", Effect.die))
        const lost = yield* Effect.flip(enqueue)
        assert.strictEqual(lost.outcome, "unknown")
        assert.notInclude(lost.message, "Nothing was changed")
        yield* proxy.loseAnswerTo(null)
        // The first call was executed although its answer was lost. An error from the server, in contrast, means that
        // nothing was changed.
        assert.isDefined(yield* StoreFixtures.keptEvent(marked))
        const refused = yield* Effect.flip(enqueue)
        assert.isUndefined(refused.outcome)
        assert.include(refused.message, "Nothing was changed")

        yield* StoreFixtures.heartbeat(StoreFixtures.start)
        // Uses a new connection, because the text of a statement is sent only once per connection.
        yield* proxy.loseAnswerTo("COMMIT")
        const claimed = yield* Effect.flip(StoreFixtures.claim(StoreFixtures.start)).pipe(Effect.provide(onProxy))
        assert.strictEqual(claimed.outcome, "unknown")
        yield* proxy.loseAnswerTo(null)
        assert.strictEqual((yield* store.summary(StoreFixtures.start)).states.delivering, 2)
        // The answer with the leases was lost. The worker's heartbeats don't list these leases, so the store releases
        // them.
        const { start, worker } = StoreFixtures
        const holding = (before: number) =>
          store.heartbeat({ worker, now: start, until: start + 1, holds: { ids: [], before } })
        assert.isTrue((yield* holding(start)).continued)
        assert.strictEqual((yield* store.summary(start)).states.delivering, 2)
        yield* holding(start + 1)
        const { states } = yield* store.summary(start)
        assert.deepEqual([states.delivering, states.pending], [0, 2])
      })
      yield* Effect.provide(use, onProxy)
    })
  )
})
