/**
 * Uses of `simulate run` in load tests: play a file, set rates, compare reports, merge generators, watch metrics, stop
 * on a missed objective.
 */
import { readFile, writeFile } from "node:fs/promises"
import { createServer } from "node:net"
import { join } from "node:path"
import { setImmediate } from "node:timers/promises"
import { CommandFailure, Crypto, Transport } from "@doorhook/core"
import { Equipment } from "@doorhook/simulator"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock, TestConsole } from "effect/testing"
import type { RunReport } from "../src/results/RunReport.ts"
import { OperatorClient } from "../src/run/OperatorApi.ts"
import { clientOf, platform, printed, simulate } from "./simulateCli.ts"

const reportIn = (file: string) =>
  Effect.map(
    Effect.promise(() => readFile(file, "utf8")),
    (text): RunReport => JSON.parse(text)
  )

/**
 * Starts a service that accepts everything and lists one delivery for each event, to an integration of its tenant.
 * `takes` returns how long the nth answer takes, in milliseconds.
 */
const service = Effect.fnUntraced(function* (takes: (nth: number) => number = () => 0) {
  const bodies: Array<ReadonlyArray<Readonly<Record<string, unknown>>>> = []
  let count = 0
  const row = (number: number) => {
    const integration_id = String(bodies.flat()[number - 1]?.["tenant_ids"])
    return { id: `dlv_${number}`, event_id: `evt_${number}`, integration_id, state: "delivered", attempts: 1 }
  }
  const client = clientOf(({ body, method, url }) => {
    const { pathname, searchParams } = new URL(url)
    const answer = (): Response => {
      if (method === "POST") {
        const sent: ReadonlyArray<Readonly<Record<string, unknown>>> = JSON.parse(body ?? "[]")
        bodies.push(sent)
        return Response.json({ events: sent.map(() => ({ id: `evt_${++count}`, deliveries: 1 })) }, { status: 202 })
      }
      if (pathname !== "/operator/deliveries")
        return Response.json({
          created_at: "2026-03-02T08:00:00.000Z",
          attempts: [{ started_at: "2026-03-02T08:00:00.000Z", duration_ms: 30, outcome: "acknowledged" }]
        })
      const after = Number(searchParams.get("after")?.slice(4) ?? 0)
      const all = Array.from({ length: count }, (_, at) => row(at + 1)).filter((_, at) => at >= after)
      return Response.json({ deliveries: searchParams.get("order") === "newest" ? all.slice(-1) : all, next: null })
    }
    return Effect.suspend(() => {
      const answered = answer()
      const delay = method === "POST" ? takes(bodies.length) : 0
      return delay > 0 ? Effect.delay(Effect.succeed(answered), delay) : Effect.succeed(answered)
    })
  })
  return yield* Effect.succeed({ bodies, client })
})

const toService = ["run", "--to", "http://127.0.0.1:1", "--operator-key", "k", "--grace", "1s"]

const recorded = (second: number, id: number) =>
  JSON.stringify({
    at: new Date(Date.UTC(2026, 2, 2, 8, 0, second)).toISOString(),
    building_id: 7,
    tenant_ids: [70 + (id % 2)],
    resource_type: "access_log",
    action: "create",
    data: { id, badge: `B${id}` }
  })

const recording = Effect.fnUntraced(function* (folder: string, events: number) {
  const file = join(folder, "log.ndjson")
  const lines = Array.from({ length: events }, (_, nth) => recorded(nth, nth + 1))
  yield* Effect.promise(() => writeFile(file, `${lines.join("\n")}\n`))
  return file
})

