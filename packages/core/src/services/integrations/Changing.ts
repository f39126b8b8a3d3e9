/**
 * What users change of their integrations.
 */
import { Effect } from "effect"
import type { IntegrationId } from "../../domain/Ids.ts"
import type { Integration, Scope } from "../../domain/Integration.ts"
import { Crypto } from "../../ports/Crypto.ts"
import { rotated } from "../../rules/DeliveryPolicy.ts"
import * as Signature from "../../rules/Signature.ts"
import type { Access, Actor, ExpectedVersions } from "./Access.ts"
import { requireVersion } from "./Access.ts"
import type { Reader, Reading } from "./Reading.ts"
import { makeStoredChange } from "./StoredChange.ts"

export const makeChanging = Effect.fnUntraced(function* ({ authorize, find, locate }: Access, read: Reading) {
  const stored = yield* makeStoredChange
  const crypto = yield* Crypto
  const newSecret = Effect.provideService(Signature.generateSecret, Crypto, crypto)

  /** An integration in a version that its user has seen. */
  const findExpected = (scope: Scope, id: IntegrationId, expected: ExpectedVersions) =>
    Effect.tap(find(scope, id), (found) => requireVersion(found, expected))

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
    const found = findExpected(scope, id, expected)
    const input = yield* read(actor.client_id, document, yield* found, reader)
    return yield* stored.change(found, (current) => apply(current, input))
  })

  const rotateSecret = Effect.fnUntraced(function* (
    actor: Actor,
    scope: Scope,
    id: IntegrationId,
    expected: ExpectedVersions
  ) {
    yield* authorize(actor, scope)
    const signing_secret = yield* newSecret
    return yield* stored.change(findExpected(scope, id, expected), (current, now) => ({
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
    yield* stored.remove(Effect.tap(locate(scope, id), (found) => requireVersion(found, expected)))
  })

  return { changeBy, rotateSecret, remove }
})
