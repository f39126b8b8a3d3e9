/**
 * Reads the forms of pages, as a browser does.
 */

/** Replaces the character references in a text from a page. */
export const unescapeHtml = (text: string): string =>
  text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll(/&#(?:39|x27);/g, "'")
    .replaceAll("&amp;", "&")

/** A form on a page. */
export interface HtmlForm {
  readonly action: string
  /** The values of its input fields by name. */
  readonly fields: Readonly<Record<string, string>>
  /** All input fields in the order of the page, in which a name may occur several times. Default: `fields`. */
  readonly inputs?: ReadonlyArray<readonly [string, string]>
}

/** Returns what a browser sends for a form with these values filled in. */
export const filledIn = (
  { fields, inputs = Object.entries(fields) }: Pick<HtmlForm, "fields" | "inputs">,
  values: Readonly<Record<string, string>>
): URLSearchParams => {
  const sent = new URLSearchParams()
  for (const [name, value] of inputs) if (!Object.hasOwn(values, name)) sent.append(name, value)
  for (const [name, value] of Object.entries(values)) sent.append(name, value)
  return sent
}

/** Returns the form of a page; null without one. */
export const formIn = (html: string): HtmlForm | null => {
  const action = /<form[^>]* action="([^"]*)"/.exec(html)?.[1]
  if (action === undefined) return null
  const inputs = [...html.matchAll(/<input\b[^>]*?\bname="([^"]*)"[^>]*>/g)].map(
    ([input, name = ""]): [string, string] => [
      unescapeHtml(name),
      unescapeHtml(/\bvalue="([^"]*)"/.exec(input)?.[1] ?? "")
    ]
  )
  return { action: unescapeHtml(action), fields: Object.fromEntries(inputs), inputs }
}
