/**
 * The users' operations on integrations: create, read, change, rotate the secret, delete.
 *
 * Each call checks in the host's directory whether the user has the right to the building or tenant. Without the right,
 * the answer is "not found", never "forbidden". With `clientIsolation`, integrations that another client created are
 * not found either.
 */
import { Context, Effect, Equal, Exit, Layer, Result, Schema, Struct } from "effect"
import { IntegrationNotFound } from "../delivery/Deliveries.ts"
import { Dispatcher } from "../delivery/Dispatcher.ts"
import type { NotServed } from "../model/BuildingMoves.ts"
import { Absence, refusalOf } from "../model/BuildingMoves.ts"
import { leastOf, MaxDetail, mostFor } from "../model/Detail.ts"
import type { Detail } from "../model/Detail.ts"
import type { ClientId, UserId } from "../model/Ids.ts"
import { IntegrationId } from "../model/Ids.ts"
import type { Integration } from "../model/Integration.ts"
import { creatingClient, isSubscribed, ownPages, Scope, withStatus, withStatusByPut } from "../model/Integration.ts"
import { InvalidInput } from "../model/InvalidInput.ts"
import type { ResourceType } from "../model/ResourceType.ts"
import { ResourceTypes } from "../model/ResourceType.ts"
import { Crypto } from "../ports/Crypto.ts"
import type { DirectoryError } from "../ports/Directory.ts"
import { Directory, hasRight } from "../ports/Directory.ts"
import { IdempotencyStore, idempotencyTtl } from "../ports/IdempotencyStore.ts"
import type { IntegrationPage, LimitReached, IntegrationRef, NewIntegration } from "../ports/IntegrationStore.ts"
import { IntegrationStore } from "../ports/IntegrationStore.ts"
import { NameResolver } from "../ports/NameResolver.ts"
import { storeTime } from "../ports/StoreClock.ts"
import type { StoreError } from "../ports/StoreError.ts"
import type { AllowList } from "../model/AddressPolicy.ts"
import { allowOf, rotated } from "../delivery/DeliveryPolicy.ts"
import * as Signature from "../delivery/Signature.ts"
import type { Sentence } from "../model/Sentences.ts"
import { english, say } from "../model/Sentences.ts"
import * as UrlPolicy from "../model/UrlPolicy.ts"
import { DeliverySettings } from "../delivery/DeliverySettings.ts"
import type { IdempotentRequest } from "../publish/Idempotency.ts"
import { fingerprintOf, KeyInUse, KeyReused } from "../publish/Idempotency.ts"
import { changeStored, removeStored } from "./IntegrationChanges.ts"
import type { DocumentReader, IntegrationPatch, IntegrationInput } from "./IntegrationDocument.ts"
import { candidateUrl, DocumentMismatch, mismatchOf, readAttributes, readChanges } from "./IntegrationDocument.ts"

/** The user and client that a call acts for. */
export interface Actor {
  readonly user_id: UserId
  /** Null on doorhook's own pages, where users can manage the integrations of all clients. */
  readonly client_id: ClientId | null
}

/** The integration's versions to which a change may be applied; null for any. */
export type ExpectedVersions = ReadonlyArray<number> | null

/** Members of a new integration that no document has. */
export type GivenMembers = Partial<Pick<NewIntegration, "signing_secret" | "subscription">>

/** A created integration, and whether an earlier request with the same idempotency key created it. */
export interface Created {
  readonly integration: Integration
  readonly replayed: boolean
}

/** The building or tenant does not exist, or the user has no right to it. */
export class ScopeNotFound extends Schema.TaggedError<ScopeNotFound>()("ScopeNotFound", { scope: Scope }) {
  get said(): Sentence {
    return say(this.scope.type === "tenant" ? "error_no_tenant" : "error_no_building", { id: this.scope.id })
  }

  override get message(): string {
    return english(this.said)
  }
}

