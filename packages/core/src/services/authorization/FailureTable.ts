/**
 * Failures by what failed, in bounded memory: the oldest entries make room, but never one that makes somebody wait.
 */

/** What the values of a table mean at a time in milliseconds. */
export interface FailureRules<Value> {
  /** Whether a value no longer counts. */
  readonly isOver: (value: Value, now: number) => boolean
  /** Whether an entry is at its limit. */
  readonly isAtLimit: (key: string, value: Value, now: number) => boolean
}

/** A map that forgets what was set longest ago, entries at their limit excepted. */
export class FailureTable<Value> {
  readonly #capacity: number
  readonly #rules: FailureRules<Value>
  /** Entries below their limit when they were set, oldest first. */
  readonly #open = new Map<string, Value>()
  /** Entries at their limit, oldest first. They leave when they are over. */
  readonly #held = new Map<string, Value>()

  constructor(capacity: number, rules: FailureRules<Value>) {
    this.#capacity = capacity
    this.#rules = rules
  }

  /** How many entries there are. */
  get size(): number {
    return this.#open.size + this.#held.size
  }

  /** Whether no entry counts. */
  isEmpty(now: number): boolean {
    for (const entries of [this.#open, this.#held])
      for (const [key, value] of entries) {
        if (!this.#rules.isOver(value, now)) return false
        entries.delete(key)
      }
    return true
  }

  get(key: string): Value | undefined {
    return this.#open.get(key) ?? this.#held.get(key)
  }

  /** Sets an entry. A new one is dropped where every other is at its limit. */
  set(key: string, value: Value, now: number): void {
    this.delete(key)
    if (this.size >= this.#capacity) {
      const spare = this.#findSpare(now)
      if (spare === null) return
      this.delete(spare)
    }
    const entries = this.#rules.isAtLimit(key, value, now) ? this.#held : this.#open
    entries.set(key, value)
  }

  delete(key: string): void {
    if (!this.#open.delete(key)) this.#held.delete(key)
  }

  /** Whether `set` would keep an entry of this key. */
  canKeep(key: string, now: number): boolean {
    return this.size < this.#capacity || this.get(key) !== undefined || this.#findSpare(now) !== null
  }

  /** The entry that makes room for another; null when every one is at its limit. */
  #findSpare(now: number): string | null {
    for (const [key, value] of this.#held) {
      if (this.#rules.isOver(value, now)) return key
      break
    }
    for (const [key, value] of this.#open) {
      if (!this.#rules.isAtLimit(key, value, now)) return key
      // Its limit was lowered after it was set.
      this.#open.delete(key)
      this.#held.set(key, value)
    }
    return null
  }
}
