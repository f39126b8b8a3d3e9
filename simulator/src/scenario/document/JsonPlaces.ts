/**
 * Where in a JSON text things are: so that what is wrong with a value can be shown where it stands.
 */

/** The text is not JSON: where that shows first. */
export class NotJson extends Error {
  readonly at: number

  constructor(at: number, expected: string) {
    super(`expected ${expected}`)
    this.at = at
  }
}

const numberPattern = /-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y
const stringPattern = /"([^"\\\u0000-\u001f]|\\(["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y
const wordPattern = /true|false|null/y
const spacePattern = /[ \t\n\r]*/y

/** Walks through a JSON text and notes where each value begins, by JSON Pointer (RFC 6901). */
class Walk {
  readonly #text: string
  readonly places = new Map<string, number>()
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  run(): void {
    this.#value("")
    this.#space()
    if (this.#at < this.#text.length) this.#fail("nothing more")
  }

  #fail(expected: string): never {
    throw new NotJson(this.#at, expected)
  }

  #take(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0] ?? null
    if (found !== null) this.#at += found.length
    return found
  }

  #space(): void {
    this.#take(spacePattern)
  }

  #peek(): string {
    this.#space()
    return this.#text[this.#at] ?? ""
  }

  #value(pointer: string): void {
    const sign = this.#peek()
    this.places.set(pointer, this.#at)
    if (sign === "{") return this.#object(pointer)
    if (sign === "[") return this.#array(pointer)
    const found = this.#take(stringPattern) ?? this.#take(numberPattern) ?? this.#take(wordPattern)
    if (found === null) this.#fail("a value")
  }

  #object(pointer: string): void {
    this.#at++
    if (this.#peek() === "}") return void this.#at++
    for (;;) {
      this.#space()
      const start = this.#at
      const key = this.#take(stringPattern)
      if (key === null) return this.#fail("a member name in double quotes")
      const name: unknown = JSON.parse(key)
      const member = `${pointer}/${String(name).replaceAll("~", "~0").replaceAll("/", "~1")}`
      if (this.#peek() !== ":") this.#fail("a colon")
      this.#at++
      this.#value(member)
      // What is wrong with a member is shown at its name.
      this.places.set(member, start)
      const sign = this.#peek()
      if (sign !== "," && sign !== "}") this.#fail("a comma or }")
      this.#at++
      if (sign === "}") return
    }
  }

  #array(pointer: string): void {
    this.#at++
    if (this.#peek() === "]") return void this.#at++
    for (let index = 0; ; index++) {
      this.#value(`${pointer}/${index}`)
      const sign = this.#peek()
      if (sign !== "," && sign !== "]") this.#fail("a comma or ]")
      this.#at++
      if (sign === "]") return
    }
  }
}

/** Where each value of a JSON text begins, by JSON Pointer. Throws `NotJson` when it is no JSON text. */
export const jsonPlaces = (text: string): ReadonlyMap<string, number> => {
  const walk = new Walk(text)
  walk.run()
  return walk.places
}

/** Line and column of a place in a text, from 1. */
export const lineAndColumn = (text: string, at: number): { readonly line: number; readonly column: number } => {
  const before = text.slice(0, at).split("\n")
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 }
}
