/** A fit recovers the parameters with which a log was generated, and reports mistakes in a log. */
import { assert, describe, it } from "@effect/vitest"
import { Option, Result } from "effect"
import { preset } from "@doorhook/simulator"
import { readLog, readTime } from "../../src/fit/AccessLog.ts"
import type { LogOptions } from "../../src/fit/AccessLog.ts"
import type { Kind } from "../../src/fit/Fit.ts"
import { fit } from "../../src/fit/Fit.ts"
import { records } from "../../src/plan/Plan.ts"
import { toIso } from "../../src/plan/PlannedEvent.ts"
import type { EmployeeFlow } from "../../src/traffic/Employees.ts"
import type { OutsiderFlow } from "../../src/traffic/Outsiders.ts"
import type { Scenario } from "../../src/scenario/Scenario.ts"
import { dayMillis } from "../../src/world/LocalTime.ts"
import { startAt } from "../support.ts"

const zone = "Europe/Berlin"
const options: LogOptions = { zone, named: {}, dates: "month-first" }

const quoted = (text: string) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

/** Returns four weeks of a preset as an access log. */
const logOf = (scenario: Scenario): string => {
  const rows = ["Time,Type,Door,Person,Unit,Method,Result,Purpose"]
  for (const { occurrence: h, logged_at } of records(scenario, {
    seed: 6,
    start: startAt("2026-03-02T00:00"),
    duration: 28 * dayMillis
  })) {
    const unit = h.tenant_ids.join("+")
    const cells =
      h._tag === "Call"
        ? [toIso(logged_at), "call", h.panel.name, "", unit, "", "", h.notification_type]
        : [toIso(logged_at), "access", h.access_point.name, h.name, unit, h.entry_method, h.release_status, ""]
    rows.push(cells.map(quoted).join(","))
  }
  return `${rows.join("\r\n")}\r\n`
}

const fitted = (name: string) => {
  const log = Result.getOrThrow(readLog(logOf(Option.getOrThrow(preset(name))), options))
  return Result.getOrThrow(fit(log, { name: "mine", kind: null }))
}

const flowOf = (scenario: Scenario, name: string) =>
  scenario.buildings[0]?.flows.find((flow) => flow.name === name) ?? assert.fail(`no ${name}`)

describe("fit of an office", () => {
  const found = fitted("office-1000")
  const [own, given] = [found.scenario, Option.getOrThrow(preset("office-1000"))]
  const employees = (scenario: Scenario): EmployeeFlow => {
    const flow = flowOf(scenario, "employees")
    return flow._tag === "Employees" ? flow : assert.fail("no employees")
  }
  const [mine, theirs] = [employees(own), employees(given)]

  it("finds an office and its people", () => {
    assert.strictEqual(found.kind, "offices")
    assert.closeTo(found.people, 1_000, 15)
  })

  it("recovers attendance, times, groups and lunch", () => {
    for (const [weekday, share] of theirs.attendance.entries()) {
      // The log covers each weekday four times, and the day factor varies by 0.15.
      assert.closeTo(mine.attendance[weekday] ?? 0, share, 0.02 + 0.3 * share, `weekday ${weekday}`)
    }
    // Cleaners count as members too, and come early and late.
    for (const shift of ["early", "late", "night"] as const)
      assert.closeTo(mine.shifts[shift], theirs.shifts[shift], 0.02, shift)
    assert.closeTo(mine.arrives.at, theirs.arrives.at, 0.08)
    assert.closeTo(mine.arrives.spread, theirs.arrives.spread, 0.06)
    assert.closeTo(mine.leaves.at, theirs.leaves.at, 0.1)
    assert.closeTo(mine.leaves.spread, theirs.leaves.spread, 0.12)
    assert.closeTo(mine.arrival_groups, theirs.arrival_groups, 0.03)
    assert.closeTo(mine.lunch.at, theirs.lunch.at, 0.08)
    assert.closeTo(mine.lunch.share, theirs.lunch.share, 0.06)
    assert.closeTo(mine.lunch.groups, theirs.lunch.groups, 0.08)
    assert.closeTo(mine.lunch.duration.median, theirs.lunch.duration.median, 120_000)
    assert.closeTo(mine.floor_uses, theirs.floor_uses, 0.35)
    assert.closeTo(mine.denied.share, theirs.denied.share, 0.004)
    assert.closeTo(mine.day_variation, theirs.day_variation, 0.08)
    assert.isTrue(mine.exits_logged)
  })
})

