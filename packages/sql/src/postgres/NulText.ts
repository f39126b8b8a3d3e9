/**
 * Texts that may hold the one character that PostgreSQL's `text` can't: NUL. A receiver's answer may hold anything.
 *
 * NUL is written as U+E000 `0`, and U+E000 itself, which nobody uses, doubled. All other text stays readable as it is.
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
