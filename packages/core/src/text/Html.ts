/**
 * HTML templates that prevent injection. Each inserted value is escaped, unless it is itself HTML from a template.
 */

/** A piece of HTML. Only templates and `trusted` create it. */
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

/**
 * Marks text, such as a style sheet, as HTML that templates insert without escaping. Never pass text from a client, a
 * user or a receiver.
 */
export const trusted = (html: string): Html => new Html(html)

/** Empty HTML. */
export const nothing: Html = new Html("")

/** A value that a template accepts. Null inserts nothing. */
export type Part = string | number | Html | ReadonlyArray<Html> | null

/** A template. Attributes that contain parts must be quoted. */
export type Template = (strings: TemplateStringsArray, ...parts: ReadonlyArray<Part>) => Html

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;"
}

/** Characters that HTML does not allow: control characters, such as those that steer a terminal. */
const forbidden = /(?![\t\n\r])\p{Cc}/gu

/** Escapes a text for an element or a quoted attribute. Spaces replace characters that HTML does not allow. */
const escape = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (char) => entities[char] ?? char).replaceAll(forbidden, " ")

/**
 * Makes a template that transforms inserted texts before escaping, for example to hide secrets or show invisible
 * characters.
 */
export const templateWith = (shown: (text: string) => string): Template => {
  const render = (part: Part): string => {
    if (part === null) return ""
    if (typeof part === "string") return escape(shown(part))
    if (typeof part === "number") return String(part)
    return part instanceof Html ? part.toString() : part.join("")
  }
  return (strings, ...parts) => new Html(strings.map((text, index) => text + render(parts[index] ?? null)).join(""))
}

/**
 * The template that escapes inserted texts without transforming them. It is not named `html`, because the code
 * formatter would then change its white space.
 */
export const template: Template = templateWith((text) => text)

/** The variable parts of a page. */
export interface Page {
  readonly title: Part
  /** The language of the page (BCP 47); English by default. */
  readonly lang?: string
  /** The style sheet, inserted byte for byte, so that a content security policy can allow it by hash. */
  readonly style: string
  readonly body: Html
  /** Further content of the head. */
  readonly head?: Html | undefined
}

/** Makes a complete page that adapts to the width of the screen. */
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
