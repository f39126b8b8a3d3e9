/**
 * Where the authorization server can be made stricter or more lenient than by default.
 */
import { Context, Layer } from "effect"

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
   * secret, each user is counted alone: whoever has an account can act as that client, and must not stop its other users.
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

/** Why a name can't be the name of a scope; null when it can. */
export const scopeNameFlaw = (name: string): string | null =>
  /^[\u0021\u0023-\u005b\u005d-\u007e]+$/.test(name)
    ? null
    : "must be one or more visible ASCII characters without quotes and backslashes (RFC 6749 section 3.3)"

export class AuthorizationSettings extends Context.Service<AuthorizationSettings, AuthorizationSettingsShape>()(
  "@doorhook/core/oauth/AuthorizationSettings"
) {
  /** The defaults with some of them replaced. Throws where the name of a scope can't be one. */
  static layer(overrides: Partial<AuthorizationSettingsShape> = {}): Layer.Layer<AuthorizationSettings> {
    return Layer.sync(AuthorizationSettings, () => {
      const settings = { ...authorizationDefaults, ...overrides }
      for (const name of Object.keys(settings.scopes)) {
        const flaw = scopeNameFlaw(name)
        if (flaw !== null) throw new TypeError(`The scope ${JSON.stringify(name)} ${flaw}.`)
      }
      return settings
    })
  }
}
