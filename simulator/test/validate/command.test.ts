/** `simulate validate` on presets and files, as a user runs it. */
import { execFile } from "node:child_process"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { CommandFailure } from "@doorhook/core"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Result, Stdio, Stream } from "effect"
import { TestConsole } from "effect/testing"
import { lineChunks, records } from "../../src/plan/Plan.ts"
import { toIso } from "../../src/plan/PlannedEvent.ts"
import { judgePlan } from "../../src/validate/Validate.ts"
import { preset, readScenario } from "@doorhook/simulator"
import { startAt, withoutEnds } from "../support.ts"
import { day, failedOf, hour, linesOf, moved, platform, run, validate } from "./support.ts"

const spoilt = {
  minutes: (lines: ReadonlyArray<string>) => moved(lines, (time) => Math.floor(time / 60_000) * 60_000),
  "even ticks": (lines: ReadonlyArray<string>) =>
    moved(lines, (_, index, all) => {
      const [first = 0, last = 0] = [all[0], all.at(-1)]
      return first + Math.floor(((last - first) * index) / all.length)
    }),
  "a flat day": (lines: ReadonlyArray<string>) =>
    moved(lines, (time, index) => Math.floor(time / day) * day + ((index * 61_803_399) % day))
}

describe("simulate validate of a file", () => {
  it.live.each(["residential-200", "office-1000", "night-watch", "controller-offline-flush"])(
    "passes a plan of %s",
    (name) =>
      Effect.gen(function* () {
        const { failure, text } = yield* run(linesOf(name, 3), "--preset", name)
        assert.isTrue(Option.isNone(failure), text)
        assert.match(text, /(PASS|SKIP) +timestamps that are whole minutes/)
      }).pipe(Effect.provide(platform))
  )

  it.live.each(["minutes", "even ticks", "a flat day"] as const)("fails %s, with an explanation", (how) =>
    Effect.gen(function* () {
      const { failure, text } = yield* run(spoilt[how](linesOf("residential-200", 3)))
      const error = Option.getOrThrow(failure)
      assert.instanceOf(error, CommandFailure)
      assert.strictEqual(error.exitCode, 1)
      assert.match(text, /FAIL .*\n {6}[A-Z].*\./)
    }).pipe(Effect.provide(platform))
  )

  const bytes = (lines: ReadonlyArray<string>) => new TextEncoder().encode(`${lines.join("\n")}\n`)

  it.live("reads standard input, and pipes", () =>
    Effect.gen(function* () {
      const stdin = Stream.succeed(bytes(linesOf("residential-200", 3)))
      yield* Effect.provide(validate("-"), Stdio.layerTest({ stdin }))
      const pipe = join(yield* temporaryFolder, "pipe")
      yield* Effect.promise(() => promisify(execFile)("mkfifo", [pipe]))
      yield* Effect.all([validate(pipe), Effect.promise(() => writeFile(pipe, bytes(linesOf("quiet", 1))))], {
        concurrency: "unbounded"
      })
      const text = (yield* TestConsole.logLines).join("\n")
      assert.match(text, /^-: [\d,]+ events; only checked for impossible traffic/)
      assert.match(text, /\/pipe: [\d,]+ events;/)
    }).pipe(Effect.provide(platform))
  )

  it.live("describes a file problem that the system has no usual name for", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(validate("x".repeat(300)))
      assert.instanceOf(error, CommandFailure)
      assert.match(error.message, /expected a file that can be read; its name is too long$/)
    }).pipe(Effect.provide(platform))
  )

  it.live("fails events of a building that is not in the scenario", () =>
    Effect.gen(function* () {
      const lines = linesOf("residential-200", 3).map((line) => line.replace('"building_id":1,', '"building_id":77,'))
      const { failure, text } = yield* run(lines, "--preset", "residential-200")
      assert.isTrue(Option.isSome(failure))
      assert.match(text, /FAIL +events of other buildings +\d+, e\.g\. building 77/)
    }).pipe(Effect.provide(platform))
  )

  it.live("names the lines that are too far apart for a comparison with a scenario", () =>
    Effect.gen(function* () {
      const lines = linesOf("quiet", 1)
      const stray = (lines.at(-1) ?? "").replace(/"at":"\d{4}/, '"at":"9999')
      const { failure } = yield* run([...lines.slice(0, -1), stray], "--preset", "quiet")
      const error = Option.getOrThrow(failure)
      assert.instanceOf(error, CommandFailure)
      assert.strictEqual(error.exitCode, CommandFailure.usageExitCode)
      assert.include(error.message, `line ${lines.length}: /at must be within 3650d of /at in line 1 `)
    }).pipe(Effect.provide(platform))
  )

  it.live("skips comparisons with a scenario without events in that time", () =>
    Effect.gen(function* () {
      const none = { rate: 0 }
      const flows = { residents: { active: 0 }, visitors: none, parcels: none, food: none, trades: none }
      const kinds = ["buzzer_spam", "stuck_button", "pin_guessing", "shared_credential", "door_held", "door_forced"]
      const anomalies = Object.fromEntries([...kinds, "night_entry"].map((kind) => [kind, 0]))
      const empty = { name: "empty", buildings: [{ name: "Empty", homes: { flats: 12 }, flows, anomalies }] }
      const file = join(yield* temporaryFolder, "empty.json")
      yield* Effect.promise(() => writeFile(file, JSON.stringify(empty)))
      const { text } = yield* run(linesOf("quiet", 1), "--scenario", file)
      assert.match(
        text,
        /SKIP +hours of the day against the scenario .*\n +The scenario generates no events in that time\./
      )
      assert.match(text, /FAIL +events against the scenario/)
      assert.notInclude(text, "NaN")
    }).pipe(Effect.provide(platform))
  )

  it.live("fails events of another scenario", () =>
    Effect.gen(function* () {
      const { failure, text } = yield* run(linesOf("residential-200", 3), "--preset", "office-1000")
      assert.isTrue(Option.isSome(failure))
      assert.match(text, /FAIL +hours of the day against the scenario/)
    }).pipe(Effect.provide(platform))
  )

  it.live.each(["night-watch", "quiet"])(
    "fails two weeks of %s shifted by five hours",
    (name) =>
      Effect.gen(function* () {
        const late = moved(linesOf(name, 1, 14), (time) => time + 5 * hour)
        const { failure, text } = yield* run(late, "--preset", name)
        assert.isTrue(Option.isSome(failure), text)
        assert.match(text, /FAIL +hours of the day against the scenario/)
      }).pipe(Effect.provide(platform)),
    60_000
  )

  it.live("applies --rate-scale to the comparison, and refuses flags without effect", () =>
    Effect.gen(function* () {
      const lines = linesOf("residential-200", 3, 1, 4)
      const against = ["--preset", "residential-200"] as const
      const more = yield* run(lines, ...against)
      assert.match(more.text, /FAIL +events against the scenario/)
      const scaled = yield* run(lines, ...against, "--rate-scale", "4")
      assert.isTrue(Option.isNone(scaled.failure), scaled.text)
      for (const flag of ["--seed=2", "--start=2026-03-04T00:00", "--duration=7d", "--rate-scale=2"]) {
        const error = Option.getOrThrow((yield* run(lines, flag)).failure)
        assert.instanceOf(error, CommandFailure)
        assert.strictEqual(error.exitCode, CommandFailure.usageExitCode)
        assert.include(error.message, flag.split("=")[0] ?? "")
      }
    }).pipe(Effect.provide(platform))
  )

  it.live.each([
    [["{}"], "line 1: /at is missing; /building_id is missing; /tenant_ids is missing; /resource_type is missing; "],
    [['{"resource_type":"door"}'], '/resource_type must be "call" or "access_log"'],
    [["[1]"], "line 1: the line must be an object"],
    [
      linesOf("quiet", 1).map((line, index) => (index === 1 ? line.replace(/"id":\d+,"logged_at"/, '"logs"') : line)),
      "line 2: /data/id is missing; /data/logged_at is missing"
    ],
    [[...linesOf("quiet", 1).slice(0, 2), "nonsense"], "line 3: is not JSON"],
    [[""], "the file has none"]
  ] as const)("names the line of a file that can't be read", ([lines, says]) =>
    Effect.gen(function* () {
      const { failure } = yield* run(lines)
      const error = Option.getOrThrow(failure)
      assert.instanceOf(error, CommandFailure)
      assert.strictEqual(error.exitCode, CommandFailure.usageExitCode)
      assert.include(error.message, says)
      assert.notMatch(error.message, /readonly|Missing|Expected/, "in words, not in a schema's")
    }).pipe(Effect.provide(platform))
  )
})

