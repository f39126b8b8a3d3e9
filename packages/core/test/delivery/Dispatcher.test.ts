import { assert, describe, it } from "@effect/vitest"
import type {
  Delivery,
  DeliveryId,
  Event,
  Integration,
  IntegrationId,
  NewDelivery,
  NewEvent,
  NewIntegration,
  Notification,
  Settlement,
  TransportRequest,
  TransportResult
} from "@doorhook/core"
import {
  BuildingId,
  callEndType,
  ClientId,
  defaultDeliverySettings,
  declareTypes,
  Deliveries,
  DeliverySettings,
  DeliveryStore,
  Directory,
  DirectoryError,
  Dispatcher,
  english,
  EventId,
  IntegrationStore,
  JsonText,
  MemoryStore,
  NotificationListener,
  Notifications,
  Publisher,
  ResourceTypes,
  serviceScope,
  StoreError,
  TenantId,
  Transport,
  TransportBusy,
  TransportUnavailable,
  UserId,
  WakeSignal
} from "@doorhook/core"
import { NodeCrypto } from "@doorhook/node"
import { Clock, Context, Effect, Fiber, Latch, Layer, Logger, Metric, Predicate, Ref, References, Result } from "effect"
import { TestClock } from "effect/testing"
import { warningThresholds } from "../../src/model/FailureState.ts"
import { settleBudget } from "../../src/delivery/DeliverySettings.ts"
import { makeIntegration } from "../fixtures.ts"

/** A request that reached a receiver, with its time of arrival. */
interface Sent extends TransportRequest {
  readonly at: number
}

type Answer = (request: Sent, nth: number) => Effect.Effect<TransportResult, TransportUnavailable | TransportBusy>

const answer = (status: number, retry_after: string | null = null): Effect.Effect<TransportResult> =>
  Effect.succeed({ _tag: "Answered", status, retry_after, excerpt: "", headers_elapsed: 1, elapsed: 1 })

const timeout: Effect.Effect<TransportResult> = Effect.as(Effect.sleep(5_000), {
  _tag: "Failed",
  outcome: "timeout",
  detail: "no answer",
  elapsed: 5_000
})

/**
 * The directory's answer about a right. A number means yes after this many milliseconds, and `late` means yes just
 * before the timeout. `silent` means no answer. `stuck` means no answer and no reaction to an interruption.
 */
type Right = boolean | number | "unknown" | "late" | "silent" | "stuck"

/** The engine's environment: the answers of receivers and of the directory, and the requests that were sent. */
class World extends Context.Service<
  World,
  {
    readonly sent: Array<Sent>
    readonly answer: Ref.Ref<Answer>
    readonly mayAccess: Ref.Ref<Right>
    /** The directory's answers for particular users. */
    readonly about: Map<UserId, Right>
  }
>()("test/World") {
  static readonly layer = Layer.effect(
    World,
    Effect.gen(function* () {
      return {
        sent: [],
        answer: yield* Ref.make<Answer>(() => answer(200)),
        mayAccess: yield* Ref.make<Right>(true),
        about: new Map<UserId, Right>()
      }
    })
  )
}

const transport = Layer.effect(
  Transport,
  Effect.gen(function* () {
    const world = yield* World
    return yield* Transport.fromPost(
      Effect.fnUntraced(function* (request) {
        const sent = { ...request, at: yield* Clock.currentTimeMillis }
        world.sent.push(sent)
        return yield* (yield* Ref.get(world.answer))(sent, world.sent.length)
      })
    )
  })
)

/** A rejection by a host's function, with the database's message as its cause. */
const away = new Error("the query failed", { cause: new Error("users db:\n  ECONNREFUSED") })

const directory = Layer.effect(
  Directory,
  Effect.gen(function* () {
    const world = yield* World
    const right = Effect.fnUntraced(function* (user: UserId) {
      const may = world.about.get(user) ?? (yield* Ref.get(world.mayAccess))
      if (may === "late" || Predicate.isNumber(may))
        return yield* Effect.as(Effect.sleep(may === "late" ? 4_900 : may), true)
      if (may === "silent") return yield* Effect.never
      if (may === "stuck") return yield* Effect.uninterruptible(Effect.never)
      if (may !== "unknown") return may
      return yield* new DirectoryError({ operation: "administers", cause: away })
    })
    return Directory.of({
      client: () => Effect.succeed(null),
      authenticate: () => Effect.succeed(null),
      isActive: () => Effect.succeed(true),
      administers: right,
      isTenant: right,
      buildings: () => Effect.succeed([]),
      tenants: () => Effect.succeed([])
    })
  })
)

const engineWith = (settings: Parameters<typeof DeliverySettings.layer>[0]) =>
  Layer.mergeAll(Publisher.layer, Deliveries.layer).pipe(
    Layer.provideMerge(Dispatcher.layer.pipe(Layer.provideMerge(Notifications.layer))),
    Layer.provideMerge(Layer.mergeAll(transport, directory, DeliverySettings.layer(settings), WakeSignal.layerLocal)),
    Layer.provideMerge(Layer.mergeAll(World.layer, MemoryStore.layer, NodeCrypto.layer))
  )
const engine = engineWith({})

type Engine = Layer.Success<typeof engine>

const test = (
  name: string,
  body: Effect.Effect<void, unknown, Engine>,
  settings: Parameters<typeof engineWith>[0] = {}
) => it.effect(name, () => body.pipe(runOn(engineWith(settings))))

/**
 * Provides a test with its own engine or dispatcher. Closing it waits for open attempts, so the clock advances until it
 * is closed.
 */
const runOn =
  <ROut, E2, RIn>(layer: Layer.Layer<ROut, E2, RIn>, patience = 30_000) =>
  <A, E, R>(body: Effect.Effect<A, E, R>) =>
    body.pipe(Effect.ensuring(Effect.forkDetach(pass(patience))), Effect.provide(Layer.fresh(layer)))

/** So long that nothing depends on it. */
const seldom = { pollInterval: 600_000 }

/** Advances the clock by `millis` and runs everything that is due until then. */
const pass = Effect.fnUntraced(function* (millis: number) {
  yield* settleDown
  for (let left = millis; left > 0; left -= 250) {
    yield* TestClock.adjust(Math.min(250, left))
    yield* settleDown
  }
})

/** Yields often enough that all other fibers wait for the clock. */
const settleDown = Effect.repeat(Effect.yieldNow, { times: 50 })

const newIntegration = (overrides: Partial<NewIntegration> = {}): NewIntegration => {
  const { id: _, ...integration } = makeIntegration(overrides)
  return integration
}

const newEvent = (overrides: Partial<NewEvent> = {}): NewEvent => ({
  resource_type: "access_log",
  action: "create",
  building_id: BuildingId.make(1),
  tenant_ids: [TenantId.make(101)],
  data: JsonText.JsonText.make('{"id":1}'),
  ...overrides
})

/** Makes event number `n` as it is stored, with a delivery to each integration. */
const recordOf = (
  n: number,
  integrations: ReadonlyArray<Pick<Integration, "id">>,
  {
    created_at = 0,
    initial = { state: "pending" },
    resource_type = "access_log"
  }: Partial<Pick<Event, "created_at" | "resource_type"> & Pick<NewDelivery, "initial">> = {}
) => ({
  event: { ...newEvent({ resource_type }), id: EventId.make(`evt_${String(n).padStart(20, "0")}`), created_at },
  deliveries: integrations.map(({ id }): NewDelivery => ({
    integration_id: id,
    lane: resource_type === "call" ? 0 : 2,
    matched_version: 1,
    initial
  }))
})

const only = Effect.gen(function* () {
  const all = yield* (yield* DeliveryStore).list({ limit: 100 })
  assert.strictEqual(all.length, 1)
  const [delivery] = all
  return yield* delivery === undefined ? Effect.die("no delivery") : Effect.succeed<Delivery>(delivery)
})

const setup = Effect.fnUntraced(function* (
  answering: Answer = () => answer(200),
  overrides: Partial<NewIntegration> = {}
) {
  const world = yield* World
  yield* Ref.set(world.answer, answering)
  const integration = yield* (yield* IntegrationStore).create(newIntegration(overrides))
  return { world, integration, publisher: yield* Publisher, store: yield* DeliveryStore }
})

