/** The traffic of the presets matches their flows: how many people come, when, and which passages follow. */
import { assert, describe, it } from "@effect/vitest"
import type { Scenario } from "@doorhook/simulator"
import { LocalTime } from "@doorhook/simulator"
import { eventNumbers, rosterOf } from "../src/plan/Plan.ts"
import { root } from "../src/random/Substream.ts"
import { occurrencesOfDay } from "../src/traffic/Flows.ts"
import { makeLocalDay } from "../src/world/LocalDay.ts"
import type { Access, Occurrence } from "../src/traffic/Occurrence.ts"
import type { OutsiderFlow } from "../src/traffic/Outsiders.ts"
import { buildingsOf, occurrences, scenarioOf, startAt, uniformityPValue, withBuildings, withFlows } from "./support.ts"

const day = LocalTime.dayMillis
const hour = LocalTime.hour
const tuesday = startAt("2026-03-03T00:00")

/** Returns the time of day in Berlin, in winter, in hours. */
const clockOf = ({ time }: Occurrence): number => ((((time + hour) % day) + day) % day) / hour

const outsiders = (scenario: Scenario): ReadonlyArray<OutsiderFlow> =>
  buildingsOf(scenario).flatMap(({ flows }) => flows.flatMap((flow) => (flow._tag === "Outsiders" ? [flow] : [])))

const onOutsiders = (scenario: Scenario, change: (flow: OutsiderFlow) => OutsiderFlow): Scenario =>
  withFlows(scenario, (flow) => (flow._tag === "Outsiders" ? change(flow) : flow))

const onlyOutsiders = (scenario: Scenario): Scenario =>
  withBuildings(
    scenario,
    buildingsOf(scenario).map((traffic) => ({
      ...traffic,
      flows: traffic.flows.filter(({ _tag }) => _tag === "Outsiders")
    }))
  )

/** Parameters with which nobody works in shifts. */
const byDay = { shifts: { early: 0, late: 0, night: 0, attendance: 0 } }

/** Whether a binomial count is within four standard deviations of its expectation. */
const near = (hits: number, tries: number, share: number): boolean =>
  Math.abs(hits - tries * share) <= 4 * Math.sqrt(tries * share * (1 - share))

describe.each(["residential-200", "office-1000", "mixed-use", "quiet"])("visitors of %s", (name) => {
  const scenario = scenarioOf(name)
  const weeks = 8

  it("come as often as their flow states, on each day of the week", () => {
    // With these changes, each arrival is one ring or one use of a code.
    const once = onOutsiders(onlyOutsiders(scenario), (flow) => ({ ...flow, repeated: 0, most_rings: 1, groups: 0 }))
    const counts = new Map<string, number>()
    for (const occurrence of occurrences(once, {
      seed: 11,
      start: startAt("2026-01-05T00:00"),
      duration: weeks * 7 * day
    })) {
      if (occurrence._tag === "Access" && occurrence.entry_method === "app") continue
      const weekday = (Math.floor((occurrence.time + hour) / day) + 4) % 7
      const key = `${occurrence.flow} ${weekday}`
      counts.set(key, (counts.get(key) ?? 0) + 1)
    }
    for (const flow of outsiders(scenario)) {
      for (let weekday = 0; weekday < 7; weekday++) {
        const mean = flow.per_day * (flow.weekdays[weekday] ?? 0)
        // The variance consists of the Poisson variance and that of the day factor.
        const deviation = Math.sqrt(weeks * (mean + (flow.day_variation * mean) ** 2))
        const count = counts.get(`${flow.name} ${weekday}`) ?? 0
        assert.isAtMost(Math.abs(count - weeks * mean), 4.5 * deviation + 0.5, `${flow.name} on weekday ${weekday}`)
      }
    }
  })
})

describe("visits", () => {
  const scenario = scenarioOf("residential-200")
  const all = [...occurrences(onlyOutsiders(scenario), { seed: 2, start: tuesday, duration: 56 * day })]
  const visitors = all.filter(({ flow }) => flow === "visitors")
  const calls = visitors.filter(({ _tag }) => _tag === "Call")
  const opened = visitors.filter((h) => h._tag === "Access" && h.entry_method === "app")
  const byCode = visitors.filter((h) => h._tag === "Access" && h.role === "arrival leader")
  const flow = outsiders(scenario).find(({ name }) => name === "visitors")

  it("end with an open door as often as the flow states", () => {
    // One household in thirty is away and doesn't answer.
    assert.isTrue(near(opened.length, calls.length, 0.75 * 0.9 * 0.97), `${opened.length} of ${calls.length}`)
  })

  it("need no ring as often as the flow states", () => {
    // Several calls of one visit count once. After each of the first two rings, another one follows with probability
    // 0.25 x 0.35.
    const rung = calls.length / (1 + 0.0875 + 0.0875 ** 2)
    const arrivals = rung + byCode.length
    assert.isTrue(near(byCode.length, arrivals, flow?.code ?? 0), `${byCode.length} of ${arrivals}`)
    const qr = byCode.filter((h) => h._tag === "Access" && h.entry_method === "qr_code").length
    assert.isTrue(near(qr, byCode.length, 0.7))
  })
})

