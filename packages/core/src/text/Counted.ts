/**
 * Counts with a noun in the singular or plural.
 */

/** `1 user`, `2 users`. `many` is the plural if it is not formed with an s. */
export const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`
