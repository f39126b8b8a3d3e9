import { createHash } from "node:crypto"
import { builtInTable, BuildingId, PublishRequest } from "@doorhook/core"
import type { PlanOptions, Scenario } from "@doorhook/simulator"
import { LocalTime, plan, PlannedEvent, presetNames, readScenario } from "@doorhook/simulator"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema, Stream } from "effect"
import { endOf, occurrences } from "../src/plan/Plan.ts"
import type { Occurrence } from "../src/traffic/Occurrence.ts"
import { scenarioOf, startAt, toNdjson, withFlows } from "./support.ts"

const monday = startAt("2026-03-02T00:00")
const day = LocalTime.dayMillis
const oneDay: PlanOptions = { seed: 7, start: monday, duration: day }

/**
 * SHA-256 of the first 10,000 lines from 2026-03-02T00:00 with seed 1. The same version gives the same hashes on every
 * machine.
 */
const golden: Readonly<Record<string, string>> = {
  "residential-200": "707146ff571ac86bc9f77c4ae0f84af3988f2b2d5b5f7ae9308d0b9b40a1aec8",
  "office-1000": "e05c93b0040460e8904879c2448dbeb3a86bdd81e4edafecc8b6dc36d4d86512",
  "mixed-use": "1b3134e7529da6bce88d1163933ca675d4a0fad8e35cfefc060dbdd572ba5620",
  "holiday-peak": "0a904b788266ac30a721db6128e43618ef61a7d57175a68a1d6717edf7893806",
  "courier-storm": "4b9cd1e390c5a6aa233113aea3accc88d9a6266fae98fc35622a38f88b0e95d8",
  "controller-offline-flush": "3d72c14e09d71270ac8ed563e777874335cb2b5d416554511e85e510e02ddc05",
  quiet: "a740339669e83513e38135b187af69f04790f1aaa2234ef3c5f2aea8e458e8d0",
  "night-watch": "001f897e503b1e570ba7c2da28badc54cfd1b337cfb45d89c86a59b2bae5b05b",
  "design-peak": "fbe368788158fc6d2c5ffbd098465df49cba340926f27b9c0c67016a66fafa48",
  demo: "8edea70720a94574be8d8c8c50c82b740fdc21c2635dc3fba105d03844b52f1e"
}

const linesOf = (scenario: Scenario, options: PlanOptions) =>
  toNdjson(plan(scenario, options)).pipe(Stream.decodeText, Stream.splitLines, Stream.runCollect)

const ofFlow = (all: ReadonlyArray<Occurrence>, flow: string) => all.filter((occurrence) => occurrence.flow === flow)

