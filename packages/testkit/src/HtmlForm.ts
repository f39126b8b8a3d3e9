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
}

/** Returns the form of a page; null without one. */
export const formIn = (html: string): HtmlForm | null => {
  const action = /<form[^>]* action="([^"]*)"/.exec(html)?.[1]
  if (action === undefined) return null
  const fields = [...html.matchAll(/<input\b[^>]*?\bname="([^"]*)"[^>]*>/g)].map(([input, name = ""]) => [
    unescapeHtml(name),
    unescapeHtml(/\bvalue="([^"]*)"/.exec(input)?.[1] ?? "")
  ])
  return { action: unescapeHtml(action), fields: Object.fromEntries(fields) }
}
