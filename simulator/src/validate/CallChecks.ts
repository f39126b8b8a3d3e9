/**
 * What becomes of rings, against what their flows state: opened, repeated, and how long it takes. Flows
 * that state different things in different buildings are judged one by one.
 */
import { Rng, root } from "../random/Substream.ts"
import type { PlanOptions } from "../plan/Plan.ts"
import { flowDay } from "../plan/Plan.ts"
import type { Scenario } from "../scenario/Scenario.ts"
import { happeningsOfDay } from "../traffic/Happenings.ts"
import type { OutsiderFlow } from "../traffic/Outsiders.ts"
import { answerAfter, unlockAfter } from "../traffic/Visit.ts"
import { second } from "../world/LocalTime.ts"
import type { Check, Test } from "./Check.ts"
import type { PlacedFlow } from "./PlanFacts.ts"
import { daysOf, flowsTagged, statedAlike } from "./PlanFacts.ts"
import { sameDistribution, wilson } from "./Statistics.ts"

/** Shares of fewer say nothing. */
const fewest = 50

interface Rings {
  calls: number
  opened: number
  /** Rings that can be followed by another of the same visit, and those that follow one. */
  repeatable: number
  repeated: number
  withoutCause: number
  readonly waits: Array<number>
}

/** Waits as the flow states them, to be compared with. */
const statedWaits = (flow: OutsiderFlow, count: number): ReadonlyArray<number> => {
  const rng = new Rng(root("stated waits"))
  return Array.from({ length: count }, () => answerAfter(rng, flow) + unlockAfter(rng, flow))
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

/** What became of the rings of a flow in all buildings where it states the same. */
const ringsOf = (members: ReadonlyArray<PlacedFlow<OutsiderFlow>>, options: PlanOptions): Rings => {
  const rings: Rings = { calls: 0, opened: 0, repeatable: 0, repeated: 0, withoutCause: 0, waits: [] }
  for (const { flow, place, traffic } of members) {
    for (const day of daysOf(traffic, options)) {
      const times = new Map<number, number>()
      const visits = new Map<number, number>()
      for (const happening of happeningsOfDay(flowDay(traffic, place, flow, day, options))) {
        if (happening._tag === "Call") {
          const first = happening.cause ?? happening.id
          const ring = (visits.get(first) ?? 0) + 1
          visits.set(first, ring)
          times.set(happening.id, happening.time)
          rings.calls++
          if (ring > 1) rings.repeated++
          if (ring < flow.most_rings) rings.repeatable++
        } else if (happening.entry_method === "app") {
          const called = times.get(happening.cause ?? -1)
          if (called === undefined || called >= happening.time) rings.withoutCause++
          else rings.waits.push((happening.time - called) / second)
          rings.opened++
        }
      }
    }
  }
  return rings
}

/** What a flow states of its rings. */
const statedOf = (flow: OutsiderFlow) => {
  const { answer_seconds, answered, most_rings, repeated, ring_out_seconds, unlock_seconds, unlocked } = flow
  return [answer_seconds, answered, most_rings, repeated, ring_out_seconds, unlock_seconds, unlocked]
}

export const callFindings = (scenario: Scenario, options: PlanOptions) => {
  const tests: Array<Test> = []
  const checks: Array<Check> = []
  for (const { flow, members, title } of statedAlike(flowsTagged(scenario, "Outsiders"), statedOf)) {
    const rings = ringsOf(members, options)
    if (rings.calls < fewest) continue
    checks.push(
      {
        name: `calls of ${title}: doors opened before their call`,
        verdict: rings.withoutCause === 0 ? "PASS" : "FAIL",
        observed: `${rings.withoutCause}`,
        expected: "0",
        meaning: "What follows must come later than what it follows from."
      },
      shareCheck(
        `calls of ${title}: end with an open door`,
        rings.opened,
        rings.calls,
        flow.answered * flow.unlocked,
        "More or fewer calls are answered and end with an open door than the flow states."
      )
    )
    if (rings.repeatable >= fewest) {
      checks.push(
        shareCheck(
          `calls of ${title}: rung again`,
          rings.repeated,
          rings.repeatable,
          (1 - flow.answered) * flow.repeated,
          "More or fewer of those who are not answered ring again than the flow states."
        )
      )
    }
    if (rings.waits.length >= fewest) {
      tests.push({
        name: `calls of ${title}: time to the open door`,
        p: sameDistribution(rings.waits, statedWaits(flow, 20_000)),
        meaning: "Answers and releases take longer or shorter than the flow states."
      })
    }
  }
  return { tests, checks }
}
