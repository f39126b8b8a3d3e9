/**
 * Words for a shell (bash, zsh, ksh): commands that are printed to be copied.
 */

/** A byte that is no printable ASCII, as three octal digits: `\u` would mean something in a locale of UTF-8 only. */
const escapeOf = (byte: number): string => {
  const character = String.fromCharCode(byte)
  if (character === "'" || character === "\\") return `\\${character}`
  if (character === "\n") return "\\n"
  return byte >= 0x20 && byte < 0x7f ? character : `\\${byte.toString(8).padStart(3, "0")}`
}

/** Quotes a word. What is not printable ASCII is written as escapes of UTF-8: exact, and harmless on a terminal. */
export const quote = (text: string): string => {
  if (/^[A-Za-z0-9_@%+=:,./-]+$/.test(text)) return text
  if (/^[\x20-\x26\x28-\x7e]*$/.test(text)) return `'${text}'`
  return `$'${Array.from(new TextEncoder().encode(text), escapeOf).join("")}'`
}
