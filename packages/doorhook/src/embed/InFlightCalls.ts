/**
 * What is under way, so that closing can wait for it.
 */

/** How long closing waits for it, in milliseconds: longer than any call takes that makes progress. */
const patience = 5_000

export interface InFlightCalls {
  /** Counts it as under way until it is over, whatever comes of it. */
  readonly track: <A>(call: Promise<A>) => Promise<A>
  /** Resolves once nothing is under way, or when that takes too long. */
  readonly settled: () => Promise<void>
}

export const makeInFlightCalls = (): InFlightCalls => {
  const open = new Set<Promise<unknown>>()
  return {
    track: (call) => {
      const over: Promise<unknown> = call.then(
        () => open.delete(over),
        () => open.delete(over)
      )
      open.add(over)
      return call
    },
    settled: async () => {
      let timer: NodeJS.Timeout | undefined
      const tooLong = new Promise((resolve) => {
        timer = setTimeout(resolve, patience)
      })
      await Promise.race([Promise.all(open), tooLong])
      clearTimeout(timer)
    }
  }
}
