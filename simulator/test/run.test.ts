import type { ServerResponse } from "node:http"
import { LocalTime, Measurements } from "@doorhook/simulator"
import { handlingReceiver } from "@doorhook/testkit/Receiver"
import type { Received } from "@doorhook/testkit/Receiver"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Fiber, Redacted, Schema, Stream } from "effect"
import { serviceDestination } from "../src/cli/Destination.ts"
import { beginningOf, plan } from "../src/plan/Plan.ts"
import { DeliveryTracker } from "../src/run/DeliveryTracker.ts"
import { atPlannedTimes, atRate } from "../src/run/Load.ts"
import { OperatorClient, serviceTarget } from "../src/run/OperatorApi.ts"
import type { RunOptions } from "../src/run/Run.ts"
import { RunClock, run, RunStopped } from "../src/run/Run.ts"
import type { Scenario } from "../src/scenario/Scenario.ts"
import { TestClock } from "effect/testing"
import type { Client } from "./simulateCli.ts"
import { clientOf } from "./simulateCli.ts"
import { scenarioOf, startAt } from "./support.ts"

const start = startAt("2026-03-03T08:00")
const hour = LocalTime.hour
const operatorKey = Redacted.make("operator key")
const bearer = "Bearer operator key"

const Body = Schema.fromJsonString(
  Schema.Array(Schema.Struct({ data: Schema.Struct({ id: Schema.Int, logged_at: Schema.String }) }))
)

type Answering = (response: ServerResponse, request: Received, number: number) => void

const accept: Answering = (response, { body }) => {
  const events = dataIn(body).map(({ id }) => ({ id: `evt_${id}`, deliveries: 2 }))
  response.writeHead(202, { "content-type": "application/json" }).end(JSON.stringify({ events }))
}

/** Starts a service that records publish requests. `answer` can replace the usual acceptance. */
const service = Effect.fnUntraced(function* (answer: Answering = accept) {
  const received: Array<Received> = []
  const { origin: url } = yield* handlingReceiver((request, response) => {
    const { headers, method, path } = request
    if (method === "GET")
      return response.writeHead(headers.authorization === bearer ? 200 : 401).end('{"deliveries":[]}')
    const number = received.push(request)
    return path === "/operator/events" ? answer(response, request, number) : response.writeHead(404).end()
  })
  return { received, url }
})

const dataIn = (body: string) => Schema.decodeSync(Body)(body).map(({ data }) => data)

const idsIn = (received: ReadonlyArray<Pick<Received, "body">>) =>
  received.flatMap(({ body }) => dataIn(body).map(({ id }) => id))

const planOf = (scenario: Scenario, duration: number, rateScale = 1) =>
  plan(scenario, { seed: 3, start, duration, rateScale })

/** Returns the events of a plan with their times, as a run sends them. */
const arrivalsOf = (scenario: Scenario, duration: number, rateScale = 1) =>
  atPlannedTimes(planOf(scenario, duration, rateScale))

const idsOf = (scenario: Scenario, duration: number, rateScale = 1) =>
  Stream.runCollect(Stream.map(planOf(scenario, duration, rateScale), ({ data }) => data.id))

interface Overrides extends Partial<Omit<RunOptions, "clock">> {
  readonly speed?: number
}

/** Options of a run. Default: one event in each request, as fast as possible, one request after the other. */
const optionsFor = (url: string, { speed, ...overrides }: Overrides = {}, key = operatorKey): RunOptions => ({
  target: serviceTarget({ url, operatorKey: key }),
  clock: new RunClock(beginningOf(scenarioOf("office-1000"), start), speed ?? null),
  maxInFlight: speed === undefined ? 1 : 1_000,
  batch: 1,
  ...overrides
})

const office = scenarioOf("office-1000")

