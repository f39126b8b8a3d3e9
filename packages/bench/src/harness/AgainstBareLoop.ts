/**
 * Compares the engine with the bare loop (`BareLoop.ts`), for `deliver-sqlite` and `deliver-postgres`. The engine is
 * timed from publishing until the outcomes of all deliveries are recorded.
 */
import type { DeliveryStore, IntegrationStore, Publisher } from "@doorhook/core"
import { Effect } from "effect"
import type { Layer, Scope } from "effect"
import { bareLoop } from "./BareLoop.ts"
import type { Finding } from "./Benchmark.ts"
import { drain } from "./Drain.ts"
import { createIntegrations } from "./Integrations.ts"
import type { Options } from "./Options.ts"
import { roundsOf } from "./Options.ts"
import { profiled } from "./Profile.ts"
import { startReceiver } from "./ReceiverProcess.ts"

type Engine<E> = Layer.Layer<Publisher | DeliveryStore | IntegrationStore, E>

const unchanged = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => effect

/** Compares the engine with the loop. Each round has a new engine on new storage. */
export const againstBareLoop = Effect.fnUntraced(function* <E>(
  line: string,
  newEngine: Effect.Effect<Engine<E>, never, Scope.Scope>,
  options: Options
) {
  const { profile, quick } = options
  const count = quick ? 1_000 : 20_000
  const rounds = roundsOf(options, 5)
  const port = yield* startReceiver()
  const ours = (around: typeof unchanged = unchanged) =>
    newEngine.pipe(
      Effect.flatMap((engine) =>
        createIntegrations(port).pipe(Effect.andThen(around(drain(count))), Effect.provide(engine))
      ),
      Effect.scoped
    )
  const bare = Effect.promise(() => bareLoop(port, count))
  if (profile) {
    yield* ours()
    yield* ours(profiled(line))
    return []
  }
  yield* bare
  yield* ours()
  const finding = { line, ours: Array.of<number>(), peer: Array.of<number>() } satisfies Finding
  for (let round = 0; round < rounds; round++) {
    const peer = yield* bare
    const { published, rate } = yield* ours()
    finding.ours.push(rate)
    finding.peer.push(peer)
    process.stderr.write(
      `round ${round + 1}: ${Math.round(rate)}/s (published at ${Math.round(published)}/s), bare ${Math.round(peer)}/s\n`
    )
  }
  return [finding]
})