describe("publishing and dispatching", () => {
  test(
    "sends a matching event once, signed and exactly in the documented form",
    Effect.gen(function* () {
      const { publisher, world } = yield* setup()
      const data = JsonText.JsonText.make('{ "b":1.0,"a":12345678901234567890 }')
      const [published] = yield* publisher.publish([newEvent({ data })])
      yield* pass(25)
      assert.strictEqual(published?.deliveries, 1)
      assert.strictEqual(world.sent.length, 1)
      const [request] = world.sent
      assert.strictEqual(request?.body, `{"event":{"resource_type":"access_log","action":"create","data":${data}}}`)
      assert.strictEqual(request?.headers["webhook-id"], published?.id)
      assert.strictEqual(request?.headers["doorhook-attempt"], "1")
      assert.match(request?.headers["webhook-signature"] ?? "", /^v1,/)
      const delivery = yield* only
      assert.deepInclude(delivery, { state: "delivered", attempts: 1, next_attempt_at: null })
    })
  )

  test(
    "retries by the schedule of the resource type, with the same id and body and a new signature",
    Effect.gen(function* () {
      const { publisher, world } = yield* setup((_, nth) => answer(nth <= 3 ? 500 : 200))
      yield* publisher.publish([newEvent()])
      yield* pass(200_000)
      assert.strictEqual(world.sent.length, 4)
      const [first] = world.sent
      const gaps = world.sent.slice(1).map(({ at }, index) => at - (world.sent[index]?.at ?? 0))
      for (const [index, delay] of [5_000, 30_000, 120_000].entries()) {
        assert.isAtLeast(gaps[index] ?? 0, delay)
        assert.isAtMost(gaps[index] ?? 0, delay * 1.2 + 250)
      }
      for (const [index, request] of world.sent.entries()) {
        assert.strictEqual(request.body, first?.body)
        assert.strictEqual(request.headers["webhook-id"], first?.headers["webhook-id"])
        assert.strictEqual(request.headers["doorhook-attempt"], String(index + 1))
      }
      assert.strictEqual(new Set(world.sent.map(({ headers }) => headers["webhook-signature"])).size, 4)
      const delivery = yield* only
      assert.strictEqual(delivery.state, "delivered")
      const found = yield* (yield* DeliveryStore).find(delivery.id)
      assert.deepStrictEqual(
        found?.attempts.map(({ number, outcome, status }) => [number, outcome, status]),
        [
          [1, "bad_status", 500],
          [2, "bad_status", 500],
          [3, "bad_status", 500],
          [4, "acknowledged", 200]
        ]
      )
    })
  )

  test(
    "rings at most four times and never after 45 seconds",
    Effect.gen(function* () {
      const { publisher, world } = yield* setup(() => answer(503))
      yield* publisher.publish([newEvent({ resource_type: "call" })])
      yield* pass(120_000)
      assert.strictEqual(world.sent.length, 4)
      assert.isBelow(world.sent[3]?.at ?? Infinity, 45_000)
      const delivery = yield* only
      assert.deepInclude(delivery, { state: "expired", reason: "lifetime_over" })
      const { explanation } = yield* (yield* Deliveries).show(delivery.id)
      const end = new Date(delivery.created_at + 45_000).toISOString()
      assert.include(
        english(...explanation.why),
        `tried 4 times. No attempt is left before its lifetime ends at ${end}.`
      )
    })
  )

  test(
    "lets a call overtake a backlog of access logs for a receiver that does not answer",
    Effect.gen(function* () {
      const { publisher, world } = yield* setup(() => timeout)
      yield* publisher.publish(Array.from({ length: 100 }, () => newEvent()))
      yield* pass(4_000)
      yield* publisher.publish([newEvent({ resource_type: "call" })])
      yield* pass(10)
      assert.isTrue(world.sent.some(({ body }) => body.includes('"call"')))
    })
  )

  for (const [what, retried] of [
    ["a retry of a call", true],
    ["a call that waits in the store", false]
  ] as const)
    it.effect(`lets ${what} overtake a backlog of access logs of its own integration`, () =>
      Effect.gen(function* () {
        const isCall = ({ body }: Sent): boolean => body.includes('"call"')
        const { integration, publisher, store, world } = yield* setup((sent) =>
          isCall(sent) && retried && sent.headers["doorhook-attempt"] === "1"
            ? answer(500)
            : Effect.delay(answer(200), 900)
        )
        yield* publisher.publish(Array.from({ length: 900 }, () => newEvent()))
        yield* pass(1_000)
        const created_at = yield* Clock.currentTimeMillis
        if (retried) yield* publisher.publish([newEvent({ resource_type: "call" })])
        else yield* store.enqueue([recordOf(1, [integration], { created_at, resource_type: "call" })])
        yield* pass(5_000)
        const calls = world.sent.filter(isCall)
        assert.lengthOf(calls, retried ? 2 : 1)
        assert.isAtMost((calls.at(-1)?.at ?? 0) - created_at, 2_500, "its delay and a poll")
        assert.isBelow(world.sent.length, 100, "the access logs still wait")
      }).pipe(runOn(engineWith({ buffer: 8_192 })))
    )

  test(
    "keeps one dead receiver from slowing another, and limits the requests to it",
    Effect.gen(function* () {
      const { publisher, world } = yield* setup(({ url }) => (url.includes("dead") ? timeout : answer(200)))
      const dead = { url: "https://dead.example/", method: "post" } as const
      yield* (yield* IntegrationStore).create(newIntegration({ configuration: dead }))
      yield* publisher.publish(Array.from({ length: 300 }, () => newEvent()))
      yield* pass(500)
      const sentTo = (name: string) => world.sent.filter(({ url }) => url.includes(name)).length
      assert.strictEqual(sentTo("receiver"), 300)
      assert.strictEqual(sentTo("dead"), 8)
    })
  )

  for (const [how, drip] of [
    ["let their bodies drip", { headers_elapsed: 1, elapsed: 4_900 }],
    ["think for long", { headers_elapsed: 4_900, elapsed: 4_900 }]
  ] as const)
    test(
      `keeps places free with any number of receivers that acknowledge and ${how}`,
      Effect.gen(function* () {
        const late = Effect.map(Effect.delay(answer(200), 4_900), (result) => ({ ...result, ...drip }))
        const { publisher, world } = yield* setup(({ url }) => (url.includes("late") ? late : answer(200)))
        const configuration = { url: "https://late.example/", method: "post" } as const
        const scope = { type: "building", id: BuildingId.make(2) } as const
        const integrations = yield* IntegrationStore
        for (let i = 0; i < 60; i++) yield* integrations.create(newIntegration({ configuration, scope }))
        const elsewhere = newEvent({ building_id: scope.id, tenant_ids: [] })
        yield* publisher.publish(Array.from({ length: 20 }, () => elsewhere))
        yield* pass(6_000)
        const sentTo = (name: string) => world.sent.filter(({ url }) => url.includes(name)).length
        assert.isAbove(sentTo("late"), 409, "all places were taken before anything was known")
        yield* publisher.publish(Array.from({ length: 40 }, () => newEvent()))
        yield* pass(500)
        assert.strictEqual(sentTo("receiver"), 40)
        yield* pass(30_000)
        assert.strictEqual(sentTo("late"), 1_200)
      })
    )

  test(
    "respects an integration's rate limit, sends calls first, and does not slow others",
    Effect.gen(function* () {
      const { publisher, world } = yield* setup()
      const paced = { url: "https://paced.example/", method: "post" } as const
      const overrides = { requests_per_second: 4 }
      yield* (yield* IntegrationStore).create(newIntegration({ configuration: paced, overrides }))
      yield* publisher.publish(Array.from({ length: 120 }, () => newEvent()))
      yield* pass(2_000)
      yield* publisher.publish([newEvent({ resource_type: "call" })])
      yield* pass(38_000)
      const toPaced = world.sent.filter(({ url }) => url === paced.url)
      assert.strictEqual(world.sent.length - toPaced.length, 121)
      assert.isTrue(world.sent.slice(0, 120).every(({ at }) => at - (world.sent[0]?.at ?? 0) < 1_000))
      assert.strictEqual(toPaced.length, 121)
      const times = toPaced.map(({ at }) => at)
      for (const [index, at] of times.entries()) {
        const withinSecond = times.slice(index).filter((other) => other < at + 1_000)
        assert.isAtMost(withinSecond.length, 5, "four, and one that catches up with a late timer")
      }
      const lasted = (times.at(-1) ?? 0) - (times[0] ?? 0)
      assert.isAtLeast(lasted, 29_900)
      assert.isAtMost(lasted, 31_500, "and not fewer")
      const nth = toPaced.findIndex(({ body }) => body.includes('"call"'))
      assert.isBelow(nth, 12, "the call overtook")
    })
  )

  test(
    "continues to respect a rate limit after a time without deliveries",
    Effect.gen(function* () {
      const { publisher, world } = yield* setup(() => answer(200), { overrides: { requests_per_second: 50 } })
      yield* publisher.publish([newEvent()])
      yield* pass(1_000)
      yield* publisher.publish(Array.from({ length: 20 }, () => newEvent()))
      yield* pass(1_000)
      assert.lengthOf(world.sent, 21)
    })
  )

  test(
    "stops when the right to the event is lost, and waits while the directory does not answer",
    Effect.gen(function* () {
      const { publisher, world } = yield* setup()
      yield* Ref.set(world.mayAccess, "unknown")
      yield* publisher.publish([newEvent()])
      yield* pass(4_000)
      assert.strictEqual(world.sent.length, 0)
      assert.deepInclude(yield* only, { state: "pending", attempts: 0 })
      yield* Ref.set(world.mayAccess, false)
      yield* pass(4_000)
      assert.strictEqual(world.sent.length, 0)
      assert.deepInclude(yield* only, { state: "cancelled", reason: "right_lost", attempts: 0 })
    })
  )

  for (const [how, silence] of [
    ["never answers", "silent"],
    ["can't even be interrupted", "stuck"]
  ] as const)
    test(
      `waits for a directory that ${how}, without occupying a place forever`,
      Effect.gen(function* () {
        const { publisher, world } = yield* setup()
        yield* Ref.set(world.mayAccess, silence)
        yield* publisher.publish([newEvent()])
        yield* pass(6_000)
        assert.strictEqual((yield* (yield* Dispatcher).status).delivering, 0)
        yield* Ref.set(world.mayAccess, true)
        yield* pass(6_000)
        assert.deepInclude(yield* only, { state: "delivered", attempts: 1 })
      })
    )

  for (const [how, silence, failed] of [
    ["failed", "unknown", 1_000],
    ["hung", "silent", 6_000]
  ] as const)
    test(
      `sends a call of another user immediately after the directory ${how} for the only user so far`,
      Effect.gen(function* () {
        const { publisher, world } = yield* setup()
        yield* Ref.set(world.mayAccess, silence)
        const bert = { user_id: UserId.make("bert"), client_id: ClientId.make("c1") }
        world.about.set(bert.user_id, true)
        yield* (yield* IntegrationStore).create(
          newIntegration({ created_by: bert, bindings: [{ resource_type: "call", actions: ["create"] }] })
        )
        yield* publisher.publish([newEvent()])
        yield* pass(failed)
        const { status } = yield* Dispatcher
        assert.isNotNull((yield* status).outage)
        yield* publisher.publish([newEvent({ resource_type: "call" })])
        yield* settleDown
        assert.lengthOf(world.sent, 1)
        assert.isNull((yield* status).outage)
      })
    )

  test(
    "sends the operator's own deliveries during an outage of the directory, which they don't end",
    Effect.gen(function* () {
      const { publisher, store, world } = yield* setup()
      const operators = yield* (yield* IntegrationStore).create(newIntegration({ scope: serviceScope }))
      yield* Ref.set(world.mayAccess, "unknown")
      yield* publisher.publish([newEvent()])
      yield* pass(1_000)
      const { status } = yield* Dispatcher
      const { outage } = yield* status
      assert.strictEqual(outage?.cause, "directory")
      yield* store.enqueue(Array.from({ length: 3 }, (_, n) => recordOf(n, [operators], { created_at: 1_000 })))
      yield* pass(12_000)
      assert.lengthOf(world.sent, 3)
      assert.deepStrictEqual((yield* status).outage, outage)
      yield* Ref.set(world.mayAccess, true)
      yield* pass(6_000)
      assert.lengthOf(world.sent, 4)
      assert.isNull((yield* status).outage)
    })
  )

  test(
    "counts no attempt while outbound connections fail",
    Effect.gen(function* () {
      const closed = Effect.fail(new TransportUnavailable({ message: "the egress proxy can't be used" }))
      const { publisher, world } = yield* setup((_, nth) => (nth === 1 ? closed : answer(200)))
      yield* publisher.publish([newEvent()])
      yield* pass(4_000)
      assert.deepInclude(yield* only, { state: "pending", attempts: 0 })
      yield* pass(4_000)
      assert.deepInclude(yield* only, { state: "delivered", attempts: 1 })
      assert.strictEqual(world.sent[1]?.headers["doorhook-attempt"], "1")
    })
  )

  test(
    "defers deliveries that it lacks resources for, without counting an attempt or affecting other integrations",
    Effect.gen(function* () {
      const url = "https://crowded.example/"
      let isCrowded = true
      const busy = Effect.delay(Effect.fail(new TransportBusy({ message: "its name waited for a lookup" })), 5_000)
      const { integration, publisher, store, world } = yield* setup((request) =>
        request.url === url && isCrowded ? busy : answer(200)
      )
      const crowded = yield* (yield* IntegrationStore).create(
        newIntegration({ configuration: { url, method: "post" } })
      )
      for (let n = 0; n < 20; n++) yield* publisher.publish([newEvent()])
      const of = (id: typeof integration.id) =>
        Effect.map(store.list({ limit: 100 }), (all) => all.filter(({ integration_id }) => integration_id === id))
      yield* pass(6_000)
      for (const { state } of yield* of(integration.id)) assert.strictEqual(state, "delivered")
      for (const delivery of yield* of(crowded.id)) assert.deepInclude(delivery, { state: "pending", attempts: 0 })
      assert.strictEqual((yield* (yield* Dispatcher).status).failing, 0)
      assert.isNull((yield* (yield* Dispatcher).status).outage)
      isCrowded = false
      yield* pass(10_000)
      for (const delivery of yield* of(crowded.id)) assert.deepInclude(delivery, { state: "delivered", attempts: 1 })
      for (const sent of world.sent) assert.strictEqual(sent.headers["doorhook-attempt"], "1")
    })
  )

  test(
    "sends nothing to an integration that was deleted between two attempts",
    Effect.gen(function* () {
      const { publisher, world, integration } = yield* setup(() => answer(500))
      yield* publisher.publish([newEvent()])
      yield* pass(100)
      const dispatcher = yield* Dispatcher
      assert.strictEqual((yield* dispatcher.status).failing, 1)
      yield* (yield* IntegrationStore).remove(integration)
      yield* dispatcher.forget(integration.id)
      assert.strictEqual((yield* dispatcher.status).failing, 0)
      yield* pass(60_000)
      assert.strictEqual(world.sent.length, 1)
      assert.deepInclude(yield* only, { state: "cancelled", reason: "integration_deleted" })
    })
  )

  it.effect("does not count failed probes, or attempts that were open when their integration was deleted", () => {
    const lines: Array<string> = []
    const logger = Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])
    return Effect.gen(function* () {
      let status: number | null = null
      const { publisher, world, integration, store } = yield* setup(() => (status === null ? timeout : answer(status)))
      const dispatcher = yield* Dispatcher
      const integrations = yield* IntegrationStore
      const publish = publisher.publish([newEvent()])
      for (let n = 0; n < 5; n++) yield* publish
      yield* pass(100)
      assert.strictEqual(world.sent.length, 5)
      yield* integrations.remove(integration)
      yield* dispatcher.forget(integration.id)
      yield* pass(10_000)
      assert.strictEqual((yield* dispatcher.status).failing, 0, "deleted")

      const gone = yield* integrations.create(newIntegration())
      status = 410
      yield* publish
      yield* pass(100)
      assert.deepInclude(yield* integrations.find(gone.id), { status: "disabled" })
      status = 500
      for (let probes = 1; probes <= 4; probes++) {
        yield* store.redeliver({ type: "probe", id: gone.id }, yield* Clock.currentTimeMillis)
        yield* (yield* WakeSignal).signal
        yield* pass(1_000)
        assert.strictEqual(world.sent.length, 6 + probes)
      }
      assert.strictEqual((yield* dispatcher.status).failing, 0, "probed")
      assert.deepEqual(
        lines.filter((line) => line.includes("in a row")),
        []
      )
    }).pipe(runOn(Layer.provideMerge(engine, logger)))
  })

  test(
    "does not disable an integration whose former receiver is gone, and sends the delivery to the new one",
    Effect.gen(function* () {
      const { integration, publisher, world } = yield* setup(({ url }) =>
        url.includes("new") ? answer(200) : Effect.delay(answer(410), 2_000)
      )
      const integrations = yield* IntegrationStore
      yield* publisher.publish([newEvent()])
      yield* pass(1_000)
      const configuration = { url: "https://new.example/", method: "post" } as const
      assert.isTrue(yield* integrations.update({ ...integration, configuration, version: 2 }, 1))
      yield* (yield* Dispatcher).forget(integration.id)
      yield* pass(10_000)
      assert.deepInclude(yield* integrations.find(integration.id), { status: "enabled" })
      assert.deepStrictEqual(
        world.sent.map(({ url }) => url),
        [integration.configuration.url, configuration.url]
      )
      assert.deepInclude(yield* only, { state: "delivered", attempts: 2 })
    })
  )

  test(
    "disables an integration whose receiver is gone, stores later events as skipped, and can resend them",
    Effect.gen(function* () {
      const { publisher, world, integration, store } = yield* setup((_, nth) => answer(nth === 1 ? 410 : 200))
      yield* publisher.publish([newEvent()])
      yield* pass(100)
      const integrations = yield* IntegrationStore
      const disabled = yield* integrations.find(integration.id)
      assert.deepInclude(disabled, { status: "disabled", disabled_reason: "gone" })
      yield* publisher.publish([newEvent()])
      yield* pass(100)
      assert.strictEqual(world.sent.length, 1)
      const [skipped] = yield* store.list({ states: ["skipped"], limit: 10 })
      if (skipped === undefined || disabled === null) return yield* Effect.die("no skipped delivery")
      const deliveries = yield* Deliveries
      assert.strictEqual((yield* Effect.flip(deliveries.resend(skipped.id)))._tag, "NotDeliverable")
      const enabled = { ...disabled, status: "enabled", disabled_reason: null, version: disabled.version + 1 } as const
      assert.isTrue(yield* integrations.update(enabled, disabled.version))
      yield* deliveries.resend(skipped.id)
      yield* pass(100)
      assert.strictEqual(world.sent.length, 2)
      assert.strictEqual((yield* store.find(skipped.id))?.delivery.state, "delivered")
    })
  )

  test(
    "resends with the same id and body, to every integration",
    Effect.gen(function* () {
      const { publisher, store, world } = yield* setup()
      yield* (yield* IntegrationStore).create(newIntegration())
      yield* publisher.publish([newEvent()])
      yield* pass(100)
      for (const { id } of yield* store.list({ limit: 10 })) yield* (yield* Deliveries).resend(id)
      yield* pass(100)
      assert.lengthOf(world.sent, 4)
      assert.lengthOf(new Set(world.sent.map(({ body, headers }) => `${headers["webhook-id"]} ${body}`)), 1)
    })
  )

  test(
    "names the end of a call's lifetime in every attempt, and marks only attempts that somebody requested",
    Effect.gen(function* () {
      const { integration, publisher, world } = yield* setup((_, nth) => answer(nth < 6 ? 503 : 200))
      const deliveries = yield* Deliveries
      yield* publisher.publish([newEvent({ resource_type: "call" })])
      yield* pass(120_000)
      const { created_at, id } = yield* only
      yield* deliveries.resend(id)
      yield* pass(60_000)
      yield* deliveries.recover(integration.id, created_at)
      yield* pass(60_000)
      const expected = String(Math.ceil((created_at + 45_000) / 1_000))
      assert.deepStrictEqual(
        world.sent.map(({ headers }) => [headers["doorhook-expires-at"], headers["doorhook-replay"]]),
        [null, null, null, null, "1", "1"].map((mark) => [expected, mark ?? undefined])
      )
    })
  )

  it.effect("retries a resent call that has ended, by the schedule", () =>
    Effect.gen(function* () {
      const { publisher, store, world } = yield* setup(() => answer(503))
      const call = newEvent({ resource_type: "call", data: JsonText.JsonText.make('{"id":7}') })
      yield* publisher.publish([call])
      yield* pass(500)
      yield* publisher.publish([
        newEvent({ resource_type: callEndType, data: JsonText.JsonText.make('{"id":1,"call_id":7}') })
      ])
      yield* pass(1_000)
      assert.deepInclude(yield* only, { state: "cancelled", reason: "call_ended", attempts: 1 })
      yield* (yield* Deliveries).resend((yield* only).id)
      const begun = yield* Clock.currentTimeMillis
      yield* pass(30_000)
      const [, first = 0, second = 0, third = 0] = world.sent.map(({ at }) => at)
      assert.isAtMost(first - begun, 250)
      assert.isTrue(second - first >= 3_000 && second - first <= 3_850)
      assert.isTrue(third - second >= 8_000 && third - second <= 9_850)
      assert.deepInclude(yield* only, { state: "expired", attempts: 4 })
      assert.strictEqual((yield* store.summary(begun)).states.cancelled, 0)
    }).pipe(
      runOn(
        engineWith({}).pipe(
          Layer.provide(Layer.succeed(ResourceTypes, Result.getOrThrow(declareTypes({}, { hasCallEnd: true }))))
        )
      )
    )
  )

  test(
    "marks a probe of a disabled integration, but neither a retry that follows a resend nor an event that never expires",
    Effect.gen(function* () {
      const { integration, publisher, store, world } = yield* setup((_, nth) => answer([500, 500, 410][nth - 1] ?? 200))
      yield* publisher.publish([newEvent()])
      yield* pass(1_000)
      yield* (yield* Deliveries).resend((yield* only).id)
      yield* pass(60_000)
      yield* store.redeliver({ type: "probe", id: integration.id }, yield* Clock.currentTimeMillis)
      yield* (yield* WakeSignal).signal
      yield* pass(1_000)
      assert.deepStrictEqual(
        world.sent.map(({ headers }) => headers["doorhook-replay"] ?? null),
        [null, "1", null, "1"]
      )
      for (const { headers } of world.sent) assert.notProperty(headers, "doorhook-expires-at")
      assert.deepInclude(yield* only, { state: "delivered" })
    })
  )

  test(
    "sends a resend requested during an attempt as soon as the attempt has ended",
    Effect.gen(function* () {
      const slow = Effect.andThen(Effect.sleep(1_000), answer(500))
      const { publisher, world } = yield* setup((_, nth) => (nth === 1 ? slow : answer(200)))
      yield* publisher.publish([newEvent()])
      yield* pass(500)
      yield* (yield* Deliveries).resend((yield* only).id)
      yield* pass(10_000)
      const [first, second] = world.sent.map(({ at }) => at)
      assert.isAtMost((second ?? Infinity) - (first ?? 0), 1_100)
    })
  )

  test(
    "sends the unsettled deliveries of a dead dispatcher again, with the same id",
    Effect.gen(function* () {
      const { store, integration, world } = yield* setup()
      const record = recordOf(1, [integration], { initial: { state: "delivering", worker: "another worker" } })
      // Imitates a process that leased the delivery and was killed before it recorded an outcome.
      yield* store.heartbeat({ worker: "another worker", now: 0, until: 20_000 })
      yield* store.enqueue([record])
      yield* pass(19_000)
      assert.strictEqual(world.sent.length, 0)
      yield* pass(6_000)
      assert.deepStrictEqual(
        world.sent.map(({ headers }) => headers["webhook-id"]),
        [record.event.id]
      )
    }),
    seldom
  )

  test(
    "claims as many deliveries as it has room for, even while no receiver answers",
    Effect.gen(function* () {
      const { store } = yield* setup(() => timeout)
      const integrations = yield* IntegrationStore
      const all = yield* Effect.forEach(Array(10), () => integrations.create(newIntegration()))
      yield* store.enqueue(Array.from({ length: 100 }, (_, n) => recordOf(n, all)))
      yield* (yield* WakeSignal).signal
      yield* pass(200)
      const { delivering, buffered } = yield* (yield* Dispatcher).status
      assert.strictEqual(delivering + buffered, 1_000)
    })
  )

  it.effect("finishes open attempts and releases the rest when it closes", () =>
    Effect.gen(function* () {
      const { store, world } = yield* Effect.gen(function* () {
        const { publisher, world, store } = yield* setup(() => Effect.andThen(Effect.sleep(2_000), answer(200)))
        yield* publisher.publish(Array.from({ length: 15 }, () => newEvent()))
        yield* pass(500)
        yield* Effect.forkDetach(pass(20_000))
        return { world, store }
      }).pipe(Effect.provide(Layer.fresh(engine)))
      const { states } = yield* store.summary(yield* Clock.currentTimeMillis)
      assert.strictEqual(world.sent.length, 8)
      assert.deepInclude(states, { delivered: 8, delivering: 0, pending: 7 })
    })
  )

  it.effect("records ended attempts and closes, even if the clock stops", () =>
    Effect.gen(function* () {
      const store = yield* Effect.gen(function* () {
        const { publisher, store, world } = yield* setup()
        yield* publisher.publish([newEvent(), newEvent()])
        yield* settleDown
        assert.lengthOf(world.sent, 2)
        return store
      }).pipe(Effect.provide(Layer.fresh(engine)))
      const { states } = yield* store.summary(yield* Clock.currentTimeMillis)
      assert.deepInclude(states, { delivered: 2, delivering: 0, pending: 0 })
      assert.strictEqual(yield* Clock.currentTimeMillis, 0)
    })
  )

  test(
    "answers a publish call only after its events are stored, or with the store's failure",
    Effect.gen(function* () {
      const { world } = yield* setup()
      const broken = Layer.effect(
        DeliveryStore,
        Effect.map(DeliveryStore, (store) => ({
          ...store,
          enqueue: () => Effect.fail(new StoreError({ operation: "DeliveryStore.enqueue", cause: new Error("full") }))
        }))
      )
      const error = yield* Publisher.use((publisher) => publisher.publish([newEvent()])).pipe(
        Effect.provide(Publisher.layer.pipe(Layer.provide(broken), Layer.fresh)),
        Effect.flip
      )
      yield* pass(100)
      assert.strictEqual(error._tag, "StoreError")
      assert.strictEqual(world.sent.length, 0)
      const waiting = yield* Effect.forkChild(Publisher.use((publisher) => publisher.publish([newEvent()])))
      yield* pass(100)
      assert.strictEqual((yield* Fiber.join(waiting)).length, 1)
      assert.strictEqual(world.sent.length, 1, "what the failed call had reserved is free again")
    })
  )

  test(
    "continues after a host publishes an event of an undeclared type",
    Effect.gen(function* () {
      const { publisher } = yield* setup()
      const odd = newEvent()
      Reflect.set(odd, "resource_type", "doorbell")
      const exit = yield* Effect.exit(publisher.publish([odd]))
      assert.strictEqual(exit._tag, "Failure")
      assert.lengthOf(yield* publisher.publish([newEvent()]), 1)
    })
  )

  /** The dependencies of a dispatcher. */
  const services = (settings = DeliverySettings.layer(), wake: Layer.Layer<WakeSignal> = WakeSignal.layerLocal) =>
    Layer.mergeAll(transport, directory, settings, wake, Notifications.layer).pipe(
      Layer.provideMerge(Layer.mergeAll(World.layer, MemoryStore.layer, NodeCrypto.layer)),
      Layer.fresh
    )

  type Change = (store: DeliveryStore["Service"]) => Partial<DeliveryStore["Service"]>

  /** A dispatcher over a store with some operations replaced. */
  const dispatcherOver = (change: Change) =>
    Layer.provide(
      Dispatcher.layer,
      Layer.effect(
        DeliveryStore,
        Effect.map(DeliveryStore, (store) => ({ ...store, ...change(store) }))
      )
    )

  /** The clock of a process that was suspended, or whose time was set: it jumps, but timers keep their durations. */
  const shiftedClock = (lead: () => number) =>
    Layer.effect(
      Clock.Clock,
      Effect.map(Clock.Clock, (clock): Clock.Clock => ({
        currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + lead(),
        currentTimeMillis: Effect.sync(() => clock.currentTimeMillisUnsafe() + lead()),
        currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe(),
        currentTimeNanos: clock.currentTimeNanos,
        monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
        monotonicTimeNanos: clock.monotonicTimeNanos,
        sleep: (duration) => clock.sleep(duration)
      }))
    )

  const over = (change: Change, ...needed: Parameters<typeof services>) =>
    Layer.provideMerge(dispatcherOver(change), services(...needed)).pipe(Layer.fresh)

  const enqueueMany = Effect.fnUntraced(function* (
    count: number,
    { resource_type = "access_log", ...integration }: Partial<Pick<NewEvent, "resource_type"> & NewIntegration> = {}
  ) {
    const created = yield* (yield* IntegrationStore).create(newIntegration(integration))
    const records = Array.from({ length: count }, (_, n) => recordOf(n, [created], { resource_type }))
    yield* (yield* DeliveryStore).enqueue(records)
  })
  const enqueueOne = enqueueMany(1)
  const refused = Effect.fail(new StoreError({ operation: "DeliveryStore.settle", cause: new Error("locked") }))
  const lostAnswer = (operation: string) =>
    new StoreError({ operation, cause: new Error("connection lost"), outcome: "unknown" })

  /**
   * Runs `workers` dispatchers over one store. Returns the maximum number of concurrent requests to a receiver that
   * never answers.
   */
  const mostOpen = (workers: number) => {
    // `Layer.fresh`, because otherwise the workers would share one dispatcher.
    const others = Array.from({ length: workers - 1 }, () => Layer.fresh(dispatcherOver(() => ({}))))
    return Effect.gen(function* () {
      let open = 0
      let most = 0
      const held = Effect.acquireUseRelease(
        Effect.sync(() => (most = Math.max(most, ++open))),
        () => timeout,
        () => Effect.sync(() => open--)
      )
      const world = yield* World
      yield* Ref.set(world.answer, () => held)
      // After this time, all workers have sent heartbeats and received the number of workers.
      yield* pass(11_000)
      yield* enqueueMany(1_000, { resource_type: "call" })
      yield* (yield* WakeSignal).signal
      yield* pass(20_000)
      return most
    }).pipe(
      runOn(
        Layer.mergeAll(
          dispatcherOver(() => ({})),
          ...others
        ).pipe(Layer.provideMerge(services())),
        60_000
      )
    )
  }

  it.effect("share an integration's ten places between three workers", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* mostOpen(3), 10)
    })
  )

  it.effect("have one place each when there are more workers than an integration has places", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* mostOpen(12), 12)
    })
  )

  it.effect("continues after defects in its first heartbeat, in a claim and in a settlement", () => {
    const broken = new Set(["heartbeat", "claim", "settle"])
    return Effect.gen(function* () {
      yield* enqueueOne
      const { sent } = yield* World
      yield* pass(8_000)
      assert.isNotEmpty(sent, "soon after its second heartbeat")
      yield* pass(52_000)
      assert.strictEqual((yield* only).state, "delivered")
      assert.strictEqual(sent.length, 2, "what could not be recorded is sent again when its lease ends")
      assert.strictEqual((yield* (yield* Dispatcher).status).unsettled, 0)
    }).pipe(
      runOn(
        over(
          (store) => ({
            heartbeat: (beat) =>
              broken.delete("heartbeat") ? Effect.die(new Error("a defect")) : store.heartbeat(beat),
            claim: (request) => (broken.delete("claim") ? Effect.die(new Error("a defect")) : store.claim(request)),
            settle: (...settling) =>
              broken.delete("settle") ? Effect.die(new Error("a defect")) : store.settle(...settling)
          }),
          DeliverySettings.layer(seldom)
        )
      )
    )
  })

  it.effect("sends released deliveries whose release was lost, although the store then failed", () => {
    const ends = [Effect.fail(lostAnswer("DeliveryStore.settle")), refused]
    return Effect.gen(function* () {
      const world = yield* World
      yield* Ref.set(world.answer, () => timeout)
      yield* enqueueMany(20)
      yield* pass(1_000)
      yield* Ref.set(world.answer, () => answer(200))
      const [delivery] = yield* (yield* DeliveryStore).list({ limit: 1 })
      if (delivery === undefined) return assert.fail("no delivery")
      yield* (yield* Dispatcher).forget(delivery.integration_id)
      yield* pass(60_000)
      assert.lengthOf(ends, 0)
      const { states } = yield* (yield* DeliveryStore).summary(yield* Clock.currentTimeMillis)
      assert.deepInclude(states, { pending: 0, delivering: 0, delivered: 20 })
    }).pipe(
      runOn(
        over((store) => ({
          settle: (outcomes, ...rest) =>
            Effect.suspend(() =>
              outcomes.settlements.length === 0
                ? (ends.shift() ?? store.settle(outcomes, ...rest))
                : store.settle(outcomes, ...rest)
            )
        }))
      )
    )
  })

  it.effect("continues to send after a settlement that first failed and then ended in a defect", () => {
    const ends = [refused, Effect.die(new Error("a defect"))]
    return Effect.gen(function* () {
      yield* enqueueOne
      yield* pass(60_000)
      assert.strictEqual((yield* only).state, "delivered")
      assert.strictEqual((yield* (yield* Dispatcher).status).store_failure, null)
    }).pipe(
      runOn(
        over((store) => ({ settle: (...settling) => Effect.suspend(() => ends.shift() ?? store.settle(...settling)) }))
      )
    )
  })

  it.effect("counts exactly the deliveries whose end was recorded", () => {
    const ended = Metric.value(
      Metric.counter("doorhook_deliveries_ended_total", {
        description:
          "Deliveries that ended in this process, after an attempt or when one was due, by state. doorhook_deliveries also counts skipped deliveries and those cancelled by a change to their integration",
        attributes: { resource_type: "access_log", state: "delivered" }
      })
    )
    let isLapsed = false
    return Effect.gen(function* () {
      const before = (yield* ended).count
      yield* enqueueOne
      yield* pass(60_000)
      assert.lengthOf((yield* World).sent, 2, "the first outcome came too late")
      assert.strictEqual((yield* ended).count - before, 1)
    }).pipe(
      runOn(
        over((store) => ({
          settle: (outcomes, ...rest) => {
            const settling = store.settle(outcomes, ...rest)
            if (isLapsed) return settling
            isLapsed = true
            // Imitates another worker whose clock is ahead: its heartbeat has ended this worker's membership.
            return Effect.andThen(store.heartbeat({ worker: outcomes.worker, now: 0, until: null }), settling)
          }
        }))
      )
    )
  })

  it.effect("records the batches after one that ended in a defect", () => {
    const sizes: Array<number> = []
    return Effect.gen(function* () {
      yield* enqueueMany(400)
      yield* pass(2_000)
      const [broken = 0] = sizes
      const { states } = yield* (yield* DeliveryStore).summary(yield* Clock.currentTimeMillis)
      assert.isAbove(400, broken, "there are others")
      assert.deepInclude(states, { delivered: 400 - broken, delivering: broken })
      assert.strictEqual((yield* (yield* Dispatcher).status).unsettled, 0)
    }).pipe(
      runOn(
        over((store) => ({
          settle: (...settling) =>
            sizes.push(settling[0].settlements.length) === 1
              ? Effect.die(new Error("a defect"))
              : store.settle(...settling)
        }))
      )
    )
  })

  /** Records what a dispatcher does during an outage: the number of claims and releases, and the logged lines. */
  const watched = (settings: Parameters<typeof DeliverySettings.layer>[0] = {}) => {
    const seen = { claims: 0, releases: 0, lines: Array<string>() }
    const layer = over(
      (store) => ({
        claim: (request) =>
          Effect.tap(store.claim(request), () => Effect.sync(() => (seen.claims += Math.min(1, request.limit)))),
        settle: (outcomes, ...rest) =>
          Effect.tap(store.settle(outcomes, ...rest), () =>
            Effect.sync(() => (seen.releases += Math.min(1, outcomes.releases.length)))
          )
      }),
      DeliverySettings.layer(settings)
    )
    const logger = Logger.layer([Logger.make(({ message }) => void seen.lines.push(String(message)))])
    return { seen, layer: Layer.provideMerge(layer, logger) }
  }

  it.effect("logs once at the start when the deliveries of crashed workers are sent again", () => {
    const lines: Array<string> = []
    const logger = Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])
    const others = over((store) => ({
      heartbeat: (beat) => Effect.map(store.heartbeat(beat), (answer) => ({ ...answer, workers: 2 }))
    }))
    return pass(60_000).pipe(
      Effect.andThen(
        Effect.sync(() => {
          assert.deepStrictEqual(lines, [
            "The database lists 1 other worker. If a worker crashed, its deliveries are sent again within 25s."
          ])
        })
      ),
      Effect.provide(Layer.provideMerge(others, logger))
    )
  })

  it.effect("makes all deliveries wait while the directory fails, and logs the start and the end", () => {
    const { layer, seen } = watched(seldom)
    return Effect.gen(function* () {
      const { mayAccess, sent } = yield* World
      yield* Ref.set(mayAccess, "unknown")
      yield* enqueueMany(1_000)
      yield* pass(16_000)
      assert.strictEqual(sent.length, 0)
      // One claim at the start and three for the trials, one every 5 s. The deliveries of a claim are released in one
      // transaction.
      assert.strictEqual(seen.claims, 4)
      assert.strictEqual(seen.releases, 4)
      const { status } = yield* Dispatcher
      assert.deepStrictEqual((yield* status).outage, { cause: "directory", since: 0 })
      assert.lengthOf(seen.lines, 1)
      assert.match(
        seen.lines[0] ?? "",
        /^All deliveries wait\. One is tried every 5 s .* The directory did not answer `administers`\. .* It said: users db: ECONNREFUSED$/
      )
      yield* Ref.set(mayAccess, true)
      yield* pass(8_000)
      assert.strictEqual(sent.length, 1_000)
      assert.isNull((yield* status).outage)
      assert.lengthOf(seen.lines, 2)
      assert.match(seen.lines[1] ?? "", /^The directory answers again after \d+ s\. \d+ deliveries wait\./)
    }).pipe(runOn(layer))
  })

  it.effect(
    "leases nothing under a new name before its first heartbeat, even if its claim is answered first after an outage",
    () => {
      const members = new Set<string>()
      const strangers: Array<string> = []
      const until = { claims: 0, heartbeats: 0 }
      const refusedUntil = (time: number) =>
        Effect.flatMap(Clock.currentTimeMillis, (at) => (at < time ? refused : Effect.void))
      return Effect.gen(function* () {
        yield* pass(1_000)
        Object.assign(until, { claims: 30_000, heartbeats: 40_000 })
        yield* enqueueOne
        yield* pass(38_000)
        assert.lengthOf((yield* World).sent, 0)
        assert.lengthOf(members, 1)
        yield* pass(20_000)
        assert.lengthOf(members, 2, "it goes on under another name")
        assert.deepStrictEqual(strangers, [])
        assert.strictEqual((yield* only).state, "delivered")
        assert.lengthOf((yield* World).sent, 1)
      }).pipe(
        runOn(
          over((store) => ({
            claim: (request) => {
              if (!members.has(request.worker)) strangers.push(request.worker)
              return Effect.andThen(refusedUntil(until.claims), store.claim(request))
            },
            heartbeat: (beat) =>
              refusedUntil(until.heartbeats).pipe(
                Effect.andThen(store.heartbeat(beat)),
                Effect.tap(() => Effect.sync(() => members.add(beat.worker)))
              )
          }))
        )
      )
    }
  )

  it.effect("follows signals after its clock was set back, without waiting for the earlier time", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(3_600_000)
      yield* pass(2_000)
      yield* TestClock.setTime(1_000)
      yield* enqueueOne
      yield* (yield* WakeSignal).signal
      yield* pass(1_000)
      assert.strictEqual((yield* only).state, "delivered")
    }).pipe(
      runOn(
        over(() => ({})),
        4_000_000
      )
    )
  )

  it.effect("keeps an integration's rate limit after the clock was set back", () => {
    let lead = 3_600_000
    const dispatcher = Layer.provide(
      dispatcherOver(() => ({})),
      shiftedClock(() => lead)
    )
    return Effect.gen(function* () {
      const { sent } = yield* World
      yield* enqueueMany(10, { overrides: { requests_per_second: 1 } })
      yield* pass(3_000)
      lead = 0
      const before = sent.length
      yield* pass(10_000)
      assert.lengthOf(sent, 10)
      const after = sent.slice(before).map(({ at }) => at)
      for (const [index, at] of after.entries()) if (index > 0) assert.isAtLeast(at - (after[index - 1] ?? 0), 950)
    }).pipe(runOn(Layer.provideMerge(dispatcher, services()), 60_000))
  })

  for (const [how, end] of [
    ["whose answer was lost", Effect.fail(lostAnswer("DeliveryStore.enqueue"))],
    ["that ended in a defect", Effect.die(new Error("a defect"))]
  ] as const)
    it.effect(`sends the deliveries of a publication ${how}, but only after the loss is known`, () =>
      Effect.gen(function* () {
        const { sent } = yield* World
        const { id } = yield* (yield* IntegrationStore).create(newIntegration())
        const lost = yield* Latch.make(false)
        const stored = yield* Latch.make(false)
        const losing = Layer.effect(
          DeliveryStore,
          Effect.map(DeliveryStore, (store) => ({
            ...store,
            enqueue: (records) =>
              store.enqueue(records).pipe(
                Effect.tap(() => Effect.andThen(stored.open, lost.await)),
                Effect.andThen(end)
              )
          }))
        )
        const publishing = yield* Publisher.use(({ publish }) => Effect.exit(publish([newEvent()]))).pipe(
          Effect.provide(Publisher.layer.pipe(Layer.provide(losing), Layer.fresh)),
          Effect.forkChild
        )
        yield* stored.await
        yield* pass(11_000)
        assert.lengthOf(sent, 0)
        assert.deepInclude(yield* only, { state: "delivering", integration_id: id }, "leased to the publishing worker")
        yield* lost.open
        assert.strictEqual((yield* Fiber.join(publishing))._tag, "Failure")
        yield* pass(1_000)
        assert.strictEqual((yield* only).state, "delivered")
        assert.lengthOf(sent, 1)
      }).pipe(runOn(over(() => ({}), DeliverySettings.layer(seldom))))
    )

  it.effect("reports a directory that is too slow for the lease", () => {
    const { layer, seen } = watched({ lease: 10_100 })
    return Effect.gen(function* () {
      const { mayAccess, sent } = yield* World
      yield* Ref.set(mayAccess, "late")
      yield* enqueueOne
      yield* pass(8_000)
      assert.strictEqual(sent.length, 0)
      assert.isAtMost(seen.claims, 6)
      assert.match(seen.lines[0] ?? "", /^All deliveries wait.* It said: no answer within 50 ms \(limited by the lease/)
      yield* Ref.set(mayAccess, true)
      yield* pass(6_000)
      assert.deepInclude(yield* only, { state: "delivered", attempts: 1 })
    }).pipe(runOn(layer))
  })

  const anna = UserId.make("anna")
  const bert = UserId.make("bert")
  const urlOf = (nth: number): string => `https://${nth}.receiver.example/`

  /** Creates an integration with its own URL for each of these users, in this order. */
  const integrationsOf = Effect.fnUntraced(function* (users: ReadonlyArray<UserId>) {
    const store = yield* IntegrationStore
    const client_id = ClientId.make("c1")
    const { configuration } = makeIntegration()
    return yield* Effect.forEach(users, (user_id, nth) =>
      store.create(
        newIntegration({
          created_by: { user_id, client_id },
          configuration: { ...configuration, url: urlOf(nth) },
          bindings: [{ resource_type: "call", actions: ["create"] }]
        })
      )
    )
  })

  let events = 0
  /** Stores a new event with a delivery to each of the integrations. */
  const enqueueOf = Effect.fnUntraced(function* (
    resource_type: "call" | "access_log",
    integrations: ReadonlyArray<Integration>,
    initial: NewDelivery["initial"] = { state: "pending" }
  ) {
    const created_at = yield* Clock.currentTimeMillis
    const record = recordOf(events++, integrations, { created_at, initial, resource_type })
    const stored = yield* (yield* DeliveryStore).enqueue([record])
    yield* (yield* WakeSignal).signal
    return { event: record.event, ids: stored.flat().map(({ id }) => id) } as const
  })
  const enqueueCalls = (integrations: ReadonlyArray<Integration>) => enqueueOf("call", integrations)

  for (const [how, silence] of [
    ["fails", "unknown"],
    ["hangs", "silent"]
  ] as const)
    for (const count of [1, 5])
      it.effect(`delays no other user if the directory ${how} for the user of the first ${count} integrations`, () => {
        const { layer, seen } = watched()
        return Effect.gen(function* () {
          const { about, mayAccess, sent } = yield* World
          const all = yield* integrationsOf([...Array<UserId>(count).fill(anna), bert, bert])
          about.set(anna, silence)
          // After a complete outage, the deliveries of all users are due at the same time.
          yield* Ref.set(mayAccess, "unknown")
          yield* enqueueCalls(all)
          yield* pass(1_000)
          yield* Ref.set(mayAccess, true)
          yield* pass(6_000)
          assert.deepStrictEqual(
            sent.map(({ url }) => url),
            [urlOf(count), urlOf(count + 1)]
          )
          assert.isNull((yield* (yield* Dispatcher).status).outage)
          for (let again = 0; again < 4; again++) {
            // Long enough for the directory's answers about the other users to expire.
            yield* pass(7_300)
            sent.length = 0
            yield* enqueueCalls(all)
            yield* pass(1_000)
            assert.deepStrictEqual(
              sent.map(({ url }) => url),
              [urlOf(count), urlOf(count + 1)]
            )
          }
          assert.isAtMost(seen.lines.length, 3)
          about.clear()
          sent.length = 0
          yield* pass(11_000)
          assert.isAtLeast(sent.length, count * 4)
        }).pipe(runOn(layer))
      })

  it.effect("tries users who have not failed, whatever is published during a claim", () => {
    let publication = Effect.void
    return Effect.gen(function* () {
      const { about, sent } = yield* World
      const all = yield* integrationsOf([anna, UserId.make("carl"), UserId.make("dora"), UserId.make("emil"), bert])
      const failing = all.slice(0, 4)
      for (const { created_by } of failing) about.set(created_by.user_id, "unknown")
      yield* enqueueCalls(failing)
      yield* pass(1_000)
      const { handOver, status } = yield* Dispatcher
      assert.isNotNull((yield* status).outage)
      // Publishes an event that matches no integration.
      publication = Effect.sync(() => handOver().stored([], false, []))
      yield* enqueueOf("access_log", all.slice(4))
      for (let pauses = 0; pauses < 2; pauses++) {
        // Calls are sent before access logs. Three calls use up all trials until the next pause.
        yield* enqueueCalls(failing.slice(0, 3))
        yield* pass(5_500)
      }
      assert.lengthOf(sent, 1)
      assert.isNull((yield* status).outage)
    }).pipe(
      runOn(
        over((store) => ({
          claim: (request) =>
            Effect.andThen(
              Effect.suspend(() => publication),
              store.claim(request)
            )
        }))
      )
    )
  })

  for (const [how, silence, begun] of [
    ["fails", "unknown", 1_000],
    ["hangs", "silent", 11_000]
  ] as const)
    it.effect(`leaves new deliveries in the store if the directory ${how} for their only owner`, () => {
      const { layer, seen } = watched()
      return Effect.gen(function* () {
        const { mayAccess, sent } = yield* World
        const { publish } = yield* Publisher
        yield* integrationsOf([anna])
        const call = newEvent({ resource_type: "call" })
        yield* Ref.set(mayAccess, silence)
        yield* publish([call])
        yield* pass(begun)
        assert.isNotNull((yield* (yield* Dispatcher).status).outage)
        const { releases } = seen
        for (let calls = 0; calls < 20; calls++) {
          yield* publish([call])
          yield* pass(100)
        }
        assert.strictEqual(seen.releases, releases)
        const all = yield* (yield* DeliveryStore).list({ limit: 100 })
        const later = all.filter(({ created_at }) => created_at >= begun)
        assert.lengthOf(later, 20)
        for (const { created_at, next_attempt_at, state } of later)
          assert.deepStrictEqual({ state, next_attempt_at }, { state: "pending", next_attempt_at: created_at })
        yield* Ref.set(mayAccess, true)
        yield* pass(11_000)
        assert.lengthOf(sent, 21)
      }).pipe(runOn(Layer.provideMerge(Publisher.layer, layer)))
    })

  it.effect("releases waiting deliveries before it closes", () =>
    Effect.gen(function* () {
      const { mayAccess } = yield* World
      const store = yield* DeliveryStore
      const all = yield* integrationsOf([anna])
      yield* Ref.set(mayAccess, "unknown")
      yield* Effect.gen(function* () {
        const { handOver, status } = yield* Dispatcher
        yield* settleDown
        // The handover begins before the outage, and its deliveries are stored after the outage began.
        const handover = handOver()
        const { worker } = handover
        for (const integration of all) assert.isTrue(handover.keep(integration, 2, 8))
        yield* enqueueCalls(all)
        yield* pass(1_000)
        assert.isNotNull((yield* status).outage)
        const { event, ids } = yield* enqueueOf("access_log", all, { state: "delivering", worker })
        const first = { lane: 2, attempts: 0, early: 0, early_due_at: null, resend: false } as const
        handover.stored(
          ids.flatMap((id) => all.map((integration) => ({ id, ...first, event, integration }))),
          false,
          []
        )
      }).pipe(runOn(Dispatcher.layer))
      const { states } = yield* store.summary(yield* Clock.currentTimeMillis)
      assert.deepInclude(states, { pending: 2, delivering: 0 })
    }).pipe(Effect.provide(services()))
  )

  it.effect("releases the deliveries of a slow receiver before it closes, however slow the store is", () =>
    Effect.gen(function* () {
      const store = yield* DeliveryStore
      const late = Effect.map(Effect.delay(answer(200), 2_000), (result) => ({ ...result, elapsed: 2_000 }))
      yield* Ref.set((yield* World).answer, (_, nth) => (nth <= 8 ? late : answer(200)))
      let releases = 0
      yield* Effect.andThen(enqueueMany(100), pass(2_250)).pipe(
        runOn(
          dispatcherOver((changed) => ({
            settle: (outcomes, ...rest) =>
              Effect.delay(
                changed.settle(outcomes, ...rest),
                outcomes.releases.length > 0 && releases++ === 0 ? 3_000 : 0
              )
          }))
        )
      )
      assert.isAbove(releases, 0)
      const { states } = yield* store.summary(yield* Clock.currentTimeMillis)
      assert.strictEqual(states.delivering, 0)
      assert.isAbove(states.pending, 50)
    }).pipe(Effect.provide(services()))
  )

  it.effect("finishes an attempt before it closes, however slow the directory was before the attempt", () =>
    Effect.gen(function* () {
      const { answer: answers, mayAccess, sent } = yield* World
      const store = yield* DeliveryStore
      yield* Ref.set(mayAccess, 12_000)
      yield* Ref.set(answers, () => Effect.delay(answer(200), 19_000))
      yield* Effect.andThen(enqueueOne, pass(1_000)).pipe(runOn(Dispatcher.layer, 60_000))
      assert.lengthOf(sent, 1)
      assert.strictEqual((yield* store.summary(yield* Clock.currentTimeMillis)).states.delivered, 1)
    }).pipe(Effect.provide(services(DeliverySettings.layer({ ackTimeout: 20_000 }))))
  )

  it.effect("lets old events expire during an outage of the directory", () => {
    const { layer, seen } = watched()
    return Effect.gen(function* () {
      const { mayAccess, sent } = yield* World
      yield* Ref.set(mayAccess, "unknown")
      yield* enqueueMany(400, { resource_type: "call", bindings: [{ resource_type: "call", actions: ["create"] }] })
      yield* pass(1_000)
      yield* TestClock.adjust("3 minutes")
      yield* pass(6_000)
      const { states } = yield* (yield* DeliveryStore).summary(yield* Clock.currentTimeMillis)
      assert.deepInclude(states, { expired: 400, pending: 0, delivering: 0 })
      assert.strictEqual(sent.length, 0)
      assert.lengthOf(seen.lines, 1)
    }).pipe(runOn(layer))
  })

  it.effect("treats failures of outbound connections and of the directory as different outages", () => {
    const { layer, seen } = watched()
    return Effect.gen(function* () {
      const { answer: answering, mayAccess, sent } = yield* World
      yield* Ref.set(answering, () => Effect.fail(new TransportUnavailable({ message: "the proxy is away" })))
      yield* Ref.set(mayAccess, "unknown")
      yield* enqueueMany(300)
      yield* pass(1_000)
      yield* Ref.set(mayAccess, true)
      yield* pass(6_000)
      assert.strictEqual(seen.lines.filter((line) => line.startsWith("All deliveries wait.")).length, 2)
      assert.isTrue(seen.lines.some((line) => line.startsWith("The directory answers again")))
      assert.isAtMost(sent.length, 6)
      yield* Ref.set(answering, () => answer(200))
      yield* pass(7_000)
      assert.isTrue(seen.lines.some((line) => line.startsWith("Outbound connections work again")))
      const { states } = yield* (yield* DeliveryStore).summary(yield* Clock.currentTimeMillis)
      assert.strictEqual(states.delivered, 300)
      assert.lengthOf(seen.lines, 4)
    }).pipe(runOn(layer))
  })

  it.effect("claims released deliveries again immediately, however slow the store is", () => {
    const changed = Latch.makeUnsafe(false)
    let told = false
    // Reports a change of unknown extent, as after a broken connection.
    const wake = Layer.succeed(WakeSignal, {
      signal: Effect.void,
      wait: Effect.never,
      changes: Effect.andThen(
        changed.await,
        Effect.suspend(() =>
          told
            ? Effect.never
            : Effect.as(
                Effect.sync(() => (told = true)),
                null
              )
        )
      )
    })
    return Effect.gen(function* () {
      const { answer: answering, sent } = yield* World
      yield* Ref.set(answering, () => Effect.andThen(Effect.sleep(2_000), answer(200)))
      yield* enqueueMany(15)
      yield* changed.open
      yield* pass(6_000)
      assert.strictEqual(sent.length, 15)
    }).pipe(
      runOn(
        over(
          (store) => ({
            settle: (outcomes, ...rest) =>
              Effect.delay(store.settle(outcomes, ...rest), outcomes.releases.length > 0 ? 1_000 : 0)
          }),
          DeliverySettings.layer({ pollInterval: 30_000 }),
          wake
        )
      )
    )
  })

  it.effect("stops sending and claiming before too many outcomes wait, while nothing can be recorded", () => {
    let refusing = true
    let claims = 0
    const refusal = Effect.fail(new StoreError({ operation: "DeliveryStore.settle", cause: new Error("read-only") }))
    const concurrency = 2
    return Effect.gen(function* () {
      const { sent } = yield* World
      yield* enqueueMany(100)
      yield* pass(1_500)
      const before = [claims, sent.length]
      yield* pass(8_000)
      assert.deepEqual([claims, sent.length], before)
      assert.isBelow(sent.length, 40)
      refusing = false
      yield* pass(5_000)
      const { states } = yield* (yield* DeliveryStore).summary(0)
      assert.deepEqual([states.delivered, sent.length], [100, 100])
    }).pipe(
      runOn(
        over(
          (store) => ({
            claim: (request) => Effect.tap(store.claim(request), () => Effect.sync(() => claims++)),
            settle: (...settling) => Effect.suspend(() => (refusing ? refusal : store.settle(...settling)))
          }),
          DeliverySettings.layer({ concurrency })
        )
      )
    )
  })

  /** Counts the deliveries of an integration that are delivered. */
  const deliveredTo = (integration_id: IntegrationId) =>
    Effect.map(
      DeliveryStore.use((store) => store.list({ integration_id, states: ["delivered"], limit: 1_000 })),
      ({ length }) => length
    )

  /** Enqueues events for two integrations of different buildings. Returns their ids. */
  const enqueueForTwo = Effect.fnUntraced(function* (count: number) {
    const integrations = yield* IntegrationStore
    const made = [yield* integrations.create(newIntegration()), yield* integrations.create(newIntegration())] as const
    const records = Array.from({ length: count }, (_, n) => recordOf(n, made))
    yield* (yield* DeliveryStore).enqueue(records)
    return [made[0].id, made[1].id] as const
  })

  it.effect("an outcome that the store always refuses delays no other, neither its sending nor its recording", () => {
    let refusedId: DeliveryId | undefined
    return Effect.gen(function* () {
      const { sent } = yield* World
      const [one, other] = yield* enqueueForTwo(30)
      yield* pass(60_000)
      assert.strictEqual(sent.length, 60)
      assert.deepEqual([yield* deliveredTo(one), yield* deliveredTo(other)], [29, 30])
      assert.strictEqual((yield* Dispatcher.use(({ status }) => status)).unsettled, 1)
    }).pipe(
      runOn(
        over((store) => ({
          settle: (outcomes, ...rest) => {
            refusedId ??= outcomes.settlements[0]?.delivery_id
            return outcomes.settlements.some(({ delivery_id }) => delivery_id === refusedId)
              ? refused
              : store.settle(outcomes, ...rest)
          }
        }))
      )
    )
  })

  it.effect(
    "outcomes that another transaction holds are repeated, and the others are recorded and sent meanwhile",
    () => {
      let held: IntegrationId | null = null
      let repeats = 0
      return Effect.gen(function* () {
        const { sent } = yield* World
        const [one, other] = yield* enqueueForTwo(200)
        held = one
        yield* pass(10_000)
        assert.strictEqual(yield* deliveredTo(other), 200)
        assert.strictEqual(yield* deliveredTo(one), 0)
        const { unsettled } = yield* Dispatcher.use(({ status }) => status)
        assert.isAtLeast(unsettled, 1)
        assert.isAtMost(unsettled, 100, "one integration does not fill the memory")
        assert.isAbove(repeats, 5)
        assert.isBelow(repeats, 500)
        held = null
        yield* pass(10_000)
        assert.deepEqual([yield* deliveredTo(one), sent.length], [200, 400])
        assert.strictEqual((yield* Dispatcher.use(({ status }) => status)).unsettled, 0)
      }).pipe(
        runOn(
          over((store) => ({
            settle: (outcomes, ...rest) => {
              const isHeld = ({ integration_id }: Settlement) => integration_id === held
              const postponed = new Set(outcomes.settlements.filter(isHeld).map(({ delivery_id }) => delivery_id))
              if (postponed.size > 0) repeats++
              const settlements = outcomes.settlements.filter((each) => !isHeld(each))
              return Effect.map(store.settle({ ...outcomes, settlements }, ...rest), (settled) => ({
                ...settled,
                postponed
              }))
            }
          }))
        )
      )
    }
  )

  describe("catching up after an outage of a receiver", () => {
    const hour = 3_600_000
    /** After two quick retries, all failing deliveries wait for an hour. */
    const delays = [5_000, 30_000, hour, hour, hour]
    const settings = { retry: { ...defaultDeliverySettings.retry, access_log: { delays, lifetime: null } } }
    const waitingRetries = 60

    /** Returns the event ids of the sent requests, grouped by sending time. */
    const roundsOf = (sent: ReadonlyArray<Sent>): ReadonlyArray<ReadonlyArray<string>> => {
      const rounds = new Map<number, Array<string>>()
      for (const { at, headers } of sent) rounds.set(at, [...(rounds.get(at) ?? []), headers["webhook-id"] ?? ""])
      return [...rounds.values()]
    }

    /**
     * Simulates a receiver that fails until 60 retries wait for an hour, and then acknowledges a new event. `during`
     * answers requests before the recovery, `early` requests after it.
     */
    const outage = Effect.fnUntraced(function* ({
      early = () => answer(200),
      during = () => answer(500),
      lasts = 120_000
    }: {
      readonly early?: Answer
      readonly during?: Answer
      readonly lasts?: number
    } = {}) {
      let isUp = false
      const { integration, publisher, store, world } = yield* setup((sent, nth) =>
        isUp ? Effect.delay(early(sent, nth), 100) : during(sent, nth)
      )
      const published = yield* publisher.publish(Array.from({ length: waitingRetries }, () => newEvent()))
      yield* pass(lasts)
      const retries = yield* store.list({ limit: 100, states: ["retrying"] })
      assert.lengthOf(retries, waitingRetries)
      world.sent.length = 0
      isUp = true
      yield* publisher.publish([newEvent()])
      const states = Effect.map(store.summary(0), (summary) => summary.states)
      return { integration, publisher, retries, published: published.map(({ id }) => id), states, store, world }
    })

    const during = (
      name: string,
      body: Effect.Effect<void, unknown, Engine>,
      overrides: Parameters<typeof DeliverySettings.layer>[0] = {}
    ) => it.effect(name, () => body.pipe(runOn(engineWith({ ...settings, ...overrides }))))

    during(
      "sends waiting retries early, oldest first, in rounds of one, two, four, and then as many as it has places",
      Effect.gen(function* () {
        const { integration, published, states, world } = yield* outage()
        const { status } = yield* Dispatcher
        yield* pass(250)
        assert.deepStrictEqual((yield* status).catching_up, [{ integration_id: integration.id, since: 120_125 }])
        yield* pass(10_000)
        assert.deepInclude(yield* states, { delivered: waitingRetries + 1, retrying: 0 })
        const [fresh, ...rounds] = roundsOf(world.sent)
        assert.lengthOf(fresh ?? [], 1)
        assert.deepStrictEqual(rounds.flat(), published)
        const sizes = rounds.map(({ length }) => length)
        assert.deepStrictEqual(sizes.slice(0, 4), [1, 2, 4, 8])
        assert.isAtMost(Math.max(...sizes), 10)
        assert.deepStrictEqual((yield* status).catching_up, [])
      })
    )

    during(
      "stops at the first failure: all other retries keep their times, and so does the failed one",
      Effect.gen(function* () {
        const ids: Array<string> = []
        const { published, retries, store, world } = yield* outage({
          early: ({ headers }) => answer(ids.indexOf(headers["webhook-id"] ?? "") === 3 ? 500 : 200)
        })
        ids.push(...published)
        yield* pass(60_000)
        assert.lengthOf(world.sent, 1 + 1 + 2 + 4, "nothing after the round in which it failed")
        const left = yield* store.list({ limit: 100, states: ["retrying"] })
        assert.lengthOf(left, waitingRetries - 6)
        const dueAt = new Map(retries.map(({ id, next_attempt_at }) => [id, next_attempt_at]))
        for (const { id, next_attempt_at } of left) assert.strictEqual(next_attempt_at, dueAt.get(id))
        assert.strictEqual(left[0]?.event_id, published[3])
        assert.strictEqual(left[0]?.attempts, 4)
        assert.strictEqual(left[1]?.attempts, 3)
      })
    )

    during(
      "does not use up the schedule of a delivery that fails early",
      Effect.gen(function* () {
        const { retries, store, world } = yield* outage({
          early: ({ headers }) => answer(headers["doorhook-attempt"] === "1" ? 200 : 500)
        })
        yield* pass(1_000)
        assert.lengthOf(world.sent, 2)
        yield* TestClock.adjust(5 * hour)
        yield* settleDown
        for (const { id } of retries) {
          const found = yield* store.find(id)
          assert.strictEqual(found?.delivery.state, "exhausted")
          assert.lengthOf(found?.attempts ?? [], 1 + delays.length + (id === retries[0]?.id ? 1 : 0))
        }
      })
    )

    during(
      "waits until the end of the receiver's `Retry-After`",
      Effect.gen(function* () {
        const { states, world } = yield* outage({ during: (_, nth) => answer(503, nth === 1 ? "300" : null) })
        yield* pass(178_000)
        assert.lengthOf(world.sent, 1)
        yield* pass(12_000)
        assert.deepInclude(yield* states, { delivered: waitingRetries + 1 })
      })
    )

    const slow = Effect.map(Effect.delay(answer(200), 1_200), (result) => ({ ...result, elapsed: 1_200 }))
    during(
      "continues in spite of slow attempts",
      Effect.gen(function* () {
        const { states } = yield* outage({ early: (_, nth) => (nth > 1 + 31 ? slow : answer(200)) })
        yield* pass(20_000)
        assert.deepInclude(yield* states, { delivered: waitingRetries + 1, retrying: 0 })
        assert.deepStrictEqual((yield* (yield* Dispatcher).status).catching_up, [])
      })
    )

    during(
      "continues with a single retry after a failure of the directory",
      Effect.gen(function* () {
        const { states, world } = yield* outage({ early: () => Effect.delay(answer(200), 1_000) })
        while (world.sent.length < 1 + 1 + 2 + 4 + 8 + 8) yield* pass(100)
        yield* Ref.set(world.mayAccess, "unknown")
        yield* pass(6_000)
        yield* Ref.set(world.mayAccess, true)
        const before = world.sent.length
        yield* pass(20_000)
        assert.lengthOf(roundsOf(world.sent.slice(before))[0] ?? [], 1)
        assert.deepInclude(yield* states, { delivered: waitingRetries + 1, retrying: 0 })
      })
    )

    during(
      "continues after the worker's membership has lapsed",
      Effect.gen(function* () {
        const { states, store, world } = yield* outage({ early: () => Effect.delay(answer(200), 1_000) })
        while (world.sent.length < 1 + 1 + 2 + 4 + 8 + 8) yield* pass(100)
        const handover = (yield* Dispatcher).handOver()
        handover.failed("not_stored", null)
        const now = yield* Clock.currentTimeMillis
        yield* store.heartbeat({ worker: handover.worker, now, until: null })
        yield* pass(60_000)
        assert.deepInclude(yield* states, { delivered: waitingRetries + 1, retrying: 0 })
      })
    )

    during(
      "does not happen if `catchUp` is off",
      Effect.gen(function* () {
        const { states, world } = yield* outage()
        yield* pass(60_000)
        assert.lengthOf(world.sent, 1)
        assert.deepStrictEqual((yield* (yield* Dispatcher).status).catching_up, [])
        yield* TestClock.adjust(2 * hour)
        yield* settleDown
        assert.deepInclude(yield* states, { delivered: waitingRetries + 1 })
      }),
      { catchUp: false }
    )

    during(
      "does not happen after failures of less than a minute",
      Effect.gen(function* () {
        const { world } = yield* outage({ lasts: 55_000 })
        yield* pass(60_000)
        assert.lengthOf(world.sent, 1)
        assert.deepStrictEqual((yield* (yield* Dispatcher).status).catching_up, [])
      })
    )

    during(
      "ends when the integration is changed, and held retries keep their times",
      Effect.gen(function* () {
        const { integration, retries, store, world } = yield* outage({ early: () => Effect.delay(answer(200), 1_000) })
        // The round of 16 is in progress: half of its deliveries wait for free slots.
        while (world.sent.length < 1 + 1 + 2 + 4 + 8 + 8) yield* pass(100)
        const { forget, status } = yield* Dispatcher
        assert.isAbove((yield* status).buffered, 0)
        yield* forget(integration.id)
        yield* pass(30_000)
        assert.lengthOf(world.sent, 1 + 1 + 2 + 4 + 8 + 8)
        const left = yield* store.list({ limit: 100, states: ["retrying"] })
        assert.lengthOf(left, waitingRetries - 23)
        const dueAt = new Map(retries.map(({ id, next_attempt_at }) => [id, next_attempt_at]))
        for (const { id, next_attempt_at } of left) assert.strictEqual(next_attempt_at, dueAt.get(id))
      })
    )
  })

  describe("a worker's membership", () => {
    /** Maximum duration of an attempt and its recording, in milliseconds. */
    const attempt = defaultDeliverySettings.ackTimeout + settleBudget

    it.effect("sends nothing that might not be recorded while heartbeats fail, and everything afterwards", () => {
      let isRefusing = false
      let lastBeat = 0
      return Effect.gen(function* () {
        const { publish } = yield* Publisher
        const { sent } = yield* World
        yield* (yield* IntegrationStore).create(newIntegration())
        yield* pass(7_000)
        isRefusing = true
        for (let n = 0; n < 60; n++) {
          yield* publish([newEvent()])
          yield* pass(1_000)
        }
        const { status } = yield* Dispatcher
        assert.isNotNull((yield* status).store_failure)
        assert.isAbove(sent.length, 0)
        const end = lastBeat + defaultDeliverySettings.lease - attempt
        for (const { at } of sent) assert.isAtMost(at, end)
        isRefusing = false
        yield* pass(6_000)
        assert.strictEqual((yield* (yield* DeliveryStore).summary(0)).states.delivered, 60)
        assert.lengthOf(sent, 60, "each once")
        assert.isNull((yield* status).store_failure)
      }).pipe(
        runOn(
          Layer.provideMerge(
            Publisher.layer,
            over((store) => ({
              heartbeat: (beat) =>
                Effect.suspend(() => {
                  if (isRefusing)
                    return Effect.fail(
                      new StoreError({ operation: "DeliveryStore.heartbeat", cause: new Error("locked") })
                    )
                  lastBeat = beat.now
                  return store.heartbeat(beat)
                })
            }))
          ),
          60_000
        )
      )
    })

    it.effect("sends nothing under leases that ended while the process was suspended", () => {
      let lead = 0
      const dispatcher = Layer.provide(
        dispatcherOver(() => ({})),
        shiftedClock(() => lead)
      )
      return Effect.gen(function* () {
        const { answer: answers, sent } = yield* World
        const store = yield* DeliveryStore
        const answered = yield* Latch.make(false)
        yield* Ref.set(answers, () => Effect.andThen(answered.await, answer(200)))
        yield* enqueueMany(30)
        yield* pass(1_500)
        assert.lengthOf(sent, 8, "the others wait for a place")
        lead = 60_000
        // Another worker takes over all deliveries.
        const now = (yield* Clock.currentTimeMillis) + lead
        yield* store.heartbeat({ worker: "another", now, until: now + 20_000 })
        const limit = { limit: 100, limitPerIntegration: 100, limits: new Map() }
        assert.lengthOf((yield* store.claim({ worker: "another", now, ...limit })).deliveries, 30)
        yield* answered.open
        yield* pass(10_000)
        assert.lengthOf(sent, 8)
        assert.deepInclude((yield* store.summary(now)).states, { delivered: 0, delivering: 30 })
        yield* store.heartbeat({ worker: "another", now: now + 10_000, until: null })
        yield* pass(6_000)
        assert.lengthOf(sent, 38)
        assert.deepInclude((yield* store.summary(now)).states, { delivered: 30, delivering: 0 })
      }).pipe(runOn(Layer.provideMerge(dispatcher, services()), 60_000))
    })

    it.effect("lists its deliveries to the store only when no claim is open, so that none is sent twice", () => {
      let isSlow = true
      let listings = 0
      return Effect.gen(function* () {
        const { sent } = yield* World
        yield* enqueueOne
        yield* pass(500)
        assert.isFalse(isSlow, "the claim is open")
        ;(yield* Dispatcher).handOver().failed("unknown", null)
        yield* pass(10_000)
        assert.isAbove(listings, 0)
        assert.lengthOf(sent, 1)
        assert.strictEqual((yield* only).state, "delivered")
      }).pipe(
        runOn(
          over((store) => ({
            heartbeat: (beat) => {
              if (beat.holds !== undefined) listings++
              return store.heartbeat(beat)
            },
            claim: (request) =>
              Effect.flatMap(store.claim(request), (claimed) => {
                if (!isSlow || claimed.deliveries.length === 0) return Effect.succeed(claimed)
                isSlow = false
                return Effect.delay(Effect.succeed(claimed), 3_000)
              })
          }))
        )
      )
    })

    it.effect("claims deliveries again if the answer to their claim was lost", () => {
      let isLost = false
      return Effect.gen(function* () {
        const { sent } = yield* World
        yield* enqueueMany(20)
        // Long enough even for deliveries created in the same millisecond as the next heartbeat.
        yield* pass(6_000)
        assert.isTrue(isLost)
        assert.lengthOf(sent, 20)
        assert.strictEqual((yield* (yield* DeliveryStore).summary(0)).states.delivered, 20)
      }).pipe(
        runOn(
          over(
            (store) => ({
              claim: (request) =>
                Effect.flatMap(store.claim(request), (claimed) => {
                  if (isLost || claimed.deliveries.length === 0) return Effect.succeed(claimed)
                  isLost = true
                  return Effect.fail(lostAnswer("DeliveryStore.claim"))
                })
            }),
            DeliverySettings.layer(seldom)
          )
        )
      )
    })
  })

  describe("a failing integration without further events", () => {
    /** Time after which a failing integration is disabled in these tests, in milliseconds. */
    const disableAfter = 100_000

    /**
     * Fails each of `count` integrations once, and then advances the clock. Returns the notifications, each with its
     * time as a fraction of `disableAfter`.
     */
    const heardOf = (count: number, warn?: DeliveryStore["Service"]["warn"]) => {
      const heard: Array<{ readonly kind: string; readonly share: number }> = []
      const listener = Layer.succeed(NotificationListener, ({ at, kind }: Notification) =>
        Effect.sync(() => heard.push({ kind, share: at / disableAfter }))
      )
      return Effect.gen(function* () {
        const store = yield* IntegrationStore
        const integrations = yield* Effect.forEach(Array(count).keys(), () => store.create(newIntegration()))
        // The receivers' Retry-After is longer than the test.
        yield* Ref.set((yield* World).answer, () => answer(503, "3600"))
        yield* enqueueOf("access_log", integrations)
        yield* pass(1_000)
        for (let now = 0; now < 2 * disableAfter; now += 1_000) yield* pass(1_000)
        assert.lengthOf((yield* World).sent, count)
        return heard
      }).pipe(
        runOn(
          Layer.provide(
            over(() => (warn === undefined ? {} : { warn }), DeliverySettings.layer({ disableAfter })),
            Layer.merge(listener, Layer.succeed(References.MinimumLogLevel, "None"))
          )
        )
      )
    }

    it.effect("is reported exactly three times before it can be disabled", () =>
      Effect.gen(function* () {
        const heard = yield* heardOf(1)
        assert.deepStrictEqual(
          heard.map(({ kind }) => kind),
          ["failing", "failing", "failing"]
        )
        for (const [nth, share] of warningThresholds.entries()) {
          assert.isAtLeast(heard[nth]?.share ?? 0, share)
          assert.isAtMost(heard[nth]?.share ?? 1, share + 0.03)
        }
      })
    )

    it.effect("is reported in time, even with many others", () =>
      Effect.gen(function* () {
        const heard = yield* heardOf(250)
        assert.lengthOf(heard, 750)
        assert.isAtMost(Math.max(...heard.slice(0, 250).map(({ share }) => share)), 0.53)
      })
    )

    it.effect("is checked again after a failure of the store", () => {
      let calls = 0
      const refusal = new StoreError({ operation: "DeliveryStore.warn", cause: new Error("locked") })
      return Effect.gen(function* () {
        assert.deepStrictEqual(yield* heardOf(1, () => Effect.suspend(() => (++calls, Effect.fail(refusal)))), [])
        assert.isAbove(calls, 50)
      })
    })
  })
})
