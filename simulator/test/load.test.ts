/** The load of a run: rates, stages, event files, and the shares of several generators. */
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { builtInTable, CommandFailure } from "@doorhook/core"
import type { ResourceTypeTable } from "@doorhook/core"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Stream } from "effect"
import { endlessPlan, plan } from "../src/plan/Plan.ts"
import { loggedAt } from "../src/plan/PlannedEvent.ts"
import { Rng, root } from "../src/random/Substream.ts"
import {
  arrivalTimes,
  atPlannedTimes,
  atRate,
  extentOf,
  newEventOf,
  readRate,
  readStages,
  shareOf
} from "../src/run/Load.ts"
import { platform, simulate } from "./simulateCli.ts"
import type { LogOptions } from "../src/plan/AccessLog.ts"
import { readEvents } from "../src/run/RecordedLoad.ts"
import { scenarioOf, startAt } from "./support.ts"

const stagesOf = (text: string) => Option.getOrThrow(readStages(text))

describe("rates and stages", () => {
  it("are read, and other texts are refused", () => {
    assert.deepStrictEqual(
      ["50/s", "120/m", "0.5/s", "0/s", "3600/h"].map((text) => Option.getOrNull(readRate(text))),
      [0.05, 0.002, 0.0005, 0, 0.001]
    )
    assert.deepStrictEqual(extentOf(stagesOf("10/s:1m,200/s:5m,10/s:1m")), { length: 420_000, events: 61_200 })
    assert.deepStrictEqual(extentOf(stagesOf("10/s:1m,200/s:5m,10/s:1m"), 1_600), { length: 65_000, events: 1_600 })
    assert.deepStrictEqual(extentOf(stagesOf("0/s:1m,10/s:1m,0/s:1m"), 600), { length: 120_000, events: 600 })
    for (const text of ["", "50", "50/d", "-1/s", "1e3/s", "200000/s"])
      assert.isTrue(Option.isNone(readRate(text)), text)
    for (const text of ["", "10/s", "10/s:", "10/s:0s", "10/s:1m,", ":1m"])
      assert.isTrue(Option.isNone(readStages(text)), text)
  })

  it("are steps: with --even, arrivals are equally spaced at the given rate", () => {
    assert.deepStrictEqual(
      [...arrivalTimes(stagesOf("2/s:2s,0/s:1s,4/s:1s"), null)],
      [0, 500, 1_000, 1_500, 3_000, 3_250, 3_500, 3_750]
    )
  })

  it("are ramps between two rates", () => {
    const { events, length } = extentOf(stagesOf("10/s..200/s:1m"))
    assert.closeTo(events, 6_300, 1e-6)
    assert.strictEqual(length, 60_000)
    assert.closeTo(extentOf(stagesOf("0/s..10/s:10s,10/s:10s"), 100).length, 15_000, 1e-6)
    const times = [...arrivalTimes(stagesOf("0/s..10/s:10s"), null)]
    // Until the time t, half the final rate times t * t / 10 s events are expected.
    for (const [nth, at] of times.entries()) assert.closeTo(0.5 * (at / 1_000) ** 2, nth, 1e-6)
    assert.strictEqual(times.length, 50)
    for (const text of ["10/s..:1m", "..10/s:1m", "1/s..2/s..3/s:1m"])
      assert.isTrue(Option.isNone(readStages(text)), text)
  })

  it("are Poisson without --even: counts per second vary as much as their mean", () => {
    const times = [...arrivalTimes(stagesOf("50/s:400s"), new Rng(root(5)))]
    assert.approximately(times.length, 20_000, 450)
    const counts = Array.from({ length: 400 }, () => 0)
    for (const time of times) counts[Math.floor(time / 1_000)] = (counts[Math.floor(time / 1_000)] ?? 0) + 1
    const mean = times.length / 400
    const variance = counts.reduce((sum, count) => sum + (count - mean) ** 2, 0) / 400
    assert.approximately(variance / mean, 1, 0.25)
    assert.deepStrictEqual(times, [...arrivalTimes(stagesOf("50/s:400s"), new Rng(root(5)))])
  })
})