describe("a run against a service", () => {
  it.live("publishes every planned event once, alone or in batches of up to 1,000", () =>
    Effect.gen(function* () {
      for (const [batch, scale] of [
        [1, 1],
        [1_000, 10]
      ] as const) {
        const expected = yield* idsOf(office, hour, scale)
        assert.isAbove(expected.length, 300 * scale)
        const { received, url } = yield* service()
        const measured = new Measurements()
        yield* run(arrivalsOf(office, hour, scale), optionsFor(url, { batch }), measured)
        assert.deepStrictEqual(idsIn(received), expected)
        assert.strictEqual(received.length, Math.ceil(expected.length / batch))
        assert.isTrue(received.every(({ headers }) => headers.authorization === bearer))
        const keys = received.map(({ headers }) => headers["idempotency-key"])
        assert.strictEqual(new Set(keys).size, received.length)
        const count = expected.length
        assert.deepInclude(measured.totals, {
          planned: count,
          accepted: count,
          failed: 0,
          unanswered: 0,
          republished: 0
        })
        assert.strictEqual(measured.latency.late_start.count, 0)
      }
    })
  )

  it.live("sends what core's publish request reads: the planned event without its time", () =>
    Effect.gen(function* () {
      const { received, url } = yield* service()
      yield* run(arrivalsOf(office, hour), optionsFor(url, { batch: 1_000 }))
      const events = yield* Stream.runCollect(planOf(office, hour))
      const sent: ReadonlyArray<unknown> = received.flatMap(({ body }) => JSON.parse(body))
      assert.deepStrictEqual(
        sent,
        events.map(({ building_id, tenant_ids, resource_type, action, data }) => {
          return { resource_type, action, building_id, tenant_ids, data }
        })
      )
    })
  )

  it.live("repeats failed requests with the same key, and counts them", () =>
    Effect.gen(function* () {
      const stored = new Map<string, string>()
      const { received, url } = yield* service((response, request, number) => {
        const key = String(request.headers["idempotency-key"])
        // Request 2 gets a 503. The batch of request 4 is accepted, but the answer is lost.
        if (number === 2) return response.writeHead(503, { "retry-after": "0" }).end("busy")
        stored.set(key, request.body)
        if (number === 4) return response.destroy()
        accept(response, request, number)
      })
      const tally = new Measurements()
      yield* run(arrivalsOf(office, hour, 10), optionsFor(url, { batch: 1_000 }), tally)
      const expected = yield* idsOf(office, hour, 10)
      assert.deepStrictEqual(idsIn([...stored.values()].map((body) => ({ body }))), expected)
      assert.deepInclude(tally.totals, { accepted: expected.length, failed: 0, republished: 2 })
      assert.strictEqual(received.length, stored.size + 2)
    })
  )

  it.live(
    "publishes nothing with a wrong key, and stops if the key is refused later or the server is not doorhook",
    () =>
      Effect.gen(function* () {
        const strict = yield* service()
        const wrongKey = optionsFor(strict.url, {}, Redacted.make("another"))
        const refused = yield* Effect.flip(run(arrivalsOf(office, hour), wrongKey))
        assert.instanceOf(refused, RunStopped)
        assert.include(refused.message, "refused the operator key. Use the key")
        assert.isEmpty(strict.received)

        const changing = yield* service((response, request, number) =>
          number === 1 ? accept(response, request, number) : response.writeHead(401).end()
        )
        const later = yield* Effect.flip(run(arrivalsOf(office, hour, 10), optionsFor(changing.url, { batch: 1_000 })))
        assert.include(later.message, "refused the operator key")
        assert.strictEqual(changing.received.length, 2)

        const elsewhere = yield* Effect.flip(run(arrivalsOf(office, hour), optionsFor(`${strict.url}/wrong`)))
        assert.include(elsewhere.message, "/operator/events")

        for (const page of ["<html>Welcome</html>", "{}", "null"]) {
          const { origin } = yield* handlingReceiver((_, response) => response.writeHead(200).end(page))
          const another = yield* Effect.flip(run(arrivalsOf(office, hour), optionsFor(origin)))
          assert.include(another.message, "/operator/events")
        }
      })
  )
})

