/**
 * Who may do what with integrations, and which there are for them. The right is asked from the host's directory each time.
 */
import { Effect } from "effect"
import type { ClientId, IntegrationId, UserId } from "../../domain/Ids.ts"
import type { Scope } from "../../domain/Integration.ts"
import { Directory, hasRight } from "../../ports/Directory.ts"
import type { LocatedIntegration } from "../../ports/IntegrationStore.ts"
import { IntegrationStore } from "../../ports/IntegrationStore.ts"
import { IntegrationNotFound, ScopeNotFound, VersionConflict } from "../IntegrationErrors.ts"

/** On whose behalf something is done. */
export interface Actor {
  readonly user_id: UserId
  readonly client_id: ClientId
}

/** Versions of which an integration must have one for a change to be made; null if any will do. */
export type ExpectedVersions = ReadonlyArray<number> | null

/** Fails unless an integration is in a version that its user has seen. */
export const requireVersion = (integration: LocatedIntegration, expected: ExpectedVersions) =>
  expected === null || expected.includes(integration.version)
    ? Effect.void
    : new VersionConflict({ id: integration.id })

const ofScope = Effect.fnUntraced(function* <A extends LocatedIntegration, E>(
  scope: Scope,
  id: IntegrationId,
  find: Effect.Effect<A | null, E>
) {
  const found = yield* find
  if (found === null || found.scope.type !== scope.type || found.scope.id !== scope.id) {
    return yield* new IntegrationNotFound({ id })
  }
  return found
})

/** Asks for rights, and finds what they are to. */
export const makeAccess = Effect.gen(function* () {
  const store = yield* IntegrationStore
  const directory = yield* Directory
  return {
    /** Fails unless the actor has the right to a building, or is a tenant. */
    authorize: Effect.fnUntraced(function* (actor: Actor, scope: Scope) {
      if (!(yield* hasRight(directory, actor.user_id, scope))) return yield* new ScopeNotFound({ scope })
    }),

    /** An integration of a scope. */
    find: (scope: Scope, id: IntegrationId) => ofScope(scope, id, store.find(id)),

    /** What deleting one asks of it. */
    locate: (scope: Scope, id: IntegrationId) => ofScope(scope, id, store.locate(id))
  }
})

export type Access = Effect.Success<typeof makeAccess>