describe("leaders", () => {
  it("of employees' groups arrive by the flow's bell curve", () => {
    const alone = withFlows(scenarioOf("office-1000"), (flow) =>
      flow._tag === "Employees"
        ? {
            ...flow,
            ...byDay,
            arrival_groups: 0,
            arrives: { at: 8.83, spread: 0.39 },
            lunch: { ...flow.lunch, share: 0 }
          }
        : flow
    )
    const arrivals = [...occurrences(alone, { seed: 4, start: tuesday, duration: day })]
      .filter((h) => h.flow === "employees" && h._tag === "Access" && h.access_point.kind !== "interior")
      .map(clockOf)
      .filter((clock) => clock < 11)
    assert.isAbove(arrivals.length, 300)
    const share = (z: number) => {
      // Normal distribution function, by Simpson's rule.
      const [from, steps] = [-8, 2_000]
      const width = (z - from) / steps
      let sum = 0
      for (let step = 0; step <= steps; step++) {
        const weight = step === 0 || step === steps ? 1 : step % 2 === 1 ? 4 : 2
        sum += weight * Math.exp(-((from + step * width) ** 2) / 2)
      }
      return (sum * width) / 3 / Math.sqrt(2 * Math.PI)
    }
    assert.isAbove(uniformityPValue(arrivals.map((clock) => share((clock - 8.83) / 0.39))), 0.001)
    assert.isBelow(uniformityPValue(arrivals.map((clock) => share((clock - 9) / 0.39))), 0.001)
  })
})

