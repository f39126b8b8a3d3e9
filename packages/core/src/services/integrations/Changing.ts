/**
 * Changes integrations, and has the dispatcher heed it. A race with another change is run again, not lost.
 */
import { Clock, Effect, Equal } from "effect"
import type { IntegrationId } from "../../domain/Ids.ts"
import type { Integration, Scope } from "../../domain/Integration.ts"
import { Crypto } from "../../ports/Crypto.ts"
import { IntegrationStore } from "../../ports/IntegrationStore.ts"
import { rotated } from "../../rules/DeliveryPolicy.ts"
import * as Signature from "../../rules/Signature.ts"
import { Dispatcher } from "../Dispatcher.ts"
import { IntegrationNotFound, VersionConflict } from "../IntegrationErrors.ts"
import type { Access, Actor, ExpectedVersions } from "./Access.ts"
import { requireVersion } from "./Access.ts"
import { heeded } from "./Heeding.ts"
import type { Reader, Reading } from "./Reading.ts"

/** How often a change is tried again because somebody else's came first. */
const maxRaces = 20

export const makeChanging = Effect.fnUntraced(function* ({ authorize, find }: Access, read: Reading) {
  const store = yield* IntegrationStore
  const dispatcher = yield* Dispatcher
  const crypto = yield* Crypto
  const newSecret = Effect.provideService(Signature.generateSecret, Crypto, crypto)

  /** Makes a change to whatever is stored by then: a race with another change is run again, not lost. */
  const changeStored = Effect.fnUntraced(function* (
    scope: Scope,
    id: IntegrationId,
    expected: ExpectedVersions,
    apply: (integration: Integration, now: number) => Integration
  ) {
    for (let race = 0; race < maxRaces; race++) {
      const current = yield* find(scope, id)
      yield* requireVersion(current, expected)
      const now = yield* Clock.currentTimeMillis
      const changed = apply(current, now)
      if (Equal.equals(current, changed)) return current
      const updated_at = Math.max(now, current.updated_at + 1)
      const next = { ...changed, version: current.version + 1, updated_at }
      if (yield* heeded(dispatcher, id, store.update(next, current.version))) return next
    }
    return yield* new VersionConflict({ id })
  })

  /** Changes an integration by a document that is right for it. */
  const changeBy = Effect.fnUntraced(function* <A>(
    actor: Actor,
    scope: Scope,
    id: IntegrationId,
    document: unknown,
    expected: ExpectedVersions,
    reader: Reader<A>,
    apply: (integration: Integration, input: A) => Integration
  ) {
    yield* authorize(actor, scope)
    const integration = yield* find(scope, id)
    yield* requireVersion(integration, expected)
    const input = yield* read(document, integration, reader)
    return yield* changeStored(scope, id, expected, (current) => apply(current, input))
  })

  const rotateSecret = Effect.fnUntraced(function* (
    actor: Actor,
    scope: Scope,
    id: IntegrationId,
    expected: ExpectedVersions
  ) {
    yield* authorize(actor, scope)
    const signing_secret = yield* newSecret
    return yield* changeStored(scope, id, expected, (current, now) => ({
      ...current,
      ...rotated(current, signing_secret, now)
    }))
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
    if (!(yield* heeded(dispatcher, id, store.remove(id, now)))) return yield* new IntegrationNotFound({ id })
  })

  return { changeBy, rotateSecret, remove }
})
