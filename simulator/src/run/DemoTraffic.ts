/**
 * Live traffic for the demo: the demo scenario, as if its lunch hour began now, and without end.
 */
import { Clock, Effect, Stream } from "effect"
import { fromIso } from "../plan/IsoTime.ts"
import { beginningOf, plan } from "../plan/Plan.ts"
import type { PlannedEvent } from "../plan/PlannedEvent.ts"
import { movedTo } from "../plan/PlannedEvent.ts"
import { demo } from "../scenario/Demo.ts"
import { LocalTime } from "../world/LocalTime.ts"
import { pace } from "./Pace.ts"

export interface DemoTrafficOptions {
  readonly seed: number
  /** How many times as many people as live and work there. The first hour has about an event a minute at 1. */
  readonly rateScale: number
}

/** 2026-03-03T12:00, a Tuesday: couriers bring food and parcels, employees go to lunch, residents run errands. */
const start = LocalTime.make(1_772_539_200_000)

/**
 * Events as they happen, each emitted when its time has come. Times of day are those of the demo's Tuesday noon
 * moved to now, so that there is something to see at any hour; `at` and `logged_at` are true.
 */
export const demoTraffic = (options: DemoTrafficOptions): Stream.Stream<PlannedEvent> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const shift = (yield* Clock.currentTimeMillis) - beginningOf(demo, start)
      return plan(demo, { ...options, start, duration: Infinity }).pipe(
        Stream.map((event) => movedTo(event, fromIso(event.at) + shift)),
        pace((event) => fromIso(event.at))
      )
    })
  )
