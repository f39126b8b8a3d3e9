/**
 * The engine with the memory transport, as the tests of an embedding program use it.
 */
import {
  AllowAllDirectory,
  DeliverySettings,
  DeliveryStore,
  Dispatcher,
  IntegrationStore,
  builtInTable,
  MemoryStore,
  MemoryTransport,
  Notifications,
  Publisher,
  PublishRequest,
  Transport,
  TransportUnavailable,
  WakeSignal
} from "@doorhook/core"
import type { TransportRequest, TransportResult } from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { NodeCrypto } from "@doorhook/node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"

const engine = Publisher.layer.pipe(
  Layer.provideMerge(Dispatcher.layer),
  Layer.provideMerge(Notifications.layer),
  Layer.provideMerge(Layer.mergeAll(MemoryStore.layer, MemoryTransport.layer(), AllowAllDirectory.layer)),
  Layer.provide(Layer.mergeAll(DeliverySettings.layer(), WakeSignal.layerLocal, NodeCrypto.layer))
)

/** Advances the clock by almost a minute, in steps small enough that each timer starts on time. */
const minute = Effect.repeat(TestClock.adjust("1 second"), { times: 59 })

const request: TransportRequest = {
  client: "client",
  url: "https://receiver.example/hook",
  headers: { "webhook-id": "evt_1" },
  body: "{}",
  deadline: 5_000,
  allow: []
}

describe("MemoryTransport", () => {
  it.effect("shows a program the sent requests and a retry at its due time", () =>
    Effect.gen(function* () {
      const receivers = yield* MemoryTransport.Receivers
      yield* receivers.reply((_, nth) => Effect.succeed(nth === 1 ? { status: 503, retry_after: "30" } : 200))
      yield* (yield* IntegrationStore).create(StoreFixtures.newIntegration())
      const { events } = yield* Effect.fromResult(
        PublishRequest.readerOf(builtInTable).fromValue({
          resource_type: "access_log",
          action: "create",
          building_id: 1,
          data: { id: 7 }
        })
      )
      yield* (yield* Publisher).publish(events)
      const first = yield* receivers.next
      assert.strictEqual(first.url, StoreFixtures.newIntegration().configuration.url)
      assert.strictEqual(first.body, '{"event":{"resource_type":"access_log","action":"create","data":{"id":7}}}')
      yield* minute
      const second = yield* receivers.next
      assert.strictEqual(second.headers["webhook-id"], first.headers["webhook-id"])
      assert.strictEqual(second.at - first.at, 30_000)
      yield* minute
      assert.lengthOf(yield* receivers.posts, 2)
      const [delivery] = yield* (yield* DeliveryStore).list({ limit: 1 })
      assert.strictEqual(delivery?.state, "delivered")
    }).pipe(Effect.provide(Layer.fresh(engine)))
  )

  it.effect("fills in the parts of an answer that a test leaves out, with the times of the test's clock", () =>
    Effect.gen(function* () {
      const transport = yield* Transport
      const { reply } = yield* MemoryTransport.Receivers
      const posted = Effect.fnUntraced(function* (receive: MemoryTransport.Receive, seconds: number) {
        yield* reply(receive)
        const posting = yield* Effect.forkChild(Effect.exit(transport.post(request)), { startImmediately: true })
        yield* TestClock.adjust(seconds * 1_000)
        return yield* yield* Fiber.join(posting)
      })
      const location = "https://elsewhere.example/"
      const late = Effect.delay(Effect.succeed({ status: 308, location }), "2 seconds")
      assert.deepStrictEqual(yield* posted(() => late, 2), {
        _tag: "Answered",
        status: 308,
        location,
        retry_after: null,
        excerpt: "",
        headers_elapsed: 2_000,
        elapsed: 2_000
      })
      const long = Effect.succeed({ status: 200, excerpt: "x".repeat(20_000) })
      assert.deepInclude(yield* posted(() => long, 0), { excerpt: "x".repeat(16 * 1024) })
      const reset = Effect.succeed({ outcome: "connection_reset" } as const)
      assert.deepInclude(yield* posted(() => reset, 0), { _tag: "Failed", outcome: "connection_reset" })
      const detail = "no answer within 5000 ms"
      const timeout: TransportResult = { _tag: "Failed", outcome: "timeout", detail, elapsed: 5_000 }
      assert.deepStrictEqual(yield* posted(() => Effect.never, 5), timeout)
      const away = Effect.fail(new TransportUnavailable({ message: "no way out" }))
      assert.strictEqual(
        yield* Effect.flip(posted(() => away, 0)).pipe(Effect.map(({ message }) => message)),
        "no way out"
      )
    }).pipe(Effect.provide(MemoryTransport.layer()))
  )
})
