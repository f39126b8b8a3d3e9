/**
 * What opens an integration's own page: a text that names the integration and when it ends, signed with a secret that
 * doorhook makes for itself. Nothing is stored for it, and any process over the database can check it.
 *
 * The secret is none that a person chose: a link is in the hands of strangers, who could try out guesses against it.
 */
import { constantTimeEquals, IntegrationId, parsePositiveInt } from "@doorhook/core"
import type { Crypto, SettingStore, StoreError } from "@doorhook/core"
import { Effect, Option } from "effect"
import { Base64Url } from "effect/encoding"

/** What a token is for: a link is no cookie, and neither is the proof that a form was shown. */
export type Purpose = "link" | "visit" | "form"

/** What a token says. */
export interface Grant {
  readonly integration_id: IntegrationId
  /** When it ends, in milliseconds since the epoch. */
  readonly expires_at: number
  /** Tells it from others for the same integration. */
  readonly nonce: string
}

const encoder = new TextEncoder()
const settingName = "portal_secret"

export interface PortalTokens {
  readonly make: (purpose: Purpose, grant: Grant) => Effect.Effect<string, StoreError>
  /** What a token for that purpose says, be it over or not; null when it is not one that was made here. */
  readonly read: (purpose: Purpose, token: string) => Effect.Effect<Grant | null, StoreError>
}

export const makePortalTokens = (settings: SettingStore["Service"], crypto: Crypto["Service"]): PortalTokens => {
  let known: Uint8Array | null = null
  const secret = Effect.gen(function* () {
    if (known !== null) return known
    const candidate = Base64Url.encode(yield* crypto.randomBytes(32))
    const { value } = yield* settings.getOrCreate(settingName, candidate)
    known = encoder.encode(value)
    return known
  })

  const make = Effect.fnUntraced(function* (purpose: Purpose, { expires_at, integration_id, nonce }: Grant) {
    const text = `${integration_id}.${expires_at}.${nonce}`
    const mac = yield* crypto.hmacSha256(yield* secret, `doorhook portal ${purpose} ${text}`)
    return `dh_pl_${text}.${mac.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`
  })

  const read = Effect.fnUntraced(function* (purpose: Purpose, token: string) {
    const match = /^dh_pl_(\d{1,16})\.(\d{1,16})\.([\w-]{1,64})\.[\w-]{43}$/.exec(token)
    const integration_id = Option.getOrNull(parsePositiveInt(IntegrationId, match?.[1] ?? ""))
    if (match === null || integration_id === null) return null
    const grant: Grant = { integration_id, expires_at: Number(match[2]), nonce: match[3] ?? "" }
    const genuine = yield* make(purpose, grant)
    return constantTimeEquals(encoder.encode(genuine), encoder.encode(token)) ? grant : null
  })

  return { make, read }
}
