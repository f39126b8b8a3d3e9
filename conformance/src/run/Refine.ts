/**
 * Looks at a failure again: how often it comes back by itself, one at a time; where it does not, whether it does with
 * what others did to the receiver as operations of its own; and with how little.
 *
 * A wrong answer or effect seen once is proof, and stays a failure even if it never comes back.
 */
import type { Crypto } from "@doorhook/core"
import { Clock, Effect } from "effect"
import type { Trace } from "../evidence/Trace.ts"
import type { Slots } from "../execution/Slots.ts"
import { forBindings, keyOf } from "../history/History.ts"
import { accessLog } from "../history/Events.ts"
import type { History } from "../history/History.ts"
import type { Minting } from "../history/Minting.ts"
import type { Operation } from "../history/Operations.ts"
import type { Samples } from "../history/Samples.ts"
import type { Confirmed, Refinement } from "../record/Evidence.ts"
import type { TryOut } from "./Alone.ts"
import { dropEach, shrinkDrawn, simplify } from "./Shrink.ts"
import { repeatsFor } from "./StoredCase.ts"

/** How often a failure is looked for again. */
const confirmations = 5

/** The most that others did to the receiver, and the most events of theirs, that become operations. */
const mostEnds = 3
const mostEvents = 2_000

export interface Failure {
  readonly requirement: string
  readonly trace: Trace
  /** Where fast-check drew it from; null for a directed case. */
  readonly drawn: { readonly samples: Samples; readonly seed: number; readonly path: string } | null
  readonly bindings: ReadonlyArray<string> | null
  readonly fails: (trace: Trace) => boolean
}

/** Before which operation something happened, by what was sent after it. */
const placeOf = ({ attempts, began, history }: Trace, at: number): number =>
  attempts.find(({ started }) => began + started > at)?.op ?? history.ops.length

/**
 * The history with what others did to the receiver while it ran as operations of its own: a kill or a restart where it
 * fell, after as many events as others sent. A wait for all else to be done goes: this is what was waited for. What is
 * stored and replayed is complete by itself.
 */
export const withConditions = (trace: Trace): History => {
  const ends = trace.interventions
    .filter(({ op, what }) => op === null && (what === "killed" || what === "restarted"))
    .slice(0, mostEnds)
  const added = ends.map(({ from, what }): readonly [number, Operation] => [
    placeOf(trace, from),
    what === "killed" ? { k: "kill_amid", event: accessLog, workers: 2, after: 20 } : { k: "restart" }
  ])
  const [, first] = trace.attempts
  const filler: ReadonlyArray<readonly [number, Operation]> =
    trace.otherEvents === 0
      ? []
      : [[added[0]?.[0] ?? first?.op ?? 0, { k: "filler", count: Math.min(trace.otherEvents, mostEvents) }]]
  const at = (place: number): ReadonlyArray<Operation> =>
    [...filler, ...added].flatMap(([where, operation]) => (where === place ? [operation] : []))
  if (filler.length + added.length === 0) return trace.history
  const ops = trace.history.ops.flatMap((operation, place) => [
    ...at(place),
    ...(operation.k === "age" ? [] : [operation])
  ])
  return { v: 1, ops: [...ops, ...at(trace.history.ops.length)] }
}

/** Looks at a failure again. */
export const refine = Effect.fnUntraced(function* (
  { bindings, drawn, fails, requirement, trace }: Failure,
  tryOut: TryOut,
  until: number
): Effect.fn.Return<Refinement, never, Minting | Crypto | Slots> {
  const isTimeLeft = Effect.map(Clock.currentTimeMillis, (now) => now < until)
  let best: Trace | null = null
  /** Whether a history fails just now. One that could not be done, or whose effects could not be read, does not. */
  const failsOnce = (history: History) =>
    tryOut(history).pipe(
      Effect.map((again) => {
        if (!fails(again)) return false
        if (best === null || again.history.ops.length <= best.history.ops.length) best = again
        return true
      }),
      Effect.orElseSucceed(() => false)
    )

  const confirm = Effect.fnUntraced(function* (
    history: History
  ): Effect.fn.Return<Confirmed, never, Minting | Crypto | Slots> {
    let [tried, failed] = [0, 0]
    while (tried < confirmations && (yield* isTimeLeft)) {
      if (yield* failsOnce(history)) failed += 1
      tried += 1
    }
    return { tried, failed }
  })

  const stillFails = (times: number) =>
    Effect.fnUntraced(function* (history: History): Effect.fn.Return<boolean, never, Minting | Crypto | Slots> {
      for (let tries = 0; tries < times && (yield* isTimeLeft); tries++) {
        if (yield* failsOnce(history)) return true
      }
      return false
    })

  let history = trace.history
  const conditioned = withConditions(trace)
  const isAlike = keyOf(conditioned) === keyOf(history)
  // What waited for all else to be done is not waited for by itself: what came in between may do.
  const waits = !isAlike && history.ops.some(({ k }) => k === "age")
  let confirmed = waits ? { tried: 0, failed: 0 } : yield* confirm(history)
  if (confirmed.failed === 0) {
    if (isAlike) return { requirement, confirmed, reproduced: null }
    const again = yield* confirm(conditioned)
    if (again.failed === 0) return { requirement, confirmed: waits ? again : confirmed, reproduced: null }
    history = conditioned
    confirmed = again
  }
  const again = stillFails(repeatsFor(confirmed))
  const plain =
    drawn === null || history !== trace.history
      ? null
      : yield* shrinkDrawn(drawn.samples, drawn, (one) => forBindings(one, bindings), again, until)
  yield* simplify(yield* dropEach(plain ?? history, again, until), again, until)
  return { requirement, confirmed, reproduced: best }
})
