/**
 * What comes to a process from outside, one after the other. Whoever takes gets its turn on virtual time, like all fibers
 * of the process.
 */
import { Effect } from "effect"

export class Mailbox<A> {
  readonly #items: Array<A> = []
  #waiting: ((item: Effect.Effect<A>) => void) | null = null

  get isEmpty(): boolean {
    return this.#items.length === 0
  }

  put(item: A): void {
    const waiting = this.#waiting
    this.#waiting = null
    if (waiting === null) this.#items.push(item)
    else waiting(Effect.succeed(item))
  }

  /** Takes the next item, as soon as there is one. For one fiber at a time. */
  readonly take: Effect.Effect<A> = Effect.callback<A>((resume) => {
    const [item] = this.#items.splice(0, 1)
    if (item !== undefined) return resume(Effect.succeed(item))
    this.#waiting = resume
    return Effect.sync(() => {
      this.#waiting = null
    })
  })
}
