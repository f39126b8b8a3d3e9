/**
 * Operations on the receiver itself: stop, start, pause, and move its clock.
 */
import { Clock, Deferred, Effect } from "effect"
import type { Exchange } from "../evidence/Exchange.ts"
import type { Intervention } from "../evidence/Trace.ts"
import type { OperationOf } from "../history/Operations.ts"
import { isProxyError, watchEnd } from "../hooks/Hooks.ts"
import type { HookFailed } from "../hooks/Hooks.ts"
import { open } from "../http/Wire.ts"
import type { Connection } from "../http/Wire.ts"
import { patienceOf } from "../judgement/Terms.ts"
import { noteIntervention, createEvent, maxInFlight } from "./Execution.ts"
import type { Execution } from "./Execution.ts"
import { sendOnce, TargetUnusable } from "./Send.ts"

const unusable = ({ message }: HookFailed): TargetUnusable => new TargetUnusable({ message })

/** Calls a hook. Histories that need a missing hook are not executed. */
const act = (hook: Effect.Effect<void, HookFailed> | null): Effect.Effect<void, TargetUnusable> =>
  hook === null ? Effect.void : Effect.mapError(hook, unusable)

/**
 * Calls a hook and waits for its end, even if the run is interrupted: a command that is broken off may already have stopped the
 * receiver.
 */
const actWhole = (hook: Effect.Effect<void, HookFailed> | null): Effect.Effect<void, TargetUnusable> =>
  Effect.uninterruptible(act(hook))

/** Which hook ends the receiver. */
type By = "kill" | "restart"

/** What is noted about an end: `unended` if nothing showed it. */
type Seen = Pick<Intervention, "unended">

/** Ends the receiver, then runs `ended`, and waits until the receiver is gone. */
const end = (
  execution: Execution,
  by: By,
  ended: Effect.Effect<void> = Effect.void,
  cut: Effect.Effect<void> = Effect.never
): Effect.Effect<Seen, TargetUnusable> =>
  Effect.scoped(
    Effect.gen(function* () {
      const { hooks, urls } = execution.setting
      const gone = yield* watchEnd(urls[0], cut)
      yield* actWhole(hooks[by])
      yield* ended
      if (yield* gone) return {}
      return {
        unended: `the receiver still answered after ${hooks.names[by] ?? `its ${by}`}: does it end the receiver's own process, not its parent?`
      }
    })
  )

/** Pauses between tries to start a receiver, in milliseconds, growing as a supervisor's. */
const betweenStarts = { first: 250, most: 8_000 }
/** A receiver is started at least this often. */
const leastStarts = 2

/** An action on the receiver, and when it began, by the clock of the run. */
interface Begun {
  readonly what: "killed" | "restarted"
  readonly from: number
}

/**
 * Starts the receiver, waits until it is ready, and notes what was done. A receiver that does not start again is at fault only if
 * the same hook has started it before; else the hook may be wrong.
 */
const start = Effect.fnUntraced(function* (
  execution: Execution,
  op: number,
  by: By,
  { from, what }: Begun,
  seen: Seen
) {
  const { comeback, hooks, startedAfter } = execution.setting
  const after = by === "kill" ? "killed" : "running"
  const begun = yield* Clock.currentTimeMillis
  const again = Effect.andThen(Effect.uninterruptible(hooks.restart ?? Effect.void), hooks.ready)
  // A restart hook has started it already.
  const first = by === "restart" ? hooks.ready : again
  let failed = yield* Effect.flip(first).pipe(Effect.orElseSucceed(() => null))
  let pause = betweenStarts.first
  for (let starts = 1; failed !== null; starts++) {
    if (failed.down === undefined || !(hooks.startsIt || startedAfter.has(after))) return yield* unusable(failed)
    const spent = (yield* Clock.currentTimeMillis) - begun
    if (starts >= leastStarts && spent >= comeback) {
      const down = `started ${starts} times in ${Math.round(spent / 1_000)} s, ${failed.down}`
      noteIntervention(execution, op, what, from, { down })
      const message = `The receiver was killed and did not start again (${down}). Start it by hand on what it left behind to see why.`
      return yield* new TargetUnusable({ message, stayedDown: true })
    }
    yield* Effect.sleep(pause)
    pause = Math.min(2 * pause, betweenStarts.most)
    failed = yield* Effect.flip(again).pipe(Effect.orElseSucceed(() => null))
  }
  if (seen.unended === undefined) startedAfter.add(after)
  noteIntervention(execution, op, what, from, seen)
})

/** Ends and starts the receiver. */
export const restart = Effect.fnUntraced(function* (execution: Execution, _: OperationOf<"restart">, op: number) {
  const { hooks, now } = execution.setting
  yield* execution.connection.renew
  const from = now()
  const by = hooks.restart === null ? "kill" : "restart"
  const seen = yield* end(execution, by)
  yield* start(execution, op, by, { what: "restarted", from }, seen)
})

/** Whether an attempt was cut off, or a proxy answered for the receiver. */
const showsEnd = (exchange: Exchange): boolean =>
  exchange._tag === "Failed"
    ? exchange.outcome === "connection_reset"
    : exchange.ending === "cut_off" || isProxyError(exchange.status)

const workersPause = 4
/** The most events around one kill: the effects of each are read. */
const mostEvents = 64

