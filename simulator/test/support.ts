/** Helpers that several tests use. */
import { Option, Stream } from "effect"
import type { BuildingTraffic, PlannedEvent, PlanOptions, Scenario } from "@doorhook/simulator"
import { LocalTime, preset, records } from "@doorhook/simulator"
import type { Occurrence } from "../src/traffic/Occurrence.ts"
import type { Recorded } from "../src/plan/Devices.ts"
import type { Flow } from "../src/traffic/Flows.ts"
import { noHolidays } from "../src/world/CalendarDate.ts"

export const scenarioOf = (name: string): Scenario => Option.getOrThrow(preset(name))

export const startAt = (text: string): LocalTime.LocalTime => Option.getOrThrow(LocalTime.parse(text))

/** Returns the buildings of a scenario with their traffic. */
export const buildingsOf = ({ sites }: Scenario): ReadonlyArray<BuildingTraffic> =>
  sites.map(({ traffic }) => traffic())

/** Returns the scenario with other buildings. */
export const withBuildings = (scenario: Scenario, buildings: ReadonlyArray<BuildingTraffic>): Scenario => ({
  ...scenario,
  sites: buildings.map((traffic) => {
    const { id, people, time_zone } = traffic.building
    return { id, time_zone, people: people.length, traffic: () => traffic }
  })
})

const isCallOrAccess = (record: Recorded): record is Recorded<Occurrence> => record.occurrence._tag !== "CallEnd"

/** Returns the records of a plan without the ends of calls. */
export const withoutEnds = (made: Iterable<Recorded>): ReadonlyArray<Recorded<Occurrence>> =>
  [...made].filter(isCallOrAccess)

/** Yields what happens in the buildings of a scenario, as ideal devices would report it. */
export function* occurrences(scenario: Scenario, options: PlanOptions): IterableIterator<Occurrence> {
  const ideal = withBuildings(
    scenario,
    buildingsOf(scenario).map((traffic) => ({ ...traffic, devices: null }))
  )
  for (const { occurrence } of withoutEnds(records(ideal, options))) yield occurrence
}

/** Returns the scenario with changed flows, without holidays and without device failures. */
export const withFlows = (scenario: Scenario, change: (flow: Flow) => Flow): Scenario =>
  withBuildings(
    scenario,
    buildingsOf(scenario).map((traffic) => ({
      ...traffic,
      calendar: noHolidays,
      devices: null,
      flows: traffic.flows.map(change)
    }))
  )

/** Returns a plan as NDJSON in chunks: one event per line, in UTF-8. */
export const toNdjson = <E, R>(events: Stream.Stream<PlannedEvent, E, R>): Stream.Stream<Uint8Array, E, R> => {
  const encoder = new TextEncoder()
  return Stream.mapArray(events, (chunk) => {
    const text = chunk.map((event) => `${JSON.stringify(event)}\n`).join("")
    return [encoder.encode(text)]
  })
}

/**
 * Returns the p-value of the one-sample Kolmogorov-Smirnov test of numbers against the uniform distribution on [0, 1].
 */
export const uniformityPValue = (numbers: ReadonlyArray<number>): number => {
  const sorted = numbers.toSorted((a, b) => a - b)
  const n = sorted.length
  const distance = Math.max(...sorted.map((u, i) => Math.max((i + 1) / n - u, u - i / n)))
  const lambda = (Math.sqrt(n) + 0.12 + 0.11 / Math.sqrt(n)) * distance
  let p = 0
  for (let k = 1; k <= 100; k++) p += 2 * (k % 2 === 1 ? 1 : -1) * Math.exp(-2 * k * k * lambda * lambda)
  return Math.min(1, Math.max(0, p))
}
