/**
 * The Ed25519 key that a service signs its requests with: receivers check them with its public key and hold no secret.
 *
 * A database has one key, made at the first start that needs it and kept like other secrets. A service that gets an encryption
 * key after that makes a new one: copies of the database may hold the old one in clear. Receivers read
 * `GET /v4/webhook_keys` again when a signature does not fit.
 */
import { Context, Effect, Layer } from "effect"
import type { Redacted } from "effect"
import type { Crypto } from "../ports/Crypto.ts"
import { SettingStore } from "../ports/SettingStore.ts"
import type { StoreError } from "../ports/StoreError.ts"
import { generatePrivateKey } from "./Signature.ts"
import type { Signing } from "./DeliverySettings.ts"
import { DeliverySettings } from "./DeliverySettings.ts"

/** The name of the setting. */
const settingName = "signing_key"

/** Whether requests carry a signature of the service's key. */
export const signsWithServiceKey = (signing: Signing): boolean => signing === "ed25519" || signing === "both"

/** The private key (`whsk_`); null where `signing` asks for none. */
export const ServiceKey = Context.Reference<Redacted.Redacted | null>("@doorhook/core/delivery/ServiceKey", {
  defaultValue: () => null
})

/** Reads the key, or makes it. */
export const serviceKeyLayer: Layer.Layer<never, StoreError, DeliverySettings | SettingStore | Crypto> = Layer.effect(
  ServiceKey,
  Effect.gen(function* () {
    const { signing } = yield* DeliverySettings
    const settings = yield* SettingStore
    return signsWithServiceKey(signing)
      ? yield* settings.getOrCreateSecret(settingName, yield* generatePrivateKey)
      : null
  })
)
