/**
 * A run against one receiver: calibrates, executes batch after batch, waits for effects and reads them, confirms what may
 * have been an accident, and stops asking where a requirement is decided. It gathers evidence; verdicts are `record/Verdict.ts`.
 *
 * A receiver that answers late, or not at all, is found out by the first cases: once two plain cases that ran alone show
 * the same, no requirement that would see the same asks for more.
 */
import type { Crypto } from "@doorhook/core"
import type { Effect } from "effect"
import type { Slots } from "../execution/Slots.ts"
import type { Setting } from "../execution/Execution.ts"
import type { History } from "../history/History.ts"
import type { Minting } from "../history/Minting.ts"
import type { ProbeUnusable } from "../probes/Probe.ts"
import type { Ended, Evidence, Refinement } from "../record/Evidence.ts"
import type { Means, Options } from "../record/Options.ts"
import type { Trace } from "../evidence/Trace.ts"
import type { TargetUnusable } from "../execution/TargetUnusable.ts"

export interface Session {
  /** Executes until everything is decided, the time is up or the receiver is gone. */
  readonly run: Effect.Effect<Ended, never, Minting | Crypto | Slots>
  /** All that is known so far, as the evidence of a run that ended like this. */
  readonly evidence: (ended: Ended) => Evidence
}

export declare const makeSession: (
  options: Options,
  means: Means,
  measured: { readonly guard: number; readonly echo: number; readonly startedAt: number }
) => Effect.Effect<Session>

/** Executes a history by itself and reads its effects: for confirming, shrinking and `replay`. One at a time. */
export type TryOut = (
  history: History
) => Effect.Effect<Trace, TargetUnusable | ProbeUnusable, Minting | Crypto | Slots>

/**
 * Looks at a failure again: how often the history fails by itself, one at a time; where it does not, whether it fails
 * with what others did to the receiver in it (`withConditions`); and with how little, by fast-check's own shrinking.
 */
export type Refine = (
  failure: { readonly requirement: string; readonly trace: Trace; readonly path: string | null },
  tryOut: TryOut,
  fails: (trace: Trace) => boolean,
  until: number
) => Effect.Effect<Refinement, never, Minting | Crypto | Slots>

/**
 * The history with what others did to the receiver while it ran as operations of its own: a `restart` or `kill_amid` where
 * it fell, a `filler` for the events between. What is stored and replayed is complete by itself.
 */
export declare const withConditions: (trace: Trace) => History

export type { Setting }
