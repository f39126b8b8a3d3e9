/**
 * Executes a history against a receiver and records what happened: operation by operation, over one connection, as a
 * sender's worker has. Copies sent at once have a connection each.
 */
import type { Crypto } from "@doorhook/core"
import { Effect } from "effect"
import type { Trace } from "../evidence/Trace.ts"
import type { History } from "../history/History.ts"
import type { Minting } from "../history/Minting.ts"
import { begin } from "./Execution.ts"
import type { Begun, Occasion, Setting } from "./Execution.ts"
import { perform } from "./Perform.ts"
import type { Slots } from "./Slots.ts"
import type { TargetUnusable } from "./TargetUnusable.ts"

/** What came of a history: its trace, and why it is not whole if the receiver could not be reached any more. */
export interface Executed {
  readonly trace: Trace
  readonly broke: TargetUnusable | null
}

/** After this many attempts that were sent one by one and not answered in time, a history has shown what it can. */
const lateUntilGivenUp = 3

const isGivenUp = ({ attempts, setting }: Begun, { ops }: History): boolean => {
  const late = attempts.filter(({ exchange, kind, op }) => {
    const sent = ops[op]?.k
    return kind === "delivery" && (sent === "new" || sent === "again") && exchange.elapsed > setting.terms.deadline
  })
  return late.length >= lateUntilGivenUp
}

export const execute = (
  history: History,
  setting: Setting,
  occasion: Occasion
): Effect.Effect<Executed, never, Minting | Crypto | Slots> =>
  Effect.scoped(
    Effect.gen(function* () {
      const execution = yield* begin(setting, occasion)
      const all = Effect.gen(function* () {
        for (const [place, operation] of history.ops.entries()) {
          if (isGivenUp(execution, history)) {
            return execution.fallShort({ op: place, what: "steps", done: place, of: history.ops.length })
          }
          yield* perform(execution, operation, place)
        }
      })
      const broke = yield* all.pipe(
        Effect.as(null),
        Effect.catchTag("TargetUnusable", (error) => Effect.succeed(error))
      )
      return { trace: execution.trace(history), broke }
    })
  )
