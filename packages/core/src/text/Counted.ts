/**
 * Formats a count with a noun in the singular or plural.
 */

/** Returns `1 user` or `2 users`. `many` is the plural, needed if it is not `one` with an s. */
export const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`
