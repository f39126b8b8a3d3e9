/**
 * Texts of others, as a terminal, a build log or a page may show them.
 */

/** Control and format characters, and ends of lines: what moves a cursor, hides, or turns a text round. */
const steering = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu

/** A text on one line, without what would steer a terminal. */
export const onOneLine = (text: string): string => text.replaceAll(steering, " ")

/** The same, so long at most. */
export const shownText = (text: string, length: number): string => {
  const line = onOneLine(text).trim()
  return line.length > length ? `${line.slice(0, length)}...` : line
}

const escapeOf = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`

/** A value as JSON over several lines, with escapes for what would steer a terminal: to a program it is the same. */
export const shownJson = (value: unknown): string =>
  JSON.stringify(value, null, 2)
    .split("\n")
    .map((line) => line.replaceAll(steering, (found) => found.split("").map(escapeOf).join("")))
    .join("\n")
