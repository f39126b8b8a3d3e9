/**
 * Simulates name lookups on a thread pool: a fixed number run at a time, in order, and none is cancelled.
 */

export interface LookUps {
  readonly ask: (name: string) => Promise<ReadonlyArray<string>>
  /** The names whose lookup has begun, in order. */
  readonly begun: ReadonlyArray<string>
}

/** Makes a simulated resolver. Each name resolves to 127.0.0.1 as soon as the promise of `answered` resolves. */
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
