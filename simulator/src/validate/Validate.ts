/** Checks events from any source: a plan of a scenario, a recorded log in NDJSON, or an access log in CSV. */
import { DurationText } from "@doorhook/core"
import { Effect, Result, Schema, Stream } from "effect"
import type { AccessLog } from "../plan/AccessLog.ts"
import { forEachRecord, longestDuration } from "../plan/Plan.ts"
import { InvalidLine, readLine } from "../plan/EventRow.ts"
import type { PlanOptions } from "../plan/Plan.ts"
import type { BuildingTraffic, Scenario, Site } from "../scenario/Scenario.ts"
import type { BuildingUse } from "../world/Building.ts"
import { compareWithScenario, Profile } from "./Comparison.ts"
import type { Check } from "./Realism.ts"
import { second } from "../world/LocalTime.ts"
import { Observations } from "./Observations.ts"
import type { Expectation, Observed } from "./Realism.ts"
import { atMost, realismChecks, unknownBuilding } from "./Realism.ts"
import type { Row } from "./Observations.ts"
import { ofEntry, ofEvent, ofRecord } from "./Observations.ts"

/** What a log is checked against (a scenario, a use, or neither), and the time zone of the log. */
export interface Judgement {
  readonly scenario: Scenario | null
  readonly use: BuildingUse | null
  readonly zone: string
  readonly rateScale: number
  /** Number of flats, employees or rooms of a log's building; null if unknown. */
  readonly size: number | null
  /** Whether the events come from a plan or from lines of NDJSON, which have times of publication and ids. */
  readonly isPlan: boolean
}

/** Returns the number by which the events of a building are counted: its flats, its employees, or both kinds of people. */
const sizeOf = ({ people, units, use }: BuildingTraffic["building"]): number => {
  if (use === "mixed") return people.length
  const homes = units.filter((unit) => unit.use === "home").length
  if (use === "residential" || (use === "hotel" && homes > 0)) return homes
  return Math.max(1, people.filter(({ duty }) => duty === "employee").length)
}

const expectationOf = ({ building, flows, opening_hours }: BuildingTraffic, rateScale: number): Expectation => ({
  name: building.name,
  use: building.use,
  shifts: flows.find((flow) => flow._tag === "Employees")?.shifts ?? null,
  opening: opening_hours,
  size: sizeOf(building) * rateScale,
  isPlan: true
})

/** Minimum time for a person to get from the door of one building to that of another. */
const soonestElsewhere = 10 * second

/** Counts rows by building, and checks the counts. */
class Judge {
  readonly profile = new Profile()
  /** Openings by people, and those of them too soon after one in another building. */
  readonly #passages = { count: 0, elsewhere: 0 }
  readonly #people = new Map<string, Row>()
  readonly #observed = new Map<Row["building"], Observed>()
  readonly #known: ReadonlyMap<Row["building"], Site>
  readonly #judgement: Judgement

  constructor(judgement: Judgement) {
    this.#judgement = judgement
    this.#known = new Map(judgement.scenario?.sites.map((site) => [site.id, site]))
  }

  add(row: Row): void {
    this.profile.add(row)
    let own = this.#observed.get(row.building)
    if (own === undefined) {
      const traffic = this.#known.get(row.building)?.traffic()
      const { isPlan, rateScale, size, use, zone } = this.#judgement
      own = {
        expectation:
          traffic === undefined
            ? { ...unknownBuilding, name: `building ${row.building}`, use, size, isPlan }
            : { ...expectationOf(traffic, rateScale), use: use ?? traffic.building.use, isPlan },
        seen: new Observations(traffic?.building.time_zone ?? zone)
      }
      this.#observed.set(row.building, own)
    }
    own.seen.add(row)
    if (row.person !== "" && !row.isDenied) this.#addPassage(row)
  }

