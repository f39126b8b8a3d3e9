/**
 * Shows how something that takes long is going.
 */
import { Console, Effect, Stdio, Terminal } from "effect"

/** How often a terminal's line is drawn anew, and a line is printed elsewhere. */
const terminalInterval = "250 millis"
const plainInterval = "10 seconds"

/** Carriage return and «erase the line» (ECMA-48). */
const restartLine = "\r\u001b[2K"

/**
 * One line that changes on a terminal; a plain line now and then where output goes to a file or a pipe. Never ends: race
 * it against what it tells about. The terminal's line is gone afterwards.
 */
export const showProgress = Effect.fnUntraced(function* <E, R>(
  line: Effect.Effect<string, E, R>
): Effect.fn.Return<never, E, R | Stdio.Stdio | Terminal.Terminal> {
  const stdio = yield* Stdio.Stdio
  const terminal = yield* Terminal.Terminal
  if (!(yield* stdio.stdoutIsTerminal)) {
    return yield* Effect.forever(Effect.delay(Effect.flatMap(line, Console.log), plainInterval))
  }
  // A terminal that is gone is no reason to end what is going on.
  const display = (text: string) => Effect.ignore(terminal.display(text))
  const draw = Effect.gen(function* () {
    const text = yield* line
    // A line that wraps can't be drawn over. Some terminals do not know their width.
    const columns = yield* terminal.columns
    yield* display(restartLine + (columns > 0 ? text.slice(0, columns - 1) : text))
    yield* Effect.sleep(terminalInterval)
  })
  return yield* Effect.ensuring(Effect.forever(draw), display(restartLine))
})
