/**
 * The delivery store in a SQLite file that this process owns, made of synchronous functions and prepared statements.
 * Each call is one change of `SqliteTurns`.
 *
 * `Enqueue` stores events, `Claim` leases deliveries, `Settle` records attempts, `Redeliver` makes deliveries due
 * again, `Cancellations` cancels the deliveries of an integration, `Records` reads and purges. They share the memory of
 * the file's `Owner`. Core's `delivery/Transitions` decides state changes, and `delivery/HealthRules` the consequences
 * for integrations.
 */
import { DeliveryStore } from "@doorhook/core"
import { Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import { Cancellations } from "../stores/Cancellations.ts"
import { IntegrationLocks } from "../stores/IntegrationLocks.ts"
import { makeCancellations } from "./Cancellations.ts"
import { makeClaim } from "./Claim.ts"
import { makeEnqueue } from "./Enqueue.ts"
import type { KnownIntegrations } from "./KnownIntegrations.ts"
import { makeOwner } from "./Owner.ts"
import { makeRecords } from "./Records.ts"
import { makeRedeliver } from "./Redeliver.ts"
import { makeSettle } from "./Settle.ts"
import type { SqliteTurns } from "./SqliteTurns.ts"

export const layer: Layer.Layer<
  DeliveryStore | Cancellations | IntegrationLocks,
  SqlError.SqlError,
  SqliteTurns | KnownIntegrations
> = Layer.effectContext(
  Effect.gen(function* () {
    const owner = yield* makeOwner
    const cancellations = yield* makeCancellations(owner)
    const enqueue = makeEnqueue(owner)
    const claim = makeClaim(owner)
    const store = DeliveryStore.of({
      enqueue: enqueue.enqueue,
      claim: claim.claim,
      ...makeSettle(owner, cancellations),
      redeliver: makeRedeliver(owner, cancellations),
      heartbeat: (beat) =>
        Effect.tap(owner.heartbeat(beat), () =>
          owner.state.cancellations.size > 0 ? cancellations.resume : Effect.void
        ),
      ...makeRecords(owner, cancellations, enqueue, claim)
    })
    return Context.make(DeliveryStore, store).pipe(
      Context.add(Cancellations, cancellations.service),
      // No locks are needed: only one transaction writes at a time.
      Context.add(IntegrationLocks, { forChange: () => Effect.void, scope: () => Effect.void })
    )
  })
)
