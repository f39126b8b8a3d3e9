/**
 * Executes a history against a receiver and writes down what happened.
 *
 * A history has one connection, as a sender's worker has, and is done operation by operation. Copies sent at once have
 * a connection each.
 */
import type { Crypto } from "@doorhook/core"
import { Effect } from "effect"
import type { History, Operation, Variation } from "../history/History.ts"
import { fill, load, race, retryUntil } from "./Deliveries.ts"
import { cut, forged, malformed, otherMethod, stall, storm } from "./Disturbances.ts"
import type { Minting } from "./Minting.ts"
import { advance, killAmid, pauseDuring, restart } from "./Operating.ts"
import type { Setting } from "./Setting.ts"
import { makeStage } from "./Stage.ts"
import type { Actor, Stage } from "./Stage.ts"
import type { TargetUnusable } from "./TargetUnusable.ts"
import type { Trace } from "../observed/Trace.ts"
import { mintTwins } from "./Twinning.ts"
import { volleys } from "./Volleys.ts"

type Done = Effect.Effect<void, TargetUnusable, Crypto | Minting>

/** Does something with the event that a reference stands for; nothing where there is none. */
const withActor = (
  stage: Stage,
  ref: number,
  act: (actor: Actor) => Effect.Effect<unknown, TargetUnusable, Crypto>
): Done => {
  const actor = stage.find(ref)
  return actor === null ? Effect.void : Effect.asVoid(act(actor))
}

const sendEach = (stage: Stage, actors: ReadonlyArray<Actor>, how: ReadonlyArray<Variation>, op: number) =>
  Effect.forEach(actors, (actor) => stage.send(actor, how, { op }), { discard: true })

/** Waits as long as the run's pace allows. */
const wait = (stage: Stage, ms: number, op: number): Effect.Effect<void> => {
  const done = ms * stage.setting.pace
  stage.fallShort({ op, what: "wait", done, of: ms })
  return Effect.sleep(done)
}

const perform = (stage: Stage, operation: Operation, op: number): Done => {
  switch (operation.k) {
    case "new":
      return Effect.gen(function* () {
        const actor = yield* stage.mint(operation.event)
        yield* stage.send(actor, operation.how, { op })
      })
    case "again":
      return withActor(stage, operation.ref, (actor) => stage.send(actor, operation.how, { op }))
    case "retry":
      return withActor(stage, operation.ref, (actor) => retryUntil(stage, actor, op))
    case "retry_open":
      return Effect.forEach(
        stage.actors.filter(({ acknowledged }) => !acknowledged),
        (actor) => retryUntil(stage, actor, op),
        { discard: true }
      )
    case "again_all":
      return sendEach(stage, stage.actors, operation.how, op)
    case "race_new":
      return Effect.flatMap(stage.mint(operation.event), (actor) => race(stage, actor, operation.copies, op))
    case "volleys":
      return volleys(stage, operation.event, operation.copies, operation.rounds, op)
    case "race_again":
      return withActor(stage, operation.ref, (actor) => race(stage, actor, operation.copies, op))
    case "twins":
      return Effect.flatMap(mintTwins(stage, operation.event, operation.kind), (actors) =>
        sendEach(stage, actors, [], op)
      )
    case "shuffled":
      return Effect.gen(function* () {
        const actors = yield* Effect.forEach(operation.events, (event) => stage.mint(event))
        const ordered = operation.order.flatMap((place) => actors[place % Math.max(actors.length, 1)] ?? [])
        yield* sendEach(stage, ordered, [], op)
      })
    case "filler":
      return fill(stage, operation.count, op)
    case "load":
      return load(stage, operation.factor, operation.ms, op)
    case "cut_new":
      return Effect.flatMap(stage.mint(operation.event), (actor) => cut(stage, actor, operation.cut, op))
    case "cut_again":
      return withActor(stage, operation.ref, (actor) => cut(stage, actor, operation.cut, op))
    case "abort_storm":
      return storm(stage, operation.count, operation.percent, op)
    case "stalled":
      return stall(stage, operation.count, operation.percent, op)
    case "forged":
      return Effect.flatMap(stage.mint(operation.event), (actor) => forged(stage, actor, operation.kind, op))
    case "forged_again":
      return withActor(stage, operation.ref, (actor) => forged(stage, actor, operation.kind, op))
    case "malformed":
      return malformed(stage, operation.event, operation.kind, op)
    case "method_new":
      return Effect.flatMap(stage.mint(operation.event), (actor) =>
        otherMethod(stage, actor, operation.method, operation.with_body, op)
      )
    case "method_again":
      return withActor(stage, operation.ref, (actor) =>
        otherMethod(stage, actor, operation.method, operation.with_body, op)
      )
    case "elsewhere":
      return withActor(stage, operation.ref, (actor) => elsewhere(stage, actor, op))
    case "idle":
      return wait(stage, operation.ms, op)
    case "age":
      return Effect.gen(function* () {
        yield* stage.renew
        const waits = [wait(stage, operation.ms, op), stage.setting.allElseDone]
        yield* Effect.all(waits, { concurrency: "unbounded", discard: true })
      })
    case "restart":
      return restart(stage, op)
    case "kill_amid":
      return killAmid(stage, operation, op)
    case "pause_during":
      return pauseDuring(stage, operation.event, operation.count, op)
    case "advance":
      return advance(stage, operation.ms, op)
  }
}

/** Sends an event to the receiver's other URL. */
const elsewhere = Effect.fnUntraced(function* (stage: Stage, actor: Actor, op: number) {
  const endpoint = stage.setting.otherUrls[0]
  if (endpoint !== undefined) yield* stage.send(actor, ["close"], { op, endpoint })
})

/** After so many attempts that were sent one by one and not answered in time, a history has shown what it can. */
const lateUntilGivenUp = 3

const isGivenUp = (stage: Stage, { ops }: History): boolean => {
  const late = stage.recorded().attempts.filter(({ exchange, kind, op }) => {
    const sent = ops[op]?.k
    return (
      kind === "delivery" && (sent === "new" || sent === "again") && exchange.elapsed > stage.setting.terms.deadline
    )
  })
  return late.length >= lateUntilGivenUp
}

/** What came of a history: its trace, and why it is not whole if the receiver could not be reached any more. */
export interface Executed {
  readonly trace: Trace
  readonly broke: TargetUnusable | null
}

/** Executes a history. */
export const execute = (history: History, setting: Setting): Effect.Effect<Executed, never, Minting | Crypto> =>
  Effect.scoped(
    Effect.gen(function* () {
      const stage = yield* makeStage(setting)
      const all = Effect.gen(function* () {
        for (const [op, operation] of history.ops.entries()) {
          if (isGivenUp(stage, history)) {
            return stage.fallShort({ op, what: "steps", done: op, of: history.ops.length })
          }
          yield* perform(stage, operation, op)
        }
      })
      const broke = yield* all.pipe(
        Effect.as(null),
        Effect.catchTag("TargetUnusable", (error) => Effect.succeed(error))
      )
      return { trace: { history, ...stage.recorded(), effects: [], effectsElsewhere: [] }, broke }
    })
  )
