/**
 * HTML put together from texts that are escaped unless they are HTML already.
 */
import { safeText } from "../Redaction.ts"

/** HTML that is safe to put into a page. */
export interface Html {
  readonly html: string
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;"
}

/** A text as HTML. Characters that turn the direction of writing or can't be seen are shown as their code. */
const escape = (text: string): string =>
  safeText(text)
    .toWellFormed()
    .replaceAll(/[&<>"']/g, (one) => entities[one] ?? one)
    .replaceAll(/[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, (one) =>
      one === "\n" ? one : `\\u${(one.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`
    )

type Part = Html | string | number | ReadonlyArray<Html>

const written = (part: Part): string => {
  if (typeof part === "string") return escape(part)
  if (typeof part === "number") return String(part)
  return "html" in part ? part.html : part.map(({ html }) => html).join("")
}

/** A template: what is put in is escaped. */
export const html = (texts: TemplateStringsArray, ...parts: ReadonlyArray<Part>): Html => ({
  html: texts.map((text, index) => `${text}${index < parts.length ? written(parts[index] ?? "") : ""}`).join("")
})

/** Text that is HTML as it stands: a style sheet. */
export const raw = (text: string): Html => ({ html: text })

export const nothing: Html = { html: "" }

/** The HTML if there is something to show. */
export const when = (condition: boolean, content: () => Html): Html => (condition ? content() : nothing)
