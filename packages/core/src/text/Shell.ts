/**
 * Words for a shell (bash, zsh, ksh): commands that are printed to be copied.
 */

const escapeOf = (character: string): string => {
  if (character === "'" || character === "\\") return `\\${character}`
  if (character === "\n") return "\\n"
  const code = character.codePointAt(0) ?? 0
  if (code >= 0x20 && code < 0x7f) return character
  return code > 0xffff ? `\\U${code.toString(16).padStart(8, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`
}

/** Quotes a word. What is not printable ASCII is written as escapes: exact, and harmless on a terminal. */
export const quote = (text: string): string => {
  if (/^[A-Za-z0-9_@%+=:,./-]+$/.test(text)) return text
  if (/^[\x20-\x26\x28-\x7e]*$/.test(text)) return `'${text}'`
  return `$'${Array.from(text, escapeOf).join("")}'`
}
