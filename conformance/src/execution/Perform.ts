/**
 * How each operation is carried out: one row for each kind.
 */
import type { Crypto } from "@doorhook/core"
import { Effect } from "effect"
import type { Minting } from "../history/Minting.ts"
import type { Operation, OperationKind, OperationOf } from "../history/Operations.ts"
import type { Variation } from "../history/Variations.ts"
import { fill, load, race, retryUntil, volleys } from "./Deliveries.ts"
import { cut, forged, malformed, otherMethod, stall, storm } from "./Disturbances.ts"
import type { Actor, Execution } from "./Execution.ts"
import { advance, killAmid, pauseDuring, restart } from "./Receiver.ts"
import type { Slots } from "./Slots.ts"
import type { TargetUnusable } from "./TargetUnusable.ts"
import { mintTwins } from "./Twinning.ts"

export type Done = Effect.Effect<void, TargetUnusable, Crypto | Minting | Slots>

/** Every kind has a row; the compiler sees that none is missing. */
type Performers = {
  readonly [K in OperationKind]: (execution: Execution, operation: OperationOf<K>, place: number) => Done
}

type OnActor = (actor: Actor) => Effect.Effect<unknown, TargetUnusable, Crypto | Minting | Slots>

/** Does something with a new event. */
const withNew = (
  execution: Execution,
  { event }: { readonly event: Actor["minted"]["template"] },
  act: OnActor
): Done => Effect.asVoid(Effect.flatMap(execution.mint(event), act))

/** Does something with the event that a reference stands for; nothing where there is none. */
const withKnown = (execution: Execution, { ref }: { readonly ref: number }, act: OnActor): Done => {
  const actor = execution.find(ref)
  return actor === null ? Effect.void : Effect.asVoid(act(actor))
}

const sendEach = (
  execution: Execution,
  actors: ReadonlyArray<Actor>,
  how: ReadonlyArray<Variation>,
  op: number
): Done => Effect.forEach(actors, (actor) => execution.send(actor, how, { op }), { discard: true })

/** Waits as long as the run's pace allows. */
const wait = ({ fallShort, setting }: Execution, ms: number, op: number): Effect.Effect<void> =>
  Effect.suspend(() => {
    const done = ms * setting.pace
    fallShort({ op, what: "wait", done, of: ms })
    return Effect.sleep(done)
  })

const performers: Performers = {
  new: (execution, operation, op) =>
    withNew(execution, operation, (actor) => execution.send(actor, operation.how, { op })),
  again: (execution, operation, op) =>
    withKnown(execution, operation, (actor) => execution.send(actor, operation.how, { op })),
  retry: (execution, operation, op) => withKnown(execution, operation, (actor) => retryUntil(execution, actor, op)),
  retry_open: (execution, _, op) =>
    Effect.forEach(
      execution.actors.filter(({ acknowledged }) => !acknowledged),
      (actor) => retryUntil(execution, actor, op),
      { discard: true }
    ),
  again_all: (execution, { how }, op) => sendEach(execution, execution.actors, how, op),
  race_new: (execution, operation, op) =>
    withNew(execution, operation, (actor) => race(execution, actor, operation.copies, op)),
  race_again: (execution, operation, op) =>
    withKnown(execution, operation, (actor) => race(execution, actor, operation.copies, op)),
  volleys,
  twins: (execution, { event, kind }, op) =>
    Effect.flatMap(mintTwins(execution, event, kind), (actors) => sendEach(execution, actors, [], op)),
  shuffled: Effect.fnUntraced(function* (execution, { events, order }, op) {
    const actors = yield* Effect.forEach(events, (event) => execution.mint(event))
    const ordered = order.flatMap((place) => actors[place % Math.max(actors.length, 1)] ?? [])
    yield* sendEach(execution, ordered, [], op)
  }),
  filler: (execution, { count }, op) => fill(execution, count, op),
  cut_new: (execution, operation, op) =>
    withNew(execution, operation, (actor) => cut(execution, actor, operation.cut, op)),
  cut_again: (execution, operation, op) =>
    withKnown(execution, operation, (actor) => cut(execution, actor, operation.cut, op)),
  abort_storm: storm,
  stalled: stall,
  forged: (execution, operation, op) =>
    withNew(execution, operation, (actor) => forged(execution, actor, operation, op)),
  forged_again: (execution, operation, op) =>
    withKnown(execution, operation, (actor) => forged(execution, actor, operation, op)),
  malformed: (execution, operation, op) =>
    withNew(execution, operation, (actor) => malformed(execution, actor, operation.kind, op)),
  method_new: (execution, operation, op) =>
    withNew(execution, operation, (actor) => otherMethod(execution, actor, operation, op)),
  method_again: (execution, operation, op) =>
    withKnown(execution, operation, (actor) => otherMethod(execution, actor, operation, op)),
  elsewhere: (execution, operation, op) =>
    withKnown(execution, operation, (actor) => {
      const endpoint = execution.setting.urls[1]
      return endpoint === undefined ? Effect.void : execution.send(actor, ["close"], { op, endpoint })
    }),
  idle: (execution, { ms }, op) => wait(execution, ms, op),
  age: Effect.fnUntraced(function* (execution, { ms }, op) {
    yield* execution.connection.renew
    const waits = [wait(execution, ms, op), execution.occasion.allElseDone]
    yield* Effect.all(waits, { concurrency: "unbounded", discard: true })
  }),
  restart: (execution, _, op) => restart(execution, op),
  kill_amid: killAmid,
  pause_during: pauseDuring,
  advance: (execution, { ms }, op) => advance(execution, ms, op),
  load
}

/** A method's type: a table of all kinds holds rows of each. */
type Perform = { of(execution: Execution, operation: Operation, place: number): Done }["of"]
const rows: Readonly<Record<OperationKind, Perform>> = performers

/** Carries an operation out, at its place in the history. */
export const perform = (execution: Execution, operation: Operation, place: number): Done =>
  rows[operation.k](execution, operation, place)