/** An office where people arrive at 3:00 and work on Sundays, and where guests ring in vain at night. */
const absurd = {
  name: "absurd",
  buildings: [
    {
      name: "Absurd",
      time_zone: "Europe/Berlin",
      offices: { employees: 400 },
      flows: {
        employees: {
          attendance: { sun: 0.9, mon: 0.1, tue: 0.1, wed: 0.1, thu: 0.1, fri: 0.1, sat: 0.1 },
          arrives: { at: "03:00" },
          leaves: { at: "11:00" },
          lunch: { at: "06:00" }
        },
        guests: {
          answered: 0.01,
          on_weekdays: { from: "02:00", to: "05:00", even: 1, peaks: [] },
          on_weekends: { from: "02:00", to: "05:00", even: 1, peaks: [] }
        },
        office_parcels: { answered: 0.01 },
        office_food: { answered: 0.01 }
      }
    }
  ]
}

const absurdities = [
  "share of events at night (office)",
  "share of calls at night (office)",
  "weekend day against working day (office)",
  "half of the people have come by, on working days (office)",
  "share of visits that end with an open door (office)"
]

const fourWeeks = { seed: 1, start: startAt("2026-05-04"), duration: 28 * day }
describe("simulate validate of an absurd office", () => {
  const scenario = Result.getOrThrow(readScenario(JSON.stringify(absurd)))
  const all = withoutEnds(records(scenario, fourWeeks))
  const decoder = new TextDecoder()
  const lines = [...lineChunks(scenario, fourWeeks)].map(({ bytes }) => decoder.decode(bytes)).join("")
  const csv = [
    "time,kind,door,person,unit,method,status",
    ...all.map(({ occurrence: h, logged_at }) =>
      h._tag === "Call"
        ? `${toIso(logged_at)},call,${h.panel.name},,${h.tenant_ids.join("+")},,`
        : `${toIso(logged_at)},access,${h.access_point.name},${h.name},${h.tenant_ids.join("+")},${h.entry_method},${h.release_status}`
    )
  ].join("\n")

  it.live("fails as a plan, with the reasons", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(failedOf(yield* judgePlan(scenario, fourWeeks)), absurdities)
    })
  )

  it.live.each([
    ["events.ndjson", lines],
    ["log.csv", csv]
  ] as const)(
    "fails as a recorded log, %s, with the same reasons, but with fewer checks without a use",
    ([name, text]) =>
      Effect.gen(function* () {
        const file = join(yield* temporaryFolder, name)
        yield* Effect.promise(() => writeFile(file, text))
        const zone = ["--time-zone", "Europe/Berlin"]
        const error = yield* Effect.flip(validate(file, "--use", "office", ...zone))
        assert.instanceOf(error, CommandFailure)
        assert.strictEqual(error.exitCode, 1)
        for (const absurdity of absurdities) assert.include(error.message, absurdity)
        yield* validate(file, ...zone)
        assert.include((yield* TestConsole.logLines).join("\n"), "--use adds checks")
      }).pipe(Effect.provide(platform))
  )

  it.live.each([
    [["--time-zone", "Berlin"], "--time-zone Berlin: expected the IANA name"],
    [["--columns", "who=Karte"], "expected COLUMN=HEADING"],
    [["--columns", "time=Wann"], 'column "Wann" is missing'],
    [["--dates", "dmy"], "--dates dmy: expected month-first or day-first"]
  ] as const)("refuses %j with a log and says what is accepted", ([args, says]) =>
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "log.csv")
      yield* Effect.promise(() => writeFile(file, "time,person\n2026-03-02 08:00,A\n"))
      const error = yield* Effect.flip(validate(file, ...args))
      assert.instanceOf(error, CommandFailure)
      assert.strictEqual(error.exitCode, CommandFailure.usageExitCode)
      assert.include(error.message, says)
    }).pipe(Effect.provide(platform))
  )

  it.live("passes if the scenario states that it works at night", () =>
    Effect.gen(function* () {
      const [office] = absurd.buildings
      const night = {
        ...office,
        opening_hours: { from: "01:00", to: "13:00" },
        flows: { ...office?.flows, employees: { arrives: { at: "03:00" }, leaves: { at: "11:00" } } }
      }
      const stated = Result.getOrThrow(readScenario(JSON.stringify({ name: "night", buildings: [night] })))
      const failed = failedOf(yield* judgePlan(stated, fourWeeks))
      assert.notInclude(failed, absurdities[0])
    })
  )
})