describe("members", () => {
  it("of an office come as often as stated for the weekday", () => {
    const scenario = withFlows(scenarioOf("office-1000"), (flow) =>
      flow._tag === "Employees" ? { ...flow, ...byDay, day_variation: 0 } : flow
    )
    const present = new Map<number, Set<string>>()
    for (const h of occurrences(scenario, { seed: 6, start: startAt("2026-03-02T00:00"), duration: 7 * day })) {
      if (h.flow !== "employees" || h._tag !== "Access" || h.access_point.kind !== "interior") continue
      const weekday = (Math.floor((h.time + hour) / day) + 4) % 7
      present.set(weekday, (present.get(weekday) ?? new Set()).add(`${h.name} ${h.tenant_ids.join()}`))
    }
    for (const [weekday, share] of [0.02, 0.52, 0.62, 0.62, 0.56, 0.35, 0.04].entries()) {
      const count = present.get(weekday)?.size ?? 0
      // The count can be too low: people of one company with the same name count once, and a position can be vacant for
      // some weeks after somebody has left the company.
      assert.isTrue(
        near(count, 1_000, share) || (count < 1_000 * share && near(count + 12 + 15 * share, 1_000, share)),
        `${weekday}: ${count}`
      )
    }
  })

  /**
   * Returns the passages of each person on one Tuesday, in order of time. Leaves out people whose name is not unique in
   * their unit.
   */
  const passagesByPerson = (scenario: Scenario, flowName: string, seed: number) => {
    const own = new Map<string, Array<Access>>()
    const traffic = buildingsOf(scenario)[0] ?? assert.fail("no building")
    const { building, flows } = traffic
    const roster = rosterOf(traffic, seed)
    const flow = flows.find(({ name }) => name === flowName) ?? assert.fail("no such flow")
    const occurrences = occurrencesOfDay({
      flow,
      building,
      roster,
      day: makeLocalDay(tuesday / day, building.time_zone),
      weekday: 2,
      substream: root(seed),
      weather: root(seed),
      rateScale: 1,
      nextId: eventNumbers(0)
    })
    for (const occurrence of occurrences) {
      if (occurrence._tag !== "Access" || occurrence.label !== null) continue
      const key = `${occurrence.name} ${occurrence.tenant_ids.join()}`
      own.set(key, [...(own.get(key) ?? []), occurrence])
    }
    const people = building.people.flatMap((_, place) => roster.personOn(place, tuesday / day) ?? [])
    for (const [key, all] of Map.groupBy(people, ({ name, tenant_ids }) => `${name} ${tenant_ids.join()}`)) {
      if (all.length > 1) own.delete(key)
    }
    return [...own.values()]
  }

  it("of an office come and leave once, with lunch in between", () => {
    // With these parameters, some employees come too late for lunch.
    const lateRisers = withFlows(scenarioOf("office-1000"), (flow) =>
      flow._tag === "Employees" ? { ...flow, ...byDay, tailgating: 0, arrives: { at: 11, spread: 0.7 } } : flow
    )
    for (let seed = 0; seed < 10; seed++) {
      const people = passagesByPerson(lateRisers, "employees", seed)
      assert.isAbove(people.length, 300)
      let lunches = 0
      for (const own of people) {
        const lobby = own.filter(({ access_point }) => access_point.kind !== "interior").map(clockOf)
        const floor = own.filter(({ access_point }) => access_point.kind === "interior").map(clockOf)
        const [comes = 0, out = 0, back = 0, leaves = 0] =
          lobby.length === 2 ? [lobby[0], undefined, undefined, lobby[1]] : lobby
        assert.isAtLeast(leaves - comes, 3 - 1e-9)
        assert.isTrue(floor.every((clock) => clock > comes && clock < leaves))
        if (lobby.length === 2) continue
        assert.strictEqual(lobby.length, 4)
        // Nobody opens a floor door while out.
        assert.isTrue(floor.every((clock) => clock < out || clock > back))
        // Lunch is around noon. If passages were in the wrong order, lunch would be at the beginning or end of the day.
        assert.isTrue(out > 10.4 && back < 16 && out > comes + 0.49 && back < leaves - 0.49, lobby.join(" "))
        lunches++
      }
      assert.isTrue(lunches > people.length * 0.4 && lunches < people.length * 0.6, `${lunches} of ${people.length}`)
    }
  })

  it("of a residential building who drive are never out twice at the same time", () => {
    const drivers = passagesByPerson(scenarioOf("residential-200"), "residents", 6)
      .map((own) => own.filter(({ access_point }) => access_point.kind === "garage"))
      .filter((own) => own.length > 0)
    assert.isAbove(drivers.length, 50)
    for (const own of drivers) {
      // The passages alternate: out, in, out, in.
      assert.strictEqual(own.length % 2, 0)
      for (const [place, passage] of own.entries()) {
        if (place % 2 === 0 && place > 0) assert.isAtLeast(clockOf(passage) - clockOf(own[place - 1] ?? passage), 0.24)
      }
    }
  })

  it("keep to local time after a clock change", () => {
    // Returns the median time of morning passages through the gate. Clocks go forward between the two Mondays, on 29
    // March 2026.
    const medianOf = (date: string) => {
      const out = [
        ...occurrences(scenarioOf("residential-200"), {
          seed: 9,
          start: startAt(date),
          duration: 12 * hour,
          rateScale: 30
        })
      ]
        .filter((h) => h.flow === "residents" && h._tag === "Access" && h.access_point.kind === "garage")
        .map(({ time }) => time % day)
        .toSorted((a, b) => a - b)
      return (out[Math.floor(out.length / 2)] ?? 0) / hour
    }
    const [winter, summer] = [medianOf("2026-03-23T00:00"), medianOf("2026-03-30T00:00")]
    assert.closeTo(winter - summer, 1, 0.1)
  })

  it("vary from day to day around their habits", () => {
    const arrivals: Array<number> = []
    const scenario = withFlows(scenarioOf("office-1000"), (flow) =>
      flow._tag === "Employees"
        ? { ...flow, ...byDay, arrives: { at: 8.83, spread: 0.39 }, lunch: { ...flow.lunch, share: 0 } }
        : flow
    )
    for (const h of occurrences(scenario, { seed: 12, start: tuesday, duration: 3 * day })) {
      if (h.flow !== "employees" || h._tag !== "Access" || h.access_point.kind === "interior") continue
      if (clockOf(h) < 11) arrivals.push(clockOf(h))
    }
    const mean = arrivals.reduce((sum, clock) => sum + clock, 0) / arrivals.length
    const variance = arrivals.reduce((sum, clock) => sum + (clock - mean) ** 2, 0) / arrivals.length
    assert.closeTo(mean, 8.83, 0.03)
    assert.closeTo(Math.sqrt(variance), 0.39, 0.02)
  })

  it("are multiplied by the rate scale", () => {
    const count = (rateScale: number) =>
      [...occurrences(scenarioOf("office-1000"), { seed: 1, start: tuesday, duration: day, rateScale })].length
    const [half, one, five] = [count(0.5), count(1), count(5)]
    assert.closeTo(half / one, 0.5, 0.06)
    assert.closeTo(five / one, 5, 0.3)
  })
})

