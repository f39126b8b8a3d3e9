/**
 * Suggests known names for a misspelled one.
 */

/**
 * Returns the edit distance of two texts: the number of letters left out, added, replaced, or swapped with their
 * neighbour.
 */
const distanceOf = (a: string, b: string): number => {
  let before: ReadonlyArray<number> = []
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1
      let least = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + cost)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, (before[j - 2] ?? 0) + 1)
      next.push(least)
    }
    before = row
    row = next
  }
  return row[b.length] ?? 0
}

const plain = (text: string): string => text.toLowerCase().replaceAll(/[-_]/g, "")

/** Returns the known name closest to a text; null if more than a third of the text's letters would be wrong. */
const nearest = (text: string, known: ReadonlyArray<string>): string | null => {
  const allowed = Math.max(1, Math.floor(plain(text).length / 3))
  let best: string | null = null
  let least = allowed + 1
  for (const name of known) {
    const distance = distanceOf(plain(text), plain(name))
    if (distance < least) [best, least] = [name, distance]
  }
  return best
}

/** Returns a question to append to a message about an unknown name; empty if no known name is similar. */
export const didYouMean = (text: string, known: ReadonlyArray<string>): string => {
  const name = nearest(text, known)
  return name === null ? "" : `; did you mean ${name}?`
}