describe("fit of a residential building", () => {
  const found = fitted("residential-200")
  const [own, given] = [found.scenario, Option.getOrThrow(preset("residential-200"))]
  const outsiders = (scenario: Scenario, name: string): OutsiderFlow => {
    const flow = flowOf(scenario, name)
    return flow._tag === "Outsiders" ? flow : assert.fail("no outsiders")
  }

  it("recovers people and their times", () => {
    assert.strictEqual(found.kind, "homes")
    const [mine, theirs] = [flowOf(own, "residents"), flowOf(given, "residents")]
    if (mine._tag !== "Residents" || theirs._tag !== "Residents") return assert.fail("no residents")
    assert.closeTo(found.people, given.buildings[0]?.building.people.length ?? 0, 15)
    assert.closeTo(own.buildings[0]?.building.units.length ?? 0, 200, 6)
    assert.closeTo(mine.active, theirs.active, 0.1)
    assert.closeTo(mine.leaves.at, theirs.leaves.at, 0.4)
    assert.closeTo(mine.returns.at, theirs.returns.at, 0.4)
    assert.closeTo(mine.errands[2], theirs.errands[2], 0.35)
  })

  it("recovers how often and how visitors come, including trades", () => {
    const [mine, visitors, trades] = [
      outsiders(own, "visitors"),
      outsiders(given, "visitors"),
      outsiders(given, "trades")
    ]
    assert.closeTo(mine.per_day / (visitors.per_day + trades.per_day), 1, 0.15)
    assert.closeTo(mine.answered, visitors.answered, 0.05)
    assert.closeTo(mine.repeated, visitors.repeated, 0.07)
    assert.closeTo(mine.code, visitors.code, 0.06)
    assert.closeTo(mine.day_variation, visitors.day_variation, 0.12)
    const parcels = outsiders(own, "parcels")
    const stated = outsiders(given, "parcels").per_day + outsiders(given, "food").per_day
    assert.closeTo(parcels.per_day / stated, 1, 0.15)
  })
})

it("a fit has no more flats than a building can have", () => {
  const days = Array.from({ length: 7 }, (_, n) => `2026-03-0${n + 2} 18:00`)
  const rows = days.flatMap((time) => Array.from({ length: 900 }, (_, n) => `${time},P${n}\n`))
  const crowd = Result.getOrThrow(readLog(`time,person\n${rows.join("")}`, options))
  const { document, notes } = Result.getOrThrow(fit(crowd, { name: "mine", kind: "homes" }))
  assert.strictEqual(document.buildings[0]?.homes?.flats, 400)
  assert.include(notes.join(), "the log shows about 474 flats; the scenario has 400")
})

