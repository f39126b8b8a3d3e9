/**
 * HTML that can't be injected into: whatever is put into a template is escaped, unless it is HTML made the same way.
 */

/** A piece of HTML. Only templates make it, and `trusted` from what we or the host have written. */
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

/** HTML that is put in as it is, like a style sheet: never what a client, a user or a receiver sent. */
export const trusted = (html: string): Html => new Html(html)

/** What is there when there is nothing to show. */
export const nothing: Html = new Html("")

/** What may stand in a template; null is nothing. */
export type Part = string | number | Html | ReadonlyArray<Html> | null

/** A template. Attributes that hold a part must be quoted. */
export type Template = (strings: TemplateStringsArray, ...parts: ReadonlyArray<Part>) => Html

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;"
}

/** Makes a text safe in an element and in a quoted attribute. */
const escape = (text: string): string => text.replaceAll(/[&<>"']/g, (char) => entities[char] ?? char)

/** A template whose texts are given another form first: to leave out what nobody may read, or to show what can't be seen. */
export const templateWith = (shown: (text: string) => string): Template => {
  const render = (part: Part): string => {
    if (part === null) return ""
    if (typeof part === "string") return escape(shown(part))
    if (typeof part === "number") return String(part)
    return part instanceof Html ? part.toString() : part.join("")
  }
  return (strings, ...parts) => new Html(strings.map((text, index) => text + render(parts[index] ?? null)).join(""))
}

/** The template of texts as they are. (Where it has the name `html`, the code formatter moves white space.) */
export const template: Template = templateWith((text) => text)

/** The parts of a page that differ. */
export interface Page {
  readonly title: Part
  /** Its language (BCP 47); English by default. */
  readonly lang?: string
  /** The style sheet, byte for byte between its tags, so that a policy may allow it by its digest. */
  readonly style: string
  readonly body: Html
  /** What else its head holds. */
  readonly head?: Html | undefined
}

/** A whole page, which fits the width of the screen it is on. */
export const page = ({ body, head = nothing, lang = "en", style, title }: Page): Html => template`<!doctype html>
<html lang="${lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
${head}<style>${trusted(style)}</style>
</head>
<body>
${body}
</body>
</html>
`
