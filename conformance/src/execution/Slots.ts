/**
 * The cap on what the suite sends at once: ten requests to one receiver, as doorhook itself sends to one integration.
 * Every send takes a slot. Only `load` goes beyond, because its requirement is about more and says so.
 */
import { Context, Effect, Layer, Scope, Semaphore } from "effect"

/** What doorhook sends to one integration at once, at most. */
export const most = 10

/** After this many refusals that were sent again alone, no more are: that the receiver refuses is known. */
const mostRepeats = 20

export class Slots extends Context.Service<
  Slots,
  {
    /** Sends within the cap, with this many slots at once, so that copies of an event go out together. */
    readonly take: (slots: number) => <A, E, R>(send: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    /** Sends with nothing else of the suite under way. Never from within `take`: it would wait for itself. */
    readonly alone: <A, E, R>(send: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    /** Whether one more refusal is worth being sent again alone. */
    readonly mayRepeat: () => boolean
    /** Counts a request as under way while it is; says how many were at once, at most, since it began, itself included. */
    readonly counted: <A, E, R>(send: (atOnce: () => number) => Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  }
>()("@doorhook/conformance/execution/Slots") {
  static readonly layer: Layer.Layer<Slots> = Layer.effect(
    Slots,
    Effect.gen(function* () {
      const semaphore = yield* Semaphore.make(most)
      // A semaphore serves small requests before large ones: in a row, one for all slots has its turn.
      const row = yield* Semaphore.make(1)
      const underWay = new Set<{ atOnce: number }>()
      let repeats = 0
      const take: Slots["Service"]["take"] = (slots) => (send) =>
        Effect.scopedWith((scope) =>
          Effect.andThen(
            row.withPermits(1)(
              semaphore.takeScoped(Math.min(slots, most)).pipe(Effect.provideService(Scope.Scope, scope))
            ),
            send
          )
        )
      return Slots.of({
        take,
        alone: (send) => take(most)(send),
        mayRepeat: () => ++repeats <= mostRepeats,
        counted: (send) =>
          Effect.suspend(() => {
            const own = { atOnce: 0 }
            underWay.add(own)
            for (const one of underWay) one.atOnce = Math.max(one.atOnce, underWay.size)
            return Effect.ensuring(
              send(() => own.atOnce),
              Effect.sync(() => underWay.delete(own))
            )
          })
      })
    })
  )
}