describe("simulate run --events", () => {
  it.live("plays a recorded log to a service: each event once, unchanged, in its own request", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const { bodies, client } = yield* service()
      const out = join(folder, "report.json")
      const args = [
        ...toService,
        "--events",
        yield* recording(folder, 60),
        "--speed",
        "600x",
        "--report",
        `json=${out}`
      ]
      yield* Effect.provideService(simulate(...args), OperatorClient, client)
      assert.strictEqual(bodies.length, 60)
      const sent = bodies.flat().toSorted((a, b) => JSON.stringify(a["data"]).localeCompare(JSON.stringify(b["data"])))
      assert.deepStrictEqual(new Set(sent.map((event) => JSON.stringify(event["data"]))).size, 60)
      assert.deepInclude(sent, {
        resource_type: "access_log",
        action: "create",
        building_id: 7,
        tenant_ids: [71],
        data: { id: 1, badge: "B1" }
      })
      const report = yield* reportIn(out)
      assert.deepInclude(report.totals, { planned: 60, accepted: 60, delivered: 60, lost: 0 })
      assert.deepStrictEqual(
        [report.scenario, report.start, report.duration],
        ["log.ndjson", "2026-03-02T08:00", 59_001]
      )
      assert.match(report.command, /^npx doorhook simulate run --to http:\/\/127\.0\.0\.1:1 --seed 1 --events /)
    }).pipe(Effect.provide(platform()))
  )

  it.live("sends `data` unchanged to a service and to a receiver", () =>
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "log.ndjson")
      const data = '{"9":1e2, "1":"\\u0041", "long": 12345678901234567890, "exact": 0.10000000000000000001, "one": 1.0}'
      const line = recorded(0, 1).replace('{"id":1,"badge":"B1"}', data)
      yield* Effect.promise(() => writeFile(file, `${line}\n`))
      const bodies: Array<string> = []
      const client = clientOf(({ body, url }) =>
        Effect.sync(() => {
          if (body !== null) bodies.push(body)
          const answer = url.endsWith("/operator/events") ? { events: [{ id: "evt_1", deliveries: 0 }] } : {}
          return Response.json({ deliveries: [], next: null, ...answer })
        })
      )
      yield* Effect.provideService(simulate(...toService, "--events", file), OperatorClient, client)
      assert.deepStrictEqual(bodies, [
        `[{"resource_type":"access_log","action":"create","building_id":7,"tenant_ids":[71],"data":${data}}]`
      ])
      const received: Array<string> = []
      const transport = Layer.effect(
        Transport,
        Transport.fromPost(({ body }) =>
          Effect.sync(() => {
            received.push(body)
            return { _tag: "Answered", status: 200, retry_after: null, excerpt: "", headers_elapsed: 1, elapsed: 1 }
          })
        )
      )
      yield* Effect.provideService(
        simulate("run", "--to-receiver", "http://127.0.0.1:1/hook", "--events", file),
        Equipment,
        { transport, crypto: Crypto.layerWebCrypto }
      )
      const body = `{"event":{"resource_type":"access_log","action":"create","data":${data}}}`
      assert.deepStrictEqual([...new Set(received)], [body])
    }).pipe(Effect.provide(platform()))
  )

  it.live("plays it on virtual time, with integrations of its buildings and tenants", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const out = join(folder, "report.json")
      yield* simulate("run", "--virtual", "--events", yield* recording(folder, 60), "--report", `json=${out}`)
      const { integration_lines, totals } = yield* reportIn(out)
      assert.deepStrictEqual(
        integration_lines.map(({ deliveries, name }) => [name, deliveries]),
        [
          ["building 7", 60],
          ["building 7, tenant 71", 30],
          ["building 7, tenant 70", 30]
        ]
      )
      assert.deepInclude(totals, { planned: 60, delivered: 120, requests: 120 })
    }).pipe(Effect.provide(platform()))
  )
})

describe("simulate run at a rate", () => {
  it.live("sends as many events as its stages say, also on virtual time and from a file", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const out = join(folder, "report.json")
      const run = (...args: ReadonlyArray<string>) =>
        Effect.andThen(simulate("run", "--virtual", "--even", ...args, "--report", `json=${out}`), reportIn(out))
      const stages = yield* run("--stages", "2/s:30s,20/s:10s,2/s:30s")
      assert.strictEqual(stages.totals.planned, 320)
      const inTime = stages.series.map(({ planned }) => planned)
      assert.deepStrictEqual([inTime[29], inTime[30], inTime[39], inTime[40]], [2, 20, 20, 2])
      assert.deepInclude(yield* run("--rate", "10/s", "--duration", "30s"), { duration: 30_000 })
      // With fewer events in the file, the run ends early, and its report says so.
      const short = yield* run("--stages", "10/s:4s,20/s:1m", "--events", yield* recording(folder, 50))
      assert.deepStrictEqual([short.totals.planned, short.duration], [50, 4_500])
    }).pipe(Effect.provide(platform()))
  )
})

