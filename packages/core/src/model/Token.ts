/**
 * Authorization codes and tokens as stored. Only the SHA-256 of the client's text is stored, never the text itself.
 */
import { Schema } from "effect"
import { ClientId, GrantId, UserId } from "./Ids.ts"

/** Lifetime of an access token, in seconds (interface document, section 8). */
export const accessTokenLifetimeSeconds = 86_400

/** Lifetime of an authorization code, in seconds (RFC 6749 section 4.1.2 recommends at most ten minutes). */
export const codeLifetimeSeconds = 600

/** The scope that always exists. It is the default for requests without a scope (interface document, section 2.1). */
export const publicScope = "public"

/** Returns the names in a granted scope. A granted scope has no duplicates and only single spaces between names. */
export const scopeNames = (scope: string): ReadonlyArray<string> => (scope === "" ? [] : scope.split(" "))

/** Returns the resources that a grant or token is bound to, which are stored like the names in a scope. */
export const resourcesIn = (resource: string): ReadonlyArray<string> => scopeNames(resource)

/** SHA-256 of a code or token, base64url. */
export const TokenHash = Schema.NonEmptyString.pipe(Schema.brand("TokenHash"))
export type TokenHash = typeof TokenHash.Type

/** One authorization of a client by a user. Revoking it ends its code and all its tokens. */
export const Grant = Schema.Struct({
  id: GrantId,
  user_id: UserId,
  client_id: ClientId,
  /** See `scopeNames`. */
  scope: Schema.String,
  /**
   * The resources that its tokens are bound to, separated by spaces (RFC 8707 section 2). Empty: the tokens open `/v4`
   * and those routes of the host that name no resource.
   */
  resource: Schema.String,
  created_at: Schema.Int,
  revoked_at: Schema.NullOr(Schema.Int)
})
export type Grant = typeof Grant.Type

/** A PKCE challenge (RFC 7636); S256 is the only method. */
export const CodeChallenge = Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]{43}$/))
export type CodeChallenge = typeof CodeChallenge.Type

export const AuthorizationCode = Schema.Struct({
  hash: TokenHash,
  grant_id: GrantId,
  client_id: ClientId,
  /** The redirect URI of the authorize step, which the token request must repeat (RFC 6749 section 4.1.3). */
  redirect_uri: Schema.String,
  /** Whether the authorize step named the redirect URI. If not, the default was used. */
  redirect_uri_given: Schema.Boolean,
  code_challenge: Schema.NullOr(CodeChallenge),
  expires_at: Schema.Int
})
export type AuthorizationCode = typeof AuthorizationCode.Type

export const AccessToken = Schema.Struct({
  /** Assigned by the store in ascending order. Tokens are found by this number, which is part of their text. */
  seq: Schema.Int,
  /** The hash of the random part of the token's text. */
  hash: TokenHash,
  grant_id: GrantId,
  /** The narrowed scope (RFC 6749 section 6); null for the whole scope of the grant. */
  scope: Schema.NullOr(Schema.String),
  /** The narrowed resources (RFC 8707 section 2.2); null for all resources of the grant. */
  resource: Schema.NullOr(Schema.String),
  created_at: Schema.Int,
  expires_at: Schema.Int,
  /** The rotated refresh token that the first use of this access token retires (RFC 9700 section 4.14.2). */
  retires: Schema.NullOr(TokenHash)
})
export type AccessToken = typeof AccessToken.Type

/** An access token before it is stored. */
export type NewAccessToken = Omit<AccessToken, "seq">

/** The parts of an access token's text: the number to find the token, and a hash to verify it. */
export interface PresentedAccessToken {
  readonly seq: number
  /** The hash of the random part. */
  readonly hash: TokenHash
}

export const RefreshToken = Schema.Struct({
  hash: TokenHash,
  grant_id: GrantId,
  created_at: Schema.Int,
  /** When it was last used without being replaced; null if it never was. */
  used_at: Schema.NullOr(Schema.Int),
  /** When a successor was issued; null if there is none. */
  rotated_at: Schema.NullOr(Schema.Int),
  /**
   * When the first use of the successor proved that the client has received it. Later use of this token is a replay.
   */
  retired_at: Schema.NullOr(Schema.Int)
})
export type RefreshToken = typeof RefreshToken.Type

/** The answer of the token endpoint (interface document, section 2.1), for all grant types. */
export const TokenResponse = Schema.Struct({
  access_token: Schema.String,
  token_type: Schema.Literal("Bearer"),
  expires_in: Schema.Int,
  /** Absent for client credentials (RFC 6749 section 4.4.3). */
  refresh_token: Schema.optionalKey(Schema.String),
  scope: Schema.String,
  created_at: Schema.Int
})
export type TokenResponse = typeof TokenResponse.Type
