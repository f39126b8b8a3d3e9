/**
 * Time that passes only when everybody waits for it, and the order in which fibers get their turns.
 *
 * All fibers of a simulation run here, on one stack, without promises or real timers: the same seed gives the same run.
 * Which of the fibers that could go on goes first is drawn, so that many interleavings are seen.
 */
import type { Rng } from "../../random/Substream.ts"
import type { Timer } from "./TimerHeap.ts"
import { TimerHeap } from "./TimerHeap.ts"

type Task = () => void

/** Wall clock time at the start of every simulation: an ordinary Tuesday, in milliseconds since the epoch. */
export const startOfTime = 1_772_524_800_000

/** Tasks in one instant after which time passes all the same: somebody waits by asking again and again. */
const maxTasksAtOnce = 20_000

export class VirtualTime {
  /** Milliseconds since the start; never goes back. */
  now = 0
  /** By how much the wall clock is off. */
  wallOffset = 0
  readonly #rng: Rng
  /** From how many waiting tasks the next one is drawn. 1 is first come, first served. */
  readonly #choice: number
  readonly #timers = new TimerHeap()
  #tasks: Array<Task> = []
  #taken = 0
  #timersSet = 0

  constructor(rng: Rng, choice: number) {
    this.#rng = rng
    this.#choice = choice
  }

  get wall(): number {
    return startOfTime + this.now + this.wallOffset
  }

  /** Runs a task in this instant, after what runs now. */
  schedule(task: Task): void {
    this.#tasks.push(task)
  }

  /** Runs a task some milliseconds from now. */
  after(millis: number, fire: Task): Timer {
    const timer = { at: this.now + Math.max(0, Math.ceil(millis)), order: this.#timersSet++, fire, cancelled: false }
    this.#timers.add(timer)
    return timer
  }

  /** Lets everything happen that happens up to a time, that time included. */
  runUntil(end: number): void {
    this.runTasks()
    while (this.fireNext(end)) this.runTasks()
    this.now = Math.max(this.now, end)
  }

  /** Passes to the next timer that rings up to a time, and lets it ring; false when there is none. */
  fireNext(end: number): boolean {
    for (let next = this.#timers.first; next !== undefined && next.at <= end; next = this.#timers.first) {
      this.#timers.takeFirst()
      if (next.cancelled) continue
      this.now = Math.max(this.now, next.at)
      next.fire()
      return true
    }
    return false
  }

  /** Lets everything happen that happens in this instant. */
  runTasks(): void {
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
