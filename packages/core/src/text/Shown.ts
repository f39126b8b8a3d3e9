/**
 * Makes untrusted texts safe to show on a terminal, in a build log or on a page.
 */

/**
 * Control and format characters, and line ends. Such characters could move a cursor, hide text or reverse the direction
 * of text.
 */
const steering = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu

/** Returns a text on one line, without characters that control a terminal. */
export const onOneLine = (text: string): string => text.replaceAll(steering, " ")

/** Like `onOneLine`, but also trims the text and cuts it to `length`. */
export const shownText = (text: string, length: number): string => {
  const line = onOneLine(text).trim()
  return line.length > length ? `${line.slice(0, length)}...` : line
}

const escapeOf = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`

/**
 * Escapes the characters of a JSON text that control a terminal, which does not change its value. White space between
 * tokens stays.
 */
export const escapedJson = (json: string): string =>
  json.replaceAll(/(?![\t\n\r])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (found) => found.split("").map(escapeOf).join(""))

/** Returns a value as JSON on several lines, escaped. */
export const shownJson = (value: unknown): string => escapedJson(JSON.stringify(value, null, 2))
