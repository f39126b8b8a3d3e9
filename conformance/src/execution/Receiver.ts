/**
 * Operations on the receiver itself: stopping, starting and pausing it, and moving its clock.
 */
import { Clock, Deferred, Effect } from "effect"
import type { Exchange } from "../evidence/Exchange.ts"
import type { Intervention } from "../evidence/Trace.ts"
import type { OperationOf } from "../history/Operations.ts"
import { isProxyError, watchEnd } from "../hooks/Hooks.ts"
import type { HookFailed } from "../hooks/Hooks.ts"
import { open } from "../http/Wire.ts"
import type { Connection } from "../http/Wire.ts"
import { patienceOf } from "../judgement/Criteria.ts"
import { noteIntervention, createEvent } from "./Execution.ts"
import type { Execution } from "./Execution.ts"
import { sendOnce, TargetUnusable } from "./Send.ts"
import { maxInFlight } from "./Slots.ts"

const unusable = ({ message }: HookFailed): TargetUnusable => new TargetUnusable({ message })

/** Calls a hook. Does nothing without a hook, because histories that need the hook are not executed. */
const act = (hook: Effect.Effect<void, HookFailed> | null): Effect.Effect<void, TargetUnusable> =>
  hook === null ? Effect.void : Effect.mapError(hook, unusable)

/**
 * Calls a hook and waits until it has finished, even if the run is interrupted. A command that was interrupted might
 * already have stopped the receiver.
 */
const actWhole = (hook: Effect.Effect<void, HookFailed> | null): Effect.Effect<void, TargetUnusable> =>
  Effect.uninterruptible(act(hook))

/** The hook that stops the receiver. */
type By = "kill" | "restart"

/** What is recorded after the hook that should stop the receiver: `unended` if nothing showed that it stopped. */
type Seen = Pick<Intervention, "unended">

/** Stops the receiver, then runs `ended`, and waits until the receiver is gone. */
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

/**
 * First and longest pause between tries to start a receiver, in milliseconds. Each pause is twice as long as the one
 * before, as with a supervisor.
 */
const betweenStarts = { first: 250, most: 8_000 }
/** Minimum number of tries to start a receiver. */
const leastStarts = 2

/** An action on the receiver, and when it began in milliseconds since the start of the run. */
interface Begun {
  readonly what: "killed" | "restarted"
  readonly from: number
}

/**
 * Starts the receiver, waits until it is ready, and records what was done. A receiver that does not start again is at
 * fault only if the same hook has started it before; otherwise the hook may be wrong.
 */
const start = Effect.fnUntraced(function* (
  execution: Execution,
  op: number,
  by: By,
  { from, what }: Begun,
  seen: Seen
) {
  const { comeback, hooks, slots, startedAfter } = execution.setting
  const after = by === "kill" ? "killed" : "running"
  const begun = yield* Clock.currentTimeMillis
  const again = Effect.andThen(Effect.uninterruptible(hooks.restart ?? Effect.void), hooks.ready)
  // A restart hook has already started the receiver again.
  const first = by === "restart" ? hooks.ready : again
  let failed = yield* Effect.flip(first).pipe(Effect.orElseSucceed(() => null))
  let pause = betweenStarts.first
  for (let starts = 1; failed !== null; starts++) {
    if (failed.down === undefined || !(hooks.startsIt || startedAfter.has(after))) return yield* unusable(failed)
    const spent = (yield* Clock.currentTimeMillis) - begun
    if (starts >= leastStarts && spent >= comeback) {
      const down = `started ${starts} times in ${Math.round(spent / 1_000)} s, ${failed.down}`
      noteIntervention(execution, op, what, from, { down })
      const message = `The receiver was killed and did not start again (${down}). Start it by hand with the data it left behind to see why.`
      return yield* new TargetUnusable({ message, stayedDown: true })
    }
    yield* Effect.sleep(pause)
    pause = Math.min(2 * pause, betweenStarts.most)
    failed = yield* Effect.flip(again).pipe(Effect.orElseSucceed(() => null))
  }
  if (seen.unended === undefined) startedAfter.add(after)
  slots.forget()
  noteIntervention(execution, op, what, from, seen)
})