describe.each(presetNames)("the plan of %s", (name) => {
  const scenario = scenarioOf(name)

  it.effect("is the same, byte for byte, for the same seed", () =>
    Effect.gen(function* () {
      const hash = createHash("sha256")
      yield* plan(scenario, { seed: 1, start: monday, duration: Infinity }).pipe(
        Stream.take(10_000),
        toNdjson,
        Stream.runForEach((bytes) => Effect.sync(() => hash.update(bytes)))
      )
      assert.strictEqual(hash.digest("hex"), golden[name])
    })
  )

  it.effect("is in order of time and within its window, has unique ids, and decodes as core's events", () =>
    Effect.gen(function* () {
      const lines = (yield* linesOf(scenario, { ...oneDay, duration: 3 * day })).slice(0, 3_000)
      assert.isAbove(lines.length, 80)
      const events = yield* Effect.forEach(lines, (line) =>
        Schema.decodeEffect(Schema.fromJsonString(PlannedEvent), { onExcessProperty: "error" })(line)
      )
      const times = events.map(({ at }) => at)
      assert.deepStrictEqual(times, times.toSorted())
      assert.isTrue((times[0] ?? "") >= "2026-03-01T23:00:00.000Z" && (times.at(-1) ?? "") < "2026-03-04T23:00:00.000Z")
      assert.strictEqual(new Set(events.map(({ data }) => data.id)).size, events.length)
      const calls = events.flatMap((event) => (event.resource_type === "call" ? [event.data] : []))
      assert.strictEqual(new Set(calls.map(({ guid }) => guid)).size, calls.length)
      for (const { guid } of calls)
        assert.match(guid, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      const isExact = scenario.buildings.every(
        ({ devices }) => devices?.outages.every === 0 && devices.clocks.deviation === 0 && devices.clocks.wrong === 0
      )
      for (const event of events) if (isExact) assert.strictEqual(event.data.logged_at, event.at)
      const published = PublishRequest.readerOf(builtInTable).fromText(`[${lines.slice(0, 1_000).join(",")}]`)
      assert.isTrue(Result.isSuccess(published), Result.isFailure(published) ? published.failure.message : "")
    })
  )

  it("names only access points, units and tenants that exist", () => {
    const buildings = new Map(scenario.buildings.map(({ building }) => [building.id, building]))
    for (const occurrence of occurrences(scenario, oneDay)) {
      const building = buildings.get(occurrence.building_id)
      const tenants = building?.units.flatMap(({ tenant_ids }) => tenant_ids) ?? []
      if (occurrence.flow !== "anomalies") assert.isAtLeast(occurrence.tenant_ids.length, 1)
      for (const tenant of occurrence.tenant_ids) assert.include(tenants, tenant)
      if (occurrence._tag === "Access") assert.isTrue(building?.access_points.includes(occurrence.access_point))
      else assert.isTrue(building?.units.includes(occurrence.unit))
    }
  })

  it("has a call before every door opened from the app", () => {
    let opened = 0
    const lastCall = new Map<string, number>()
    for (const occurrence of occurrences(scenario, { ...oneDay, duration: 2 * day })) {
      const key = `${occurrence.building_id} ${occurrence.flow} ${occurrence.tenant_ids.join(" ")}`
      if (occurrence._tag === "Call") lastCall.set(key, occurrence.time)
      else if (occurrence.entry_method === "app") {
        const called = lastCall.get(key)
        assert.isDefined(called)
        assert.isTrue(called !== undefined && called < occurrence.time && occurrence.time < called + 300_000)
        opened++
      }
    }
    assert.isAbove(opened, 5)
  })
})

describe("plans", () => {
  it("keep all other flows when one flow changes", () => {
    const scenario = scenarioOf("residential-200")
    const busier = withFlows(scenario, (flow) =>
      flow._tag === "Outsiders" && flow.name === "parcels" ? { ...flow, per_day: flow.per_day * 3 } : flow
    )
    const [before, after] = [[...occurrences(scenario, oneDay)], [...occurrences(busier, oneDay)]]
    for (const flow of ["residents", "visitors", "food", "trades", "anomalies"]) {
      assert.deepStrictEqual(ofFlow(after, flow), ofFlow(before, flow))
    }
    assert.isAbove(ofFlow(after, "parcels").length, 2 * ofFlow(before, "parcels").length)
  })

  it.effect("for a long time equal the plans of its parts, one after the other", () =>
    Effect.gen(function* () {
      const scenario = scenarioOf("demo")
      const whole = yield* linesOf(scenario, { ...oneDay, duration: 2 * day })
      const parts = ["2026-03-02T00:00", "2026-03-02T12:00", "2026-03-03T00:00", "2026-03-03T12:00"]
      const lines = yield* Effect.forEach(parts, (start) =>
        linesOf(scenario, { ...oneDay, start: startAt(start), duration: day / 2 })
      )
      assert.deepStrictEqual(lines.flat(), whole)
    })
  )

  it.effect("equal the plans of their parts even with the longest waits", () =>
    Effect.gen(function* () {
      const always = { code: 0, unlock: { median: "1h", sigma: 3 }, ring_out: "1h", answer: { median: "1h", sigma: 3 } }
      const flow = { ...always, rate: 20, answered: 0.5, repeated: 1, most_rings: 10 }
      const devices = {
        outages: { every: "6h", down: { median: "4h", sigma: 3 } },
        flush: { per_second: 1, jitter: "1h" }
      }
      const house = { name: "Slow", homes: { flats: 6 }, flows: { visitors: flow, trades: flow }, devices }
      const slow = Result.getOrThrow(readScenario(JSON.stringify({ name: "slow", buildings: [house] })))
      const whole = yield* linesOf(slow, { ...oneDay, duration: 8 * day })
      const parts = Array.from({ length: 16 }, (_, part) => LocalTime.LocalTime.make(monday + (part * day) / 2))
      const lines = yield* Effect.forEach(parts, (start) => linesOf(slow, { ...oneDay, start, duration: day / 2 }))
      assert.deepStrictEqual(lines.flat(), whole)
    })
  )

  it("begin at the same clock time in every zone", () => {
    const quiet = scenarioOf("quiet")
    const zones = ["Europe/Berlin", "America/New_York", "Asia/Kolkata"]
    const world: Scenario = {
      ...quiet,
      buildings: quiet.buildings.flatMap((traffic) =>
        zones.map((time_zone, index) => ({
          ...traffic,
          building: { ...traffic.building, id: BuildingId.make(index + 1), time_zone },
          devices: null
        }))
      )
    }
    const week = { ...oneDay, duration: 7 * day }
    assert.strictEqual(endOf(world, week), monday + 7 * day + 5 * LocalTime.hour)
    const all = [...occurrences(world, week)]
    assert.strictEqual(new Set(all.map(({ id }) => id)).size, all.length)
    const times = all.map(({ time }) => time)
    assert.deepStrictEqual(
      times,
      times.toSorted((a, b) => a - b)
    )
    for (const [index, offset] of [1, -5, 5.5].entries()) {
      const local = all
        .filter(({ building_id }) => building_id === index + 1)
        .map(({ time }) => time + offset * 3_600_000)
      assert.isTrue(local.every((time) => time >= monday && time < monday + 7 * day))
      const atNight = local.filter((time) => (time - monday) % day < 5 * 3_600_000).length
      assert.isBelow(atNight / local.length, 0.08)
    }
  })
})
