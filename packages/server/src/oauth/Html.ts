/**
 * HTML that can't be injected into: whatever is put into the template is escaped, unless it is HTML made the same way.
 */

/** A piece of HTML. Only the `markup` template makes it, and `trusted` from what the host itself has written. */
class Html {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  toString(): string {
    return this.#text
  }
}

export type { Html }

/** HTML that is the host's own and is put in as it is: never what a client or a user sent. */
export const trusted = (html: string): Html => new Html(html)

/** What may stand in a template; null is nothing. */
export type Part = string | Html | ReadonlyArray<Html> | null

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;"
}

/** Makes a text safe in an element and in a quoted attribute. */
const escape = (text: string): string => text.replaceAll(/[&<>"']/g, (char) => entities[char] ?? char)

const render = (part: Part): string => {
  if (part === null) return ""
  if (typeof part === "string") return escape(part)
  return part instanceof Html ? part.toString() : part.join("")
}

/**
 * The template. Attributes that hold a part must be quoted. (A tag of the name `html` would have the code formatter move
 * white space that counts.)
 */
export const markup = (strings: TemplateStringsArray, ...parts: ReadonlyArray<Part>): Html =>
  new Html(strings.map((text, index) => text + render(parts[index] ?? null)).join(""))
