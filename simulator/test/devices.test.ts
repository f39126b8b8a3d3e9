/** Offline devices, late sending, wrong clocks, denied attempts, and anomalies. */
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { readScenario } from "@doorhook/simulator"
import { records } from "../src/plan/Plan.ts"
import type { Recorded } from "../src/plan/Devices.ts"
import { doorsPerController } from "../src/plan/Devices.ts"
import { dayMillis } from "../src/world/LocalTime.ts"
import type { Occurrence } from "../src/traffic/Occurrence.ts"
import { buildingsOf, occurrences, startAt, withoutEnds } from "./support.ts"

const scenario = (devices: object, anomalies: object = {}, flows: object = {}) =>
  Result.getOrThrow(
    readScenario(
      JSON.stringify({
        name: "x",
        buildings: [{ name: "House", time_zone: "Europe/Berlin", homes: { flats: 100 }, devices, anomalies, flows }]
      })
    )
  )

const week = { seed: 4, start: startAt("2026-03-02T00:00"), duration: 7 * dayMillis }

/** Devices without faults. */
const never = { every: "0s" }
const exact = { resolution: "0s", deviation: "0s", wrong: 0 }
const online = {
  outages: never,
  site_outages: never,
  region_outages: never,
  delay: { openings: { median: "0s" }, calls: { median: "0s" } },
  repeats: { share: 0 },
  alarms: { held: 0, forced: 0 },
  clocks: exact
}
const failing = {
  ...online,
  outages: { every: "8h", down: { median: "40m", sigma: 0.5 } },
  flush: { per_second: 10, jitter: "5s" }
}

const all = (devices: object, options = week): ReadonlyArray<Recorded<Occurrence>> =>
  withoutEnds(records(scenario(devices), options))

const doors = buildingsOf(scenario(online))[0]?.building.access_points.map(({ id }) => id) ?? []

const controllerOf = ({ occurrence }: Recorded<Occurrence>): number => {
  const { id } = occurrence._tag === "Call" ? occurrence.panel.access_point : occurrence.access_point
  return Math.floor(doors.indexOf(id) / doorsPerController)
}

describe("offline controllers", () => {
  const usual = all(online)
  const flaky = all(failing)
  const late = flaky.filter(({ at, occurrence }) => at > occurrence.time)

  it("send kept events in a burst, out of order, when they are back", () => {
    assert.isAbove(late.length, 40)
    for (const { at, occurrence, logged_at } of late) {
      assert.strictEqual(occurrence._tag, "Access")
      // The clock drifts while the controller is offline.
      assert.closeTo(logged_at, occurrence.time, 2_000)
      assert.isBelow(at - occurrence.time, 6 * 3_600_000)
    }
    const times = flaky.map(({ at }) => at)
    assert.deepStrictEqual(
      times,
      times.toSorted((a, b) => a - b)
    )
    const disorder = late.filter(({ logged_at }, index) => logged_at < (late[index - 1]?.logged_at ?? 0)).length
    assert.isAbove(disorder, 3)
  })

  it("keep the openings of members, and place no calls", () => {
    const members = (list: ReadonlyArray<Recorded>) =>
      list
        .filter(
          ({ occurrence: { cause, flow, _tag, time } }) =>
            _tag === "Access" &&
            cause === null &&
            flow !== "anomalies" &&
            time > week.start &&
            time < week.start + 6 * dayMillis
        )
        .map(({ occurrence }) => occurrence.id)
        .toSorted((a, b) => a - b)
    assert.deepStrictEqual(members(flaky), members(usual))
    const calls = (list: ReadonlyArray<Recorded>) => list.filter(({ occurrence }) => occurrence._tag === "Call").length
    assert.isBelow(calls(flaky), calls(usual))
    const placed = new Set(flaky.map(({ occurrence }) => occurrence.id))
    for (const { occurrence } of flaky) if (occurrence.cause !== null) assert.isTrue(placed.has(occurrence.cause))
  })

  it.each(["0s", "10m"])("send nothing during the next outage, with a jitter of %s", (jitter) => {
    const often = { every: "1h", down: { median: "40m" } }
    const lateOf = (flush: object) =>
      Map.groupBy(
        all({ ...online, outages: often, flush }).filter(({ at, occurrence }) => at > occurrence.time),
        controllerOf
      )
    // If events are sent without delay, a controller was offline from the time of an event until it was sent.
    const waits = lateOf({ per_second: 10_000, jitter: "0s" })
    for (const [controller, sent] of lateOf({ per_second: 10_000, jitter })) {
      const own = waits.get(controller) ?? []
      const isOffline = (time: number) => own.some(({ at, occurrence }) => occurrence.time < time && time < at - 1_000)
      assert.isAbove(sent.length, 50)
      assert.strictEqual(sent.filter(({ at }) => isOffline(at)).length, 0)
    }
  })

  it("have the same outages whatever day a plan begins on", () => {
    const [first, rest] = [
      all(failing, { ...week, duration: 3 * dayMillis }),
      all(failing, { ...week, start: startAt("2026-03-05T00:00"), duration: 4 * dayMillis })
    ]
    const ids = (list: ReadonlyArray<Recorded>) => list.map(({ at, occurrence }) => `${at} ${occurrence.id}`)
    assert.deepStrictEqual([...ids(first), ...ids(rest)], ids(flaky))
  })
})

