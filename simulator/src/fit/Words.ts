/**
 * Whether the text of a cell has one of some words: whole ones, so that nobody rings who is "Entering".
 */

/** Finds any of these words, patterns with `|` between, in a text of any case. */
export const anyWord = (words: string): ((text: string) => boolean) => {
  const whole = new RegExp(`(?<!\\p{L})(?:${words})(?!\\p{L})`, "iu")
  // `accessDenied` is two words.
  return (text) => whole.test(text.replaceAll(/(?<=\p{Ll})(?=\p{Lu})/gu, " "))
}