/** Runs generators of one load against a service, and returns the files of their reports. */
const generate = Effect.fnUntraced(function* (folder: string, count: number) {
  const events = yield* recording(folder, 60)
  return yield* Effect.forEach(Array.from({ length: count }), (_, at) =>
    Effect.gen(function* () {
      const file = join(folder, `${at + 1}.json`)
      const { bodies, client } = yield* service()
      const args = ["--events", events, "--as-fast-as-possible", "--generator", `${at + 1}/${count}`]
      yield* Effect.provideService(simulate(...toService, ...args, "--report", `json=${file}`), OperatorClient, client)
      return { bodies, file }
    })
  )
})

const mergeFailure = (...args: ReadonlyArray<string>) =>
  Effect.map(Effect.flip(simulate("merge", ...args)), (failure) =>
    failure instanceof CommandFailure ? [failure.exitCode, failure.message] : assert.fail(String(failure))
  )

describe("generators", () => {
  it.live("send a third each, and their reports merge to one of the whole load", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const parts = yield* generate(folder, 3)
      assert.deepStrictEqual(
        parts.map(({ bodies }) => bodies.length),
        [20, 20, 20]
      )
      const seen = parts.flatMap(({ bodies }) => bodies.flat()).map(({ data }) => JSON.stringify(data))
      assert.strictEqual(new Set(seen).size, 60)
      const files = parts.map(({ file }) => file)
      const out = join(folder, "all.json")
      yield* simulate("merge", ...files, "--slo", "lost=0", "--report", `json=${out}`)
      const { latency, target, totals, verdict } = yield* reportIn(out)
      assert.deepInclude(totals, { planned: 60, accepted: 60, delivered: 60, lost: 0 })
      assert.deepStrictEqual([verdict, latency.service?.count], ["pass", 60])
      assert.match(target, /, 3 generators$/)
    }).pipe(Effect.provide(platform()))
  )

  it.live("find other integrations of a service first, and their reports merge by integration", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const files = (yield* generate(folder, 2)).map(({ file }) => file)
      const out = join(folder, "all.json")
      yield* simulate("merge", ...files, "--report", `json=${out}`)
      const { integration_lines, integrations } = yield* reportIn(out)
      assert.deepStrictEqual(
        integration_lines.map(({ deliveries, id, name }) => [id, name, deliveries]),
        [
          [1, "integration 71", 30],
          [2, "integration 70", 30]
        ]
      )
      assert.strictEqual(integrations, 2)
    }).pipe(Effect.provide(platform()))
  )

  it.live("merge only if their reports are complete and of one load", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const [one = "", two = "", three = ""] = (yield* generate(folder, 3)).map(({ file }) => file)
      const changed = Effect.fnUntraced(function* (change: Partial<RunReport>) {
        const file = join(folder, "changed.json")
        const text = JSON.stringify({ ...(yield* reportIn(three)), ...change })
        yield* Effect.promise(() => writeFile(file, text))
        return file
      })
      const file = join(folder, "log.ndjson")
      assert.deepStrictEqual(yield* mergeFailure(one, file), [
        3,
        `${file}: expected a JSON report of simulate run, by this version`
      ])
      const cases: ReadonlyArray<readonly [change: Partial<RunReport>, says: string]> = [
        [{ generator: "2/3" }, "generator 2/3 appears twice; its events would count twice"],
        [{ generator: "3/4" }, "generators 1/3 and 3/4 don't share one load"],
        [{ generator: null }, "is not the report of a generator (--generator)"],
        [{ seed: 2 }, `seed is 1 in ${one} and 2 in`],
        [{ scenario: "quiet" }, `scenario is log.ndjson in ${one} and quiet in`],
        [{ kind: "receiver" }, `kind is service in ${one} and receiver in`],
        [{ speed: 60 }, `speed is null in ${one} and 60 in`]
      ]
      for (const [change, says] of cases) {
        const [exitCode, message] = yield* mergeFailure(one, two, yield* changed(change))
        assert.strictEqual(exitCode, 3)
        assert.include(String(message), says)
      }
      assert.deepStrictEqual(yield* mergeFailure(one, two), [
        3,
        `${one} ${two}: expected the reports of all 3 generators, and 3/3 is missing`
      ])
    }).pipe(Effect.provide(platform()))
  )

  it.live("fail the merge if one of them failed, missed an objective or was interrupted", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const [one = "", two = ""] = (yield* generate(folder, 2)).map(({ file }) => file)
      const out = join(folder, "all.json")
      const args = ["--slo", "lost=0", "--report", `json=${out}`]

      const noService = clientOf(() => Effect.succeed(new Response(null, { status: 404 })))
      const half = ["--events", join(folder, "log.ndjson"), "--as-fast-as-possible", "--generator", "1/2"]
      const failed = join(folder, "failed.json")
      yield* Effect.flip(simulate(...toService, ...half, "--report", `json=${failed}`)).pipe(
        Effect.provideService(OperatorClient, noService)
      )
      assert.deepStrictEqual(yield* mergeFailure(failed, two, ...args), [
        1,
        "Generator 1/2: The run failed before its end"
      ])
      assert.deepInclude(yield* reportIn(out), { verdict: "fail", stopped_by: null })

      const { client } = yield* service()
      const missed = join(folder, "missed.json")
      yield* Effect.flip(simulate(...toService, ...half, "--slo", "delivered<1%", "--report", `json=${missed}`)).pipe(
        Effect.provideService(OperatorClient, client)
      )
      assert.deepStrictEqual(yield* mergeFailure(missed, two, ...args), [
        1,
        "Generator 1/2: Objectives missed: delivered<1% (100.00 %)"
      ])

      const complete = yield* reportIn(two)
      const cut = join(folder, "cut.json")
      const cutWith = (change: Partial<RunReport>) =>
        Effect.promise(() => writeFile(cut, JSON.stringify({ ...complete, ...change })))
      yield* cutWith({ interrupted: true })
      assert.deepStrictEqual(yield* mergeFailure(one, cut, ...args), [1, "Generator 2/2: The run was interrupted"])
      yield* cutWith({ stopped_by: "ack_p99<1s", verdict: "fail" })
      assert.deepStrictEqual(yield* mergeFailure(one, cut, ...args), [
        1,
        "Generator 2/2: Objectives missed: ack_p99<1s"
      ])
      assert.deepInclude(yield* reportIn(out), { verdict: "fail", stopped_by: "ack_p99<1s" })
    }).pipe(Effect.provide(platform()))
  )
})

