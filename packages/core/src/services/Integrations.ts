/**
 * Integrations as their users manage them: who may, what is valid, and what follows from a change.
 *
 * The right is asked from the host's directory at each call. What a user may not see does not exist for them: buildings,
 * tenants and integrations of others are «not found», never «forbidden».
 */
import { Context, Effect, Layer } from "effect"
import type { IntegrationId } from "../domain/Ids.ts"
import type { Integration, Scope } from "../domain/Integration.ts"
import { switched, switchedByPut } from "../domain/Integration.ts"
import type { IntegrationChanges } from "../domain/IntegrationReading.ts"
import { readAttributes, readChanges } from "../domain/IntegrationReading.ts"
import type { Crypto } from "../ports/Crypto.ts"
import type { Directory, DirectoryError } from "../ports/Directory.ts"
import type { IdempotencyStore } from "../ports/IdempotencyStore.ts"
import type { IntegrationPage, LimitReached } from "../ports/IntegrationStore.ts"
import { IntegrationStore } from "../ports/IntegrationStore.ts"
import type { NameResolver } from "../ports/NameResolver.ts"
import type { StoreError } from "../ports/StoreError.ts"
import type { DeliverySettings } from "./DeliverySettings.ts"
import type { Dispatcher } from "../delivery/Dispatcher.ts"
import type { KeyInUse, KeyReused } from "./Idempotency.ts"
import type {
  DocumentMismatch,
  IntegrationNotFound,
  InvalidIntegration,
  ScopeNotFound,
  VersionConflict
} from "./IntegrationErrors.ts"
import type { Actor, ExpectedVersions } from "./integrations/Access.ts"
import { makeAccess } from "./integrations/Access.ts"
import { makeChanging } from "./integrations/Changing.ts"
import type { Created } from "./integrations/Creating.ts"
import { makeCreating } from "./integrations/Creating.ts"
import { makeReading } from "./integrations/Reading.ts"

/** What a PATCH makes of an integration. */
const applyChanges = (integration: Integration, { configuration, status, ...changes }: IntegrationChanges) => ({
  ...integration,
  ...changes,
  configuration: { ...integration.configuration, ...configuration },
  ...(status !== undefined && switched(integration, status))
})

type PortError = StoreError | DirectoryError
type CreateError =
  | ScopeNotFound
  | DocumentMismatch
  | InvalidIntegration
  | IntegrationNotFound
  | LimitReached
  | KeyReused
  | KeyInUse
type ChangeError = ScopeNotFound | IntegrationNotFound | VersionConflict | DocumentMismatch | InvalidIntegration

export class Integrations extends Context.Service<
  Integrations,
  {
    /**
     * Creates an integration from a JSON:API document. With an idempotency key, what it created before is answered
     * instead. The first answer is the one time to show the signing secret. Fails with `LimitReached` when the scope has
     * `integrationsPerScope` of them.
     */
    readonly create: (
      actor: Actor,
      scope: Scope,
      document: unknown,
      idempotencyKey: string | null
    ) => Effect.Effect<Created, CreateError | PortError>
    readonly get: (
      actor: Actor,
      scope: Scope,
      id: IntegrationId
    ) => Effect.Effect<Integration, ScopeNotFound | IntegrationNotFound | PortError>
    /** A part of the integrations of a scope, in the order of their creation. */
    readonly list: (
      actor: Actor,
      scope: Scope,
      page: { readonly offset: number; readonly limit: number }
    ) => Effect.Effect<IntegrationPage, ScopeNotFound | PortError>
    /**
     * Puts what a document says in the place of what was there, and enables the integration, but where the document has the
     * status `disabled` and it was not doorhook that disabled it. The secret stays.
     */
    readonly replace: (
      actor: Actor,
      scope: Scope,
      id: IntegrationId,
      document: unknown,
      expected: ExpectedVersions
    ) => Effect.Effect<Integration, ChangeError | PortError>
    /** Changes what a document names and nothing else; `bindings` as a whole. */
    readonly patch: (
      actor: Actor,
      scope: Scope,
      id: IntegrationId,
      document: unknown,
      expected: ExpectedVersions
    ) => Effect.Effect<Integration, ChangeError | PortError>
    /**
     * Gives an integration a new signing secret, which is shown this once; the one before signs too for a day, so that
     * the receiver can change over.
     */
    readonly rotateSecret: (
      actor: Actor,
      scope: Scope,
      id: IntegrationId,
      expected: ExpectedVersions
    ) => Effect.Effect<Integration, ScopeNotFound | IntegrationNotFound | VersionConflict | PortError>
    /** Deletes an integration; what waits for it is cancelled at once. */
    readonly remove: (
      actor: Actor,
      scope: Scope,
      id: IntegrationId,
      expected: ExpectedVersions
    ) => Effect.Effect<void, ScopeNotFound | IntegrationNotFound | VersionConflict | PortError>
  }
>()("@doorhook/core/services/Integrations") {
  static readonly layer: Layer.Layer<
    Integrations,
    never,
    IntegrationStore | IdempotencyStore | Directory | NameResolver | Crypto | DeliverySettings | Dispatcher
  > = Layer.effect(
    Integrations,
    Effect.gen(function* () {
      const store = yield* IntegrationStore
      const access = yield* makeAccess
      const read = yield* makeReading
      const { changeBy, remove, rotateSecret } = yield* makeChanging(access, read)
      const create = yield* makeCreating(access, read)

      return Integrations.of({
        create,
        get: (actor, scope, id) => Effect.andThen(access.authorize(actor, scope), access.find(scope, id)),
        list: (actor, scope, page) => Effect.andThen(access.authorize(actor, scope), store.list(scope, page)),
        replace: (actor, scope, id, document, expected) =>
          changeBy(actor, scope, id, document, expected, readAttributes, (integration, { status, ...all }) => ({
            ...integration,
            ...all,
            ...switchedByPut(integration, status)
          })),
        patch: (actor, scope, id, document, expected) =>
          changeBy(actor, scope, id, document, expected, readChanges, applyChanges),
        rotateSecret,
        remove
      })
    })
  )
}