describe("simulate validate of an absurd access log", () => {
  interface CsvRow {
    readonly time: number
    readonly kind: string
    readonly door: string
    readonly person: string
    readonly unit: string
    readonly method: string
    readonly building: string
  }

  const usual = withoutEnds(
    records(Option.getOrThrow(preset("residential-200")), { ...fourWeeks, duration: 3 * day })
  ).map(({ logged_at: time, occurrence: own }): CsvRow =>
    own._tag === "Call"
      ? {
          time,
          kind: "call",
          door: own.panel.name,
          person: "",
          unit: own.tenant_ids.join("+"),
          method: "",
          building: "A"
        }
      : {
          time,
          kind: own.release_status,
          door: own.access_point.name,
          person: own.name,
          unit: own.tenant_ids.join("+"),
          method: own.entry_method,
          building: "A"
        }
  )
  const [some = assert.fail("the plan is empty")] = usual.filter(
    ({ kind, method, unit }) => kind === "Unlocked" && method !== "app" && unit !== ""
  )

  const textOf = (rows: ReadonlyArray<CsvRow>) =>
    [
      "time;kind;door;person;unit;method;building",
      ...rows
        .toSorted((a, b) => a.time - b.time)
        .map(({ time, ...own }) => [toIso(time), ...Object.values(own)].join(";"))
    ].join("\r\n")

  it.live.each([
    ["nothing", usual, "200", []],
    [
      "a person in two buildings within a second",
      [...usual, { ...some, time: some.time + 1_000, door: "Lobby", building: "B" }],
      "200",
      ["people in two buildings at once"]
    ],
    [
      "people at two doors of a building within a second",
      usual.flatMap((row, at) =>
        row.kind === "Unlocked" && at % 20 === 0 ? [row, { ...row, time: row.time + 1_000, door: "Lobby" }] : [row]
      ),
      "200",
      ["people at two doors at once"]
    ],
    [
      "a door opened 40 times a second",
      [
        ...usual,
        ...Array.from({ length: 40 }, (_, at) => ({
          ...some,
          time: some.time + at * 25,
          person: `P${at}`,
          unit: `${at}`
        }))
      ],
      "200",
      ["openings in a crowd"]
    ],
    [
      "99 % of the openings at one door",
      usual.map((row, at) => (row.kind === "call" || at % 100 === 0 ? row : { ...row, door: "Front" })),
      "200",
      ["share of the openings at the busiest door (residential)"]
    ],
    [
      "500 events per flat and day",
      usual,
      `${usual.length / 3 / 500}`.slice(0, 6),
      ["events per flat and day (residential)", "visits with a ring per flat and day (residential)"]
    ]
  ] as const)("finds %s", ([, rows, size, expected]) =>
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "log.csv")
      yield* Effect.promise(() => writeFile(file, textOf(rows)))
      const failure = yield* Effect.option(Effect.flip(validate(file, "--use", "residential", "--size", size)))
      const text = (yield* TestConsole.logLines).join("\n")
      const failed = [...text.matchAll(/^FAIL +(.*?) {2}/gm)].map(([, name]) => name)
      assert.deepStrictEqual(failed, [...expected], text)
      assert.strictEqual(Option.isSome(failure), expected.length > 0)
    }).pipe(Effect.provide(platform))
  )

  it.live("fails if rows aren't understood", () =>
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "log.csv")
      const rows = usual.map((row, at) =>
        row.kind === "Unlocked" && at % 20 === 0 ? { ...row, kind: "Wartung" } : row
      )
      yield* Effect.promise(() => writeFile(file, textOf(rows)))
      const error = yield* Effect.flip(validate(file))
      assert.instanceOf(error, CommandFailure)
      assert.include(error.message, "rows not understood")
      yield* validate(file, "--values", "Wartung=opening")
    }).pipe(Effect.provide(platform))
  )
})

