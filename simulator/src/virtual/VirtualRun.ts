/**
 * Drives a virtual world through a plan, and lets others have a turn now and then.
 */
import { Effect, Stream } from "effect"
import type { Arrival } from "../run/Load.ts"
import { newEventOf } from "../run/OwnEngine.ts"
import type { Stores } from "../engine/world/WatchedStore.ts"
import { realTurn } from "./RealWork.ts"
import { VirtualStopped } from "./VirtualStopped.ts"
import type { VirtualWorld } from "./VirtualWorld.ts"

export interface VirtualRunOptions {
  /** When the plan ends, in milliseconds since the epoch. What is late can come after that. */
  readonly end: number
  /** How long what is open may go on when all has come, in milliseconds. */
  readonly drain: number
  readonly zoneOf: (building: number) => string
  readonly stores: Stores
}

const hour = 3_600_000

/** How many events are published between two turns of others. */
const slice = 200

/**
 * Publishes each event at its time, then waits until everything has ended or for so long, and judges the end. Fails when
 * the store does.
 */
export const virtualRun = Effect.fnUntraced(function* <E, R>(
  load: Stream.Stream<Arrival, E, R>,
  world: VirtualWorld,
  { drain, end, stores, zoneOf }: VirtualRunOptions
) {
  const { measurements } = world
  /** Waits for real work where there is some. */
  const runUntil = (at: number): Effect.Effect<void, VirtualStopped> =>
    Effect.suspend(() => {
      if (!world.runUntil(at)) return Effect.andThen(realTurn, runUntil(at))
      return world.stopped === null ? Effect.void : Effect.fail(world.stopped)
    })
  const play = (chunk: ReadonlyArray<Arrival>) =>
    Effect.gen(function* () {
      for (const { at, event, kind } of chunk) {
        while (!world.runUntil(at)) yield* realTurn
        if (world.stopped !== null) return yield* world.stopped
        measurements.plan(at - world.beginning, kind)
        world.publish([{ at, event: newEventOf(event), zone: zoneOf(event.building_id) }])
      }
    })
  yield* load.pipe(
    Stream.rechunk(slice),
    Stream.chunks,
    Stream.runForEach((chunk) => Effect.andThen(play(chunk), Effect.yieldNow))
  )
  yield* runUntil(end)
  const from = world.time.wall
  for (let at = from; !world.isSettled && at < from + drain;) {
    at = Math.min(at + hour, from + drain)
    yield* Effect.andThen(runUntil(at), Effect.yieldNow)
  }
  const summary = Effect.mapError(
    stores.deliveries.summary(world.time.wall),
    (cause) => new VirtualStopped({ tried: "count the deliveries at the end", tries: 1, at: world.time.wall, cause })
  )
  world.finish(yield* summary)
})