/** Stops and starts the receiver. */
export const restart = Effect.fnUntraced(function* (execution: Execution, _: OperationOf<"restart">, op: number) {
  const { hooks, now } = execution.setting
  yield* execution.connection.renew
  const from = now()
  const by = hooks.restart === null ? "kill" : "restart"
  const seen = yield* end(execution, by)
  yield* start(execution, op, by, { what: "restarted", from }, seen)
})

/** Whether an exchange was cut off, or a proxy answered instead of the receiver. */
const showsEnd = (exchange: Exchange): boolean =>
  exchange._tag === "Failed"
    ? exchange.outcome === "connection_reset"
    : exchange.ending === "cut_off" || isProxyError(exchange.status)

const workersPause = 4
/** Maximum number of events around one kill. It is limited because the effects of each event are read. */
const mostEvents = 64

/** Kills the receiver while workers send new events, and starts it again. */
export const killAmid = Effect.fnUntraced(function* (
  execution: Execution,
  { after, copies = 1, event, from, workers }: OperationOf<"kill_amid">,
  op: number
) {
  const { hooks, now, criteria, urls } = execution.setting
  yield* execution.connection.renew
  const atOnce = Math.max(1, Math.min(workers, Math.floor(maxInFlight / copies)))
  /** Completed at the event or acknowledgement from which `after` counts. */
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
    // A receiver that acknowledges nothing in time is killed anyway.
    yield* Effect.timeoutOption(Deferred.await(counted), patienceOf(criteria))
    yield* Effect.sleep(after)
    traffic.ending = true
    return yield* end(execution, by, ended, Deferred.await(cut))
  })
  const allWorkers = Effect.all(
    Array.from({ length: atOnce }, () => worker),
    { concurrency: "unbounded", discard: true }
  )
  // A killed receiver must be started again, even after a failure or an interruption.
  const revive = Effect.suspend(() =>
    traffic.ending && by === "kill" ? Effect.ignore(actWhole(hooks.restart)) : Effect.void
  )
  // If all attempts were refused, the kill takes place once all workers are done.
  yield* Effect.all([crash, Effect.andThen(allWorkers, count)], { concurrency: "unbounded" }).pipe(
    Effect.map(([one]) => one),
    // A kill command that failed may still have killed the receiver.
    Effect.tapError(() => revive),
    Effect.tap((seen) =>
      start(execution, op, by, { what: by === "kill" ? "killed" : "restarted", from: traffic.endedAt }, seen)
    ),
    Effect.onInterrupt(() => revive)
  )
})

/** Time that the receiver stays paused after the deadline of the first attempts, in milliseconds. */
const afterDeadline = 1_000

/** Whether the receiver itself accepted the event. A proxy that times out answers with a status other than 2xx. */
const isTaken = (exchange: Exchange | null): boolean =>
  exchange?._tag === "Answered" && exchange.status >= 200 && exchange.status <= 299

/**
 * Pauses the receiver before the first attempts and resumes it after their deadline. The second attempts are sent
 * during the pause, as a sender would send retries, so that the receiver handles both when it resumes.
 */
export const pauseDuring = Effect.fnUntraced(function* (
  execution: Execution,
  { events }: OperationOf<"pause_during">,
  op: number
) {
  const { hooks, now, criteria, urls } = execution.setting
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
        [sendAll, Effect.sleep(Math.min(afterDeadline, criteria.deadline / 2)).pipe(Effect.andThen(act(hooks.resume)))],
        {
          concurrency: "unbounded",
          discard: true
        }
      )
    ),
    // A receiver must be resumed even if the pause command failed, because it may be paused.
    Effect.onError(() => Effect.ignore(act(hooks.resume)))
  )
  yield* Effect.mapError(hooks.ready, unusable)
  noteIntervention(execution, op, "paused", from)
})

/** Moves the receiver's clock forward, and with it all later timestamps. */
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
