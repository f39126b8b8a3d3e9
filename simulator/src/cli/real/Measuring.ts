/**
 * What is measured while a run goes on: each event at its place in the plan, and how late and how long.
 */
import type { LocalClock } from "../../receivers/LocalClock.ts"
import type { Sending } from "../../run/Disorder.ts"
import type { Measurements } from "../../run/Measurements.ts"
import type { RunObserver } from "../../run/Run.ts"
import type { Course } from "./Course.ts"

export const measuring = (
  measurements: Measurements,
  course: Course,
  zoneOf: (building: number) => LocalClock
): RunObserver => ({
  began: (now) => {
    course.began = now
  },
  started: ({ at, event, kind }: Sending, due, now) => {
    const intended = due === null ? course.timeOf(now) : at - course.beginning
    measurements.plan(intended, at, zoneOf(event.building_id))
    measurements.start(course.timeOf(now), due === null ? 0 : now - due)
    if (kind === "repeated") measurements.repeated++
    else if (kind === "reordered") measurements.reordered++
    else if (kind === "delayed") measurements.delayed++
  },
  accepted: (batch, _, began, now) => {
    for (const { due } of batch) measurements.accept(now - (due ?? began), now - began)
  },
  refused: (events) => {
    measurements.refused += events
  }
})