describe("simulate validate of a scenario", () => {
  it.live.each(["quiet", "mixed-use"])("passes %s with several seeds, even across a clock change", (name) =>
    Effect.gen(function* () {
      const scenario = Option.getOrThrow(preset(name))
      // The first plan spans a clock change.
      for (const [seed, start] of [
        [1, "2026-03-16"],
        [2, "2026-06-01"]
      ] as const) {
        const options = { seed, start: startAt(start), duration: 28 * day }
        assert.deepStrictEqual(failedOf(yield* judgePlan(scenario, options)), [], `${seed} ${start}`)
      }
    })
  )

  it.live("checks each building by its own use, clock and shifts, and names the one that fails", () =>
    Effect.gen(function* () {
      const people = { early: 0.25, late: 0.25, night: 0.2 }
      const buildings = [
        { name: "House", time_zone: "Asia/Singapore", homes: { flats: 60 } },
        { name: "Ward", time_zone: "America/Los_Angeles", use: "hospital", offices: { employees: 300 } },
        { name: "Plant", offices: { employees: 200 }, flows: { employees: { shifts: people } } },
        { ...absurd.buildings[0], name: "Odd" },
        { name: "Usual", offices: { employees: 200 } }
      ]
      const scenario = Result.getOrThrow(readScenario(JSON.stringify({ name: "several", buildings })))
      const checks = yield* judgePlan(scenario, fourWeeks)
      const failed = checks.filter(({ verdict }) => verdict === "FAIL")
      assert.includeMembers(failedOf(checks), absurdities)
      for (const check of failed) {
        // The hospital fails because it has nobody at night and on weekends. All other failures are in Odd.
        assert.match(check.observed, check.name.includes("hospital") ? /%|^0/ : /in Odd \(1 of 3 buildings\)/)
      }
      assert.isTrue(failed.some(({ name }) => name === "share of events at night (hospital)"))
    })
  )

  it.live("refuses the flags of recorded logs", () =>
    Effect.gen(function* () {
      for (const flag of [
        ["--use", "office"],
        ["--time-zone", "UTC"]
      ]) {
        const error = yield* Effect.flip(validate(...flag))
        assert.instanceOf(error, CommandFailure)
        assert.include(error.message, "a recorded log")
      }
    }).pipe(Effect.provide(platform))
  )
})