/** Another client created the integration. Only that client gets its signing secret. */
export class NotYourIntegration extends Schema.TaggedError<NotYourIntegration>()("NotYourIntegration", {
  id: IntegrationId
}) {
  override get message(): string {
    return `Integration ${this.id} was created by another client. Only that client can rotate its signing secret.`
  }
}

/** The integration has been changed since the caller read it. */
export class VersionConflict extends Schema.TaggedError<VersionConflict>()("VersionConflict", { id: IntegrationId }) {
  get said(): Sentence {
    return say("error_version", { id: this.id })
  }

  override get message(): string {
    return english(this.said)
  }
}

/** Other names that clients may use for resource types. None by default. */
export const ResourceTypeAliases = Context.Reference<Readonly<Record<string, ResourceType>>>(
  "@doorhook/core/integrations/ResourceTypeAliases",
  { defaultValue: () => ({}) }
)

/** Time limit for resolving a URL's host name, in milliseconds. A name that takes longer counts as unresolved. */
export const resolveDeadline = 3_000

type PortError = StoreError | DirectoryError
export type ScopeError = ScopeNotFound | NotServed
type CreateError =
  | ScopeError
  | DocumentMismatch
  | InvalidInput
  | IntegrationNotFound
  | LimitReached
  | KeyReused
  | KeyInUse
type ChangeError = ScopeError | IntegrationNotFound | VersionConflict | DocumentMismatch | InvalidInput

export class Integrations extends Context.Service<
  Integrations,
  {
    /**
     * Creates an integration from a JSON:API document, or returns what an earlier request with the same idempotency key
     * created. Only the first answer shows the signing secret, which is generated unless it is among the `given` members.
     * Fails with `LimitReached` if the scope already has `integrationsPerScope` integrations.
     */
    readonly create: (
      actor: Actor,
      scope: Scope,
      document: unknown,
      idempotencyKey: string | null,
      given?: GivenMembers
    ) => Effect.Effect<Created, CreateError | PortError>
    /**
     * Returns one integration of a scope. The result is an `Exit` if the directory and the store answer synchronously.
     */
    readonly get: (
      actor: Actor,
      scope: Scope,
      id: IntegrationId
    ) => Effect.Effect<Integration, ScopeError | IntegrationNotFound | PortError>
    /** Returns one page of a scope's integrations, in order of creation. */
    readonly list: (
      actor: Actor,
      scope: Scope,
      page: { readonly offset: number; readonly limit: number }
    ) => Effect.Effect<IntegrationPage, ScopeError | PortError>
    /**
     * Replaces all required attributes and keeps the secret. Also sets the document's status, by default `enabled`. An
     * integration that doorhook disabled is always enabled. Name and description stay unless the document has them,
     * because clients that don't know them would otherwise remove them.
     */
    readonly replace: (
      actor: Actor,
      scope: Scope,
      id: IntegrationId,
      document: unknown,
      expected: ExpectedVersions
    ) => Effect.Effect<Integration, ChangeError | PortError>
    /** Changes only the members in the document. `bindings` is replaced as a whole. */
    readonly patch: (
      actor: Actor,
      scope: Scope,
      id: IntegrationId,
      document: unknown,
      expected: ExpectedVersions
    ) => Effect.Effect<Integration, ChangeError | PortError>
    /**
     * Creates and returns a new signing secret. No later call returns it. Fails for clients that did not create the
     * integration. The previous secret continues to sign for a day.
     */
    readonly rotateSecret: (
      actor: Actor,
      scope: Scope,
      id: IntegrationId,
      expected: ExpectedVersions
    ) => Effect.Effect<
      Integration,
      ScopeError | IntegrationNotFound | NotYourIntegration | VersionConflict | InvalidInput | PortError
    >
    /** Deletes an integration and cancels its pending deliveries. */
    readonly remove: (
      actor: Actor,
      scope: Scope,
      id: IntegrationId,
      expected: ExpectedVersions
    ) => Effect.Effect<void, ScopeError | IntegrationNotFound | VersionConflict | PortError>
  }
