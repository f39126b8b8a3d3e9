/**
 * Where a run in real time is: the clock on the wall, and the time of the plan that goes with it.
 */

export class Course {
  /** When the first event was due, by the clock; null before. */
  began: number | null = null
  readonly beginning: number
  readonly speed: number | null

  constructor(beginning: number, speed: number | null) {
    this.beginning = beginning
    this.speed = speed
  }

  /** Milliseconds since the beginning, on the axis of the report. */
  readonly timeOf = (instant: number): number => Math.max(0, (instant - (this.began ?? instant)) * (this.speed ?? 1))
}
