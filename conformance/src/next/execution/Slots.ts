/**
 * The cap on what the suite sends at once: ten requests to one receiver, as doorhook itself sends to one integration.
 * Every send takes a slot. Only `load` goes beyond, because its requirement is about more and says so.
 */
import { Context, Effect, Layer, Scope, Semaphore } from "effect"

/** What doorhook sends to one integration at once, at most. */
export const most = 10

export class Slots extends Context.Service<
  Slots,
  {
    /** Sends within the cap, with this many slots at once, so that copies of an event go out together. */
    readonly take: (slots: number) => <A, E, R>(send: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    /** Sends with nothing else of the suite under way. Never from within `take`: it would wait for itself. */
    readonly alone: <A, E, R>(send: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    /** Counts a request as under way while it is; answers how many were when it began, itself included. */
    readonly counted: <A, E, R>(send: (inFlight: number) => Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  }
>()("@doorhook/conformance/execution/Slots") {
  static readonly layer: Layer.Layer<Slots> = Layer.effect(
    Slots,
    Effect.gen(function* () {
      const semaphore = yield* Semaphore.make(most)
      // A semaphore serves small requests before large ones: in a row, one for all slots has its turn.
      const row = yield* Semaphore.make(1)
      let underWay = 0
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
        counted: (send) =>
          Effect.suspend(() => {
            underWay += 1
            return Effect.ensuring(
              send(underWay),
              Effect.sync(() => {
                underWay -= 1
              })
            )
          })
      })
    })
  )
}
