/**
 * What an integration should have received, for a receiver that wants to prove that nothing is missing: at-least-once
 * delivery alone can't.
 */
import { Context, Effect, Layer } from "effect"
import type { DeliveryId, IntegrationId } from "../domain/Ids.ts"
import type { Scope } from "../domain/Integration.ts"
import type { DirectoryError } from "../ports/Directory.ts"
import type { FeedItem } from "../ports/DeliveryStore.ts"
import { DeliveryStore } from "../ports/DeliveryStore.ts"
import type { StoreError } from "../ports/StoreError.ts"
import type { IntegrationNotFound, ScopeNotFound } from "./IntegrationErrors.ts"
import type { Actor } from "./integrations/Access.ts"
import { Integrations } from "./Integrations.ts"

/** A part of a feed. */
export interface FeedPage {
  readonly items: ReadonlyArray<FeedItem>
  /** Where the next part begins; the one that was asked for when there is nothing new. Good for ever. */
  readonly cursor: DeliveryId | 0
  /** Whether there is more now. */
  readonly more: boolean
}

export class IntegrationFeed extends Context.Service<
  IntegrationFeed,
  {
    /** At most `limit` deliveries after a cursor (0: from the beginning), the oldest first. */
    readonly read: (
      actor: Actor,
      scope: Scope,
      id: IntegrationId,
      page: { readonly after: DeliveryId | 0; readonly limit: number }
    ) => Effect.Effect<FeedPage, ScopeNotFound | IntegrationNotFound | StoreError | DirectoryError>
  }
>()("@doorhook/core/services/IntegrationFeed") {
  static readonly layer: Layer.Layer<IntegrationFeed, never, Integrations | DeliveryStore> = Layer.effect(
    IntegrationFeed,
    Effect.gen(function* () {
      const integrations = yield* Integrations
      const store = yield* DeliveryStore

      const read: IntegrationFeed["Service"]["read"] = Effect.fnUntraced(function* (
        actor,
        scope,
        id,
        { after, limit }
      ) {
        yield* integrations.get(actor, scope, id)
        // One more than asked for tells whether there is more.
        const found = yield* store.feed({ integration_id: id, after, limit: limit + 1 })
        const items = found.slice(0, limit)
        return { items, cursor: items.at(-1)?.delivery.id ?? after, more: found.length > limit }
      })

      return IntegrationFeed.of({ read })
    })
  )
}
