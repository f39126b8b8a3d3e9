/**
 * A terminal line that is overwritten to show progress.
 */
import { Effect, Stdio, Terminal } from "effect"

/** A carriage return, and the sequence that erases the line (ECMA-48). */
const restart = "\r\u001b[2K"

export interface TerminalLine {
  /** Replaces the shown text. */
  readonly draw: (text: string) => Effect.Effect<void>
  /** Erases the line before other output. */
  readonly clear: Effect.Effect<void>
}

/** The line on standard output; null if standard output is not a terminal. */
export const terminalLine: Effect.Effect<TerminalLine | null, never, Stdio.Stdio | Terminal.Terminal> = Effect.gen(
  function* () {
    const stdio = yield* Stdio.Stdio
    const terminal = yield* Terminal.Terminal
    if (!(yield* stdio.stdoutIsTerminal)) return null
    // Writing to a closed terminal must not make the command fail.
    const display = (text: string) => Effect.ignore(terminal.display(text))
    return {
      // The text is cut to the terminal's width, because a wrapped line could not be overwritten. Some terminals report
      // no width.
      draw: (text) =>
        Effect.flatMap(terminal.columns, (columns) =>
          display(restart + (columns > 0 ? text.slice(0, columns - 1) : text))
        ),
      clear: display(restart)
    }
  }
)
