/**
 * Quotes words for a shell (bash, zsh, ksh), in commands that users copy.
 */

/** Escapes a byte. Non-printable bytes become three octal digits, because `\u` requires a UTF-8 locale. */
const escapeOf = (byte: number): string => {
  const character = String.fromCharCode(byte)
  if (character === "'" || character === "\\") return `\\${character}`
  if (character === "\n") return "\\n"
  return byte >= 0x20 && byte < 0x7f ? character : `\\${byte.toString(8).padStart(3, "0")}`
}

/**
 * Quotes a word. Characters that are not printable ASCII become escaped UTF-8 bytes, which are harmless on a terminal.
 */
export const quote = (text: string): string => {
  if (/^[A-Za-z0-9_@%+=:,./-]+$/.test(text)) return text
  if (/^[\x20-\x26\x28-\x7e]*$/.test(text)) return `'${text}'`
  return `$'${Array.from(new TextEncoder().encode(text), escapeOf).join("")}'`
}