/** Makes an HTTP client that answers batches with `answer`, which can take time on the test clock. */
const stubbed = (
  answer: (number: number) => Effect.Effect<Response>,
  greeting: Effect.Effect<Response> = Effect.sync(() => Response.json({ deliveries: [] }))
) => {
  const sent: Array<{ readonly at: number; readonly ids: ReadonlyArray<number> }> = []
  const client = clientOf(({ body, method }) =>
    Effect.gen(function* () {
      if (method === "GET") return yield* greeting
      const at = yield* Clock.currentTimeMillis
      sent.push({ at, ids: idsIn([{ body: body ?? "" }]) })
      return yield* answer(sent.length)
    })
  )
  return { client, sent }
}

const accepted = Effect.sync(() => Response.json({ events: [] }, { status: 202 }))

describe("a run on a virtual clock", () => {
  it.effect("sends each event at its time in the plan divided by the speed, to the millisecond", () =>
    Effect.gen(function* () {
      const { client, sent } = stubbed(() => accepted)
      yield* TestClock.setTime(1_000_000)
      const tally = new Measurements()
      const running = yield* run(
        arrivalsOf(office, hour),
        optionsFor("http://service.example", { speed: 60 }),
        tally
      ).pipe(Effect.provideService(OperatorClient, client), Effect.forkChild)
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(running)
      const events = yield* Stream.runCollect(planOf(office, hour))
      const beginning = beginningOf(office, start)
      // A device can upload an event twice, with the same id.
      const due = Map.groupBy(
        events.map(({ at, data }) => [data.id, 1_000_000 + Math.ceil((Date.parse(at) - beginning) / 60)] as const),
        ([id]) => id
      )
      assert.sameMembers(
        sent.flatMap(({ ids }) => ids),
        events.map(({ data }) => data.id)
      )
      for (const { at, ids } of sent)
        for (const id of ids)
          assert.isTrue(
            due.get(id)?.some(([, time]) => time === at),
            `${id} at ${at}`
          )
      assert.deepStrictEqual([tally.latency.late_start.max, tally.latency.late_start.count], [0, events.length])
    })
  )

  /** Runs against a service that stalls from 20 s to 30 s. Returns the requests and the measurements. */
  const stalled = Effect.fnUntraced(function* (overrides: Overrides) {
    const { client, sent } = stubbed(() =>
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        now >= 20_000 && now < 30_000 ? Effect.delay(accepted, 30_000 - now) : accepted
      )
    )
    const measured = new Measurements()
    const load = atRate(
      arrivalsOf(office, hour, 10),
      [{ from: 0.02, to: 0.02, length: 60_000 }],
      null,
      beginningOf(office, start)
    )
    const options = optionsFor("http://service.example", { speed: 1, ...overrides })
    const running = yield* run(load, options, measured).pipe(
      Effect.provideService(OperatorClient, client),
      Effect.forkChild
    )
    // Waits until the load is ready and the clock of the run has started.
    yield* Effect.repeat(Effect.yieldNow, { until: () => options.clock.began !== null })
    yield* TestClock.adjust("2 minutes")
    yield* Fiber.join(running)
    return { sent, measured }
  })

  it.effect("sends a stalling service the same requests, and shows the stall in the latencies", () =>
    Effect.gen(function* () {
      const { measured, sent } = yield* stalled({})
      assert.deepStrictEqual(
        sent.map(({ at, ids }) => [at, ids.length]),
        Array.from({ length: 1_200 }, (_, nth) => [nth * 50, 1])
      )
      const { intended, late_start, service } = measured.latency
      // Of 1,200 events, 200 are planned during the stall. Each of these waits until the end of the stall.
      assert.deepStrictEqual([intended.count, intended.quantile(0.5), intended.max], [1_200, 0, 10_000])
      assert.approximately(intended.quantile(1 - 100 / 1_200), 5_000, 100)
      assert.approximately(intended.quantile(0.99), 9_400, 160)
      assert.deepStrictEqual([late_start.max, service.max, measured.totals.held], [0, 10_000, 0])
      const inTime = measured.series.intervals.map(({ publish }) => publish.max)
      assert.deepStrictEqual([inTime[19], inTime[20], inTime[29], inTime[30]], [0, 10_000, 1_000, 0])
    })
  )

  it.effect("holds requests above --max-inflight, counts them, and measures their latency from the planned time", () =>
    Effect.gen(function* () {
      const { measured, sent } = yield* stalled({ maxInFlight: 10 })
      assert.strictEqual(sent.length, 1_200)
      assert.strictEqual(sent.filter(({ at }) => at >= 20_000 && at < 30_000).length, 10)
      assert.strictEqual(measured.totals.held, 190)
      const { intended, late_start, service } = measured.latency
      assert.deepStrictEqual([intended.max, late_start.max, service.max], [10_000, 9_500, 10_000])
      assert.approximately(intended.quantile(1 - 100 / 1_200), 5_000, 100)
    })
  )

  it.effect("collects the events of a second into a batch, however the service answers", () =>
    Effect.gen(function* () {
      const { measured, sent } = yield* stalled({ batch: 8 })
      assert.deepStrictEqual(
        sent.map(({ at, ids }) => [at, ids.length]),
        Array.from({ length: 150 }, (_, nth) => [nth * 400 + 350, 8])
      )
      // The first event of a batch waits for the last one.
      assert.strictEqual(measured.latency.intended.quantile(0.01), 0)
      assert.strictEqual(measured.latency.late_start.max, 0)
      assert.isAtLeast(measured.latency.intended.quantile(0.5), 150)
    })
  )

  it.effect("waits seconds for a service to start, and reports if it doesn't", () =>
    Effect.gen(function* () {
      let greetings = 0
      const { client, sent } = stubbed(
        () => accepted,
        Effect.sync(() => {
          greetings++
          return new Response("starting", { status: 503 })
        })
      )
      const running = yield* run(arrivalsOf(office, hour), optionsFor("http://service.example")).pipe(
        Effect.provideService(OperatorClient, client),
        Effect.flip,
        Effect.forkChild
      )
      yield* TestClock.adjust("5 seconds")
      const stopped = yield* Fiber.join(running)
      assert.include(stopped.message, "could not be reached (status 503: starting)")
      assert.deepStrictEqual([greetings, sent.length], [5, 0])
    })
  )

  it.effect("gives up a batch after a minute of failures, and continues", () =>
    Effect.gen(function* () {
      const { client, sent } = stubbed((number) =>
        number >= 2 && number <= 10 ? Effect.sync(() => new Response("", { status: 503 })) : accepted
      )
      const tally = new Measurements()
      const options = optionsFor("http://service.example", { batch: 1_000 })
      const running = yield* run(arrivalsOf(office, hour, 10), options, tally).pipe(
        Effect.provideService(OperatorClient, client),
        Effect.forkChild
      )
      yield* TestClock.adjust("75 seconds")
      yield* Fiber.join(running)
      const { planned, accepted: taken, failed, republished } = tally.totals
      assert.deepStrictEqual([taken, failed, republished], [planned - 1_000, 1_000, 8])
      const batches = sent.map(({ ids }) => ids[0])
      assert.strictEqual(new Set(batches.slice(1, 10)).size, 1)
      assert.strictEqual(new Set(batches).size, batches.length - 8)
    })
  )

  it.effect("counts open events after an interrupt", () =>
    Effect.gen(function* () {
      const { client } = stubbed((number) => (number <= 2 ? accepted : Effect.never))
      const tally = new Measurements()
      const options = optionsFor("http://service.example", { batch: 1_000 })
      const running = yield* run(arrivalsOf(office, hour, 10), options, tally).pipe(
        Effect.provideService(OperatorClient, client),
        Effect.forkChild
      )
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(running)
      assert.deepInclude(tally.totals, { planned: 3_000, accepted: 2_000, failed: 0, unanswered: 1_000 })
    })
  )
})