>()("@doorhook/core/integrations/Integrations") {
  static readonly layer: Layer.Layer<
    Integrations,
    never,
    IntegrationStore | IdempotencyStore | Directory | NameResolver | Crypto | DeliverySettings | Dispatcher
  > = Layer.effect(
    Integrations,
    Effect.gen(function* () {
      const store = yield* IntegrationStore
      const dispatcher = yield* Dispatcher
      const absence = yield* Absence
      const now = yield* storeTime
      const changing = { store, dispatcher, absence, now }
      const { clientIsolation, integrationsPerScope } = yield* DeliverySettings
      const newSecret = Effect.provideService(Signature.generateSecret, Crypto, yield* Crypto)
      const { authorize, find, locate } = makeAccess(yield* Directory, absence, store, clientIsolation)
      const readInput = yield* makeInputReader
      const maxDetail = yield* MaxDetail
      const create = makeCreate(yield* IdempotencyStore, yield* Crypto, store, {
        find,
        newSecret,
        now,
        limit: integrationsPerScope ?? undefined,
        maxDetail,
        read: (actor, document) => readInput(actor, document, null, readAttributes)
      })

      const changeBy = Effect.fnUntraced(function* <A>(
        actor: Actor,
        scope: Scope,
        id: IntegrationId,
        document: unknown,
        expected: ExpectedVersions,
        reader: DocumentReader<A>,
        apply: (integration: Integration, input: A) => Integration
      ) {
        yield* authorize(actor, scope)
        const findExpected = () => requireVersion(find(actor, scope, id), expected)
        const before = yield* findExpected()
        const input = yield* readInput(actor, document, before, reader)
        if (isSubscribed(before) && !hasSameTarget(before, apply(before, input))) return yield* subscriptionStays
        return yield* changeStored(changing, findExpected, (current) => {
          const changed = apply(current, input)
          return { ...changed, detail: leastOf(changed.detail, mostOf(maxDetail, actor, changed)) }
        })
      })

      const rotateSecret: Integrations["Service"]["rotateSecret"] = Effect.fnUntraced(
        function* (actor, scope, id, expected) {
          yield* authorize(actor, scope)
          const signing_secret = yield* newSecret
          const findExpected = () =>
            requireVersion(requireCreator(actor, find(actor, scope, id)), expected).pipe(
              Effect.filterOrFail(
                (found) => !isSubscribed(found),
                () => subscriptionStays
              )
            )
          return yield* changeStored(changing, findExpected, (current, at) => ({
            ...current,
            ...rotated(current, signing_secret, at)
          }))
        }
      )

      const remove: Integrations["Service"]["remove"] = Effect.fnUntraced(function* (actor, scope, id, expected) {
        yield* authorize(actor, scope)
        yield* removeStored(changing, () => requireVersion(locate(actor, scope, id), expected))
      })

      return Integrations.of({
        create: Effect.fnUntraced(function* (actor, scope, document, idempotencyKey, given) {
          yield* authorize(actor, scope)
          return yield* create(actor, scope, document, idempotencyKey, given)
        }),
        get: (actor, scope, id) => Effect.flatMapEager(authorize(actor, scope), () => find(actor, scope, id)),
        list: (actor, scope, { limit, offset }) =>
          Effect.flatMapEager(authorize(actor, scope), () =>
            store.list(scope, {
              offset,
              limit,
              ...(clientIsolation && actor.client_id !== null && { client_id: actor.client_id })
            })
          ),
        replace: (actor, scope, id, document, expected) =>
          changeBy(actor, scope, id, document, expected, readAttributes, withoutHeadersIfMoved(applyAttributes)),
        patch: (actor, scope, id, document, expected) =>
          changeBy(actor, scope, id, document, expected, readChanges, withoutHeadersIfMoved(applyChanges)),
        rotateSecret,
        remove
      })
    })
  )
}

