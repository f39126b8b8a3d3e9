/**
 * Integrations as their users manage them: who may, what is valid, and what follows from a change.
 *
 * The right is asked from the host's directory at each call. What a user may not see does not exist for them: buildings,
 * tenants and integrations of others are «not found», never «forbidden».
 */
import { Clock, Context, Effect, Equal, Layer, Result } from "effect"
import type { ClientId, IntegrationId, UserId } from "../domain/Ids.ts"
import type { Integration, Scope } from "../domain/Integration.ts"
import type { DocumentProblem } from "../domain/IntegrationDocument.ts"
import { candidateUrl, mismatchOf } from "../domain/IntegrationDocument.ts"
import type { IntegrationChanges, ReadContext } from "../domain/IntegrationReading.ts"
import { readAttributes, readChanges } from "../domain/IntegrationReading.ts"
import type { ResourceType } from "../domain/ResourceType.ts"
import { Crypto } from "../ports/Crypto.ts"
import type { DirectoryError } from "../ports/Directory.ts"
import { Directory, mayAccess } from "../ports/Directory.ts"
import type { IntegrationPage } from "../ports/IntegrationStore.ts"
import { IntegrationStore } from "../ports/IntegrationStore.ts"
import { NameResolver } from "../ports/NameResolver.ts"
import type { StoreError } from "../ports/StoreError.ts"
import * as Signature from "../rules/Signature.ts"
import * as UrlPolicy from "../rules/UrlPolicy.ts"
import { DeliverySettings } from "./DeliverySettings.ts"
import { Dispatcher } from "./Dispatcher.ts"
import {
  DocumentMismatch,
  IntegrationNotFound,
  InvalidIntegration,
  ScopeNotFound,
  VersionConflict
} from "./IntegrationErrors.ts"

/** On whose behalf something is done. */
export interface Actor {
  readonly user_id: UserId
  readonly client_id: ClientId
}

/** Versions of which an integration must have one for a change to be made; null if any will do. */
export type ExpectedVersions = ReadonlyArray<number> | null

const requireVersion = (integration: Integration, expected: ExpectedVersions) =>
  expected === null || expected.includes(integration.version)
    ? Effect.void
    : new VersionConflict({ id: integration.id })

/** Other names that clients may use for resource types. None by default. */
export const ResourceTypeAliases = Context.Reference<Readonly<Record<string, ResourceType>>>(
  "@doorhook/core/services/Integrations/ResourceTypeAliases",
  { defaultValue: () => ({}) }
)

/** How long a URL's name may take to resolve before it counts as not resolving yet, in milliseconds. */
export const resolveDeadline = 3_000

/** How often a change is tried again because somebody else's came first. */
const maxRaces = 20

type Reader<A> = (document: unknown, context: ReadContext) => Result.Result<A, ReadonlyArray<DocumentProblem>>

/** What a PATCH makes of an integration. */
const applyChanges = (integration: Integration, { configuration, status, ...changes }: IntegrationChanges) => ({
  ...integration,
  ...changes,
  configuration: { ...integration.configuration, ...configuration },
  ...(status !== undefined && status !== integration.status && switches[status])
})

/** What a user's switching on or off sets. */
const switches = {
  enabled: { status: "enabled", disabled_reason: null },
  disabled: { status: "disabled", disabled_reason: "manual" }
} as const

type PortError = StoreError | DirectoryError
type ChangeError = ScopeNotFound | IntegrationNotFound | VersionConflict | DocumentMismatch | InvalidIntegration

