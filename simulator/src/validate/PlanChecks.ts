/**
 * All checks of a scenario's own traffic.
 */
import { Effect } from "effect"
import { poissonTail } from "./Statistics.ts"
import type { PlanOptions } from "../plan/Plan.ts"
import { inTurns } from "../plan/InTurns.ts"
import { records } from "../plan/Plan.ts"
import type { Scenario } from "../scenario/Scenario.ts"
import { zonesOf } from "../scenario/Scenario.ts"
import { anomalyKinds } from "../traffic/Happening.ts"
import type { Label } from "../traffic/Happening.ts"
import { dayMillis } from "../world/LocalTime.ts"
import { arrivalFindings } from "./ArrivalChecks.ts"
import { callFindings } from "./CallChecks.ts"
import type { Check } from "./Check.ts"
import { checksOf, near, skipped } from "./Check.ts"
import { crowdChecks } from "./CrowdChecks.ts"
import { EventChecks } from "./EventChecks.ts"
import { rowOf } from "./EventRow.ts"
import { flowsTagged } from "./PlanFacts.ts"

const perDayCheck = (
  scenario: Scenario,
  count: number,
  { duration, rateScale = 1 }: PlanOptions
): ReadonlyArray<Check> => {
  const stated = scenario.events_per_day ?? null
  const days = duration / dayMillis
  const name = "events a day"
  if (stated === null) return []
  if (days < 7 || days % 7 !== 0) return [skipped(name, "Stated for whole weeks; give a --duration of 7d, 14d, 28d.")]
  const perDay = count / days / rateScale
  // Days differ by a factor of 0.1 to 0.2.
  const tolerance = stated * Math.max(0.1, 0.8 / Math.sqrt(days))
  return [near(name, perDay, stated, tolerance, "There are more or fewer events than the scenario states.", 0)]
}

/** What is out of the ordinary, by label. */
class LabelCounts {
  readonly #counts = new Map<Label, number>()
  #last = new Map<Label, number>()

  /** Those of one occasion come within minutes: they count once. */
  add(label: Label, time: number): void {
    const last = this.#last.get(label)
    if (last === undefined || time - last > 1_800_000) this.#counts.set(label, this.of(label) + 1)
    this.#last.set(label, time)
  }

  of(label: Label): number {
    return this.#counts.get(label) ?? 0
  }
}

/** The checks of everything that a scenario makes in the time of a plan. */
export const planChecks = Effect.fnUntraced(function* (scenario: Scenario, options: PlanOptions) {
  const { rateScale = 1 } = options
  const events = new EventChecks(rateScale, zonesOf(scenario))
  const occasions = new Map<number, LabelCounts>()
  let [attempts, denied] = [0, 0]
  yield* inTurns(records(scenario, options), (record) => {
    events.add(rowOf(record))
    const { building_id, flow, label, time } = record.happening
    if (flow === "residents" || flow === "employees") {
      attempts++
      if (label === "denied") denied++
    } else if (label !== null) {
      const counts = occasions.get(building_id) ?? new LabelCounts()
      occasions.set(building_id, counts)
      counts.add(label, time)
    }
  })
  const arrivals = arrivalFindings(scenario, options)
  yield* Effect.yieldNow
  const calls = callFindings(scenario, options)
  yield* Effect.yieldNow
  const crowds = crowdChecks(scenario, options)
  yield* Effect.yieldNow
  const days = options.duration / dayMillis
  const anomalies = flowsTagged(scenario, "Anomalies")
  const anomalyTests = anomalyKinds.flatMap((kind) => {
    const stated = anomalies.reduce((sum, { flow }) => sum + flow.per_month[kind], 0)
    const mean = (stated * days * rateScale) / 30
    // More would come within minutes of each other, and count as one.
    const isCountable = anomalies.every(({ flow }) => flow.per_month[kind] * rateScale <= 20)
    if (mean < 1 || !isCountable) return []
    const count = [...occasions.values()].reduce((sum, counts) => sum + counts.of(kind), 0)
    return [
      {
        name: `anomalies: ${kind}`,
        p: poissonTail(count, mean),
        meaning: "They are more or less frequent than the scenario states."
      }
    ]
  })
  const member = scenario.buildings.flatMap(({ flows }) =>
    flows.flatMap((flow) => (flow._tag === "Residents" || flow._tag === "Employees" ? [flow.denied.share] : []))
  )
  const [share = 0] = member
  const isAlike = member.every((own) => own === share)
  const checks: ReadonlyArray<Check> = [
    ...perDayCheck(scenario, events.count, options),
    ...checksOf([...arrivals.tests, ...calls.tests, ...anomalyTests]),
    ...arrivals.checks,
    ...crowds,
    ...calls.checks,
    ...(isAlike && attempts > 1_000
      ? [
          near(
            "denied attempts of members",
            denied / attempts,
            share,
            Math.max(0.1 * share, 6 * Math.sqrt(share / attempts)),
            "More or fewer attempts are denied than the scenario states.",
            4
          )
        ]
      : []),
    ...events.checks()
  ]
  return checks
})
