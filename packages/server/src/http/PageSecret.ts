/**
 * The secret that signs portal links, their sessions and form tokens.
 *
 * Each database has one secret, created at the first start. Processes cache the secret for at most two seconds, so
 * replacing it invalidates earlier signatures in all processes within this time.
 */
import { Crypto, SettingStore } from "@doorhook/core"
import type { StoreError } from "@doorhook/core"
import { Context, Effect, Layer, Redacted } from "effect"
import { Base64Url } from "effect/encoding"
import { makeShortMemory } from "./ShortMemory.ts"

/** The name of the setting in the database. */
const settingName = "portal_secret"

/** How long a process caches the secret, in milliseconds. */
const readAgainAfter = 2_000

const encoder = new TextEncoder()

const inBase64Url = (base64: string): string => base64.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")

export class PageSecret extends Context.Service<
  PageSecret,
  {
    /**
     * Returns the HMAC-SHA256 (RFC 2104) of a text under the secret, in base64url. A signature for one `purpose` is not
     * valid for another.
     */
    readonly sign: (purpose: string, text: string) => Effect.Effect<string, StoreError>
    /**
     * Replaces the secret. Earlier signatures become invalid immediately in this process, and within two seconds in
     * others.
     */
    readonly rotate: Effect.Effect<void, StoreError>
  }
>()("@doorhook/server/http/PageSecret") {
  static readonly layer: Layer.Layer<PageSecret, StoreError, SettingStore | Crypto> = Layer.effect(
    PageSecret,
    Effect.gen(function* () {
      const settings = yield* SettingStore
      const crypto = yield* Crypto
      const generate = Effect.sync(() => Redacted.make(Base64Url.encode(crypto.randomBytes(32))))
      const look = Effect.flatMap(generate, (candidate) => settings.getOrCreateSecret(settingName, candidate))
      const current = yield* makeShortMemory(look, readAgainAfter)
      // Reads the secret at the start and not at the first page, because reading encrypts a secret that is stored in
      // clear.
      yield* current.get
      return PageSecret.of({
        sign: (purpose, text) =>
          Effect.flatMap(current.get, (secret) => {
            const key = encoder.encode(Redacted.value(secret))
            return Effect.mapEager(crypto.hmacSha256(key, `doorhook ${purpose} ${text}`), inBase64Url)
          }),
        rotate: Effect.gen(function* () {
          const secret = yield* generate
          yield* settings.replaceSecret(settingName, secret)
          yield* current.keep(secret)
        })
      })
    })
  )
}
