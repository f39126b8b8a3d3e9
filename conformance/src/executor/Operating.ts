/**
 * Operations on the receiver itself: it is stopped, started, held still, moved in time.
 */
import { Deferred, Effect } from "effect"
import type { EventTemplate, Operation } from "../history/History.ts"
import type { HookFailed } from "../hooks/Hooks.ts"
import { open } from "./Connection.ts"
import type { Setting } from "./Setting.ts"
import type { Stage } from "./Stage.ts"
import { TargetUnusable } from "./TargetUnusable.ts"

const unusable = ({ message }: HookFailed): TargetUnusable => new TargetUnusable({ message })

/** A hook that must not be missing: histories that need it are not executed without it. */
const act = (hook: Effect.Effect<void, HookFailed> | null): Effect.Effect<void, TargetUnusable> =>
  hook === null ? Effect.void : Effect.mapError(hook, unusable)

/** Starts the receiver, whether it runs or not, and waits for it. */
const start = ({ hooks }: Setting): Effect.Effect<void, TargetUnusable> =>
  act(hooks.restart).pipe(Effect.andThen(Effect.mapError(hooks.ready, unusable)))

/** Ends and starts the receiver. */
export const restart = Effect.fnUntraced(function* (stage: Stage, op: number) {
  const { hooks } = stage.setting
  yield* stage.renew
  if (hooks.restart === null) yield* act(hooks.kill)
  yield* start(stage.setting)
  stage.intervene(op, "restarted")
})

const workersPause = 4
/** The most events that come in around one kill: each is looked at afterwards. */
const mostEvents = 64

/** Kills the receiver while workers send new events, and starts it again. */
export const killAmid = Effect.fnUntraced(function* (
  stage: Stage,
  { after, copies = 1, event, workers }: Extract<Operation, { readonly k: "kill_amid" }>,
  op: number
) {
  const { hooks, url } = stage.setting
  yield* stage.renew
  const begun = yield* Deferred.make<void>()
  const traffic = { dead: false, made: 0 }
  const worker = Effect.scoped(
    Effect.gen(function* () {
      const connections = yield* Effect.forEach(Array.from({ length: copies }), () => open(url))
      while (!traffic.dead && traffic.made < mostEvents) {
        traffic.made++
        const actor = yield* stage.mint(event)
        yield* Deferred.succeed(begun, undefined)
        const exchanges = yield* Effect.forEach(connections, (own) => stage.tryOnce(actor, own, { op, kind: "amid" }), {
          concurrency: "unbounded"
        })
        if (exchanges.includes(null)) return
        yield* Effect.sleep(workersPause)
      }
    })
  )
  const kill = Effect.gen(function* () {
    yield* Deferred.await(begun)
    yield* Effect.sleep(after)
    yield* act(hooks.kill ?? hooks.restart)
    traffic.dead = true
    stage.intervene(op, hooks.kill === null ? "restarted" : "killed")
  })
  yield* Effect.all([kill, ...Array.from({ length: workers }, () => worker)], {
    concurrency: "unbounded",
    discard: true
  })
  yield* hooks.kill === null ? Effect.mapError(hooks.ready, unusable) : start(stage.setting)
  stage.intervene(op, "ready")
})

/** How long the receiver stands still after the first attempts' deadline. */
const afterDeadline = 1_000

/**
 * Holds the receiver still from before the first attempts until after their deadline. The second attempts come while it
 * stands, as a sender's retries would, so that both are worked on when it goes on.
 */
export const pauseDuring = Effect.fnUntraced(function* (stage: Stage, event: EventTemplate, count: number, op: number) {
  const { hooks, terms } = stage.setting
  yield* stage.renew
  const actors = yield* Effect.forEach(Array.from({ length: count }), () => stage.mint(event))
  yield* act(hooks.pause)
  const sendAll = Effect.forEach(
    actors,
    (actor) =>
      Effect.scoped(Effect.flatMap(open(stage.setting.url), (own) => stage.tryOnce(actor, own, { op, kind: "cut" }))),
    { concurrency: "unbounded", discard: true }
  )
  yield* sendAll.pipe(
    Effect.andThen(
      Effect.all(
        [sendAll, Effect.sleep(Math.min(afterDeadline, terms.deadline / 2)).pipe(Effect.andThen(act(hooks.resume)))],
        {
          concurrency: "unbounded",
          discard: true
        }
      )
    ),
    // A receiver that was stopped must not stay so, whatever happens.
    Effect.onInterrupt(() => Effect.ignore(act(hooks.resume)))
  )
  yield* Effect.mapError(hooks.ready, unusable)
  stage.intervene(op, "went on")
})

/** Moves the receiver's clock. */
export const advance = Effect.fnUntraced(function* (stage: Stage, ms: number, op: number) {
  const { hooks } = stage.setting
  if (hooks.advance !== null) yield* act(hooks.advance(ms))
  yield* Effect.mapError(hooks.ready, unusable)
  stage.intervene(op, "clock moved")
})
