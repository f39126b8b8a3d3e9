/**
 * Temporary links to the page of one integration. Hosts give such links to the integration's owner.
 *
 * The host decides who gets a link. Links are not stored: a signed token contains the integration and the expiry, and
 * every process that shares the database can check it. Opening a link sets a session cookie in the browser
 * (`ui/Session.ts`).
 */
import {
  constantTimeEquals,
  Crypto,
  IntegrationId,
  isoOf,
  OperatorIntegrations,
  parsePositiveInt,
  storeTime
} from "@doorhook/core"
import type { StoreError, IntegrationNotFound } from "@doorhook/core"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { Base64Url } from "effect/encoding"
import { PageSecret } from "../http/PageSecret.ts"
import { PublicUrl } from "../http/PublicUrl.ts"

/** A link and its expiry (ISO 8601 UTC). A session that the link opens expires when the link does. */
export const PortalLink = Schema.Struct({ url: Schema.String, expires_at: Schema.String })
export type PortalLink = typeof PortalLink.Type

/** Default and longest lifetime of a link, in milliseconds. */
export const defaultLinkLifetime = 15 * 60_000
export const longestLinkLifetime = 24 * 3_600_000

/** Tolerated difference between the clocks of two processes, in milliseconds. */
const clockTolerance = 60_000

/**
 * The purpose of a token: a link, or the session of an opened link. A token for one purpose is not valid for the other.
 */
export type Purpose = "link" | "visit"

/** The content of a token. */
export interface Grant {
  readonly integration_id: IntegrationId
  /** The expiry, in milliseconds since the epoch. */
  readonly expires_at: number
  /** Random text that distinguishes this grant from others for the same integration. */
  readonly nonce: string
}

/** The result of checking a token. */
export type Access =
  | { readonly _tag: "Granted"; readonly grant: Grant }
  | { readonly _tag: "Expired" }
  | { readonly _tag: "Unknown" }

export class PortalLinks extends Context.Service<
  PortalLinks,
  {
    /** Makes a link to an integration's page. `lifetime` is in milliseconds. */
    readonly create: (
      id: IntegrationId,
      lifetime?: number
    ) => Effect.Effect<PortalLink, IntegrationNotFound | StoreError>
    /** Checks a token. */
    readonly check: (purpose: Purpose, token: string) => Effect.Effect<Access, StoreError>
    /** Makes a token for a purpose, with the same expiry as the grant. */
    readonly tokenFor: (purpose: Purpose, grant: Grant) => Effect.Effect<string, StoreError>
    /** Returns a copy of the grant with a new nonce, for the session of an opened link. */
    readonly renamed: (grant: Grant) => Effect.Effect<Grant>
  }
>()("@doorhook/server/operator/PortalLinks") {
  static readonly layer: Layer.Layer<PortalLinks, never, OperatorIntegrations | PageSecret | Crypto | PublicUrl> =
    Layer.effect(
      PortalLinks,
      Effect.gen(function* () {
        const integrations = yield* OperatorIntegrations
        const crypto = yield* Crypto
        const now = yield* storeTime
        const publicUrl = yield* PublicUrl
        const { make, read } = makeTokens(yield* PageSecret)

        const nonce = Effect.sync(() => Base64Url.encode(crypto.randomBytes(12)))

        const create = Effect.fnUntraced(function* (id: IntegrationId, lifetime = defaultLinkLifetime) {
          yield* integrations.show(id)
          const expires_at = now() + lifetime
          const token = yield* make("link", { integration_id: id, expires_at, nonce: yield* nonce })
          return { url: `${publicUrl.url}/portal/open/${token}`, expires_at: isoOf(expires_at) }
        })

        const check = Effect.fnUntraced(function* (
          purpose: Purpose,
          token: string
        ): Effect.fn.Return<Access, StoreError> {
          const grant = yield* read(purpose, token)
          const at = now()
          // No genuine link expires this late, so either the secret has leaked or a clock is wrong.
          if (grant === null || grant.expires_at > at + longestLinkLifetime + clockTolerance) return { _tag: "Unknown" }
          return at < grant.expires_at ? { _tag: "Granted", grant } : { _tag: "Expired" }
        })

        return PortalLinks.of({
          create,
          check,
          tokenFor: make,
          renamed: (grant) => Effect.map(nonce, (name) => ({ ...grant, nonce: name }))
        })
      })
    )
}

const encoder = new TextEncoder()

const tokenPattern = /^dh_pl_(\d{1,16})\.(\d{1,16})\.([\w-]{1,64})\.[\w-]{43}$/

const makeTokens = ({ sign }: PageSecret["Service"]) => {
  const make = (purpose: Purpose, { expires_at, integration_id, nonce }: Grant): Effect.Effect<string, StoreError> => {
    const text = `${integration_id}.${expires_at}.${nonce}`
    return Effect.map(sign(`portal ${purpose}`, text), (signature) => `dh_pl_${text}.${signature}`)
  }

  /** Reads the content of a token, even if the token has expired; null if its signature is wrong. */
  const read = (purpose: Purpose, token: string): Effect.Effect<Grant | null, StoreError> => {
    const match = tokenPattern.exec(token)
    const integration_id = Option.getOrNull(parsePositiveInt(IntegrationId, match?.[1] ?? ""))
    if (match === null || integration_id === null) return Effect.succeed(null)
    const grant: Grant = { integration_id, expires_at: Number(match[2]), nonce: match[3] ?? "" }
    return Effect.map(make(purpose, grant), (genuine) =>
      constantTimeEquals(encoder.encode(genuine), encoder.encode(token)) ? grant : null
    )
  }

  return { make, read }
}