describe("outages", () => {
  it("continue past midnight UTC, which is in the afternoon in Los Angeles, and past the nightly restart", () => {
    const house = {
      name: "House",
      time_zone: "America/Los_Angeles",
      homes: { flats: 200 },
      devices: {
        ...online,
        site_outages: { every: "5d", down: { median: "30h", sigma: 0.3 } },
        flush: { jitter: "0s" }
      }
    }
    const far = Result.getOrThrow(readScenario(JSON.stringify({ name: "x", buildings: [house] })))
    const late = [...records(far, { ...week, duration: 60 * dayMillis })].filter(
      ({ at, occurrence }) => at > occurrence.time
    )
    assert.isAbove(late.length, 200)
    assert.isAbove(Math.max(...late.map(({ at, occurrence }) => at - occurrence.time)), dayMillis)
    // All controllers of the building come back at the same time.
    const returns = Map.groupBy(late, ({ at }) => Math.floor(at / 120_000))
    assert.isTrue([...returns.values()].every((own) => own.length > 3))
  })

  it("of a region end for all its buildings within minutes, with hundreds of late events in one second", () => {
    const region_outages = { every: "2d", down: { median: "10h", sigma: 0.1 }, return_within: "20s" }
    const house = { name: "H", homes: { flats: 60 }, copies: 150, devices: { ...online, region_outages } }
    const region = Result.getOrThrow(readScenario(JSON.stringify({ name: "x", buildings: [house] })))
    const perSecond = new Map<number, number>()
    for (const { at, occurrence } of records(region, { ...week, duration: 5 * dayMillis })) {
      if (at === occurrence.time) continue
      const second = Math.floor(at / 1_000)
      perSecond.set(second, (perSecond.get(second) ?? 0) + 1)
    }
    assert.isAbove(Math.max(...perSecond.values()), 400)
  })

  it("longer than the buffer lasts lose the oldest events", () => {
    const site_outages = { every: "3d", down: { median: "20h", sigma: 0.1 } }
    const sizes = (buffer: number) => {
      const late = all({ ...online, site_outages, buffer, flush: { per_second: 10_000, jitter: "0s" } }).filter(
        ({ at, occurrence }) => at > occurrence.time
      )
      return Map.groupBy(late, (record) => `${controllerOf(record)} ${Math.floor(record.at / 2_000)}`)
    }
    const [small, large] = [sizes(40), sizes(10_000)]
    assert.strictEqual(Math.max(...[...small.values()].map(({ length }) => length)), 40)
    for (const [key, kept] of small) {
      const idsOf = (list: ReadonlyArray<Recorded> = []) =>
        list
          .toSorted((a, b) => a.occurrence.time - b.occurrence.time)
          .slice(-40)
          .map(({ occurrence }) => occurrence.id)
      assert.deepStrictEqual(idsOf(kept), idsOf(large.get(key)))
    }
  })
})

describe("devices that are online", () => {
  it("publish after a short delay, in whole seconds, with alarms and second uploads in their share", () => {
    const list = [...records(scenario({ outages: never, site_outages: never, region_outages: never }), week)]
    const openings = list.filter(({ occurrence }) => occurrence._tag === "Access")
    const delays = openings.map(({ at, occurrence }) => at - occurrence.time).toSorted((a, b) => a - b)
    assert.closeTo(delays[Math.floor(delays.length / 2)] ?? 0, 600, 60)
    assert.isTrue(list.every(({ logged_at }) => logged_at % 1_000 === 0))
    const months = { ...week, duration: 120 * dayMillis }
    const share = (devices: object, isIn: (record: Recorded, before: ReadonlySet<number>) => boolean) => {
      const seen = new Set<number>()
      let [hits, count] = [0, 0]
      for (const record of records(scenario({ ...online, ...devices }, { door_held: 0, door_forced: 0 }), months)) {
        if (record.occurrence._tag === "Call") continue
        count++
        if (isIn(record, seen)) hits++
        seen.add(record.occurrence.id)
      }
      return hits / count
    }
    const alarms = { alarms: { held: 0.02, forced: 0.01 } }
    const isOf =
      (status: string) =>
      ({ occurrence }: Recorded) =>
        occurrence._tag === "Access" && occurrence.release_status === status
    assert.closeTo(share(alarms, isOf("Held open")), 0.02, 0.003)
    assert.closeTo(share(alarms, isOf("Forced")), 0.01, 0.003)
    const repeats = { repeats: { share: 0.04, new_id: 0.5, after: "30s" } }
    assert.closeTo(
      share(repeats, ({ occurrence }, before) => before.has(occurrence.id)),
      0.02,
      0.003
    )
    assert.closeTo(
      share(repeats, ({ occurrence }) => occurrence.label === "repeated"),
      0.02,
      0.003
    )
  })
})

