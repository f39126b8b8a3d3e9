/**
 * Decides whether a code or token is valid, and whether a repeated use shows that two parties have it.
 *
 * Times are in milliseconds since the epoch. The store resolves races between two uses.
 */
import type { AccessToken, Grant, RefreshToken, TokenHash } from "./Token.ts"

/**
 * How long a rotated refresh token is still accepted, in milliseconds, so that a client can repeat a request whose
 * answer was lost. The first use of the new access token ends this period.
 */
export const rotationGrace = 60_000

/**
 * How long an expired code is remembered, in milliseconds, so that its reuse revokes the tokens issued for it.
 */
export const codeReuseWindow = 24 * 3_600_000

/**
 * How long a rotated refresh token is remembered, in milliseconds, so that its reuse revokes the grant. A stolen copy
 * is usually used much sooner.
 */
export const rotatedRetention = 90 * 24 * 3_600_000

/** How long a revoked grant is remembered, in milliseconds, so that its client can be informed of the revocation. */
export const revokedRetention = 24 * 3_600_000

/**
 * Number of oldest access tokens that a purge considers. Tokens are in order of age. Lifetimes that differ, or a wrong
 * clock, delay the purge of some.
 */
export const purgeWindow = 2_000

/** A stored token of either kind with its grant. */
export type StoredToken =
  | { readonly kind: "access"; readonly token: AccessToken; readonly grant: Grant }
  | { readonly kind: "refresh"; readonly token: RefreshToken; readonly grant: Grant }

/** Whether a code or an access token has expired. */
export const isExpired = ({ expires_at }: { readonly expires_at: number }, now: number): boolean => now >= expires_at

/** Whether the use of a refresh token is a replay, because its owner has replaced it (RFC 9700 section 4.14.2). */
export const isReplay = (token: RefreshToken, now: number): boolean =>
  token.retired_at !== null || (token.rotated_at !== null && now >= token.rotated_at + rotationGrace)

/** Whether a token is valid. Checks only the token and its grant. */
export const isActive = ({ grant, kind, token }: StoredToken, now: number): boolean =>
  grant.revoked_at === null && !(kind === "access" ? isExpired(token, now) : isReplay(token, now))

/**
 * Returns the refresh token that the use of an access token retires; null after the grace period, when the refresh
 * token is invalid anyway.
 */
export const tokenToRetire = ({ created_at, retires }: AccessToken, now: number): TokenHash | null =>
  now < created_at + rotationGrace ? retires : null
