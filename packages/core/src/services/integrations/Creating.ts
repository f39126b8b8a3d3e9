/**
 * Makes integrations, once for each idempotency key.
 */
import { Clock, Effect } from "effect"
import { IntegrationId } from "../../domain/Ids.ts"
import type { Integration, Scope } from "../../domain/Integration.ts"
import { readAttributes } from "../../domain/IntegrationReading.ts"
import { Crypto } from "../../ports/Crypto.ts"
import { IdempotencyStore, rememberFor } from "../../ports/IdempotencyStore.ts"
import type { NewIntegration } from "../../ports/IntegrationStore.ts"
import { IntegrationStore } from "../../ports/IntegrationStore.ts"
import * as Signature from "../../rules/Signature.ts"
import { DeliverySettings } from "../DeliverySettings.ts"
import type { IdempotentRequest } from "../Idempotency.ts"
import { fingerprintOf, KeyInUse, KeyReused } from "../Idempotency.ts"
import type { Access, Actor } from "./Access.ts"
import type { Reading } from "./Reading.ts"

/** An integration that a request made, now or, with the same idempotency key, before. */
export interface Created {
  readonly integration: Integration
  readonly replayed: boolean
}

export const makeCreating = Effect.fnUntraced(function* (access: Access, read: Reading) {
  const store = yield* IntegrationStore
  const keys = yield* IdempotencyStore
  const crypto = yield* Crypto
  const { integrationsPerScope } = yield* DeliverySettings
  const newSecret = Effect.provideService(Signature.generateSecret, Crypto, crypto)
  /** Keys of requests that are being carried out here. */
  const inFlight = new Set<string>()

  const createNew = Effect.fnUntraced(function* (
    actor: Actor,
    scope: Scope,
    document: unknown,
    request: IdempotentRequest | null
  ) {
    const { status = "enabled", ...attributes } = yield* read(actor.client_id, document, null, readAttributes)
    const signing_secret = yield* newSecret
    const now = yield* Clock.currentTimeMillis
    const fields: NewIntegration = {
      ...attributes,
      scope,
      status,
      disabled_reason: status === "disabled" ? "manual" : null,
      created_by: { user_id: actor.user_id, client_id: actor.client_id },
      signing_secret,
      previous_secrets: [],
      overrides: {},
      version: 1,
      created_at: now,
      updated_at: now
    }
    const key = request === null ? undefined : { ...request, created_at: now, expires_at: now + rememberFor }
    const integration = yield* store.create(fields, key, integrationsPerScope ?? undefined).pipe(
      // Another process was quicker: who asks again is answered from what it stored.
      Effect.catchTag("KeyTaken", () => new KeyInUse())
    )
    return { integration, replayed: false }
  })

  /** What was created under a key before; null when nothing was. */
  const replay = Effect.fnUntraced(function* (scope: Scope, { fingerprint, key }: IdempotentRequest) {
    const [remembered] = yield* keys.find([key], yield* Clock.currentTimeMillis)
    if (remembered === undefined) return null
    if (remembered.fingerprint !== fingerprint) return yield* new KeyReused()
    const integration = yield* access.find(scope, IntegrationId.make(Number(remembered.answer)))
    return { integration, replayed: true }
  })

  return Effect.fnUntraced(function* (actor: Actor, scope: Scope, document: unknown, idempotencyKey: string | null) {
    yield* access.authorize(actor, scope)
    if (idempotencyKey === null) return yield* createNew(actor, scope, document, null)
    const sender = [actor.client_id, actor.user_id, scope.type, scope.id, idempotencyKey]
    const key = `integration ${JSON.stringify(sender)}`
    if (inFlight.has(key)) return yield* new KeyInUse()
    inFlight.add(key)
    return yield* Effect.gen(function* () {
      const text = JSON.stringify(document) ?? ""
      const fingerprint = yield* fingerprintOf(text).pipe(Effect.provideService(Crypto, crypto))
      const request = { key, fingerprint }
      return (yield* replay(scope, request)) ?? (yield* createNew(actor, scope, document, request))
    }).pipe(Effect.ensuring(Effect.sync(() => inFlight.delete(key))))
  })
})