/** Events of a plan, as a run sends them. */
const arrivals = atPlannedTimes(
  plan(scenarioOf("quiet"), { seed: 7, start: startAt("2026-03-03T00:00"), duration: 86_400_000 })
)

describe("a plan at a given rate", () => {
  it.effect("sends the plan's events at the times of the rate, with these times in their data", () =>
    Effect.gen(function* () {
      const events = yield* Stream.runCollect(arrivals)
      const sent = yield* Stream.runCollect(atRate(arrivals, stagesOf("10/s:2s"), null, 1_000_000))
      assert.deepStrictEqual(
        sent.map(({ at }) => at),
        Array.from({ length: 20 }, (_, nth) => 1_000_000 + nth * 100)
      )
      sent.forEach(({ at, event }, nth) => {
        const planned = events[nth]?.event
        if (planned === undefined || !("at" in planned)) return assert.fail("there are as many")
        if (!("at" in event)) return assert.fail("it is planned")
        const lagOf = (published: string, logged: string) => Date.parse(published) - Date.parse(logged)
        assert.strictEqual(event.at, new Date(at).toISOString())
        assert.closeTo(lagOf(new Date(at).toISOString(), loggedAt(event)), lagOf(planned.at, loggedAt(planned)), 1_000)
        const logged_at = loggedAt(event)
        assert.deepEqual<unknown>(event, {
          ...planned,
          at: new Date(at).toISOString(),
          data: { ...planned.data, logged_at }
        })
      })
    })
  )

  it.effect("continues with other ids after the last event of the plan", () =>
    Effect.gen(function* () {
      const options = { seed: 7, start: startAt("2026-03-03T00:00"), duration: 86_400_000 }
      const once = yield* Stream.runCollect(plan(scenarioOf("quiet"), options))
      const events = yield* Stream.runCollect(Stream.take(endlessPlan(scenarioOf("quiet"), options), 1_000))
      assert.deepStrictEqual(events.slice(0, once.length), once)
      assert.strictEqual(events.length, 1_000)
      assert.strictEqual(new Set(events.map(({ data }) => data.id)).size, 1_000)
      const guids = events.flatMap((event) => (event.resource_type === "call" ? [event.data.guid] : []))
      assert.strictEqual(new Set(guids).size, guids.length)
      for (const { data } of events)
        if ("image_url" in data && data.image_url !== null) assert.include(data.image_url, `/${data.id}.jpg`)
    })
  )

  it.effect("ends if the plan has no events", () =>
    Effect.gen(function* () {
      const options = { seed: 7, start: startAt("2026-03-03T00:00"), duration: 1 }
      assert.deepStrictEqual(yield* Stream.runCollect(endlessPlan(scenarioOf("quiet"), options)), [])
    })
  )

  it.effect("is split between generators, which together send each event once", () =>
    Effect.gen(function* () {
      const whole = yield* Stream.runCollect(arrivals)
      const shares = yield* Effect.all([1, 2, 3].map((nth) => Stream.runCollect(shareOf(nth, 3)(arrivals))))
      assert.deepStrictEqual(
        shares.flat().toSorted((a, b) => a.at - b.at),
        whole
      )
      assert.isAtMost(
        Math.max(...shares.map(({ length }) => length)) - Math.min(...shares.map(({ length }) => length)),
        1
      )
    })
  )
})

const line = (at: string, more: Readonly<Record<string, unknown>> = {}) =>
  JSON.stringify({
    at,
    building_id: 1,
    tenant_ids: [101],
    resource_type: "access_log",
    action: "create",
    data: { id: 1, door: "own member" },
    ...more
  })

const logOptions: LogOptions = { zone: "UTC", named: {}, values: new Map(), dates: "month-first" }

const read = (lines: ReadonlyArray<string>, types: ResourceTypeTable | null = builtInTable, duration = Infinity) =>
  Effect.gen(function* () {
    const file = join(yield* temporaryFolder, "events.ndjson")
    yield* Effect.promise(() => writeFile(file, lines.join("\n")))
    return yield* readEvents(file, logOptions, types, duration)
  }).pipe(Effect.provide(platform()))