  #addPassage(row: Row): void {
    const key = `${row.unit} ${row.person}`
    const last = this.#people.get(key)
    this.#passages.count++
    const isElsewhere = last !== undefined && last.building !== row.building
    if (isElsewhere && Math.abs(row.logged_at - last.logged_at) < soonestElsewhere) this.#passages.elsewhere++
    this.#people.set(key, row)
  }

  checks(): ReadonlyArray<Check> {
    const { count, elsewhere } = this.#passages
    const across = atMost(
      "people in two buildings at once",
      elsewhere,
      count,
      20,
      0.0001,
      "The same credential opens doors of different buildings within ten seconds, more often than equal names explain."
    )
    const checks = realismChecks([...this.#observed.values()], this.#judgement.rateScale)
    return this.#observed.size < 2 ? checks : [across, ...checks]
  }
}

/** Checks all events of a plan. */
export const judgePlan = Effect.fnUntraced(function* (scenario: Scenario, options: PlanOptions) {
  const { rateScale = 1 } = options
  const judge = new Judge({ scenario, use: null, zone: "UTC", rateScale, size: null, isPlan: true })
  yield* forEachRecord(scenario, options, (record) => {
    const row = ofRecord(record)
    if (row !== null) judge.add(row)
  })
  return judge.checks()
})

const finish = Effect.fnUntraced(function* (judge: Judge, { rateScale, scenario }: Judgement) {
  const { count } = judge.profile
  const against = scenario === null || count === 0 ? [] : yield* compareWithScenario(judge.profile, scenario, rateScale)
  return { checks: [...judge.checks(), ...against], count }
})

/** Checks events given as lines of NDJSON. */
export const judgeLines = Effect.fnUntraced(function* <E, R>(lines: Stream.Stream<string, E, R>, judgement: Judgement) {
  const judge = new Judge(judgement)
  let number = 0
  let first = { at: Infinity, line: 0 }
  let last = { at: -Infinity, line: 0 }
  yield* Stream.runForEach(lines, (line) => {
    number++
    if (line.trim() === "") return Effect.void
    const read = readLine(line, number)
    if (Result.isFailure(read)) return Effect.fail(read.failure)
    const row = ofEvent(read.success)
    if (row !== null) judge.add(row)
    const { at } = read.success
    if (at < first.at) first = { at, line: number }
    if (at > last.at) last = { at, line: number }
    return Effect.void
  })
  if (judgement.scenario !== null && last.at - first.at > longestDuration)
    return yield* new InvalidLine({
      line: last.line,
      detail: `/at must be within ${DurationText.format(longestDuration)} of /at in line ${first.line} for a comparison with a scenario: correct the wrong time, or leave out --preset and --scenario`
    })
  return yield* finish(judge, judgement)
})

/** An access log in CSV and a scenario have several buildings, so it is unknown which of them to compare. */
class SeveralBuildings extends Schema.TaggedError<SeveralBuildings>()("SeveralBuildings", {
  log: Schema.Int,
  scenario: Schema.Int
}) {
  override get message(): string {
    return `a comparison needs one building, but the log has ${this.log} and the scenario ${this.scenario}: give a log and a scenario of one building, or --use`
  }
}

/** Checks an access log, alone or against a scenario of one building. */
export const judgeLog = Effect.fnUntraced(function* ({ counts, entries }: AccessLog, judgement: Judgement) {
  const { scenario } = judgement
  const judge = new Judge(judgement)
  const log = new Set(entries.map(({ building }) => building)).size
  if (scenario !== null && (scenario.sites.length > 1 || log > 1))
    return yield* new SeveralBuildings({ log, scenario: scenario.sites.length })
  const only = scenario?.sites[0]?.id ?? null
  for (const entry of entries) {
    const row = ofEntry(entry)
    judge.add(only === null ? row : { ...row, building: only })
  }
  const { checks, count } = yield* finish(judge, judgement)
  const of = Math.max(1, counts.rows)
  return {
    checks: [
      atMost(
        "rows not understood",
        counts.problemCount,
        counts.problemCount + of,
        1,
        0.02,
        "These rows are left out of all other checks; the lines above say why, and --columns and --values help."
      ),
      atMost(
        "rows out of order",
        counts.outOfOrder,
        of,
        1,
        0.05,
        "Controllers upload openings late after an outage, but not that many. The file may have another order than that of upload."
      ),
      atMost("rows repeated", counts.repeated, of, 1, 0.01, "The same rows are in the log several times."),
      ...checks
    ],
    count
  }
})
