/** Compares the table of time zones with the time zones of the runtime. */
import { assert, describe, it } from "@effect/vitest"
import { momentAt } from "../src/world/LocalDay.ts"
import { formatDay } from "../src/world/CalendarDate.ts"
import { changeBetween, offsetAt, timeZone } from "../src/world/zones/TimeZone.ts"
import table from "../src/world/zones/zones.json" with { type: "json" }

const { aliases, edition, zones } = table

const readerOf = (zone: string) => {
  const format = new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" })
  return (instant: number): number => {
    const text = format.formatToParts(instant).find(({ type }) => type === "timeZoneName")?.value ?? ""
    const match = /GMT(?:([+-])(\d\d):(\d\d))?/.exec(text)
    const [, sign = "+", hours = "0", minutes = "0"] = match ?? []
    return (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000
  }
}

/** Zones whose rules are the same in every recent edition of the time-zone data. */
const steady = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "UTC", "Asia/Tokyo"]

describe("time zones", () => {
  const names = edition === process.versions["tz"] ? [...Object.keys(zones), "Europe/Vienna"] : steady

  it("agree with the runtime", () => {
    for (const name of names) {
      const reader = readerOf(name)
      // Compares two days in every third year. Steady zones are also compared throughout 2026.
      for (let year = 2000; year < 2080; year += 3) {
        for (const month of [0, 6]) {
          const instant = Date.UTC(year, month, 15, 12)
          assert.strictEqual(offsetAt(instant, name), reader(instant), `${name} ${year}-${month + 1}`)
        }
      }
    }
    for (const name of steady) {
      const reader = readerOf(name)
      for (let instant = Date.UTC(2026, 0, 1); instant < Date.UTC(2027, 0, 1); instant += 6 * 3_600_000) {
        assert.strictEqual(offsetAt(instant, name), reader(instant), `${name} ${instant}`)
      }
    }
  })

  it("apply to receivers' clocks, across clock changes and for earlier times", () => {
    const shown = (instant: string) => {
      const { day, minute } = momentAt(Date.parse(instant), "Europe/Berlin")
      return [formatDay(day), minute]
    }
    assert.deepStrictEqual(shown("2026-03-29T00:59:59Z"), ["2026-03-29", 119])
    assert.deepStrictEqual(shown("2026-03-29T01:00:00Z"), ["2026-03-29", 180])
    assert.deepStrictEqual(shown("2026-03-29T00:59:59Z"), ["2026-03-29", 119])
    assert.deepStrictEqual(shown("2026-12-31T23:30:00Z"), ["2027-01-01", 30])
  })

  it("are known by their other names", () => {
    for (const name of Object.keys(aliases)) assert.isNotNull(timeZone(name), name)
    assert.isNull(timeZone("Europe/Nowhere"))
    assert.isNull(timeZone(""))
    assert.isNull(timeZone("constructor"))
  })

  it.each(["CET", "EST5EDT", "Etc/GMT+5", "US/Pacific"])(
    "missing in the table are read from the runtime: %s",
    (name) => {
      const reader = readerOf(name)
      for (let instant = Date.UTC(2026, 0, 1); instant < Date.UTC(2027, 0, 1); instant += 6 * 3_600_000) {
        assert.strictEqual(offsetAt(instant, name), reader(instant), `${name} ${instant}`)
      }
      const change = changeBetween(Date.UTC(2026, 2, 29), Date.UTC(2026, 2, 30), name)
      assert.strictEqual(change?.at ?? null, name === "CET" ? Date.UTC(2026, 2, 29, 1) : null)
    }
  )
})
