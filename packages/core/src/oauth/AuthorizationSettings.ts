/**
 * Where the authorization server can be made stricter or more lenient than by default.
 */
import { Context, Effect, JsonPointer, Layer, Result } from "effect"
import type { Problem } from "../model/InvalidInput.ts"
import { InvalidInput } from "../model/InvalidInput.ts"
import { publicScope } from "../model/Token.ts"

export interface AuthorizationSettingsShape {
  /**
   * Whether a confidential client must send its secret to refresh. Off, because the document's refresh request has none
   * (section 4.1); a secret that is sent must be right in any case.
   */
  readonly refreshRequiresSecret: boolean
  /**
   * Which clients get a new refresh token with each refresh. `public` by default: a client without a secret can't prove
   * that the token is its own (RFC 9700 section 2.2.2), one with a secret keeps a token that does not expire.
   */
  readonly refreshRotation: "never" | "public" | "always"
  /**
   * Scopes of the host's own API beside `public`, with what each allows, as the consent page says it. The names are tokens of RFC
   * 6749 section 3.3.
   */
  readonly scopes: Readonly<Record<string, string>>
  /** Whether a scope that is not declared is an error, or left out of what is granted. */
  readonly unknownScope: "refuse" | "ignore"
  /** The most live access tokens of one grant: with one more, the oldest ends. */
  readonly accessTokensPerGrant: number
  /**
   * How many tokens one client may be issued in a minute, counted in this process; null is any number. Of a client without a
   * secret, each user is counted alone: anyone with an account can act as that client, and must not stop its other users.
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

/** Why a name can't be the name of a declared scope (RFC 6749 section 3.3); null when it can. */
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

/** The defaults with some of them replaced; fails on scopes that can't be declared. */
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
  /** As `authorizationSettingsOf`. */
  static layer(overrides: Partial<AuthorizationSettingsShape> = {}): Layer.Layer<AuthorizationSettings, InvalidInput> {
    return Layer.effect(AuthorizationSettings, Effect.fromResult(authorizationSettingsOf(overrides)))
  }
}
