/**
 * One line of a terminal that is written over, for what takes long.
 */
import { Effect, Stdio, Terminal } from "effect"

/** Carriage return and «erase the line» (ECMA-48). */
const restart = "\r\u001b[2K"

export interface TerminalLine {
  /** Shows a text in place of the one before. */
  readonly draw: (text: string) => Effect.Effect<void>
  /** Takes the line away, before something else is printed. */
  readonly clear: Effect.Effect<void>
}

/** The line of standard output; null where that goes to a file or a pipe. */
export const terminalLine: Effect.Effect<TerminalLine | null, never, Stdio.Stdio | Terminal.Terminal> = Effect.gen(
  function* () {
    const stdio = yield* Stdio.Stdio
    const terminal = yield* Terminal.Terminal
    if (!(yield* stdio.stdoutIsTerminal)) return null
    // A terminal that is gone is no reason to end what is going on.
    const display = (text: string) => Effect.ignore(terminal.display(text))
    return {
      // A line that wraps can't be drawn over. Some terminals do not know their width.
      draw: (text) =>
        Effect.flatMap(terminal.columns, (columns) =>
          display(restart + (columns > 0 ? text.slice(0, columns - 1) : text))
        ),
      clear: display(restart)
    }
  }
)