/** The receiver of a subscription was asked whether it wants these events; others must be asked too. */
const subscriptionStays = new InvalidInput({
  title: "Invalid integration",
  problems: [
    {
      pointer: "/data/attributes",
      detail:
        "is a subscription of an MCP client: its URL, bindings and secret are the client's. The client ends it with events/unsubscribe, and subscribes again."
    }
  ]
})

const hasSameTarget = (one: Integration, other: Integration): boolean =>
  one.configuration.url === other.configuration.url && Equal.equals(one.bindings, other.bindings)

const originOf = ({ configuration: { url } }: Integration): string | undefined => URL.parse(url)?.origin

/**
 * Removes the custom headers when a change moves the URL to another origin. The operator may have set credentials for
 * the earlier receiver, which another server must not get.
 */
const withoutHeadersIfMoved =
  <A>(apply: (integration: Integration, input: A) => Integration) =>
  (before: Integration, input: A): Integration => {
    const after = apply(before, input)
    return originOf(after) === originOf(before)
      ? after
      : { ...after, overrides: Struct.omit(after.overrides, ["headers"]) }
  }

/** Returns the integration after a PUT. */
const applyAttributes = (integration: Integration, { status, ...attributes }: IntegrationInput): Integration => ({
  ...integration,
  ...attributes,
  ...withStatusByPut(integration, status)
})

/** Returns the integration after a PATCH. */
const applyChanges = (
  integration: Integration,
  { configuration, status, ...changes }: IntegrationPatch
): Integration => ({
  ...integration,
  ...changes,
  configuration: { ...integration.configuration, ...configuration },
  ...(status !== undefined && withStatus(integration, status))
})

/**
 * Fails if the user has no right to a building or tenant, or another database serves it. The right is checked first, so
 * that only its users learn where a building is.
 */
export const checkScope = (
  directory: Directory["Service"],
  absence: (typeof Absence)["Service"],
  { user_id }: Actor,
  scope: Scope
): Effect.Effect<void, ScopeError | DirectoryError> =>
  Effect.flatMapEager(hasRight(directory, user_id, scope), (isRight) => {
    const refusal = isRight ? refusalOf(absence, [scope]) : new ScopeNotFound({ scope })
    return refusal === null ? Exit.void : Exit.fail(refusal)
  })

/** Checks rights, and finds integrations within a scope. */
const makeAccess = (
  directory: Directory["Service"],
  absence: (typeof Absence)["Service"],
  store: IntegrationStore["Service"],
  clientIsolation: boolean
) => {
  const ofScope = <A extends IntegrationRef>(
    actor: Actor,
    scope: Scope,
    id: IntegrationId,
    found: Effect.Effect<A | null, StoreError>
  ): Effect.Effect<A, IntegrationNotFound | StoreError> =>
    Effect.flatMapEager(found, (integration) =>
      integration !== null &&
      integration.scope.type === scope.type &&
      integration.scope.id === scope.id &&
      (!clientIsolation || isCreator(actor, integration))
        ? Exit.succeed(integration)
        : Exit.fail(new IntegrationNotFound({ id }))
    )

  return {
    authorize: (actor: Actor, scope: Scope) => checkScope(directory, absence, actor, scope),
    find: (actor: Actor, scope: Scope, id: IntegrationId) => ofScope(actor, scope, id, store.find(id)),
    locate: (actor: Actor, scope: Scope, id: IntegrationId) => ofScope(actor, scope, id, store.findRef(id))
  }
}

const isCreator = ({ client_id }: Actor, { created_by }: Pick<IntegrationRef, "created_by">): boolean =>
  client_id === null || created_by.client_id === client_id