export class Integrations extends Context.Service<
  Integrations,
  {
    /** Creates an integration from a JSON:API document. The answer is the one time to show the signing secret. */
    readonly create: (
      actor: Actor,
      scope: Scope,
      document: unknown
    ) => Effect.Effect<Integration, ScopeNotFound | DocumentMismatch | InvalidIntegration | PortError>
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
    /** Puts what a document says in the place of what was there, and enables the integration. The secret stays. */
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
    IntegrationStore | Directory | NameResolver | Crypto | DeliverySettings | Dispatcher
  > = Layer.effect(
    Integrations,
    Effect.gen(function* () {
      const store = yield* IntegrationStore
      const directory = yield* Directory
      const resolver = yield* NameResolver
      const crypto = yield* Crypto
      const settings = yield* DeliverySettings
      const dispatcher = yield* Dispatcher
      const aliases = yield* ResourceTypeAliases

      const authorize = Effect.fnUntraced(function* (actor: Actor, scope: Scope) {
        if (!(yield* mayAccess(directory, actor.user_id, scope))) return yield* new ScopeNotFound({ scope })
      })

      const find = Effect.fnUntraced(function* (scope: Scope, id: IntegrationId) {
        const found = yield* store.find(id)
        if (found === null || found.scope.type !== scope.type || found.scope.id !== scope.id) {
          return yield* new IntegrationNotFound({ id })
        }
        return found
      })

      /** What is wrong with a URL, the addresses that its name has now included. */
      const judgeUrl = Effect.fnUntraced(function* (text: string) {
        const checked = UrlPolicy.check(text, settings.allow)
        if (Result.isFailure(checked)) return checked.failure
        const host = UrlPolicy.hostOf(checked.success)
        if (UrlPolicy.isAddressLiteral(host)) return null
        const addresses = yield* resolver.addresses(host).pipe(
          // Deliveries check again when they connect, so an unknown name does no harm.
          Effect.timeoutOrElse({ duration: resolveDeadline, orElse: () => Effect.succeed([]) })
        )
        return Result.getOrNull(Result.flip(UrlPolicy.checkAddresses(addresses, settings.allow)))
      })

      /** Reads a document that was sent for an integration, or to make one (`id` null). */
      const read = Effect.fnUntraced(function* <A>(document: unknown, id: IntegrationId | null, reader: Reader<A>) {
        const reason = mismatchOf(document, id)
        if (reason !== null) return yield* new DocumentMismatch({ reason })
        const url = candidateUrl(document)
        const urlProblem = url === null ? null : yield* judgeUrl(url)
        const result = reader(document, { urlProblem, aliases })
        if (Result.isFailure(result)) return yield* new InvalidIntegration({ problems: result.failure })
        return result.success
      })

      const create = Effect.fnUntraced(function* (actor: Actor, scope: Scope, document: unknown) {
        yield* authorize(actor, scope)
        const attributes = yield* read(document, null, readAttributes)
        const signing_secret = yield* Effect.provideService(Signature.generateSecret, Crypto, crypto)
        const now = yield* Clock.currentTimeMillis
        return yield* store.create({
          ...attributes,
          scope,
          status: "enabled",
          disabled_reason: null,
          created_by: { user_id: actor.user_id, client_id: actor.client_id },
          signing_secret,
          version: 1,
          created_at: now,
          updated_at: now
        })
      })

      /** Stores a change and has the dispatcher heed it, also when nobody waits for the answer any more. */
      const thenForget = (id: IntegrationId, store: Effect.Effect<boolean, StoreError>) =>
        Effect.uninterruptible(Effect.tap(store, (stored) => (stored ? dispatcher.forget(id) : Effect.void)))

      /** Makes a change to whatever is stored by then: a race with another change is run again, not lost. */
      const change = Effect.fnUntraced(function* <A>(
        actor: Actor,
        scope: Scope,
        id: IntegrationId,
        document: unknown,
        expected: ExpectedVersions,
        reader: Reader<A>,
        apply: (integration: Integration, input: A) => Integration
      ) {
        yield* authorize(actor, scope)
        yield* Effect.flatMap(find(scope, id), (integration) => requireVersion(integration, expected))
        const input = yield* read(document, id, reader)
        for (let race = 0; race < maxRaces; race++) {
          const current = yield* find(scope, id)
          yield* requireVersion(current, expected)
          const changed = apply(current, input)
          if (Equal.equals(current, changed)) return current
          const now = yield* Clock.currentTimeMillis
          const updated_at = Math.max(now, current.updated_at + 1)
          const next = { ...changed, version: current.version + 1, updated_at }
          if (yield* thenForget(id, store.update(next, current.version))) return next
        }
        return yield* new VersionConflict({ id })
      })

      const remove = Effect.fnUntraced(function* (
        actor: Actor,
        scope: Scope,
        id: IntegrationId,
        expected: ExpectedVersions
      ) {
        yield* authorize(actor, scope)
        yield* requireVersion(yield* find(scope, id), expected)
        const now = yield* Clock.currentTimeMillis
        if (!(yield* thenForget(id, store.remove(id, now)))) return yield* new IntegrationNotFound({ id })
      })

      return Integrations.of({
        create,
        get: (actor, scope, id) => Effect.andThen(authorize(actor, scope), find(scope, id)),
        list: (actor, scope, page) => Effect.andThen(authorize(actor, scope), store.list(scope, page)),
        replace: (actor, scope, id, document, expected) =>
          change(actor, scope, id, document, expected, readAttributes, (integration, attributes) => ({
            ...integration,
            ...attributes,
            ...switches.enabled
          })),
        patch: (actor, scope, id, document, expected) =>
          change(actor, scope, id, document, expected, readChanges, applyChanges),
        remove
      })
    })
  )
}
