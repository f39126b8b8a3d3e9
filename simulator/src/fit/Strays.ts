/**
 * Rows that are far away from all others: the reader whose clock was set back to 2000 for a moment. They would make years of
 * log of weeks, in which nearly nobody comes.
 */
import { dayMillis } from "../world/LocalTime.ts"

/** A pause that is no holiday. */
const longestPause = 60 * dayMillis

/** As few as this are strays behind such a pause; with more, the log has a pause. */
const mostStrays = 3
const mostShare = 0.01

/** Parts that are as far from each other as that; expects entries in order of time. */
const parts = <A extends { readonly time: number }>(entries: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> => {
  const all: Array<Array<A>> = []
  for (const entry of entries) {
    const part = all.at(-1)
    const last = part?.at(-1)
    if (part === undefined || last === undefined || entry.time - last.time > longestPause) all.push([entry])
    else part.push(entry)
  }
  return all
}

/** What a log is, and what is too far away from it to be of it. */
export const strays = <A extends { readonly time: number }>(entries: ReadonlyArray<A>) => {
  const most = Math.min(entries.length / 10, Math.max(mostStrays, entries.length * mostShare))
  const [far, near] = [true, false].map((isFar) =>
    parts(entries)
      .filter(({ length }) => length <= most === isFar)
      .flat()
  )
  return { near: near ?? [], far: far ?? [] }
}
