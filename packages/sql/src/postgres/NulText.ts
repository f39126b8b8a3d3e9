/**
 * Escapes NUL, the one character that PostgreSQL's `text` can't hold. A receiver's response may contain it.
 *
 * NUL is stored as U+E000 followed by `0`, and U+E000 itself (a private-use character) is doubled. Other text is unchanged.
 */

const escape = "\uE000"

export const toStored = (text: string | null): string | null =>
  text === null || !/[\0\uE000]/.test(text)
    ? text
    : text.replaceAll(escape, escape + escape).replaceAll("\0", `${escape}0`)

export const fromStored = (text: string | null): string | null =>
  text === null || !text.includes(escape)
    ? text
    : text.replaceAll(/\uE000([0\uE000])/g, (_, escaped: string) => (escaped === "0" ? "\0" : escape))
