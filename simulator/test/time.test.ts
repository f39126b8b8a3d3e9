import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { Option } from "effect"
import { fromIso, toIso } from "../src/plan/PlannedEvent.ts"
import { dayNumberAt, elapsedAt, hourAt, instantOf, makeLocalDay, timeOfDay } from "../src/world/LocalDay.ts"
import { dayMillis, hour, minute, parse } from "../src/world/LocalTime.ts"

const dayOf = (date: string, zone: string) => makeLocalDay(Option.getOrThrow(parse(date)) / dayMillis, zone)

describe("local times", () => {
  it("are read as times of a clock without changes", () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date("2001-01-01T00:00:00Z"), max: new Date("2078-12-31T23:59:59Z"), noInvalidDate: true }),
        (date) => {
          const seconds = Math.floor(date.getTime() / 1_000) * 1_000
          const text = new Date(seconds).toISOString().slice(0, 19)
          assert.deepStrictEqual(Option.getOrNull(parse(text)), seconds)
        }
      )
    )
    assert.deepStrictEqual(Option.getOrNull(parse("2026-03-02")), Date.UTC(2026, 2, 2))
    assert.deepStrictEqual(Option.getOrNull(parse("2026-03-02T08:30")), Date.UTC(2026, 2, 2, 8, 30))
  })

  it("are refused if they do not exist", () => {
    for (const text of [
      "2000-12-31",
      "2026-02-29",
      "2100-02-28",
      "2026-13-01",
      "2026-00-10",
      "2026-04-31T00:00",
      "2026-03-02T24:00",
      "2026-03-02T08:60",
      "2026-03-02T08:30Z",
      "02.03.2026",
      ""
    ]) {
      assert.isTrue(Option.isNone(parse(text)), text)
    }
    assert.isTrue(Option.isSome(parse("2028-02-29")))
  })
})

describe("days in a time zone", () => {
  it("last 24 hours as a rule", () => {
    const day = dayOf("2026-03-02", "Europe/Berlin")
    assert.strictEqual(toIso(day.start), "2026-03-01T23:00:00.000Z")
    assert.deepStrictEqual([day.length, day.weekday, day.change], [24 * hour, 1, null])
  })

  it("skip an hour in spring", () => {
    const day = dayOf("2026-03-29", "Europe/Berlin")
    assert.strictEqual(day.length, 23 * hour)
    assert.strictEqual(timeOfDay(day, 2 * hour - 1), 2 * hour - 1)
    assert.strictEqual(timeOfDay(day, 2 * hour), 3 * hour)
    assert.strictEqual(elapsedAt(day, 8 * hour), 7 * hour)
    // 2:30 doesn't exist and counts as 3:30.
    assert.strictEqual(elapsedAt(day, 2.5 * hour), 2.5 * hour)
    assert.strictEqual(timeOfDay(day, 2.5 * hour), 3.5 * hour)
  })

  it("repeat an hour in autumn", () => {
    const day = dayOf("2026-10-25", "Europe/Berlin")
    assert.strictEqual(day.length, 25 * hour)
    assert.strictEqual(timeOfDay(day, 2.5 * hour), 2.5 * hour)
    assert.strictEqual(timeOfDay(day, 3.5 * hour), 2.5 * hour)
    assert.strictEqual(elapsedAt(day, 2.5 * hour), 2.5 * hour)
    assert.strictEqual(elapsedAt(day, 8 * hour), 9 * hour)
  })

  it("begin at one o'clock where midnight is skipped", () => {
    const day = dayOf("2024-04-26", "Africa/Cairo")
    assert.strictEqual(day.length, 23 * hour)
    assert.strictEqual(timeOfDay(day, 0), hour)
    // 0:30 doesn't exist and counts as 1:30.
    assert.strictEqual(elapsedAt(day, 30 * minute), 30 * minute)
    assert.strictEqual(elapsedAt(day, hour), 0)
    assert.strictEqual(elapsedAt(day, 8 * hour), 7 * hour)
  })

  it("follow each other without a gap, in every zone", () => {
    const zones = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "Asia/Kolkata"]
    fc.assert(
      fc.property(fc.constantFrom(...zones), fc.integer({ min: 18_000, max: 24_000 }), (zone, number) => {
        const day = makeLocalDay(number, zone)
        const next = makeLocalDay(number + 1, zone)
        assert.strictEqual(day.start + day.length, next.start)
        assert.strictEqual(dayNumberAt(day.start, zone), number)
        assert.strictEqual(dayNumberAt(next.start - 1, zone), number)
        assert.strictEqual((day.weekday + 1) % 7, next.weekday)
      })
    )
  })

  it("convert every moment to clock time and back", () => {
    fc.assert(
      fc.property(
        fc.constantFrom("Europe/Berlin", "America/New_York", "Australia/Lord_Howe"),
        fc.integer({ min: 18_000, max: 24_000 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (zone, number, share) => {
          const day = makeLocalDay(number, zone)
          const elapsed = Math.floor(share * day.length)
          const time = timeOfDay(day, elapsed)
          assert.strictEqual(Math.floor(time / hour), hourAt(day.start + elapsed, zone))
          // In a repeated hour, `elapsedAt` returns the first of the two times.
          const found = elapsedAt(day, time)
          assert.isTrue(found === elapsed || (found < elapsed && timeOfDay(day, found) === time))
          assert.strictEqual(day.start + found, instantOf(number * dayMillis + time, zone))
        }
      )
    )
  })
})

describe("times of a day", () => {
  it("are converted to instants, including skipped times", () => {
    const zones = ["Europe/Berlin", "Australia/Lord_Howe", "Africa/Cairo", "America/Santiago", "Asia/Beirut"]
    const changes = zones.flatMap((zone) =>
      Array.from({ length: 1_000 }, (_, at) => makeLocalDay(19_700 + at, zone))
        .filter(({ length }) => length !== dayMillis)
        .map((day) => ({ day, zone }))
    )
    for (const { day, zone } of changes) {
      for (let time = 0; time < dayMillis; time += 10 * minute) {
        const wall = day.number * dayMillis + time
        assert.strictEqual(day.start + elapsedAt(day, time), instantOf(wall, zone), `${wall} in ${zone}`)
      }
    }
    assert.isAbove(changes.length, 20)
  })
})

describe("ISO times", () => {
  it("are formatted like in JavaScript, and read back", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4_000_000_000_000 }), (instant) => {
        assert.strictEqual(toIso(instant), new Date(instant).toISOString())
        assert.strictEqual(fromIso(toIso(instant)), instant)
      })
    )
  })
})
