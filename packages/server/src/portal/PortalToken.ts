/**
 * Signed tokens that open an integration's own page. A token names the integration and its expiry; nothing is stored for
 * it, and any process over the database can check it.
 */
import { constantTimeEquals, IntegrationId, parsePositiveInt } from "@doorhook/core"
import { Effect, Option } from "effect"
import type { PageSecret } from "../http/PageSecret.ts"

/** What a token is for. None can stand in for another. */
export type Purpose = "link" | "visit" | "form"

/** What a token says. */
export interface Grant {
  readonly integration_id: IntegrationId
  /** When it ends, in milliseconds since the epoch. */
  readonly expires_at: number
  /** Sets it apart from others for the same integration. */
  readonly nonce: string
}

const encoder = new TextEncoder()

export const makePortalTokens = ({ sign }: PageSecret["Service"]) => {
  const make = Effect.fnUntraced(function* (purpose: Purpose, { expires_at, integration_id, nonce }: Grant) {
    const text = `${integration_id}.${expires_at}.${nonce}`
    return `dh_pl_${text}.${yield* sign(`portal ${purpose}`, text)}`
  })

  /** What a token for that purpose says, expired or not; null for one that was not made here. */
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
