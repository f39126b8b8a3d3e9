/**
 * Links that a host gives to those whose integration it is: they open that integration's own page, for a while, and
 * nothing else. The host knows who asks; doorhook does not.
 */
import { Crypto, isoOf, OperatorIntegrations } from "@doorhook/core"
import type { IntegrationId, StoreError, UnknownIntegration } from "@doorhook/core"
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { Base64Url } from "effect/encoding"
import { PageSecret } from "../http/PageSecret.ts"
import { PublicUrl } from "../http/PublicUrl.ts"
import type { Grant, Purpose } from "./PortalToken.ts"
import { makePortalTokens } from "./PortalToken.ts"

/** A link, and when it ends (ISO 8601 UTC): then the page ends too, for whoever has it open. */
export const PortalLink = Schema.Struct({ url: Schema.String, expires_at: Schema.String })
export type PortalLink = typeof PortalLink.Type

/** How long a link is good unless the host says otherwise, and the longest, in milliseconds. */
export const defaultLinkLifetime = 15 * 60_000
export const longestLinkLifetime = 24 * 3_600_000

/** How far the clocks of two processes may differ, in milliseconds. */
const clockTolerance = 60_000

/** What a token gives access to at the moment. */
export type Access =
  | { readonly _tag: "Granted"; readonly grant: Grant }
  | { readonly _tag: "Expired" }
  | { readonly _tag: "Unknown" }

export class PortalLinks extends Context.Service<
  PortalLinks,
  {
    /** Makes a link to an integration's page that is good for so many milliseconds. */
    readonly create: (
      id: IntegrationId,
      lifetime?: number
    ) => Effect.Effect<PortalLink, UnknownIntegration | StoreError>
    /** What a token gives access to now. */
    readonly check: (purpose: Purpose, token: string) => Effect.Effect<Access, StoreError>
    /** A token for another purpose that ends when the grant does. */
    readonly tokenFor: (purpose: Purpose, grant: Grant) => Effect.Effect<string, StoreError>
    /** What an opened link becomes: the same grant under a name of its own. */
    readonly renamed: (grant: Grant) => Effect.Effect<Grant>
  }
>()("@doorhook/server/portal/PortalLinks") {
  static readonly layer: Layer.Layer<PortalLinks, never, OperatorIntegrations | PageSecret | Crypto | PublicUrl> =
    Layer.effect(
      PortalLinks,
      Effect.gen(function* () {
        const integrations = yield* OperatorIntegrations
        const crypto = yield* Crypto
        const publicUrl = yield* PublicUrl
        const tokens = makePortalTokens(yield* PageSecret)

        const nonce = Effect.map(crypto.randomBytes(12), Base64Url.encode)

        const create = Effect.fnUntraced(function* (id: IntegrationId, lifetime = defaultLinkLifetime) {
          yield* integrations.show(id)
          const expires_at = (yield* Clock.currentTimeMillis) + lifetime
          const token = yield* tokens.make("link", { integration_id: id, expires_at, nonce: yield* nonce })
          return { url: `${publicUrl.url}/portal/open/${token}`, expires_at: isoOf(expires_at) }
        })

        const check = Effect.fnUntraced(function* (
          purpose: Purpose,
          token: string
        ): Effect.fn.Return<Access, StoreError> {
          const grant = yield* tokens.read(purpose, token)
          const now = yield* Clock.currentTimeMillis
          // No link is issued for longer. This one comes from someone who has read the secret, or from a wrong clock.
          if (grant === null || grant.expires_at > now + longestLinkLifetime + clockTolerance)
            return { _tag: "Unknown" }
          return now < grant.expires_at ? { _tag: "Granted", grant } : { _tag: "Expired" }
        })

        return PortalLinks.of({
          create,
          check,
          tokenFor: tokens.make,
          renamed: (grant) => Effect.map(nonce, (name) => ({ ...grant, nonce: name }))
        })
      })
    )
}