/** Fails unless the client created the integration. */
const requireCreator = <E>(
  actor: Actor,
  found: Effect.Effect<Integration, E>
): Effect.Effect<Integration, E | NotYourIntegration> =>
  Effect.flatMapEager(found, (integration) =>
    isCreator(actor, integration)
      ? Exit.succeed(integration)
      : Exit.fail(new NotYourIntegration({ id: integration.id }))
  )

/** Fails unless an integration is in one of the expected versions. */
const requireVersion = <A extends IntegrationRef, E>(
  found: Effect.Effect<A, E>,
  expected: ExpectedVersions
): Effect.Effect<A, E | VersionConflict> =>
  Effect.flatMapEager(found, (integration) =>
    expected === null || expected.includes(integration.version)
      ? Exit.succeed(integration)
      : Exit.fail(new VersionConflict({ id: integration.id }))
  )

/**
 * Returns the most detail that an integration may have after a change: what its client may get, and what the client that
 * changes it may get, because a change can lead the events to another receiver.
 */
const mostOf = (max: MaxDetail, actor: Actor, integration: Pick<Integration, "bindings" | "created_by">): Detail =>
  mostFor(
    max,
    [creatingClient(integration), ...(actor.client_id === null ? [] : [actor.client_id])],
    integration.bindings
  )

/** Reads clients' documents and checks the addresses of their URLs. */
export const makeInputReader = Effect.gen(function* () {
  const resolver = yield* NameResolver
  const settings = yield* DeliverySettings
  const types = yield* ResourceTypes
  const aliases = yield* ResourceTypeAliases
  const maxDetail = yield* MaxDetail

  /** Returns the problem with the addresses that a URL's host name resolves to now; null if there is none. */
  const checkName = Effect.fnUntraced(function* (url: URL, allow: AllowList, client: string) {
    const host = UrlPolicy.hostOf(url)
    if (UrlPolicy.isAddressLiteral(host)) return null
    const addresses = yield* resolver.addresses(host, client).pipe(
      // Accepting an unresolved name is harmless, because the address is checked again when a delivery connects.
      Effect.timeoutOrElse({ duration: resolveDeadline, orElse: () => Effect.succeed([]) })
    )
    return Result.getOrNull(Result.flip(UrlPolicy.checkAddresses(addresses, allow)))
  })

  /** Reads a document for an existing integration, or for a new one (null) that belongs to `client`. */
  return Effect.fnUntraced(function* <A>(
    actor: Actor,
    document: unknown,
    integration: Integration | null,
    reader: DocumentReader<A>,
    client = actor.client_id
  ) {
    const mostDetail = (bindings = integration?.bindings ?? []) =>
      integration === null
        ? mostFor(maxDetail, [client], bindings)
        : mostOf(maxDetail, actor, { ...integration, bindings })
    const reason = mismatchOf(document, integration?.id ?? null)
    if (reason !== null) return yield* new DocumentMismatch({ reason })
    const url = candidateUrl(document)
    const allow = integration === null ? settings.allow : allowOf(settings.allow, integration)
    const readWith = (urlProblem: UrlPolicy.UrlProblem | null) =>
      Effect.fromResult(
        Result.mapError(
          reader(document, { urlProblem, types, aliases, mostDetail }),
          (problems) => new InvalidInput({ title: "Invalid integration", problems })
        )
      )
    if (url === null) return yield* readWith(null)
    const checked = UrlPolicy.check(url, allow)
    if (Result.isFailure(checked)) return yield* readWith(checked.failure)
    const input = yield* readWith(null)
    // A lookup can occupy a thread for seconds, so only a valid document causes one.
    const urlProblem = yield* checkName(checked.success, allow, actor.client_id ?? `user ${actor.user_id}`)
    return urlProblem === null ? input : yield* readWith(urlProblem)
  })
})

