/**
 * Where on the axis of the report each event is, while a run goes on.
 */
import type { LocalClock } from "../../receivers/LocalClock.ts"
import type { Sending } from "../../plan/Disorder.ts"
import type { Measurements } from "../../results/Measurements.ts"
import type { RunObserver } from "../../run/Run.ts"
import type { Course } from "./Course.ts"

export const measuring = (
  measurements: Measurements,
  course: Course,
  zoneOf: (building: number) => LocalClock
): Pick<RunObserver, "began" | "started"> => ({
  began: (now) => {
    course.began = now
  },
  started: ({ at, event }: Sending, due, now) => {
    const started = course.timeOf(now)
    measurements.place(due === null ? started : at - course.beginning, started, at, zoneOf(event.building_id))
  }
})
