/** Access logs in CSV: which forms are read, and how mistakes in them are reported. */
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { readLog, readTime } from "../../src/plan/AccessLog.ts"
import type { LogOptions } from "../../src/plan/AccessLog.ts"
import { toIso } from "../../src/plan/PlannedEvent.ts"

const zone = "Europe/Berlin"
const options: LogOptions = { zone, named: {}, values: new Map(), dates: "month-first" }

describe("logs", () => {
  const entriesOf = (text: string, own: Partial<LogOptions> = {}) =>
    Result.getOrThrow(readLog(text, { ...options, ...own })).entries

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
    const entries = entriesOf(text, { named: { time: "Zeitpunkt", person: "karte", door: "Leser" } })
    assert.deepStrictEqual(
      entries.map(({ time, door, person }) => [toIso(time), door, person]),
      [
        ["2026-03-02T06:00:00.000Z", 'Tor "A"', "Bo"],
        ["2026-03-02T07:00:00.000Z", "Tor", "Meier; Anna"]
      ]
    )
  })

  it("use a named column for nothing else", () => {
    const text = "Time,Door,User,Unit,Type\n2026-03-02 08:00,Gate,Bo,1A,Intercom\n"
    const entries = entriesOf(text, { named: { method: "Type" } })
    assert.deepStrictEqual(
      entries.map(({ kind, method }) => [kind, method]),
      [["opening", "app"]]
    )
    const both = entriesOf(text.replace("Unit", "Event").replace("1A", "ring"), { named: { method: "Type" } })
    assert.deepStrictEqual(
      both.map(({ kind, method }) => [kind, method]),
      [["call", "app"]]
    )
  })

  it("can end their lines with only a carriage return", () => {
    const entries = entriesOf("time;person\r2026-03-02 08:00;A\r2026-03-02 09:00;B\r")
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
    ["access", false],
    ["Zutritt gewährt", false],
    ["Türruf", true],
    ["ring", true],
    ["Intercom call", true],
    ["intercomCallStarted", true],
    ["call_started", true]
  ])("recognize %j as a call: %j", (kind, isCall) => {
    const entries = entriesOf(`time,kind\n2026-03-02 08:00,${kind}\n`)
    assert.deepStrictEqual(
      entries.map((entry) => entry.kind === "call"),
      [isCall]
    )
  })

  it.each([
    ["Keycard", false],
    ["App PIN", false],
    ["QR code", false],
    ["Shopping", false],
    ["App", true],
    ["remoteOpen", true]
  ])("recognize the method %j as the app: %j", (method, isFromApp) => {
    assert.strictEqual(entriesOf(`time,method\n2026-03-02 08:00,${method}\n`)[0]?.method === "app", isFromApp)
  })

  it.each([
    ["month-first", "2026-03-02"],
    ["day-first", "2026-02-03"]
  ] as const)("read dates with slashes as %s", (dates, day) => {
    const [entry] = entriesOf("time,person\n03/02/2026 08:00,A\n", { dates })
    assert.strictEqual(toIso(entry?.time ?? 0).slice(0, 10), day)
    assert.include(failure("time,person\n25/25/2026 08:00,B\n", { dates }), 'line 2: "25/25/2026 08:00" is no')
  })

  it("that are not CSV are refused with the line", () => {
    assert.match(failure('time,person\n2026-03-02 08:00,A\n2026-03-02 08:00,"B\n'), /^line \d: is not CSV: /)
  })
})
