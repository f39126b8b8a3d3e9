/**
 * Numbers of things: one of them, or several.
 */

/** `1 user`, `2 users`; `many` where an s does not make it. */
export const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`
