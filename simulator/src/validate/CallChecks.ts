/**
 * What becomes of rings, against what the flows state: answered, opened, repeated, and how long it takes.
 */
import { lognormal } from "../random/Distribution.ts"
import { Rng, root } from "../random/Substream.ts"
import type { PlanOptions } from "../plan/Plan.ts"
import { flowDay } from "../plan/Plan.ts"
import type { Scenario } from "../scenario/Scenario.ts"
import { happeningsOfDay } from "../traffic/Happenings.ts"
import type { OutsiderFlow } from "../traffic/Outsiders.ts"
import { second } from "../world/LocalTime.ts"
import type { Check, Test } from "./Check.ts"
import { daysOf, flowsTagged } from "./PlanFacts.ts"
import { sameDistribution, wilson } from "./Statistics.ts"

interface Rings {
  calls: number
  opened: number
  unanswered: number
  repeated: number
  withoutCause: number
  readonly waits: Array<number>
}

/** Waits as the flow states them, to be compared with. */
const statedWaits = (flow: OutsiderFlow, count: number): ReadonlyArray<number> => {
  const rng = new Rng(root("stated waits"))
  return Array.from(
    { length: count },
    () => Math.min(lognormal(rng, flow.answer_seconds), flow.ring_out_seconds) + lognormal(rng, flow.unlock_seconds)
  )
}

const shareCheck = (name: string, hits: number, tries: number, stated: number, meaning: string): Check => {
  const [low, high] = wilson(hits, tries, 4.5)
  return {
    name,
    verdict: stated >= low && stated <= high ? "PASS" : "FAIL",
    observed: `${(hits / tries).toFixed(3)} of ${tries}`,
    expected: `${stated.toFixed(3)} within ${low.toFixed(3)} to ${high.toFixed(3)}`,
    meaning
  }
}

export const callFindings = (scenario: Scenario, options: PlanOptions) => {
  const tests: Array<Test> = []
  const checks: Array<Check> = []
  const outsiders = flowsTagged(scenario, "Outsiders")
  for (const name of new Set(outsiders.map(({ flow }) => flow.name))) {
    const rings: Rings = { calls: 0, opened: 0, unanswered: 0, repeated: 0, withoutCause: 0, waits: [] }
    const alike = outsiders.filter(({ flow }) => flow.name === name)
    for (const { flow, place, traffic } of alike) {
      for (const day of daysOf(traffic, options)) {
        const times = new Map<number, number>()
        for (const happening of happeningsOfDay(flowDay(traffic, place, flow, day, options))) {
          if (happening._tag === "Call") {
            rings.calls++
            times.set(happening.id, happening.time)
            if (happening.cause !== null) rings.repeated++
          } else if (happening.entry_method === "app") {
            const called = times.get(happening.cause ?? -1)
            if (called === undefined || called >= happening.time) rings.withoutCause++
            else rings.waits.push((happening.time - called) / second)
            rings.opened++
          }
        }
      }
    }
    const flow = alike[0]?.flow
    if (flow === undefined || rings.calls < 50) continue
    const opens = flow.answered * flow.unlocked
    checks.push(
      {
        name: `calls of ${name}: doors opened before their call`,
        verdict: rings.withoutCause === 0 ? "PASS" : "FAIL",
        observed: `${rings.withoutCause}`,
        expected: "0",
        meaning: "What follows must come later than what it follows from."
      },
      shareCheck(
        `calls of ${name}: end with an open door`,
        rings.opened,
        rings.calls,
        opens,
        "More or fewer calls are answered and end with an open door than the flow states."
      )
    )
    if (rings.waits.length >= 50) {
      tests.push({
        name: `calls of ${name}: time to the open door`,
        p: sameDistribution(rings.waits, statedWaits(flow, 20_000)),
        meaning: "Answers and releases take longer or shorter than the flow states."
      })
    }
  }
  return { tests, checks }
}