describe("clocks", () => {
  it("set by hand drift from day to day, the others only while they are offline", () => {
    const skewsOf = (devices: object) =>
      all(devices, { ...week, duration: 20 * dayMillis }).map(({ occurrence, logged_at }) => ({
        controller: controllerOf({ occurrence, logged_at, at: 0 }),
        day: Math.floor((occurrence.time - week.start) / dayMillis),
        skew: Math.abs(logged_at - occurrence.time)
      }))
    const loose = skewsOf({
      ...online,
      clocks: { ...exact, wrong: 1, wrong_deviation: "0s", drift: 20, set_every: "30d" }
    })
    for (const own of Map.groupBy(loose, ({ controller }) => controller).values()) {
      const byDay = Map.groupBy(own, ({ day }) => day)
      const means = [...byDay.values()].map((some) => some.reduce((sum, { skew }) => sum + skew, 0) / some.length)
      // A sawtooth: the error grows each day until the clock is set.
      assert.isAbove(means.filter((mean, index) => mean > (means[index - 1] ?? 0)).length, 16)
    }
    const kept = skewsOf({ ...failing, clocks: { ...exact, drift: 1_000 } })
    assert.isAbove(kept.filter(({ skew }) => skew > 100).length, 20)
    assert.isAbove(kept.filter(({ skew }) => skew === 0).length, kept.length / 2)
  })

  it("have a fixed error for each controller, shared by door and panel", () => {
    const skewed = all({
      ...online,
      clocks: { ...exact, wrong: 1, wrong_deviation: "90s", drift: 0, set_every: "3000d" }
    })
    const skews = new Set(skewed.map(({ occurrence, logged_at }) => logged_at - occurrence.time))
    assert.isTrue(skews.size >= 1 && skews.size <= 2, `${skews.size}`)
    assert.isAbove(Math.max(...[...skews].map(Math.abs)), 1_000)
    const skewOf = new Map(skewed.map(({ occurrence, logged_at }) => [occurrence.id, logged_at - occurrence.time]))
    for (const { occurrence, logged_at } of skewed) {
      if (occurrence.cause !== null) assert.strictEqual(logged_at - occurrence.time, skewOf.get(occurrence.cause))
    }
  })
})

describe("anomalies", () => {
  it("are labelled, and leave all other events as they were", () => {
    const often = {
      buzzer_spam: 60,
      stuck_button: 30,
      pin_guessing: 60,
      shared_credential: 60,
      door_held: 60,
      door_forced: 60,
      night_entry: 60
    }
    const none = Object.fromEntries(Object.keys(often).map((kind) => [kind, 0]))
    const [with_, without] = [often, none].map((anomalies) => [...occurrences(scenario(online, anomalies), week)])
    const own = (with_ ?? []).filter(({ flow }) => flow === "anomalies")
    assert.deepStrictEqual(
      (with_ ?? []).filter(({ flow }) => flow !== "anomalies"),
      without
    )
    assert.deepStrictEqual(new Set<string | null>(own.map(({ label }) => label)), new Set(Object.keys(often)))
    for (const h of own) {
      if (h.label === "pin_guessing") assert.isTrue(h._tag === "Access" && h.release_status === "Denied")
      if (h.label === "door_forced")
        assert.isTrue(h._tag === "Access" && h.release_status === "Forced" && h.tenant_ids.length === 0)
    }
  })

  it("include denied attempts as often as stated, most of them followed by another within seconds", () => {
    const list = all(online, { ...week, duration: 28 * dayMillis }).map(({ occurrence }) => occurrence)
    const attempts = list.filter(({ flow }) => flow === "residents")
    const denied = attempts.filter(({ label }) => label === "denied")
    assert.closeTo(denied.length / attempts.length, 0.02, 0.006)
    const next = denied.filter((h) =>
      attempts.some(
        (other) =>
          other !== h &&
          other._tag === "Access" &&
          h._tag === "Access" &&
          other.name === h.name &&
          other.access_point === h.access_point &&
          other.time > h.time &&
          other.time <= h.time + 5_500
      )
    )
    assert.closeTo(next.length / denied.length, 0.6, 0.15)
  })

  it.each([0.25, 0.5, 0.9])("include a share of %s denied attempts if that is stated", (share) => {
    const often = scenario(online, {}, { residents: { denied: { share } } })
    const attempts = [...occurrences(often, { ...week, duration: 28 * dayMillis })].filter(
      ({ flow }) => flow === "residents"
    )
    const denied = attempts.filter(({ label }) => label === "denied")
    assert.closeTo(denied.length / attempts.length, share, 0.05)
  })
})
