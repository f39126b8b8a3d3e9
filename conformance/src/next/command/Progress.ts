/**
 * What is being done, on one line that is written over; on a terminal only.
 */
import { terminalLine } from "@doorhook/core"
import { Effect } from "effect"
import type { Stdio, Terminal } from "effect"

export interface Progress {
  readonly show: (what: string) => Effect.Effect<void>
  /** Takes the line away, before something else is printed. */
  readonly clear: Effect.Effect<void>
}

const silent: Progress = { show: () => Effect.void, clear: Effect.void }

export const makeProgress: Effect.Effect<Progress, never, Stdio.Stdio | Terminal.Terminal> = Effect.map(
  terminalLine,
  (line) => (line === null ? silent : { show: (what) => line.draw(`testing: ${what}`), clear: line.clear })
)