describe("a missed objective", () => {
  it.live("ends the run immediately with --stop-on-miss, with its report and exit code 1", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const out = join(folder, "report.json")
      const args = [
        "run",
        "--rate",
        "200/s",
        "--duration",
        "1h",
        "--receiver",
        "flaky:1",
        "--slo",
        "broken=0,ack_p99<1s"
      ]
      const more = ["--stop-on-miss", "--slo", "service_max<0s,exhausted=0", "--retry", "access_log=", "--grace", "1s"]
      const failure = yield* Effect.flip(simulate(...args, ...more, "--report", `json=${out}`))
      assert.instanceOf(failure, CommandFailure)
      assert.deepStrictEqual([failure.exitCode, failure.message.startsWith("Objectives missed: ")], [1, true])
      const report = yield* reportIn(out)
      assert.include(["service_max<0s", "exhausted=0"], report.stopped_by)
      assert.deepStrictEqual([report.verdict, report.interrupted], ["fail", false])
      assert.include(yield* printed, `stopping: ${report.stopped_by} is missed`)
    }).pipe(Effect.provide(platform()))
  )

  it.effect("ends the run only if the events to come can't make up for it", () =>
    Effect.gen(function* () {
      const out = join(yield* temporaryFolder, "report.json")
      const args = ["--rate", "1/s", "--even", "--duration", "5m", "--slo", "service_p99<10s", "--stop-on-miss"]
      const run = Effect.fnUntraced(function* (slow: number) {
        const { client } = yield* service((nth) => (nth <= slow ? 20_000 : 0))
        const running = yield* simulate(...toService, ...args, "--report", `json=${out}`).pipe(
          Effect.provideService(OperatorClient, client),
          Effect.exit,
          Effect.forkChild
        )
        while (running.pollUnsafe() === undefined) {
          yield* TestClock.adjust("1 second")
          yield* Effect.promise(() => setImmediate())
        }
        return yield* reportIn(out)
      })
      // Three of 300 events may be slow.
      const met = yield* run(3)
      assert.deepStrictEqual([met.totals.planned, met.stopped_by, met.verdict], [300, null, "pass"])
      const missed = yield* run(4)
      assert.isBelow(missed.totals.planned, 150)
      assert.deepStrictEqual([missed.stopped_by, missed.verdict], ["service_p99<10s", "fail"])
    }).pipe(Effect.provide(platform()))
  )

  it.live("ends a run on virtual time as well", () =>
    Effect.gen(function* () {
      const out = join(yield* temporaryFolder, "report.json")
      const args = ["run", "--virtual", "--duration", "3000d", "--preset", "quiet", "--receiver", "flaky:0.5"]
      const failure = yield* Effect.flip(
        simulate(...args, "--slo", "ack_max<1ms", "--stop-on-miss", "--report", `json=${out}`)
      )
      assert.instanceOf(failure, CommandFailure)
      assert.strictEqual((yield* reportIn(out)).stopped_by, "ack_max<1ms")
    }).pipe(Effect.provide(platform()))
  )
})

