/**
 * What a run goes against, and what it can know by that.
 */

export type RunKind = "virtual" | "in-process" | "receiver" | "service"

export interface Knowledge {
  /** What waits and what is open at every moment, and whether rules of delivery are kept: the engine is the run's own. */
  readonly engine: boolean
  /** What receivers have processed before: they are the run's own. */
  readonly receivers: boolean
}

export const knowledge: Readonly<Record<RunKind, Knowledge>> = {
  virtual: { engine: true, receivers: true },
  "in-process": { engine: true, receivers: true },
  receiver: { engine: true, receivers: false },
  service: { engine: false, receivers: false }
}
