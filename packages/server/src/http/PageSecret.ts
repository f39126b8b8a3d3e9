/**
 * The secret that signs portal links, their sessions and form tokens.
 *
 * One secret for one database, made at the first start. Every process over the database reads it again every two seconds,
 * so that a replaced one ends what it signed everywhere.
 */
import { Crypto, SettingStore } from "@doorhook/core"
import type { StoreError } from "@doorhook/core"
import { Context, Effect, Layer, Redacted } from "effect"
import { Base64Url } from "effect/encoding"
import { makeShortMemory } from "./ShortMemory.ts"

/** The name that it is stored under. */
const settingName = "portal_secret"

/** How long a process goes without reading the secret again, in milliseconds. */
const readAgainAfter = 2_000

const encoder = new TextEncoder()

export class PageSecret extends Context.Service<
  PageSecret,
  {
    /**
     * HMAC-SHA256 (RFC 2104) of a text under the secret, in base64url. `purpose` keeps signatures of one kind from
     * standing in for another's.
     */
    readonly sign: (purpose: string, text: string) => Effect.Effect<string, StoreError>
    /** Replaces the secret. What was signed before ends: here at once, in other processes within two seconds. */
    readonly rotate: Effect.Effect<void, StoreError>
  }
>()("@doorhook/server/http/PageSecret") {
  static readonly layer: Layer.Layer<PageSecret, StoreError, SettingStore | Crypto> = Layer.effect(
    PageSecret,
    Effect.gen(function* () {
      const settings = yield* SettingStore
      const crypto = yield* Crypto
      const generate = Effect.map(crypto.randomBytes(32), (bytes) => Redacted.make(Base64Url.encode(bytes)))
      const look = Effect.flatMap(generate, (candidate) => settings.getOrCreateSecret(settingName, candidate))
      const current = yield* makeShortMemory(look, readAgainAfter)
      // Replaces a secret stored in clear at the start, not when a page is first opened.
      yield* current.get
      return PageSecret.of({
        sign: Effect.fnUntraced(function* (purpose, text) {
          const secret = encoder.encode(Redacted.value(yield* current.get))
          const mac = yield* crypto.hmacSha256(secret, `doorhook ${purpose} ${text}`)
          return mac.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")
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
