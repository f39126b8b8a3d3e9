/**
 * The operator key, which all operations over HTTP require. The key is configured, or generated at the first start and
 * stored in the database.
 */
import { Crypto, LoginThrottle, SettingStore } from "@doorhook/core"
import type { StoreError } from "@doorhook/core"
import { Clock, Context, Effect, Layer, Redacted } from "effect"
import { Base64Url } from "effect/encoding"
import { proxyHeaderOf } from "../http/ClientAddress.ts"
import { makeKeyCheck, readBearer } from "../http/Credentials.ts"
import type { Exchange } from "../http/Exchange.ts"
import type { RequestFailure } from "../http/Failures.ts"
import { failure } from "../http/Failures.ts"

/** The name of the setting in the database. */
const settingName = "operator_key"

const generate = Effect.gen(function* () {
  const crypto = yield* Crypto
  return `dhop_${Base64Url.encode(crypto.randomBytes(32))}`
})

export class OperatorKey extends Context.Service<
  OperatorKey,
  {
    readonly key: Redacted.Redacted<string>
    /** Whether the key was generated at this start and must be shown to the operator. */
    readonly created: boolean
  }
>()("@doorhook/server/operator/OperatorKey") {
  /** A configured key. */
  static layer(key: Redacted.Redacted<string>): Layer.Layer<OperatorKey> {
    return Layer.succeed(OperatorKey, { key, created: false })
  }

  /** Reads the stored key. Generates and stores a key if there is none. */
  static readonly layerStored: Layer.Layer<OperatorKey, StoreError, SettingStore | Crypto> = Layer.effect(
    OperatorKey,
    Effect.gen(function* () {
      const store = yield* SettingStore
      const { value, created } = yield* store.getOrCreate(settingName, yield* generate)
      return { key: Redacted.make(value), created }
    })
  )
}

const unauthorized = (detail: string) =>
  failure(
    401,
    { code: "unauthorized", title: "Unauthorized", detail },
    { "www-authenticate": 'Bearer realm="doorhook operator"' }
  )

const keyMissing = unauthorized("Send the operator key: `Authorization: Bearer $DOORHOOK_OPERATOR_KEY`.")

const keyWrong = unauthorized(
  "This is not the service's operator key. Send the key that the service was started with, or the one it printed at its first start."
)

const throttled = (seconds: number) =>
  failure(
    429,
    {
      code: "rate_limited",
      title: "Too many requests",
      detail: `This address sent ten wrong operator keys within 15 minutes, so all keys from it are refused, even the right one. Correct the program that sends the wrong key. Try again in ${seconds} s.`
    },
    { "retry-after": String(seconds) }
  )

/**
 * Returns the credential under which wrong keys are counted. Behind an untrusted proxy, all clients have the proxy's
 * address, and local programs often have the same address. Requests through a proxy are counted separately, so that
 * strangers can't lock out local programs.
 */
const guessOf = (x: Exchange): LoginThrottle.Credential => ({
  kind: "operator",
  name: proxyHeaderOf(x) === undefined ? "direct" : "by proxy",
  address: x.address
})

/** Checks the key in requests and in the sign-in form. All routes share one guard, because it counts wrong keys. */
export class KeyGuard extends Context.Service<
  KeyGuard,
  {
    /** Fails unless the request's `Authorization` header contains the key. */
    readonly authenticate: (x: Exchange) => Effect.Effect<void, RequestFailure>
    /** Fails unless a text from the request is the key. */
    readonly check: (x: Exchange, key: string) => Effect.Effect<void, RequestFailure>
  }
>()("@doorhook/server/operator/KeyGuard") {
  static readonly layer: Layer.Layer<KeyGuard, never, OperatorKey | Crypto> = Layer.effect(
    KeyGuard,
    Effect.gen(function* () {
      const isKey = yield* makeKeyCheck((yield* OperatorKey).key)
      const clock = yield* Clock.Clock
      const { guard } = LoginThrottle.make(() => clock.currentTimeMillisUnsafe())
      const check = Effect.fnUntraced(function* (x: Exchange, key: string) {
        const guarded = yield* guard(guessOf(x), () => Effect.map(isKey(key), (isRight) => isRight || null))
        if (guarded._tag === "Throttled") return yield* throttled(guarded.retry_after)
        if (guarded.value === null) return yield* keyWrong
      })
      return KeyGuard.of({
        check,
        authenticate: (x) => {
          const presented = readBearer(x.header("authorization"))
          return presented._tag === "Absent" ? keyMissing : check(x, presented.token)
        }
      })
    })
  )
}
