/**
 * The key of the operator API: given, or made at the first start and kept with the database.
 */
import { Crypto, SettingStore } from "@doorhook/core"
import type { StoreError } from "@doorhook/core"
import { Context, Effect, Layer, Redacted } from "effect"
import { Base64Url } from "effect/encoding"

/** Under which name the key is stored. */
const settingName = "operator_key"

const generate = Effect.gen(function* () {
  const crypto = yield* Crypto
  return `dhop_${Base64Url.encode(yield* crypto.randomBytes(32))}`
})

export class OperatorKey extends Context.Service<
  OperatorKey,
  {
    readonly key: Redacted.Redacted<string>
    /** Whether the key was made just now, and must be shown to the operator, who can't know it yet. */
    readonly created: boolean
  }
>()("@doorhook/server/operator/OperatorKey") {
  /** A key that the operator has chosen. */
  static layer(key: Redacted.Redacted<string>): Layer.Layer<OperatorKey> {
    return Layer.succeed(OperatorKey, { key, created: false })
  }

  /** The key that is stored; one is made and stored when there is none. */
  static readonly layerStored: Layer.Layer<OperatorKey, StoreError, SettingStore | Crypto> = Layer.effect(
    OperatorKey,
    Effect.gen(function* () {
      const store = yield* SettingStore
      const { value, created } = yield* store.getOrCreate(settingName, yield* generate)
      return { key: Redacted.make(value), created }
    })
  )
}
