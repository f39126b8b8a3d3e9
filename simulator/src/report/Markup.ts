/**
 * HTML as text, with everything that comes from outside escaped.
 */

const escapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;"
}

export const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, (sign) => escapes[sign] ?? sign)

/** Markup that is safe to put into a page. */
export class Markup {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Part = string | number | Markup | null | ReadonlyArray<Markup>

const rendered = (part: Part): string => {
  if (part === null) return ""
  if (part instanceof Markup) return part.text
  return typeof part === "string" || typeof part === "number"
    ? escaped(String(part))
    : part.map(({ text }) => text).join("")
}

/** A template whose values are escaped unless they are markup. */
export const html = (strings: TemplateStringsArray, ...parts: ReadonlyArray<Part>): Markup =>
  new Markup(strings.reduce((text, string, at) => text + rendered(parts[at - 1] ?? null) + string))
