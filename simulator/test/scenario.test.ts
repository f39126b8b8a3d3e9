/** Scenario files: their schema, error messages, and the resulting scenarios. */
import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Option, Result } from "effect"
import { preset, presetNames, readScenario } from "@doorhook/simulator"
import { records } from "../src/plan/Plan.ts"
import { lineOf, plannedEvent } from "../src/plan/PlannedEvent.ts"
import type { Scenario } from "../src/scenario/Scenario.ts"
import { dayMillis } from "../src/world/LocalTime.ts"
import { buildingsOf, occurrences, startAt } from "./support.ts"

const read = (value: unknown): Scenario => Result.getOrThrow(readScenario(JSON.stringify(value)))

const problemsOf = (text: string) => {
  const result = readScenario(text)
  return Result.isFailure(result) ? result.failure.problems : []
}

const house = { name: "House", homes: { flats: 20 } }
const noMethods = { swipe_to_open: 0, pin: 0, qr_code: 0 }
const withShape = (on_weekdays: object) => ({
  name: "x",
  buildings: [{ ...house, flows: { food: { on_weekdays } } }]
})

describe("a scenario file", () => {
  it("can describe a preset", () => {
    for (const name of presetNames.filter((own) => own !== "demo")) {
      const text = readFileSync(new URL(`../src/scenario/presets/${name}.json`, import.meta.url), "utf8")
      const [own, given] = [Result.getOrThrow(readScenario(text)), Option.getOrThrow(preset(name))]
      assert.deepStrictEqual(buildingsOf(own), buildingsOf(given))
      assert.deepStrictEqual({ ...own, sites: [] }, { ...given, sites: [] })
    }
  })

  it("reports the path of each problem", () => {
    const text = `{
      "name": "x",
      "buildings": [
        { "name": "a", "homes": { "flats": 0 }, "time_zone": "Europe/Berlinn",
          "flows": { "parcels": { "rte": 1, "ring_out": 5, "weekdays": { "mon": -1 } } } }
      ]
    }`
    assert.deepStrictEqual(
      problemsOf(text)
        .map(({ path }) => path)
        .toSorted(),
      [
        "$.buildings[0].flows.parcels.ring_out",
        "$.buildings[0].flows.parcels.rte",
        "$.buildings[0].flows.parcels.weekdays.mon",
        "$.buildings[0].homes.flats",
        "$.buildings[0].time_zone"
      ]
    )
  })

  it.each(['{"name": "x", "buildings": [}', "", "{'name': 1}"])("refuses %s, which is not JSON", (text) => {
    assert.match(problemsOf(text)[0]?.detail ?? "", /^is not JSON: /)
  })

  it("can be multiplied, each building with its own people and ids", () => {
    const text = JSON.stringify({
      name: "x",
      buildings: [
        { ...house, id: 4 },
        { ...house, copies: 2 }
      ]
    })
    const buildings = buildingsOf(Result.getOrThrow(readScenario(text, 3)))
    const all = buildings.map(({ building }) => building)
    assert.deepStrictEqual(
      all.map(({ id }) => id),
      [4, 5, 6, 10, 11, 12, 16, 17, 18]
    )
    const doors = all.flatMap(({ access_points }) => access_points.map(({ id }) => id))
    assert.strictEqual(new Set(doors).size, doors.length)
    assert.strictEqual(new Set(all.map(({ people }) => people[0]?.name)).size > 4, true)
    const many = readScenario(text, 50_000)
    assert.include(
      Result.isFailure(many) ? many.failure.message : "",
      "at most 131072 buildings, including copies; they are 3, 50000 times, and 43690 times would fit"
    )
  })

  it("keeps defaults of what is not stated, even within a parameter", () => {
    const flows = { employees: { arrives: { at: "07:00" }, lunch: { share: 0.1 }, attendance: { sun: 0.5 } } }
    const buildings = buildingsOf(read({ name: "x", buildings: [{ name: "O", offices: { employees: 5 }, flows }] }))
    const flow = buildings[0]?.flows.find(({ _tag }) => _tag === "Employees")
    if (flow?._tag !== "Employees") return assert.fail("no employees")
    assert.deepStrictEqual(flow.arrives, { at: 7, spread: 0.8 })
    assert.deepStrictEqual([flow.lunch.share, flow.lunch.at, flow.lunch.groups], [0.1, 12.25, 0.35])
    assert.deepStrictEqual(flow.attendance, [0.5, 0.52, 0.62, 0.62, 0.56, 0.35, 0.04])
  })

  it.each([
    [{ name: "x", buildings: [] }, "at least one building"],
    [{ name: "x", buildings: [{ name: "a" }] }, "`homes`, `offices` or both"],
    [
      {
        name: "x",
        buildings: [
          { ...house, id: 3 },
          { ...house, id: 3 }
        ]
      },
      "the id 3 of another building"
    ],
    [{ name: "x", buildings: [{ ...house, flows: { guests: {} } }] }, "applies only to a building with `offices`"],
    [{ name: "x", buildings: [{ ...house, holidays: ["25.12."] }] }, "2026-12-25"],
    [{ name: "x", buildings: [{ ...house, holidays: ["2026-02-29"] }] }, "an existing day of the calendar"],
    [{ name: "x", buildings: [{ ...house, holidays: ["02-29", "04-31"] }] }, "an existing day of the calendar"],
    [
      {
        name: "x",
        buildings: [
          { ...house, copies: 100_000 },
          { ...house, copies: 100_000 }
        ]
      },
      "at most 131072"
    ],
    [
      {
        name: "x",
        buildings: [{ ...house, flows: { food: { on_weekdays: { from: "12:00", to: "11:00", even: 1, peaks: [] } } } }]
      },
      "`from` before `to`"
    ],
    [withShape({ from: "08:00", to: "08:00:02", even: 1, peaks: [] }), "must have arrivals between `from` and `to`"],
    [
      withShape({ from: "08:00", to: "10:00", even: 0, peaks: [{ at: "20:00", spread: "5m", weight: 1 }] }),
      "$.buildings[0].flows.food.on_weekdays must have arrivals"
    ],
    [
      withShape({ from: "08:00", to: "10:00", even: 1, peaks: [{ at: "09:00", spread: "0s", weight: 1 }] }),
      "$.buildings[0].flows.food.on_weekdays.peaks[0].spread must be at least 5s"
    ],
    [
      { name: "x", buildings: [{ ...house, flows: { residents: { errand_duration: { median: "5000d" } } } }] },
      "$.buildings[0].flows.residents.errand_duration.median must be a duration of at most 3650d"
    ],
    [
      { name: "x", buildings: [{ ...house, flows: { parcels: { ring_out: "2h" } } }] },
      "$.buildings[0].flows.parcels.ring_out must be a duration of at most 1h"
    ],
    [{ name: "x", buildings: [{ ...house, flows: { food: { rate: 1e6 } } }] }, "must be a number from 0 to 1000"],
    [
      { name: "x", buildings: [{ ...house, flows: { food: { weekdays: { mon: 101 } } } }] },
      "must be a number from 0 to 100"
    ],
    [{ name: "x", buildings: [{ ...house, devices: { outages: { every: "1ms" } } }] }, "0s, for never, or at least 1m"],
    [
      { name: "x", buildings: [{ name: "a", homes: { flats: 2, entry_methods: noMethods } }] },
      "$.buildings[0].homes.entry_methods must have a share above 0"
    ],
    [
      { name: "x", buildings: [{ name: "a", offices: { employees: 2, entry_methods: noMethods } }] },
      "$.buildings[0].offices.entry_methods must have a share above 0"
    ],
    [{ name: "x", buildings: [house], events: 1 }, "is not known here"]
  ])("refuses %j", (value, says) => {
    const result = readScenario(JSON.stringify(value))
    assert.isTrue(Result.isFailure(result))
    assert.include(Result.isFailure(result) ? result.failure.message : "", says)
  })

  it("treats holidays like Sundays, and applies seasons", () => {
    const quiet = { outages: { every: "0s" } }
    const shifts = { early: 0, late: 0, night: 0 }
    const count = (holidays: ReadonlyArray<string>, factor: number) => {
      const offices = { name: "O", offices: { employees: 300 }, holidays, devices: quiet }
      const season = [{ from: "03-01", to: "03-31", factor }]
      const flows = { office_parcels: { seasons: season }, employees: { shifts } }
      const scenario = read({ name: "x", buildings: [{ ...offices, flows }] })
      const all = [
        ...occurrences(scenario, { seed: 1, start: startAt("2026-03-03T00:00"), duration: dayMillis, rateScale: 20 })
      ]
      return {
        employees: all.filter(({ flow }) => flow === "employees").length,
        parcels: all.filter(({ flow, role }) => flow === "office_parcels" && role === "arrival leader").length
      }
    }
    const [usual, holiday, busy] = [count([], 1), count(["03-03"], 1), count(["2026-03-04"], 3)]
    assert.isBelow(holiday.employees, usual.employees / 10)
    assert.strictEqual(busy.employees, usual.employees)
    assert.closeTo(busy.parcels / usual.parcels, 3, 0.5)
  })

  it("has the stated number of employees, at least one in each company", () => {
    for (let id = 1; id <= 10; id++) {
      for (const [employees, companies] of [...Array.from({ length: 10 }, (_, n) => [n + 1, n + 1]), [20, 8]]) {
        const buildings = buildingsOf(
          read({ name: "x", buildings: [{ name: "O", id, offices: { employees, companies } }] })
        )
        const { people: all = [], units: rooms = [] } = buildings[0]?.building ?? {}
        const people = all.filter(({ duty }) => duty === "employee")
        const units = rooms.filter(({ use }) => use === "company")
        assert.strictEqual(people.length, employees)
        assert.strictEqual(new Set(people.map(({ unit }) => unit.id)).size, units.length)
        assert.strictEqual(units.length, companies)
      }
    }
  })

  it("gives lines that are the planned events", () => {
    const scenario = read({
      name: "x",
      buildings: [{ ...house, name: 'Haus "Süd"', offices: { employees: 30 }, devices: { outages: { every: "6h" } } }]
    })
    for (const record of records(scenario, { seed: 2, start: startAt("2026-03-02"), duration: 7 * dayMillis })) {
      assert.strictEqual(lineOf(record), `${JSON.stringify(plannedEvent(record))}\n`)
    }
  })
})

describe.each(presetNames.filter((name) => name !== "demo"))("%s", (name) => {
  const scenario = Option.getOrThrow(preset(name))

  it("has the stated number of events per day", () => {
    let count = 0
    for (const _ of records(scenario, { seed: 9, start: startAt("2026-03-02"), duration: 21 * dayMillis })) count++
    const stated = scenario.events_per_day ?? assert.fail("states none")
    // Because of the day factors, even averages over three weeks differ by 5 % and more.
    assert.closeTo(count / 21 / stated, 1, 0.17)
  })
})