/** Makes an HTTP client that answers queries for deliveries with `answer`. */
const questioned = (answer: (query: URLSearchParams) => Response) =>
  clientOf(({ url }) => Effect.sync(() => answer(new URL(url).searchParams)))

const rowOf = (id: number, event: number, state = "delivered") => ({
  id: `dlv_${id}`,
  event_id: `evt_${event}`,
  integration_id: 1,
  state,
  attempts: 1
})

/** Settles, lets enough virtual time pass for every wait, and returns the result. */
const settled = Effect.fnUntraced(function* (tracker: DeliveryTracker, client: Client) {
  const settling = yield* tracker.settle(60_000).pipe(Effect.provideService(OperatorClient, client), Effect.forkChild)
  yield* TestClock.adjust("2 minutes")
  return yield* Fiber.join(settling)
})

describe("tracking of a service's deliveries", () => {
  const service = { url: "http://service.example", operatorKey }
  const all = (...deliveries: ReadonlyArray<unknown>) => Response.json({ deliveries, next: null })
  const acceptedEvents = (...numbers: ReadonlyArray<number>) =>
    numbers.map((number) => ({ id: `evt_${number}`, deliveries: 1 }))

  it.effect("covers the tracked events, and counts the others", () =>
    Effect.gen(function* () {
      const measured = new Measurements()
      const tracker = new DeliveryTracker(service, measured, (at) => at, 2)
      tracker.accepted(acceptedEvents(1, 2, 3))
      const account = yield* settled(
        tracker,
        questioned(() => all(rowOf(1, 1), rowOf(2, 2), rowOf(3, 3)))
      )
      assert.deepStrictEqual(account, { missing: 0, why: null })
      assert.deepInclude(measured.totals, { delivered: 2, unfollowed: 1 })
    })
  )

  it.effect("finds missing deliveries of one event despite extra ones of another", () =>
    Effect.gen(function* () {
      const tracker = new DeliveryTracker(service, new Measurements(), (at) => at)
      tracker.accepted(acceptedEvents(1, 2, 3))
      const account = yield* settled(
        tracker,
        questioned(() => all(rowOf(1, 1), rowOf(2, 1), rowOf(3, 3, "pending"), rowOf(4, 3, "pending")))
      )
      assert.deepStrictEqual(account, { missing: 1, why: null })
    })
  )

  it.effect("retries a busy service, and counts nothing twice", () =>
    Effect.gen(function* () {
      const measured = new Measurements()
      const tracker = new DeliveryTracker(service, measured, (at) => at)
      tracker.accepted(acceptedEvents(1, 2))
      let asked = 0
      const account = yield* settled(
        tracker,
        questioned((query) => {
          asked++
          if (query.get("after") === null) return Response.json({ deliveries: [rowOf(1, 1)], next: "dlv_1" })
          return asked < 5 ? new Response("busy", { status: asked % 2 === 0 ? 503 : 429 }) : all(rowOf(2, 2))
        })
      )
      assert.deepStrictEqual(account, { missing: 0, why: null })
      assert.strictEqual(measured.totals.delivered, 2)
    })
  )

  it.effect("reports why a service gave no answer within the grace, and does not retry after a refusal", () =>
    Effect.gen(function* () {
      const says = Effect.fnUntraced(function* (answer: () => Response) {
        const tracker = new DeliveryTracker(service, new Measurements(), (at) => at)
        tracker.accepted(acceptedEvents(1))
        let asked = 0
        const { why } = yield* settled(
          tracker,
          questioned(() => {
            asked++
            return answer()
          })
        )
        return [why, asked]
      })
      // Seven requests: one every ten seconds for one minute.
      const busy = yield* says(() => new Response("busy", { status: 503, headers: { "retry-after": "10" } }))
      assert.deepStrictEqual(busy, ["status 503: busy; a longer --grace waits longer", 7])
      assert.deepStrictEqual(yield* says(() => new Response("no", { status: 403 })), ["status 403: no", 1])
    })
  )

  it.effect("finds the deliveries of a batch that is answered after later batches", () =>
    Effect.gen(function* () {
      const row = (event_id: string, at: number) => {
        return { id: `dlv_${at}`, event_id, integration_id: 1, state: "delivered", attempts: 0 }
      }
      // A delivery from before the run already exists.
      const stored = [row("evt_before", 1)]
      const list = (query: URLSearchParams) => {
        const event = query.get("event_id")
        const after = Number(query.get("after")?.slice("dlv_".length) ?? 0)
        const found = stored.slice(after).filter(({ event_id }) => event === null || event === event_id)
        const ordered = query.get("order") === "newest" ? found.toReversed() : found
        const deliveries = ordered.slice(0, Number(query.get("limit")))
        return Response.json({ deliveries, next: deliveries.length < ordered.length ? deliveries.at(-1)?.id : null })
      }
      let batches = 0
      const overtaken = yield* Deferred.make<void>()
      const client = clientOf(({ body, method, url }) =>
        Effect.gen(function* () {
          if (method === "GET") return list(new URL(url).searchParams)
          const events = idsIn([{ body: body ?? "" }]).map((id) => ({ id: `evt_${id}`, deliveries: 1 }))
          for (const { id } of events) stored.push(row(id, stored.length + 1))
          if (batches++ === 0) yield* Deferred.await(overtaken)
          return Response.json({ events }, { status: 202 })
        })
      )
      const measured = new Measurements()
      const url = "http://service.example"
      const { accepted, judged, settle, target } = serviceDestination(
        { url, operatorKey },
        measured,
        new RunClock(0, null)
      )
      yield* run(
        arrivalsOf(office, hour, 10),
        {
          ...optionsFor(url, { target, maxInFlight: 2, batch: 1_000 }),
          accepted: (events) => {
            accepted?.(events)
            Deferred.doneUnsafe(overtaken, Effect.void)
          }
        },
        measured
      ).pipe(Effect.andThen(settle(0)), Effect.provideService(OperatorClient, client))
      assert.isAbove(batches, 2)
      assert.strictEqual(judged().lost, 0)
      assert.strictEqual(measured.totals.delivered, measured.totals.accepted)
    })
  )

  it.effect("reports how many lookups failed after retries, and why", () =>
    Effect.gen(function* () {
      const measured = new Measurements()
      const tracker = new DeliveryTracker(service, measured, (at) => at)
      tracker.accepted(acceptedEvents(1, 2, 3, 4))
      const detail = {
        created_at: "2026-03-02T08:00:00.000Z",
        attempts: [{ started_at: "2026-03-02T08:00:00.000Z", duration_ms: 30, outcome: "acknowledged" }]
      }
      const asked = new Map<string, number>()
      const client = clientOf(({ url }) => {
        const { pathname } = new URL(url)
        const times = (asked.get(pathname) ?? 0) + 1
        asked.set(pathname, times)
        const answer = (): Response => {
          if (pathname === "/operator/deliveries") return all(rowOf(1, 1), rowOf(2, 2), rowOf(3, 3), rowOf(4, 4))
          // The lookup of delivery 2 succeeds at the third try. All lookups of delivery 3 fail with 429. The service
          // refuses the lookup of delivery 4.
          if (pathname.endsWith("dlv_2") && times <= 2) return new Response("slow down", { status: 429 })
          if (pathname.endsWith("dlv_3")) return new Response("slow down", { status: 429 })
          return pathname.endsWith("dlv_4") ? new Response("no", { status: 403 }) : Response.json(detail)
        }
        return Effect.sync(answer)
      })
      assert.deepStrictEqual(yield* settled(tracker, client), { missing: 0, why: null })
      assert.deepInclude(measured.sample, { wanted: 4, failed: 2 })
      assert.match(measured.sample.why ?? "", /^status (429: slow down|403: no)$/)
      assert.strictEqual(measured.latency.ack.count, 2)
    })
  )
})
