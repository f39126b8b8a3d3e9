/** Access logs in CSV: which forms are read, and how mistakes in them are reported. */
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { readLog, readTime, readValues, textOfLog } from "../../src/plan/AccessLog.ts"
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

  const vendor = [
    "sep=;",
    "Datum/Uhrzeit;Ereignis;Leser;Karteninhaber;Wohnung;Medium;Bemerkung",
    '02.03.2026 08:00:00;Zutritt gewährt;"Tor ""Süd""";"Meier; Anna";W1;Karte;"zwei\nZeilen"',
    "02.03.2026 08:05:00;Türruf;Tableau;;W2;;",
    "02.03.2026 08:05:20;Fernöffnung;Haupteingang;;W2;App;",
    "kaputt;;;",
    "02.03.2026 08:10:00;Wartung;Haupteingang;Techniker;;;",
    "02.03.2026 08:05:00;Türruf;Tableau;;W2;;",
    "02.03.2026 08:04:30;Zutritt verweigert;Haupteingang;Bo;W2;Karte;",
    "02.03.2026 08:11:00;Zutritt gewährt;Haupteingang;Bo;W2;Karte;",
    "31.02.2026 08:00:00;Zutritt gewährt;Haupteingang;Bo;W2;Karte;",
    ...["08:12", "08:13", "08:15", "08:20"].map((at) => `02.03.2026 ${at}:00;Austritt;Tor;Bo;W2;Karte;`)
  ].join("\r\n")

  const encodings = {
    "UTF-8 with a byte order mark": (text: string) => Buffer.from(`\ufeff${text}`),
    "Windows-1252": (text: string) => Buffer.from(text, "latin1"),
    "UTF-16 with a byte order mark": (text: string) => Buffer.from(`\ufeff${text}`, "utf16le")
  }

  it.each(["UTF-8 with a byte order mark", "Windows-1252", "UTF-16 with a byte order mark"] as const)(
    "are read as a German program exports them, in %s, and everything is counted",
    (encoding) => {
      const text = textOfLog(encodings[encoding](vendor))
      const read = (values: LogOptions["values"]) => Result.getOrThrow(readLog(text, { ...options, values }))
      const { counts, entries } = read(new Map())
      assert.deepStrictEqual(
        entries.slice(0, 6).map(({ door, kind, line, method, person }) => [line, kind, door, person, method]),
        [
          [3, "opening", 'Tor "Süd"', "Meier; Anna", "card"],
          [5, "call", "Tableau", "", ""],
          [6, "opening", "Haupteingang", "", "app"],
          [9, "call", "Tableau", "", ""],
          [10, "denied", "Haupteingang", "Bo", "card"],
          [11, "opening", "Haupteingang", "Bo", "card"]
        ]
      )
      // A late row is played when it came, and keeps its own time.
      assert.deepStrictEqual(
        entries.filter(({ at, time }) => at !== time).map(({ line }) => line),
        [9, 10]
      )
      const lines = counts.lines().join("\n")
      assert.match(lines, /kind +"Türruf" +2 +call/)
      assert.match(lines, /kind +"Wartung" +1 +NOT UNDERSTOOD/)
      assert.match(lines, /^10 rows; 1 repeated, 2 out of order, 0 uploaded more than a minute late$/m)
      assert.match(lines, /^3 rows NOT UNDERSTOOD and left out:$/m)
      assert.include(lines, "line 7: has 4 cells, but the header has 7")
      assert.include(
        lines,
        "line 8: \"Wartung\" is not known as a kind; give its meaning with --values 'Wartung=MEANING'"
      )
      assert.include(lines, 'line 12: "31.02.2026 08:00:00" is not a time')
      const named = read(readValues("Wartung=opening,Türruf=denied") ?? new Map())
      assert.strictEqual(named.counts.problemCount, 2)
      assert.deepStrictEqual(
        named.entries.slice(0, 7).map(({ kind }) => kind),
        ["opening", "denied", "opening", "opening", "denied", "denied", "opening"]
      )
    }
  )

  it("count late rows, and are reversed or sorted if their order isn't that of the upload", () => {
    const minutes = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 20, 4]
    const rows = minutes.map((at) => `2026-03-02 08:${`${at}`.padStart(2, "0")},A${at}`)
    const countsOf = (own: ReadonlyArray<string>) =>
      Result.getOrThrow(readLog(["time,person", ...own].join("\n"), options)).counts
    const { isSorted, late, outOfOrder } = countsOf(rows)
    assert.deepStrictEqual({ isSorted, late, outOfOrder }, { isSorted: false, late: 1, outOfOrder: 1 })
    assert.deepStrictEqual(countsOf(rows.slice(0, -1).toReversed()).outOfOrder, 0)
    assert.isTrue(countsOf(["08:05", "08:01", "08:04", "08:02"].map((at) => `2026-03-02 ${at},A`)).isSorted)
  })

  it("can have a date and a time, or the parts of a name, in two columns", () => {
    const text = "Datum;Uhrzeit;Vorname;Name\n02.03.2026;08:00;Anna;Meier\n02.03.2026;08:01;;Bo\n"
    const entries = entriesOf(text, { named: { time: "Datum+Uhrzeit", person: "Vorname+Name" } })
    assert.deepStrictEqual(
      entries.map(({ person, time }) => [toIso(time), person]),
      [
        ["2026-03-02T07:00:00.000Z", "Anna Meier"],
        ["2026-03-02T07:01:00.000Z", "Bo"]
      ]
    )
    assert.include(failure(text, { named: { time: "Datum+Zeit" } }), 'column "Zeit" is missing')
    assert.include(failure(text, { named: { time: "Uhrzeit" } }), "--columns time=DATE+TIME")
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
