/**
 * The Ed25519 key that the service signs requests with. Receivers verify requests with the public key and need no
 * secret.
 *
 * Each database has one key. It is created at the first start that needs it, and stored like other secrets. If the
 * service later gets an encryption key, it creates a new signing key, because copies of the database may contain the
 * old one in clear text. Receivers should read `GET /v4/webhook_keys` again when verification fails.
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

/** Whether requests are signed with the service's key. */
export const signsWithServiceKey = (signing: Signing): boolean => signing === "ed25519" || signing === "both"

/** The private key (`whsk_`); null if `signing` needs none. */
export const ServiceKey = Context.Reference<Redacted.Redacted | null>("@doorhook/core/delivery/ServiceKey", {
  defaultValue: () => null
})

/** Reads the key, or creates it. */
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