const freePort = Effect.promise(
  () =>
    new Promise<number>((resolve) => {
      const server = createServer().listen(0, "127.0.0.1", () => {
        const address = server.address()
        server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
      })
    })
)

describe("metrics", () => {
  it.live("are served only during a run, and a port in use is refused", () =>
    Effect.gen(function* () {
      const port = yield* freePort
      const text = Effect.promise(() =>
        fetch(`http://127.0.0.1:${port}/metrics`).then(
          (response) => response.text(),
          () => ""
        )
      )
      const args = ["run", "--rate", "100/s", "--duration", "10m", "--metrics", `${port}`, "--grace", "1s"]
      const running = yield* Effect.forkChild(simulate(...args))
      yield* Effect.repeat(text, { until: (said) => /^doorhook_simulate_delivered_total [1-9]/m.test(said) })
      const taken = yield* Effect.flip(simulate(...args))
      assert.instanceOf(taken, CommandFailure)
      assert.deepStrictEqual([taken.exitCode, taken.message.includes("expected a free port")], [3, true])
      yield* Fiber.interrupt(running)
      assert.strictEqual(yield* text, "")
    }).pipe(Effect.provide(platform()))
  )
})

describe("a receiver with few workers", () => {
  it.live("fills its queue and answers 503 to the rest, in real time and on virtual time", () =>
    Effect.gen(function* () {
      const out = join(yield* temporaryFolder, "report.json")
      const args = ["run", "--rate", "50/s", "--even", "--duration", "2s", "--report", `json=${out}`, "--grace", "1s"]
      yield* simulate(...args, "--receiver", "slow:p50=200ms,p99=200ms", "--receiver", "workers:1,queue:2")
      const { outcomes, statuses, totals } = yield* reportIn(out)
      assert.isAbove(statuses["503"] ?? 0, 10)
      assert.strictEqual(
        Object.values(outcomes).reduce((sum, count) => sum + count, 0),
        totals.requests
      )
      assert.notInclude((yield* TestConsole.logLines).join("\n"), "broken")
    }).pipe(Effect.provide(platform()))
  )
})
