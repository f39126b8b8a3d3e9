/**
 * Settings of the authorization server that are stricter or more lenient than the defaults.
 */
import { Context, Effect, JsonPointer, Layer, Result } from "effect"
import type { Problem } from "../model/InvalidInput.ts"
import { InvalidInput } from "../model/InvalidInput.ts"
import { publicScope } from "../model/Token.ts"

export interface AuthorizationSettingsShape {
  /**
   * Whether a confidential client must send its secret to refresh. The default is false, because the document's refresh request
   * has no secret (section 4.1). If a secret is sent, it must be right in any case.
   */
  readonly refreshRequiresSecret: boolean
  /**
   * Which clients get a new refresh token with each refresh. The default is `public`, because a client without a secret can't
   * prove that the token is its own (RFC 9700 section 2.2.2). A client with a secret keeps its token, which does not expire.
   */
  readonly refreshRotation: "never" | "public" | "always"
  /**
   * Scopes of the host's own API besides `public`, with a description for the consent page. The names follow RFC 6749 section
   * 3.3.
   */
  readonly scopes: Readonly<Record<string, string>>
  /** Whether an undeclared scope is an error, or is left out of the grant. */
  readonly unknownScope: "refuse" | "ignore"
  /** The most valid access tokens of a grant. Issuing another one ends the oldest. */
  readonly accessTokensPerGrant: number
  /**
   * The most tokens issued to a client per minute by this process; null for no limit. For a client without a secret, each user
   * is counted separately: anyone with an account can act as that client, and must not block its other users.
   */
  readonly tokenRequestsPerMinute: number | null
}

export const authorizationDefaults: AuthorizationSettingsShape = {
  refreshRequiresSecret: false,
  refreshRotation: "public",
  scopes: {},
  unknownScope: "refuse",
  accessTokensPerGrant: 100,
  tokenRequestsPerMinute: 600
}

/** Why a name is not a valid name for a declared scope (RFC 6749 section 3.3); null if it is valid. */
export const scopeNameFlaw = (name: string): string | null => {
  if (name === publicScope) return `\`${publicScope}\` is always there and can't be declared`
  return /^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/.test(name)
    ? null
    : `${JSON.stringify(name)} can't be a scope: names have up to 100 visible ASCII characters, without spaces, quotes and backslashes, like doors:open`
}

const scopeProblems = ([name, description]: readonly [string, string]): ReadonlyArray<Problem> => {
  const flaw = scopeNameFlaw(name)
  if (flaw !== null) return [{ pointer: "/scopes", detail: flaw }]
  if (description.trim() !== "") return []
  const detail = 'must say what the scope allows, for the consent page, like "Open your doors"'
  return [{ pointer: `/scopes/${JsonPointer.escapeToken(name)}`, detail }]
}

/** The defaults with overrides; fails on invalid scopes. */
export const authorizationSettingsOf = (
  overrides: Partial<AuthorizationSettingsShape>
): Result.Result<AuthorizationSettingsShape, InvalidInput> => {
  const settings = { ...authorizationDefaults, ...overrides }
  const invalid = InvalidInput.of("Invalid settings", Object.entries(settings.scopes).flatMap(scopeProblems))
  return invalid === null ? Result.succeed(settings) : Result.fail(invalid)
}

export class AuthorizationSettings extends Context.Service<AuthorizationSettings, AuthorizationSettingsShape>()(
  "@doorhook/core/oauth/AuthorizationSettings"
) {
  /** Like `authorizationSettingsOf`. */
  static layer(overrides: Partial<AuthorizationSettingsShape> = {}): Layer.Layer<AuthorizationSettings, InvalidInput> {
    return Layer.effect(AuthorizationSettings, Effect.fromResult(authorizationSettingsOf(overrides)))
  }
}