describe("a log that shows little", () => {
  /** Returns the flows fitted to a log of two weeks in which each person has one entry a day, at this time. */
  const flowsFor = (kind: Kind, people: ReadonlyArray<string>, clock: string) => {
    const days = Array.from({ length: 14 }, (_, n) => `2026-03-${`${n + 2}`.padStart(2, "0")}`)
    const rows = days.flatMap((date) => people.map((person) => `${date} ${clock},${person},Door of ${person}\n`))
    const log = Result.getOrThrow(readLog(`time,person,door\n${rows.join("")}`, options))
    return Result.getOrThrow(fit(log, { name: "mine", kind })).document.buildings[0]?.flows
  }
  const peopleOf = (count: number) => Array.from({ length: count }, (_, n) => `P${n}`)

  it("keeps the usual times and frequency of residents' trips", () => {
    const usual = { leaves: { at: "07:50", spread: "60m" }, returns: { at: "18:10", spread: "72m" } }
    const evenings = flowsFor("homes", peopleOf(6), "18:00")?.residents
    assert.deepStrictEqual(evenings?.leaves, usual.leaves)
    assert.notDeepEqual(evenings?.returns, usual.returns)
    const mornings = flowsFor("homes", peopleOf(6), "08:30")?.residents
    assert.deepStrictEqual(mornings?.returns, usual.returns)
    assert.notDeepEqual(mornings?.leaves, usual.leaves)
    const denied = Array.from({ length: 14 }, (_, n) => `2026-03-${n + 10} 08:00,P${n % 6},denied\n`)
    const log = Result.getOrThrow(readLog(`time,person,status\n${denied.join("")}`, options))
    const { document } = Result.getOrThrow(fit(log, { name: "mine", kind: "homes" }))
    const errands = { sun: 0.9, mon: 1.1, tue: 1.1, wed: 1.1, thu: 1.1, fri: 1.3, sat: 1.5 }
    assert.deepStrictEqual(document.buildings[0]?.flows?.residents?.errands, errands)
  })

  it("does not count a day that it covers in part", () => {
    const days = Array.from({ length: 14 }, (_, n) => `2026-03-${`${n + 2}`.padStart(2, "0")}`)
    const rows = days.flatMap((date) =>
      ["09:00", "17:00"].flatMap((clock) => peopleOf(30).map((person) => `${date} ${clock},${person},Gate\n`))
    )
    const log = Result.getOrThrow(readLog(`time,person,door\n${rows.join("")}2026-03-16 00:30,P1,Gate\n`, options))
    const { document } = Result.getOrThrow(fit(log, { name: "mine", kind: "offices" }))
    assert.strictEqual(document.buildings[0]?.flows?.employees?.attendance?.mon, 1)
  })

  it("keeps the usual arrival of employees if no door starts many days", () => {
    const many = flowsFor("offices", peopleOf(30), "09:00")?.employees
    assert.doesNotHaveAnyKeys(many, ["arrives", "arrival_groups"])
    assert.strictEqual(flowsFor("offices", peopleOf(6), "09:00")?.employees?.arrives?.at, "09:00")
  })
})

