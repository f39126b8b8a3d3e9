/**
 * Shows how something that takes long is going.
 */
import { terminalLine } from "@doorhook/core"
import { Console, Effect } from "effect"
import type { Stdio, Terminal } from "effect"

/** How often a terminal's line is drawn anew, and a line is printed elsewhere. */
const terminalInterval = "250 millis"
const plainInterval = "10 seconds"

/**
 * One line that changes on a terminal; a plain line now and then where output goes to a file or a pipe. Never ends: race
 * it against what it tells about. The terminal's line is gone afterwards.
 */
export const showProgress = Effect.fnUntraced(function* <E, R>(
  line: Effect.Effect<string, E, R>
): Effect.fn.Return<never, E, R | Stdio.Stdio | Terminal.Terminal> {
  const display = yield* terminalLine
  if (display === null) return yield* Effect.forever(Effect.delay(Effect.flatMap(line, Console.log), plainInterval))
  const draw = Effect.andThen(Effect.flatMap(line, display.draw), Effect.sleep(terminalInterval))
  return yield* Effect.ensuring(Effect.forever(draw), display.clear)
})
