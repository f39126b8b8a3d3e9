/** Live traffic for the demo: the demo scenario without end, as if its lunch hour began now. */
import { Clock, Effect, Stream } from "effect"
import { beginningOf, plan } from "../plan/Plan.ts"
import { fromIso, movedTo } from "../plan/PlannedEvent.ts"
import { demo } from "../scenario/Demo.ts"
import { LocalTime } from "../world/LocalTime.ts"
import type { Measurements } from "../results/Measurements.ts"
import type { Arrival } from "./Load.ts"
import type { Target } from "./OperatorApi.ts"
import type { RunStopped } from "./Run.ts"
import { RunClock, run } from "./Run.ts"

interface DemoTrafficOptions {
  readonly seed: number
  /** Factor for the number of people. With 1, the first hour has about one event a minute. */
  readonly rateScale: number
}

/** 2026-03-03T12:00, a Tuesday: couriers bring food and parcels, employees go to lunch, and residents run errands. */
const start = LocalTime.make(1_772_539_200_000)

/**
 * Moves the events of the demo from Tuesday noon to `beginning`, so that there is traffic at any hour. The times in the
 * events are moved by the same amount.
 */
const demoArrivals = (options: DemoTrafficOptions, beginning: number): Stream.Stream<Arrival> => {
  const shift = beginning - beginningOf(demo, start)
  return plan(demo, { ...options, start, duration: Infinity }).pipe(
    Stream.map((event) => {
      const at = fromIso(event.at) + shift
      return { event: movedTo(event, at), at }
    })
  )
}

/** Publishes the demo's traffic to a target, each event at its time, until interrupted. */
export const runDemo = (
  options: DemoTrafficOptions,
  target: Target,
  measurements: Measurements
): Effect.Effect<void, RunStopped> =>
  Effect.flatMap(Clock.currentTimeMillis, (beginning) =>
    run(
      demoArrivals(options, beginning),
      { target, clock: new RunClock(beginning, 1), maxInFlight: 100, batch: 1 },
      measurements
    )
  )
