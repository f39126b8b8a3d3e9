/** Matrices and repetitions that are too long for each run. `DOORHOOK_WHOLE=1` runs them whole. */

const isWhole = process.env["DOORHOOK_WHOLE"] === "1"

/** Returns how often to repeat something in each run: `whole` times with `DOORHOOK_WHOLE=1`. */
export const times = (count: number, whole: number): number => (isWhole ? whole : count)

/** Returns a random sample of a matrix in its order, or all of it with `DOORHOOK_WHOLE=1`. */
export const sample = <A>(items: ReadonlyArray<A>, count: number): ReadonlyArray<A> => {
  if (isWhole) return items
  const places = items.map((_, place) => ({ place, draw: Math.random() })).toSorted((a, b) => a.draw - b.draw)
  const drawn = new Set(places.slice(0, count).map(({ place }) => place))
  return items.filter((_, place) => drawn.has(place))
}
