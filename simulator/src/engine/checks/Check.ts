/**
 * A rule that every history must keep, as a pure function of what happened.
 */
import type { Trace } from "./Trace.ts"

/** A place where a rule was broken: what is wrong, and the entries of the history that show it. */
export interface Violation {
  readonly what: string
  readonly entries: ReadonlyArray<number>
}

export interface Check {
  readonly name: string
  /** The rule in one sentence. */
  readonly rule: string
  readonly violations: (trace: Trace) => ReadonlyArray<Violation>
}