describe("a file of events", () => {
  it.live("plays what simulate plan writes, event for event", () =>
    Effect.gen(function* () {
      const planned = yield* Stream.runCollect(arrivals)
      const file = yield* read(
        planned.map(({ event }) => JSON.stringify(event)),
        null
      )
      const sent = yield* Stream.runCollect(file.arrivals)
      assert.deepStrictEqual(
        sent.map(({ at, event }) => [at, newEventOf(event)]),
        planned.map(({ at, event }) => [at, newEventOf(event)])
      )
      assert.strictEqual(file.events, planned.length)
    })
  )

  it.live("can be recorded elsewhere: other data is kept, and its buildings and tenants are found", () =>
    Effect.gen(function* () {
      const file = yield* read(
        [line("2026-03-02T08:00:00Z"), "", line("2026-03-02T09:00:30+01:00", { building_id: 2, tenant_ids: [7, 8] })],
        null
      )
      assert.deepStrictEqual([file.events, file.span, file.beginning], [2, 30_001, Date.parse("2026-03-02T08:00:00Z")])
      assert.deepStrictEqual(
        file.premises.map(({ details, id }): ReadonlyArray<unknown> => [id, details().tenants]),
        [
          [1, [101]],
          [2, [7, 8]]
        ]
      )
      const [first] = yield* Stream.runCollect(file.arrivals)
      assert.strictEqual<unknown>(first?.event.data, '{"id":1,"door":"own member"}')
      const part = yield* read([line("2026-03-02T08:00:00Z"), line("2026-03-02T09:00:00Z")], null, 60_000)
      assert.strictEqual(part.events, 1)
    })
  )

  it.live("plays what comes late after what came before, and counts repeated and late lines", () =>
    Effect.gen(function* () {
      const [eight, nine] = [line("2026-03-02T08:00:00Z"), line("2026-03-02T09:00:00Z", { data: { id: 2 } })]
      const file = yield* read([nine, eight, nine.replace("09:00", "09:30")])
      const played = yield* Stream.runCollect(file.arrivals)
      assert.deepStrictEqual(
        played.map(({ at }) => new Date(at).toISOString().slice(11, 16)),
        ["09:00", "09:00", "09:30"]
      )
      const { late, outOfOrder, repeated, rows } = file.counts
      assert.deepStrictEqual({ late, outOfOrder, repeated, rows }, { late: 1, outOfOrder: 1, repeated: 1, rows: 3 })
    })
  )

  it.live.each([
    { lines: [line("2026-03-02T08:00:00Z"), "{"], says: "line 2: " },
    { lines: [line("yesterday")], says: "line 1: /at must be a time like" },
    { lines: [line("2026-03-02 08:00:00")], says: "line 1: /at must be a time like" },
    { lines: [`[${line("2026-03-02T08:00:00Z")}]`], says: "line 1: is not a JSON object" },
    {
      lines: [line("2026-03-02T08:00:00Z").replace('"data"', '"data":{},"data"')],
      says: "line 1: /data is given more than once"
    },
    {
      lines: [line("2026-03-02T08:00:00Z").replace("tenant_ids", "tenants_id")],
      says: "line 1: tenants_id is not a member of an event"
    },
    { lines: [line("2026-03-02T08:00:00Z", { building_id: "x", data: 1 })], says: "/building_id" },
    {
      lines: [line("2026-03-02T08:00:00Z", { resource_type: "door_forced" })],
      says: "/resource_type must be call or access_log, or call_end with --call-end; other types must be declared by a service"
    },
    { lines: ["", ""], says: "expected events, one per line; the file has none" }
  ])("is refused with the line and the problem: $says", ({ lines, says }) =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(read(lines))
      assert.instanceOf(failure, CommandFailure)
      assert.strictEqual(failure.exitCode, CommandFailure.usageExitCode)
      assert.include(failure.message, says)
      assert.notInclude(failure.message, "\n")
    })
  )

  it.live("that is missing is a usage error", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(simulate("run", "--virtual", "--events", "/nowhere/events.ndjson"))
      assert.instanceOf(failure, CommandFailure)
      assert.strictEqual(failure.exitCode, CommandFailure.usageExitCode)
    }).pipe(Effect.provide(platform()))
  )
})