/** Kills the receiver while workers send new events, and starts it again. */
export const killAmid = Effect.fnUntraced(function* (
  execution: Execution,
  { after, copies = 1, event, from, workers }: OperationOf<"kill_amid">,
  op: number
) {
  const { hooks, now, terms, urls } = execution.setting
  yield* execution.connection.renew
  const atOnce = Math.max(1, Math.min(workers, Math.floor(maxInFlight / copies)))
  /** The kill is timed from this moment. */
  const counted = yield* Deferred.make<void>()
  const count = Deferred.succeed(counted, undefined)
  const cut = yield* Deferred.make<void>()
  const by = hooks.kill === null ? "restart" : "kill"
  const traffic = { dead: false, ending: false, made: 0, endedAt: 0 }
  const worker = Effect.scoped(
    Effect.gen(function* () {
      const connections = yield* Effect.forEach(Array.from({ length: copies }), () => open(urls[0]))
      while (!traffic.dead && traffic.made < mostEvents) {
        traffic.made++
        const actor = yield* createEvent(execution, event)
        if (from === undefined) yield* count
        const attempt = Effect.fnUntraced(function* (own: Connection) {
          const exchange = yield* sendOnce(execution, actor, own, { op, kind: "amid" })
          if (actor.acknowledged) yield* count
          if (traffic.ending && exchange !== null && showsEnd(exchange)) yield* Deferred.succeed(cut, undefined)
          return exchange
        })
        const exchanges = yield* Effect.forEach(connections, attempt, { concurrency: "unbounded" })
        if (exchanges.includes(null)) return
        yield* Effect.sleep(workersPause)
      }
    })
  )
  const ended = Effect.sync(() => {
    traffic.dead = true
    traffic.endedAt = now()
  })
  const crash = Effect.gen(function* () {
    // A receiver that acknowledges nothing in time is killed, too.
    yield* Effect.timeoutOption(Deferred.await(counted), patienceOf(terms))
    yield* Effect.sleep(after)
    traffic.ending = true
    return yield* end(execution, by, ended, Deferred.await(cut))
  })
  const allWorkers = Effect.all(
    Array.from({ length: atOnce }, () => worker),
    { concurrency: "unbounded", discard: true }
  )
  // A killed receiver must be started again, whatever happens.
  const revive = Effect.suspend(() =>
    traffic.ending && by === "kill" ? Effect.ignore(actWhole(hooks.restart)) : Effect.void
  )
  // The kill also comes if everything sent was refused.
  yield* Effect.all([crash, Effect.andThen(allWorkers, count)], { concurrency: "unbounded" }).pipe(
    Effect.map(([one]) => one),
    // A kill command that failed may still have killed it.
    Effect.tapError(() => revive),
    Effect.tap((seen) =>
      start(execution, op, by, { what: by === "kill" ? "killed" : "restarted", from: traffic.endedAt }, seen)
    ),
    Effect.onInterrupt(() => revive)
  )
})

/** How long the receiver stays paused after the first attempts' deadline, in milliseconds. */
const afterDeadline = 1_000

/** Whether the receiver itself took the event: a proxy that stops waiting answers something else. */
const isTaken = (exchange: Exchange | null): boolean =>
  exchange?._tag === "Answered" && exchange.status >= 200 && exchange.status <= 299

/**
 * Pauses the receiver from before the first attempts until after their deadline. The second attempts come during the pause, as a
 * sender's retries would, so that the receiver works on both when it goes on.
 */
export const pauseDuring = Effect.fnUntraced(function* (
  execution: Execution,
  { events }: OperationOf<"pause_during">,
  op: number
) {
  const { hooks, now, terms, urls } = execution.setting
  yield* execution.connection.renew
  const actors = yield* Effect.forEach(events, (event) => createEvent(execution, event))
  const sendAll = Effect.forEach(
    actors,
    (actor) =>
      Effect.scoped(Effect.flatMap(open(urls[0]), (own) => sendOnce(execution, actor, own, { op, kind: "cut" }))),
    { concurrency: "unbounded" }
  )
  const from = now()
  yield* actWhole(hooks.pause).pipe(
    Effect.andThen(sendAll),
    Effect.tap((exchanges) =>
      exchanges.some(isTaken)
        ? Effect.fail(
            new TargetUnusable({
              message: `The receiver still answers after ${hooks.names["pause"] ?? "its pause"}, so it is not paused. The hook must stop the receiver's own process and each of its workers.`
            })
          )
        : Effect.void
    ),
    Effect.andThen(
      Effect.all(
        [sendAll, Effect.sleep(Math.min(afterDeadline, terms.deadline / 2)).pipe(Effect.andThen(act(hooks.resume)))],
        {
          concurrency: "unbounded",
          discard: true
        }
      )
    ),
    // A paused receiver must go on, even if the pause command failed.
    Effect.onError(() => Effect.ignore(act(hooks.resume)))
  )
  yield* Effect.mapError(hooks.ready, unusable)
  noteIntervention(execution, op, "paused", from)
})

/** Moves the receiver's clock, and all later timestamps with it. */
export const advance = Effect.fnUntraced(function* (execution: Execution, { ms }: OperationOf<"advance">, op: number) {
  const { clock, hooks, now } = execution.setting
  const from = now()
  if (hooks.advance !== null) {
    yield* act(hooks.advance(ms))
    clock.ahead += ms
  }
  yield* Effect.mapError(hooks.ready, unusable)
  noteIntervention(execution, op, "clock_moved", from)
})
