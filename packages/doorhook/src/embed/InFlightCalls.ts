/**
 * Calls in flight, so that closing can wait for them.
 */

/** Maximum time that closing waits for calls, in milliseconds. Calls that make progress end sooner. */
const patience = 5_000

export interface InFlightCalls {
  /** Counts a call as in flight until its promise settles. */
  readonly track: <A>(call: Promise<A>) => Promise<A>
  /** Resolves when no call is in flight, or after the maximum wait. */
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
