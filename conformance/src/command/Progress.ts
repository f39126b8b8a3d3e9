/**
 * What is being done, on one line that is written over; on a terminal only.
 */
import { Effect, Stdio, Terminal } from "effect"

export interface Progress {
  readonly show: (what: string) => Effect.Effect<void>
  /** Takes the line away, before something else is printed. */
  readonly clear: Effect.Effect<void>
}

const silent: Progress = { show: () => Effect.void, clear: Effect.void }

export const makeProgress: Effect.Effect<Progress, never, Stdio.Stdio | Terminal.Terminal> = Effect.gen(function* () {
  const stdio = yield* Stdio.Stdio
  const terminal = yield* Terminal.Terminal
  if (!(yield* stdio.stdoutIsTerminal)) return silent
  const width = Math.max(20, (yield* terminal.columns) - 1)
  // A terminal that can't be written to any more must not end the run.
  const write = (text: string): Effect.Effect<void> => Effect.ignore(terminal.display(text))
  const blank = `\r${" ".repeat(width)}\r`
  return { show: (what) => write(`${blank}testing: ${what}`.slice(0, blank.length + width)), clear: write(blank) }
})
