/**
 * Virtual time and the order in which fibers run. Time passes only while every fiber waits.
 *
 * All fibers of a simulation run here, on one stack, without promises or real timers: the same seed gives the same run.
 * The next runnable fiber is drawn at random, which covers many interleavings. Processes use timers, which count
 * monotonic time. The world around them uses alarms, which follow the wall clock; the wall clock also moves while the
 * machine sleeps.
 */
import type { Rng } from "../random/Substream.ts"
import { Heap } from "./Heap.ts"

type Task = () => void

export interface Timer {
  readonly at: number
  readonly order: number
  readonly fire: Task
  cancelled: boolean
}

/** Orders timers by due time, then by the order in which they were set. */
const isBefore = (a: Timer, b: Timer): boolean => (a.at === b.at ? a.order < b.order : a.at < b.at)

/** Wall-clock time at the start of every simulation, in milliseconds since the epoch: an ordinary Tuesday. */
export const startOfTime = 1_772_524_800_000

/** Number of tasks in one instant after which time passes anyway, in case some fiber polls without waiting. */
const maxTasksAtOnce = 20_000

/** State of a world that can sleep. */
export interface Sleeper {
  /** Whether no work is in progress, so that the machine can sleep until the next alarm. */
  readonly isIdle: boolean
  readonly isStopped: boolean
}

export class VirtualTime {
  /** Milliseconds since the start. Never decreases. */
  now = 0
  /** Lead of the wall clock over `startOfTime + now`, in milliseconds. Grows while the machine sleeps. */
  wallOffset = 0
  readonly #rng: Rng
  /** The next task is drawn from this many runnable tasks. With 1, tasks run in order. */
  readonly #choice: number
  readonly #timers = new Heap(isBefore)
  readonly #alarms = new Heap(isBefore)
  #tasks: Array<Task> = []
  #taken = 0
  #order = 0

  constructor(rng: Rng, choice: number) {
    this.#rng = rng
    this.#choice = choice
  }

  get wall(): number {
    return startOfTime + this.now + this.wallOffset
  }

  /** Schedules a task for this instant, after the current task. */
  schedule(task: Task): void {
    this.#tasks.push(task)
  }

  /** Sets a timer that runs a task `millis` from now. */
  after(millis: number, fire: Task): Timer {
    const timer = { at: this.now + Math.max(0, Math.ceil(millis)), order: this.#order++, fire, cancelled: false }
    this.#timers.push(timer)
    return timer
  }

  /** Sets an alarm that runs a task when the wall clock reaches an instant, even if the machine sleeps. */
  alarm(instant: number, fire: Task): void {
    this.#alarms.push({ at: instant, order: this.#order++, fire, cancelled: false })
  }

  /** Sets an alarm that repeats at an interval of wall-clock time. */
  every(interval: number, fire: Task, first = this.wall + interval): void {
    this.alarm(first, () => {
      fire()
      this.every(interval, fire, first + interval)
    })
  }

  /** Runs all tasks and timers up to and including a time. */
  runUntil(end: number): void {
    this.#runTasks()
    while (this.#fireNext(end)) this.#runTasks()
    this.now = Math.max(this.now, end)
  }

  /**
   * Runs all tasks, timers and alarms up to an instant of the wall clock. While the world is idle, the machine sleeps
   * until the next alarm: the wall clock advances, but timers don't.
   */
  runUntilWall(end: number, world: Sleeper): void {
    this.#runTasks()
    while (this.wall < end && !world.isStopped) {
      const next = Math.min(end, this.#alarms.top?.at ?? Infinity)
      const left = next - this.wall
      if (left <= 0) this.#alarms.pop()?.fire()
      else if (world.isIdle) this.wallOffset += left
      else if (!this.#fireNext(this.now + left)) this.now += left
      this.#runTasks()
    }
  }

  /** Advances to the next timer due by `end` and fires it. Returns false if there is none. */
  #fireNext(end: number): boolean {
    for (let next = this.#timers.top; next !== undefined && next.at <= end; next = this.#timers.top) {
      this.#timers.pop()
      if (next.cancelled) continue
      this.now = Math.max(this.now, next.at)
      next.fire()
      return true
    }
    return false
  }

  #runTasks(): void {
    for (let count = 0; this.#taken < this.#tasks.length && count < maxTasksAtOnce; count++) this.#takeTask()?.()
    if (this.#taken === this.#tasks.length) {
      this.#tasks = []
      this.#taken = 0
    }
  }

  #takeTask(): Task | undefined {
    const waiting = this.#tasks.length - this.#taken
    const at = this.#taken++
    if (this.#choice === 1 || waiting === 1) return this.#tasks[at]
    const chosen = at + this.#rng.below(Math.min(this.#choice, waiting))
    const task = this.#tasks[chosen]
    const first = this.#tasks[at]
    if (first !== undefined) this.#tasks[chosen] = first
    return task
  }
}
