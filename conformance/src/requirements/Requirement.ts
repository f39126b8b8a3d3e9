/**
 * What a requirement is: one file each, listed in `index.ts`.
 *
 * A requirement says what a receiver must do and why, which histories show whether it does, and how to tell from their
 * traces. It is data and pure functions; running it is the executor's business.
 */
import type { Finding } from "../checks/Finding.ts"
import type { Terms } from "../checks/Terms.ts"
import type { Trace } from "../executor/Trace.ts"
import type { Case } from "../history/History.ts"
import type { Samples } from "../history/Samples.ts"

/** What a receiver must let the suite see: 1 its URL alone, 2 a probe, 3 a way to restart or kill it. */
export type Level = 1 | 2 | 3

export interface Requirement {
  /** Stable for ever: people put it in their build. The name of its file. */
  readonly id: string
  readonly level: Level
  /** Breaking a SHOULD is a WARN. */
  readonly strength: "MUST" | "SHOULD"
  /** What is required, in one sentence. */
  readonly statement: string
  /** Where that comes from. */
  readonly source: string
  /** What happens to people when it is broken. */
  readonly because: string
  /** What the suite expects to see, under the terms of a run. */
  readonly expected: (terms: Terms) => string
  /** It can't be judged of a receiver that acknowledges nothing at all. */
  readonly presumesAcknowledgement: boolean
  /** What is always done. */
  readonly directed: ReadonlyArray<Case>
  /** What is done besides, as far as time allows. */
  readonly sampled: Samples
  readonly check: (trace: Trace, terms: Terms) => Finding
}
