/**
 * Simulates name lookups on a thread pool: a fixed number of lookups run at a time, in order, and lookups can't be
 * cancelled.
 */

export interface LookUps {
  readonly ask: (name: string) => Promise<ReadonlyArray<string>>
  /** Names whose lookup has begun, in order. */
  readonly begun: ReadonlyArray<string>
}

/** Makes a simulated resolver. A lookup resolves to 127.0.0.1 once the promise from `answered(name)` resolves. */
export const lookUpsOn = (threads: number, answered: (name: string) => Promise<unknown> | undefined): LookUps => {
  const begun: Array<string> = []
  const waiting: Array<() => void> = []
  let taken = 0
  return {
    begun,
    ask: async (name) => {
      if (taken < threads) taken++
      else await new Promise<void>((resolve) => waiting.push(resolve))
      begun.push(name)
      await answered(name)
      const next = waiting.shift()
      if (next === undefined) taken--
      else next()
      return ["127.0.0.1"]
    }
  }
}