/** Counts occurrences by hour in the nights (noon to noon) that begin on these weekdays (0 is Sunday). */
const nightsOf = (scenario: Scenario, flow: string, weeks: number, weekdays: ReadonlyArray<number>) => {
  const hours = Array.from({ length: 24 }, () => 0)
  const start = startAt("2026-01-05T00:00")
  for (const h of occurrences(scenario, { seed: 3, start, duration: weeks * 7 * day })) {
    const at = Math.floor(clockOf(h))
    const weekday = (Math.floor((h.time + hour - 12 * hour) / day) + 4) % 7
    if (h.flow === flow && h.label === null && weekdays.includes(weekday)) hours[at] = (hours[at] ?? 0) + 1
  }
  return (from: number, to: number) => hours.slice(from, to).reduce((sum, count) => sum + count, 0)
}

describe("nights", () => {
  const office = scenarioOf("office-1000")

  it("in an office have a guard, early and late cleaners, and shift workers", () => {
    const guards = nightsOf(office, "guards", 4, [0, 1, 2, 3, 4, 5, 6])
    assert.isAbove(guards(0, 5) / 28, 5)
    assert.strictEqual(guards(9, 18), 0)
    const cleaners = nightsOf(office, "cleaners", 4, [1, 2, 3, 4, 5])
    const all = cleaners(0, 24)
    assert.closeTo(cleaners(4, 9) / all, 0.24, 0.12)
    assert.closeTo(cleaners(17, 24) / all, 0.38, 0.15)
    const employees = nightsOf(office, "employees", 4, [1, 2, 3, 4])
    assert.isAbove(employees(0, 5) / 16, 1)
    assert.isAbove(employees(5, 6) / 16, 8)
  })
})

describe("households", () => {
  const traffic = buildingsOf(scenarioOf("residential-200"))[0] ?? assert.fail("no building")
  const { building } = traffic
  const first = tuesday / day

  it("are away for days, without anybody coming or answering", () => {
    const roster = rosterOf(traffic, 2)
    const homes = building.units.filter(({ use }) => use === "home")
    let [away, trips] = [0, 0]
    for (const unit of homes) {
      for (let at = first; at < first + 365; at++) {
        if (!roster.isAway(unit, at)) continue
        away++
        if (!roster.isAway(unit, at - 1)) trips++
      }
    }
    assert.closeTo(trips / homes.length, 1, 0.25)
    assert.closeTo(away / trips, 12.3, 2)
    for (const h of occurrences(scenarioOf("residential-200"), { seed: 2, start: tuesday, duration: 28 * day })) {
      const number = Math.floor((h.time + hour) / day)
      const unit = homes.find(({ tenant_ids }) => tenant_ids.some((tenant) => h.tenant_ids.includes(tenant)))
      // The first day of a trip is not checked, because people can come home after midnight.
      const isAway = unit !== undefined && roster.isAway(unit, number) && roster.isAway(unit, number - 1)
      const isOpening = h._tag === "Access" && (h.flow === "residents" || h.entry_method === "app")
      assert.isFalse(isAway && isOpening, `${h.flow} ${h.id}`)
    }
  })

  it("move out, and others move in after some time, with any seed", () => {
    const [one, other] = [rosterOf(traffic, 2), rosterOf(traffic, 3)]
    const namesOn = (roster: typeof one, at: number) =>
      building.people.map((_, place) => roster.personOn(place, at)?.name ?? null)
    const [before, after] = [namesOn(one, first), namesOn(one, first + 365)]
    const changed = before.filter((name, place) => name !== after[place]).length / before.length
    assert.closeTo(changed, 0.12, 0.06)
    assert.deepStrictEqual(namesOn(other, first + 365), after)
    assert.deepStrictEqual(namesOn(one, first), before)
    const days = Array.from({ length: 24 }, (_, n) => namesOn(one, first + 15 * n))
    const empty = days.flat().filter((name) => name === null).length / days.flat().length
    assert.isTrue(empty > 0 && empty < 0.03, `${empty}`)
  })
})
