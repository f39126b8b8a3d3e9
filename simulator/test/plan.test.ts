import { createHash } from "node:crypto"
import { builtInTable, BuildingId, callEndReasons, PublishRequest } from "@doorhook/core"
import type { PlanOptions, Scenario } from "@doorhook/simulator"
import { LocalTime, plan, PlannedEvent, presetNames, readScenario } from "@doorhook/simulator"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema, Stream } from "effect"
import { endOf } from "../src/plan/Plan.ts"
import type { Occurrence } from "../src/traffic/Occurrence.ts"
import { buildingsOf, occurrences, scenarioOf, startAt, toNdjson, withBuildings, withFlows } from "./support.ts"

const monday = startAt("2026-03-02T00:00")
const day = LocalTime.dayMillis
const oneDay: PlanOptions = { seed: 7, start: monday, duration: day }

/**
 * SHA-256 of the first 10,000 lines from 2026-03-02T00:00 with seed 1. The same version gives the same hashes on every
 * machine.
 */
const golden: Readonly<Record<string, string>> = {
  "residential-200": "9cd595a8ec93314ff5d74d7163d9f2540f8f7852e15f447e8c9a4908c50be8fc",
  "office-1000": "424f9b6a963e75f17ace1db7e133d331974a57ab448fbba94ce56afceed1f52c",
  "mixed-use": "aedd38d553e0f21204e3434ae6e1517ac475463a75dc76bf11927dd8e63e3b9b",
  "holiday-peak": "d7e2bbda8f1938d0516f81ccfbd2d988c3e1ced7a8ec86f3be09ad1fbba964f2",
  "courier-storm": "2f1999b0faa31d69f24793ac6eb588d92a5b2fb64d219b5be692a22506ad58a7",
  "controller-offline-flush": "52b17a9496462e2e3c40c727c85606c5ab193f76330fd28de6e89e615f53cb79",
  quiet: "e27ecc58cb88c83e79f216c61ac38bc8a153ac871d26b1391ebe73b4505726ff",
  "night-watch": "a42cd2daccfbbbb8a24e81d2be8d3788b0b9e889acf2859bc66a353db5090325",
  "design-peak": "d40c900ae8756cefbfe4d884e8a187895caceb427e810b9a8ae6da90ded66c3e",
  demo: "ae7e42658a779190a9e3a0898456a39a75d3213d7d8c889364fa28b4d69ca010"
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
      // A device that lost an answer uploads an event again.
      const again = Map.groupBy(events, ({ data }) => data.id)
      for (const [one, ...others] of again.values())
        for (const other of others) assert.deepStrictEqual({ ...other, at: "" }, { ...one, at: "" })
      assert.isAbove(again.size, 0.99 * events.length)
      const calls = events.flatMap((event) => (event.resource_type === "call" ? [event.data] : []))
      assert.strictEqual(new Set(calls.map(({ guid }) => guid)).size, calls.length)
      for (const { guid } of calls)
        assert.match(guid, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      const published = PublishRequest.readerOf(builtInTable).fromText(`[${lines.slice(0, 1_000).join(",")}]`)
      assert.isTrue(Result.isSuccess(published), Result.isFailure(published) ? published.failure.message : "")
    })
  )

  it("names only access points, units and tenants that exist", () => {
    const buildings = new Map(buildingsOf(scenario).map(({ building }) => [building.id, building]))
    for (const occurrence of occurrences(scenario, oneDay)) {
      const building = buildings.get(occurrence.building_id)
      const tenants = building?.units.flatMap(({ tenant_ids }) => tenant_ids) ?? []
      const isAnonymous = occurrence.flow === "anomalies" || occurrence.role === "exit"
      if (!isAnonymous) assert.isAtLeast(occurrence.tenant_ids.length, 1)
      for (const tenant of occurrence.tenant_ids) assert.include(tenants, tenant)
      const has = (parts: ReadonlyArray<{ readonly id: number }> = [], { id }: { readonly id: number }) =>
        parts.some((part) => part.id === id)
      if (occurrence._tag === "Access") assert.isTrue(has(building?.access_points, occurrence.access_point))
      else assert.isTrue(has(building?.units, occurrence.unit))
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

  it.effect.each([false, true])(
    "for a long time equal the plans of its parts (with ends of calls: %s)",
    (hasCallEnds) =>
      Effect.gen(function* () {
        const scenario = scenarioOf("demo")
        const whole = yield* linesOf(scenario, { ...oneDay, hasCallEnds, duration: 2 * day })
        const parts = ["2026-03-02T00:00", "2026-03-02T12:00", "2026-03-03T00:00", "2026-03-03T12:00"]
        const lines = yield* Effect.forEach(parts, (start) =>
          linesOf(scenario, { ...oneDay, hasCallEnds, start: startAt(start), duration: day / 2 })
        )
        assert.deepStrictEqual(lines.flat(), whole)
      })
  )

  it.effect("have one end of each call, and are otherwise the same as without", () =>
    Effect.gen(function* () {
      const scenario = scenarioOf("residential-200")
      const longer = { ...oneDay, duration: 14 * day }
      const with_ends = yield* Stream.runCollect(plan(scenario, { ...longer, hasCallEnds: true }))
      const without = yield* Stream.runCollect(plan(scenario, longer))
      const ends = with_ends.flatMap((event) => (event.resource_type === "call_end" ? [event] : []))
      assert.deepStrictEqual(
        with_ends.filter(({ resource_type }) => resource_type !== "call_end"),
        without
      )
      const calls = new Map(
        without.flatMap((event) => (event.resource_type === "call" ? [[event.data.id, event] as const] : []))
      )
      assert.strictEqual(new Set(ends.map(({ data }) => data.call_id)).size, ends.length)
      assert.isAbove(ends.length, 0.99 * calls.size)
      const ids = new Set(without.map(({ data }) => data.id))
      const reasons = new Set<string>()
      for (const { at, building_id, data, tenant_ids } of ends) {
        const call = calls.get(data.call_id)
        assert.isFalse(ids.has(data.id))
        assert.deepStrictEqual([call?.building_id, call?.tenant_ids], [building_id, tenant_ids])
        assert.isTrue(call !== undefined && call.at <= at && call.data.logged_at <= data.ended_at)
        reasons.add(data.reason)
      }
      assert.sameMembers([...reasons], [...callEndReasons])
    })
  )

  it.effect("equal the plans of their parts even with the longest waits", () =>
    Effect.gen(function* () {
      const always = { code: 0, unlock: { median: "1h", sigma: 3 }, ring_out: "1h", answer: { median: "1h", sigma: 3 } }
      const flow = { ...always, rate: 20, answered: 0.5, repeated: 1, most_rings: 10 }
      const devices = {
        outages: { every: "12h", down: { median: "1h", sigma: 2 } },
        site_outages: { every: "3d", down: { median: "6h" } },
        region_outages: { every: "4d", return_within: "1h" },
        flush: { per_second: 1, jitter: "1h" },
        repeats: { share: 0.2, new_id: 0.5, after: "1h" },
        alarms: { held: 0.2, forced: 0.2 }
      }
      const house = { name: "Slow", homes: { flats: 6 }, flows: { visitors: flow, trades: flow }, devices }
      const slow = Result.getOrThrow(readScenario(JSON.stringify({ name: "slow", buildings: [house] })))
      const slowly = { ...oneDay, hasCallEnds: true }
      const whole = yield* linesOf(slow, { ...slowly, duration: 8 * day })
      const parts = Array.from({ length: 16 }, (_, part) => LocalTime.LocalTime.make(monday + (part * day) / 2))
      const lines = yield* Effect.forEach(parts, (start) => linesOf(slow, { ...slowly, start, duration: day / 2 }))
      assert.deepStrictEqual(lines.flat(), whole)
    })
  )

  it("begin at the same clock time in every zone", () => {
    const quiet = scenarioOf("quiet")
    const zones = ["Europe/Berlin", "America/New_York", "Asia/Kolkata"]
    const world = withBuildings(
      quiet,
      buildingsOf(quiet).flatMap((traffic) =>
        zones.map((time_zone, index) => ({
          ...traffic,
          building: { ...traffic.building, id: BuildingId.make(index + 1), time_zone },
          devices: null
        }))
      )
    )
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