describe("logs", () => {
  const failure = (text: string, own: Partial<LogOptions> = {}) => {
    const result = readLog(text, { ...options, ...own })
    return Result.isFailure(result) ? result.failure.message : "no failure"
  }

  it.each([
    ["2026-03-02T07:30:00Z", "2026-03-02T07:30:00.000Z"],
    ["2026-03-02T07:30:00.250+02:00", "2026-03-02T05:30:00.250Z"],
    ["2026-03-02 07:30", "2026-03-02T06:30:00.000Z"],
    ["2026-07-02 07:30:15", "2026-07-02T05:30:15.000Z"],
    ["02.03.2026 07:30:00", "2026-03-02T06:30:00.000Z"],
    ["3/2/2026 7:30:00 PM", "2026-03-02T18:30:00.000Z"],
    ["1772433000", "2026-03-02T06:30:00.000Z"],
    ["1772433000500", "2026-03-02T06:30:00.500Z"]
  ])("can write a time as %s", (text, instant) => {
    assert.strictEqual(toIso(readTime(text, zone) ?? 0), instant)
  })

  it("can use other headings, semicolons, quotes, a byte order mark and any order", () => {
    const text = '\ufeffZeitpunkt;Karte;Leser\n"02.03.2026 08:00";"Meier; Anna";Tor\n02.03.2026 07:00;Bo;"Tor ""A"""\n'
    const log = Result.getOrThrow(
      readLog(text, { ...options, named: { time: "Zeitpunkt", person: "karte", door: "Leser" } })
    )
    assert.deepStrictEqual(
      log.entries.map(({ clock, door, person }) => [clock, door, person]),
      [
        [7, 'Tor "A"', "Bo"],
        [8, "Tor", "Meier; Anna"]
      ]
    )
  })

  const entriesOf = (text: string, own: Partial<LogOptions> = {}) =>
    Result.getOrThrow(readLog(text, { ...options, ...own }))

  it("use a named column for nothing else", () => {
    const text = "Time,Door,User,Unit,Type\n2026-03-02 08:00,Gate,Bo,1A,Intercom\n"
    const { entries, has } = entriesOf(text, { named: { method: "Type" } })
    assert.deepStrictEqual(
      entries.map(({ isCall, method }) => [isCall, method]),
      [[false, "app"]]
    )
    assert.isFalse(has.has("kind"))
    const both = entriesOf(text.replace("Unit", "Event").replace("1A", "ring"), { named: { method: "Type" } })
    assert.deepStrictEqual(
      both.entries.map(({ isCall, method }) => [isCall, method]),
      [[true, "app"]]
    )
  })

  it("can end their lines with only a carriage return", () => {
    const { entries } = entriesOf("time;person\r2026-03-02 08:00;A\r2026-03-02 09:00;B\r")
    assert.deepStrictEqual(
      entries.map(({ person }) => person),
      ["A", "B"]
    )
  })

  it("are refused with the line and the accepted form", () => {
    assert.include(failure(""), "line 1: the file is empty")
    assert.include(failure("door,person\nA,B\n"), "name it with --columns time=HEADING")
    assert.include(
      failure("time,person\n2026-03-02 08:00,A\nyesterday,B\n"),
      'line 3: "yesterday" is not a time; expected'
    )
    assert.include(failure("time,person\n2026-02-30 08:00,A\n"), "line 2")
    assert.include(
      failure('time,person\n"2026-03-02 08:00\n",A\n2026-03-02 08:00\n'),
      "line 4: has 1 cells, but the header has 2"
    )
    assert.include(failure("time,person\n", {}), "no rows")
    assert.include(
      failure("time,person\n", { named: { door: "Tür" } }),
      'column "Tür" is missing; the header has "time", "person"'
    )
  })

  it.each([
    ["Entering", false],
    ["String", false],
    ["Recalled", false],
    ["access", false],
    ["ring", true],
    ["Intercom call", true],
    ["intercomCallStarted", true],
    ["call_started", true]
  ])("recognize %j as a call: %j", (kind, isCall) => {
    const { entries } = entriesOf(`time,kind\n2026-03-02 08:00,${kind}\n`)
    assert.deepStrictEqual(
      entries.map((entry) => entry.isCall),
      [isCall]
    )
  })

  it.each([
    ["Keycard", "swipe_to_open"],
    ["swipe_to_open", "swipe_to_open"],
    ["table reader", ""],
    ["QR code", "qr_code"],
    ["PIN code", "pin"],
    ["Shopping", ""],
    ["App", "app"]
  ])("map the method %j to %j", (method, known) => {
    assert.strictEqual(entriesOf(`time,method\n2026-03-02 08:00,${method}\n`).entries[0]?.method, known)
  })

  it.each([
    ["month-first", "2026-03-02"],
    ["day-first", "2026-02-03"]
  ] as const)("read dates with slashes as %s", (dates, day) => {
    const [entry] = entriesOf("time,person\n03/02/2026 08:00,A\n", { dates }).entries
    assert.strictEqual(toIso(entry?.time ?? 0).slice(0, 10), day)
    assert.include(failure("time,person\n25/25/2026 08:00,B\n", { dates }), 'line 2: "25/25/2026 08:00" is no')
  })

  it("that are not CSV are refused with the line", () => {
    assert.match(failure('time,person\n2026-03-02 08:00,A\n2026-03-02 08:00,"B\n'), /^line \d: is not CSV: /)
  })

  it("that are too short or without people are refused", () => {
    const say = (text: string) => {
      const result = Result.flatMap(readLog(text, options), (log) => fit(log, { name: "x", kind: null }))
      return Result.isFailure(result) ? result.failure.message : ""
    }
    assert.include(say("time,person\n2026-03-02 08:00,A\n"), "at least 7 are needed")
    const days = Array.from({ length: 10 }, (_, n) => `2026-03-${n + 10} 08:00`)
    assert.include(say(`time,door\n${days.map((time) => `${time},A`).join("\n")}\n`), "--columns person=HEADING")
  })
})
