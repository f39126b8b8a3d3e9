/**
 * Which of very many texts have come before: more than one set holds (2^24).
 */

/** Texts in one set. */
const usualMost = 2 ** 23

export class Seen {
  readonly #mostInSet: number
  #newest = new Set<string>()
  readonly #sets = [this.#newest]

  constructor(mostInSet = usualMost) {
    this.#mostInSet = mostInSet
  }

  /** Notes a text, and says whether it had come before. */
  again(text: string): boolean {
    if (this.#sets.some((set) => set.has(text))) return true
    if (this.#newest.size >= this.#mostInSet) {
      this.#newest = new Set()
      this.#sets.push(this.#newest)
    }
    this.#newest.add(text)
    return false
  }
}