/** Returns the document as text, for its fingerprint. Fails if the document is nested too deeply to be serialized. */
const textOf = (document: unknown): Result.Result<string, InvalidInput> =>
  Result.try({
    try: () => JSON.stringify(document) ?? "",
    catch: () => {
      const detail = "The document is nested too deeply."
      const problem = { pointer: "", code: "invalid", title: "Invalid value", detail }
      return new InvalidInput({ title: "Invalid integration", problems: [problem] })
    }
  })

/** Creates integrations, one per idempotency key. */
const makeCreate = <E>(
  keys: IdempotencyStore["Service"],
  crypto: Crypto["Service"],
  store: IntegrationStore["Service"],
  {
    find,
    limit,
    maxDetail,
    newSecret,
    now,
    read
  }: {
    readonly find: (
      actor: Actor,
      scope: Scope,
      id: IntegrationId
    ) => Effect.Effect<Integration, IntegrationNotFound | StoreError>
    readonly limit: number | undefined
    readonly maxDetail: MaxDetail
    readonly newSecret: Effect.Effect<Integration["signing_secret"]>
    readonly now: () => number
    readonly read: (actor: Actor, document: unknown) => Effect.Effect<IntegrationInput, E>
  }
) => {
  /** Keys of requests that are in progress in this process. */
  const inFlight = new Set<string>()

  const createNew = Effect.fnUntraced(function* (
    actor: Actor,
    scope: Scope,
    document: unknown,
    request: IdempotentRequest | null,
    given: GivenMembers = {}
  ) {
    const input = yield* read(actor, document)
    const { status = "enabled", name = null, description = null, ...attributes } = input
    const signing_secret = given.signing_secret ?? (yield* newSecret)
    const at = now()
    const fields: NewIntegration = {
      ...given,
      ...attributes,
      name,
      description,
      detail: input.detail ?? mostFor(maxDetail, [actor.client_id], input.bindings),
      scope,
      status,
      disabled_reason: status === "disabled" ? "manual" : null,
      created_by: { user_id: actor.user_id, client_id: actor.client_id ?? ownPages },
      signing_secret,
      previous_secrets: [],
      overrides: {},
      version: 1,
      created_at: at,
      updated_at: at
    }
    const key = request === null ? undefined : { ...request, created_at: at, expires_at: at + idempotencyTtl }
    const integration = yield* store.create(fields, key, limit).pipe(
      // Another process used the key first. A repeated request will find that process's integration.
      Effect.catchTag("IdempotencyConflict", () => new KeyInUse())
    )
    return { integration, replayed: false }
  })

  /** Returns the integration that an earlier request with the key created; null if there was none. */
  const replay = Effect.fnUntraced(function* (actor: Actor, scope: Scope, { fingerprint, key }: IdempotentRequest) {
    const [remembered] = yield* keys.find([key], now())
    if (remembered === undefined) return null
    if (remembered.fingerprint !== fingerprint) return yield* new KeyReused()
    return { integration: yield* find(actor, scope, IntegrationId.make(Number(remembered.answer))), replayed: true }
  })

  return Effect.fnUntraced(function* (
    actor: Actor,
    scope: Scope,
    document: unknown,
    idempotencyKey: string | null,
    given?: GivenMembers
  ) {
    if (idempotencyKey === null) return yield* createNew(actor, scope, document, null, given)
    const sender = [actor.client_id ?? ownPages, actor.user_id, scope.type, scope.id, idempotencyKey]
    const key = `integration ${JSON.stringify(sender)}`
    if (inFlight.has(key)) return yield* new KeyInUse()
    inFlight.add(key)
    return yield* Effect.gen(function* () {
      const text = yield* Effect.fromResult(textOf(document))
      const fingerprint = yield* fingerprintOf(crypto, text)
      const request = { key, fingerprint }
      return (yield* replay(actor, scope, request)) ?? (yield* createNew(actor, scope, document, request, given))
    }).pipe(Effect.ensuring(Effect.sync(() => inFlight.delete(key))))
  })
}
