/**
 * Executes a history against a receiver, operation by operation over one connection, like a worker of a sender, and
 * records what happened. `performers` has one row for each kind of operation.
 */
import { Effect } from "effect"
import { leastElapsed } from "../evidence/Exchange.ts"
import type { Trace } from "../evidence/Trace.ts"
import type { EventTemplate } from "../history/Events.ts"
import type { History } from "../history/History.ts"
import type { Operation, OperationKind, OperationOf } from "../history/Operations.ts"
import type { Variation } from "../history/Variations.ts"
import { fill, load, createTwins, race, retryOpen, retryUntil, volleys } from "./Deliveries.ts"
import { cut, forged, malformed, otherMethod, stall, storm } from "./Disturbances.ts"
import { begin, noteShortfall, find, createEvent, traceOf } from "./Execution.ts"
import type { Actor, Execution, CaseContext, Services, Setting } from "./Execution.ts"
import { advance, killAmid, pauseDuring, restart } from "./Receiver.ts"
import { send } from "./Send.ts"
import type { TargetUnusable } from "./Send.ts"

type Doing<A = unknown> = Effect.Effect<A, TargetUnusable, Services>

/** One function for each kind of operation; the compiler checks that none is missing. */
type Performers = {
  readonly [K in OperationKind]: (execution: Execution, operation: OperationOf<K>, place: number) => Doing
}

type OnActor<Op> = (execution: Execution, actor: Actor, operation: Op, op: number) => Doing

/** Creates a new event and acts on it. */
const onNew =
  <Op>(act: OnActor<Op>) =>
  (execution: Execution, operation: Op & { readonly event: EventTemplate }, op: number): Doing =>
    Effect.flatMap(createEvent(execution, operation.event), (actor) => act(execution, actor, operation, op))

/** Acts on the event that the operation refers to, if there is one. */
const onKnown =
  <Op>(act: OnActor<Op>) =>
  (execution: Execution, operation: Op & { readonly ref: number }, op: number): Doing => {
    const actor = find(execution, operation.ref)
    return actor === null ? Effect.void : act(execution, actor, operation, op)
  }

const sendAs: OnActor<{ readonly how: ReadonlyArray<Variation> }> = (execution, actor, { how }, op) =>
  send(execution, actor, how, { op })

const sendEach = (
  execution: Execution,
  actors: ReadonlyArray<Actor>,
  how: ReadonlyArray<Variation>,
  op: number
): Doing => Effect.forEach(actors, (actor) => send(execution, actor, how, { op }), { discard: true })

/** Waits for a time that the run's pace may shorten, and records a shortened wait. */
const wait = (execution: Execution, { ms }: { readonly ms: number }, op: number): Effect.Effect<void> =>
  Effect.suspend(() => {
    const done = ms * execution.setting.pace
    noteShortfall(execution, { op, what: "wait", done, of: ms })
    return Effect.sleep(done)
  })

const performers: Performers = {
  new: onNew(sendAs),
  again: onKnown(sendAs),
  retry: onKnown(retryUntil),
  retry_open: retryOpen,
  again_all: (execution, { how }, op) => sendEach(execution, execution.actors, how, op),
  race_new: onNew(race),
  race_again: onKnown(race),
  volleys,
  twins: (execution, { event, kind }, op) =>
    Effect.flatMap(createTwins(execution, event, kind), (actors) => sendEach(execution, actors, [], op)),
  shuffled: Effect.fnUntraced(function* (execution, { events, order }, op) {
    const actors = yield* Effect.forEach(events, (event) => createEvent(execution, event))
    const ordered = order.flatMap((place) => actors[place % Math.max(actors.length, 1)] ?? [])
    yield* sendEach(execution, ordered, [], op)
  }),
  filler: fill,
  cut_new: onNew(cut),
  cut_again: onKnown(cut),
  abort_storm: storm,
  stalled: stall,
  forged: onNew(forged),
  forged_again: onKnown(forged),
  malformed: onNew(malformed),
  method_new: onNew(otherMethod),
  method_again: onKnown(otherMethod),
  elsewhere: onKnown((execution, actor, _, op) => {
    const endpoint = execution.setting.urls[1]
    return endpoint === undefined ? Effect.void : send(execution, actor, ["close"], { op, endpoint })
  }),
  idle: wait,
  age: (execution, operation, op) =>
    Effect.andThen(
      execution.connection.renew,
      Effect.all([wait(execution, operation, op), execution.context.allElseDone], { concurrency: "unbounded" })
    ),
  restart,
  kill_amid: killAmid,
  pause_during: pauseDuring,
  advance,
  load
}

/**
 * Type of a method. TypeScript checks the parameters of methods less strictly, so one table can store the functions of
 * all kinds.
 */
type Perform = { of(execution: Execution, operation: Operation, place: number): Doing }["of"]
const rows: Readonly<Record<OperationKind, Perform>> = performers

/** Trace of a history, and why it ended early if the receiver could no longer be tested. */
export interface Executed {
  readonly trace: Trace
  readonly broke: TargetUnusable | null
}

/**
 * After this many `new` and `again` operations without an answer in time, a history ends early, because more attempts
 * would show nothing new.
 */
const lateUntilGivenUp = 3

const isGivenUp = ({ attempts, setting }: Execution, { ops }: History): boolean => {
  const late = attempts.filter(({ exchange, kind, op }) => {
    const sent = ops[op]?.k
    return (
      kind === "delivery" && (sent === "new" || sent === "again") && leastElapsed(exchange) > setting.criteria.deadline
    )
  })
  return late.length >= lateUntilGivenUp
}

export const execute = (
  history: History,
  setting: Setting,
  context: CaseContext
): Effect.Effect<Executed, never, Services> =>
  Effect.scoped(
    Effect.gen(function* () {
      const execution = yield* begin(setting, context)
      const all = Effect.gen(function* () {
        for (const [place, operation] of history.ops.entries()) {
          if (isGivenUp(execution, history)) {
            return noteShortfall(execution, { op: place, what: "steps", done: place, of: history.ops.length })
          }
          yield* rows[operation.k](execution, operation, place)
        }
      })
      const broke = yield* all.pipe(
        Effect.as(null),
        Effect.catchTag("TargetUnusable", (error) => Effect.succeed(error))
      )
      return { trace: traceOf(execution, history), broke }
    })
  )
