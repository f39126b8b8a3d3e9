/**
 * The `Crypto` port of Node.js satisfies the contract.
 */
import { Crypto, DeliveryRequest, Signature } from "@doorhook/core"
import { CryptoSuite, provideEach } from "@doorhook/core/testing"
import { NodeCrypto } from "@doorhook/node"
import { assert, it } from "@effect/vitest"
import { Effect, Exit } from "effect"

for (const { name, run } of provideEach(CryptoSuite.cases, NodeCrypto.layer)) it.effect(name, () => run)

it.effect("signs synchronously, so that the sender needs no fiber", () =>
  Effect.gen(function* () {
    const secret = yield* Signature.generateSecret
    const identity = {
      id: "evt_1",
      attempt: 1,
      signedAt: 1_700_000_000_000,
      expiresAt: null,
      isReplay: false,
      body: "{}"
    }
    assert.isTrue(Exit.isExit(DeliveryRequest.headersOf(yield* Crypto, identity, [secret])))
  }).pipe(Effect.provide(NodeCrypto.layer))
)
