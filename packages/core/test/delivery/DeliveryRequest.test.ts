import { Crypto, DeliveryRequest, Signature } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"

const secret = Redacted.make("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
const attempt = {
  id: "evt_0000000000000000",
  attempt: 3,
  signedAt: 1_614_265_330_999,
  expiresAt: null,
  isReplay: false,
  body: '{"event":{}}'
}

const headersOf = (
  secrets: ReadonlyArray<Redacted.Redacted<string>>,
  also: Partial<DeliveryRequest.AttemptIdentity> = {}
) =>
  Crypto.use((crypto) => DeliveryRequest.headersOf(crypto, { ...attempt, ...also }, secrets)).pipe(
    Effect.provide(Crypto.layerWebCrypto)
  )

/** The headers of every attempt. The timestamp is in whole seconds, rounded down. */
const unsigned: Readonly<Record<string, string | undefined>> = {
  "content-type": "application/json",
  "user-agent": "doorhook/0.1",
  "webhook-id": "evt_0000000000000000",
  "webhook-timestamp": "1614265330",
  "doorhook-attempt": "3"
}

describe("the request of an attempt", () => {
  it.effect("has exactly the documented headers, and no signature without a secret", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual({ ...(yield* headersOf([])) }, unsigned)
    })
  )

  it.effect(
    "says when the event expires, in whole seconds rounded up, and whether somebody requested the attempt",
    () =>
      Effect.gen(function* () {
        const headers = yield* headersOf([], { expiresAt: 1_614_265_375_001, isReplay: true })
        assert.deepStrictEqual(
          { ...headers },
          { ...unsigned, "doorhook-expires-at": "1614265376", "doorhook-replay": "1" }
        )
      })
  )

  it.effect("has a signature that a receiver can verify", () =>
    Effect.gen(function* () {
      const headers = yield* headersOf([secret])
      assert.deepStrictEqual({ ...headers }, { ...unsigned, "webhook-signature": headers["webhook-signature"] })
      assert.isNull(yield* Signature.verify(secret, headers, attempt.body, attempt.signedAt))
    }).pipe(Effect.provide(Crypto.layerWebCrypto))
  )

  it.effect("is signed with each secret during a rotation", () =>
    Effect.gen(function* () {
      const older = Redacted.make("whsec_c2Vjb25k")
      const headers = yield* headersOf([secret, older])
      for (const one of [secret, older])
        assert.isNull(yield* Signature.verify(one, headers, attempt.body, attempt.signedAt))
    }).pipe(Effect.provide(Crypto.layerWebCrypto))
  )
})
