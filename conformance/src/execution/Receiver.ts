/**
 * Operations on the receiver itself: it is stopped, started, held still, moved in time.
 */
import { Clock, Deferred, Effect } from "effect"
import type { Exchange } from "../evidence/Exchange.ts"
import type { Intervention } from "../evidence/Trace.ts"
import type { OperationOf } from "../history/Operations.ts"
import { isOfProxy, watchEnd } from "../hooks/Hooks.ts"
import type { HookFailed } from "../hooks/Hooks.ts"
import { open } from "../http/Wire.ts"
import type { Connection } from "../http/Wire.ts"
import { patienceOf } from "../judgement/Terms.ts"
import { intervene, mint, most } from "./Execution.ts"
import type { Execution } from "./Execution.ts"
import { sendOnce, TargetUnusable } from "./Send.ts"

const unusable = ({ message }: HookFailed): TargetUnusable => new TargetUnusable({ message })

/** A hook that must not be missing: histories that need it are not executed without it. */
const act = (hook: Effect.Effect<void, HookFailed> | null): Effect.Effect<void, TargetUnusable> =>
  hook === null ? Effect.void : Effect.mapError(hook, unusable)

/**
 * A hook that has begun is waited for, also when the run is interrupted: a command that is broken off half-way may have
 * stopped the receiver, or be about to.
 */
const actWhole = (hook: Effect.Effect<void, HookFailed> | null): Effect.Effect<void, TargetUnusable> =>
  Effect.uninterruptible(act(hook))

/** Which hook ends the receiver. */
type By = "kill" | "restart"

/** What is noted of an end: something where nothing showed it. */
type Seen = Pick<Intervention, "unended">

/** Ends the receiver, does what is to be done at once, and waits until it is gone. */
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
        unended: `after ${hooks.names[by] ?? `its ${by}`} the receiver went on answering: does it end the receiver's own process, not its parent?`
      }
    })
  )

/** Between two tries to start a receiver, in milliseconds: from the first to the most, as a supervisor does. */
const betweenStarts = { first: 250, most: 8_000 }
/** A receiver that may take so long to be ready is started twice at least. */
const leastStarts = 2

/** What is done to the receiver, and since when, by the clock of the run. */
interface Begun {
  readonly what: "killed" | "restarted"
  readonly from: number
}

/**
 * Starts the receiver, whether it runs or not, waits for it, and notes what was done. That it does not start again is its
 * own fault only where the same has started it before; else the hook may not do what it is for.
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
  // What restarts it has started it already.
  const first = by === "restart" ? hooks.ready : again
  let failed = yield* Effect.flip(first).pipe(Effect.orElseSucceed(() => null))
  let pause = betweenStarts.first
  for (let starts = 1; failed !== null; starts++) {
    if (failed.down === undefined || !(hooks.startsIt || startedAfter.has(after))) return yield* unusable(failed)
    const spent = (yield* Clock.currentTimeMillis) - begun
    if (starts >= leastStarts && spent >= comeback) {
      const down = `started ${starts} times in ${Math.round(spent / 1_000)} s, ${failed.down}`
      intervene(execution, op, what, from, { down })
      const message = `The receiver was killed and did not start again (${down}). Start it by hand on what it left behind to see why.`
      return yield* new TargetUnusable({ message, stayedDown: true })
    }
    yield* Effect.sleep(pause)
    pause = Math.min(2 * pause, betweenStarts.most)
    failed = yield* Effect.flip(again).pipe(Effect.orElseSucceed(() => null))
  }
  if (seen.unended === undefined) startedAfter.add(after)
  intervene(execution, op, what, from, seen)
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

/** Whether an attempt was broken off in the middle, or answered by what stands before the receiver. */
const showsEnd = (exchange: Exchange): boolean =>
  exchange._tag === "Failed"
    ? exchange.outcome === "connection_reset"
    : exchange.ending === "cut_off" || isOfProxy(exchange.status)

const workersPause = 4
/** The most events that come in around one kill: each is looked at afterwards. */
const mostEvents = 64

/** Kills the receiver while workers send new events, and starts it again. */
export const killAmid = Effect.fnUntraced(function* (
  execution: Execution,
  { after, copies = 1, event, from, workers }: OperationOf<"kill_amid">,
  op: number
) {
  const { hooks, now, terms, urls } = execution.setting
  yield* execution.connection.renew
  const atOnce = Math.max(1, Math.min(workers, Math.floor(most / copies)))
  /** The moment that the kill is counted from. */
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
        const actor = yield* mint(execution, event)
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
    // Where nothing is acknowledged in time, there is no more to wait for.
    yield* Effect.timeoutOption(Deferred.await(counted), patienceOf(terms))
    yield* Effect.sleep(after)
    traffic.ending = true
    return yield* end(execution, by, ended, Deferred.await(cut))
  })
  const allWorkers = Effect.all(
    Array.from({ length: atOnce }, () => worker),
    { concurrency: "unbounded", discard: true }
  )
  // A receiver that was killed must not stay so, whatever happens.
  const revive = Effect.suspend(() =>
    traffic.ending && by === "kill" ? Effect.ignore(actWhole(hooks.restart)) : Effect.void
  )
  // Nor is there when all that is sent has been refused.
  yield* Effect.all([crash, Effect.andThen(allWorkers, count)], { concurrency: "unbounded" }).pipe(
    Effect.map(([one]) => one),
    // Nor by a command that failed, perhaps after it has.
    Effect.tapError(() => revive),
    Effect.tap((seen) =>
      start(execution, op, by, { what: by === "kill" ? "killed" : "restarted", from: traffic.endedAt }, seen)
    ),
    Effect.onInterrupt(() => revive)
  )
})

/** How long the receiver stands still after the first attempts' deadline. */
const afterDeadline = 1_000

/** Whether the receiver itself has taken an event: a proxy that tires of waiting answers something else. */
const isTaken = (exchange: Exchange | null): boolean =>
  exchange?._tag === "Answered" && exchange.status >= 200 && exchange.status <= 299

/**
 * Holds the receiver still from before the first attempts until after their deadline. The second attempts come while it
 * stands, as a sender's retries would, so that both are worked on when it goes on.
 */
export const pauseDuring = Effect.fnUntraced(function* (
  execution: Execution,
  { events }: OperationOf<"pause_during">,
  op: number
) {
  const { hooks, now, terms, urls } = execution.setting
  yield* execution.connection.renew
  const actors = yield* Effect.forEach(events, (event) => mint(execution, event))
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
              message: `The receiver answers after ${hooks.names["pause"] ?? "its pause"}, which does not hold it still. It must stop the receiver's own process, and each of its workers.`
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
    // Nor must one that was stopped, even by a command that failed.
    Effect.onError(() => Effect.ignore(act(hooks.resume)))
  )
  yield* Effect.mapError(hooks.ready, unusable)
  intervene(execution, op, "paused", from)
})

/** Moves the receiver's clock, and that of all that is stamped from now on. */
export const advance = Effect.fnUntraced(function* (execution: Execution, { ms }: OperationOf<"advance">, op: number) {
  const { clock, hooks, now } = execution.setting
  const from = now()
  if (hooks.advance !== null) {
    yield* act(hooks.advance(ms))
    clock.ahead += ms
  }
  yield* Effect.mapError(hooks.ready, unusable)
  intervene(execution, op, "clock_moved", from)
})
