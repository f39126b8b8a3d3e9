/**
 * Authorization codes and tokens as they are stored: by SHA-256 of what the client holds, never in the clear.
 */
import { Schema } from "effect"
import { ClientId, GrantId, UserId } from "./Ids.ts"

/** Lifetime of an access token, in seconds (document section 8). */
export const accessTokenLifetimeSeconds = 86_400

/** Lifetime of an authorization code, in seconds (RFC 6749 section 4.1.2 recommends at most ten minutes). */
export const codeLifetimeSeconds = 600

/** The scope that is always there, and that requests without one are granted (document section 2.1). */
export const publicScope = "public"

/** The names in a scope, as it is granted and stored: each once, one space between two. */
export const scopeNames = (scope: string): ReadonlyArray<string> => (scope === "" ? [] : scope.split(" "))

/** SHA-256 of a code or token, base64url. */
export const TokenHash = Schema.NonEmptyString.pipe(Schema.brand("TokenHash"))
export type TokenHash = typeof TokenHash.Type

/** One authorization of one user for one client. Revoking it ends its code and all its tokens. */
export const Grant = Schema.Struct({
  id: GrantId,
  user_id: UserId,
  client_id: ClientId,
  /** See `scopeNames`. */
  scope: Schema.String,
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
  /** The redirect URI of the authorize step; the token request must repeat it (RFC 6749 section 4.1.3). */
  redirect_uri: Schema.String,
  /** Whether the authorize step named the redirect URI, rather than leaving it to the default. */
  redirect_uri_given: Schema.Boolean,
  code_challenge: Schema.NullOr(CodeChallenge),
  expires_at: Schema.Int
})
export type AuthorizationCode = typeof AuthorizationCode.Type

export const AccessToken = Schema.Struct({
  /** Assigned by the store, growing with time. It is in the token's text, so that a token is found by a number. */
  seq: Schema.Int,
  /** Of the random part of the text. */
  hash: TokenHash,
  grant_id: GrantId,
  /** What it was narrowed to (RFC 6749 section 6); null is all that the grant holds. */
  scope: Schema.NullOr(Schema.String),
  created_at: Schema.Int,
  expires_at: Schema.Int,
  /** The rotated refresh token that its first use retires (RFC 9700 section 4.14.2). */
  retires: Schema.NullOr(TokenHash)
})
export type AccessToken = typeof AccessToken.Type

/** An access token before it is stored. */
export type NewAccessToken = Omit<AccessToken, "seq">

/** What the text of an access token says: which one it is, and what proves that. */
export interface PresentedAccessToken {
  /** Null for a text of the form that doorhook 0.1.0 gave out, which has no number. */
  readonly seq: number | null
  /** Of the random part of the text; of the whole text where there is no number. */
  readonly hash: TokenHash
}

export const RefreshToken = Schema.Struct({
  hash: TokenHash,
  grant_id: GrantId,
  created_at: Schema.Int,
  /** When a successor was issued; null while it is the newest. */
  rotated_at: Schema.NullOr(Schema.Int),
  /** When its successor was proven to have arrived; from then on its use is a replay. */
  retired_at: Schema.NullOr(Schema.Int)
})
export type RefreshToken = typeof RefreshToken.Type

/** The answer of the token endpoint (document section 2.1), for both grants. */
export const TokenResponse = Schema.Struct({
  access_token: Schema.String,
  token_type: Schema.Literal("Bearer"),
  expires_in: Schema.Int,
  refresh_token: Schema.String,
  scope: Schema.String,
  created_at: Schema.Int
})
export type TokenResponse = typeof TokenResponse.Type
