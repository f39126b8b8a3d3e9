/**
 * When a code or a token can be used, and when using it again says that two hold it.
 *
 * Times are milliseconds since the epoch. Who wins a race between two uses is decided by the store.
 */
import type { AccessToken, Grant, RefreshToken, TokenHash } from "./Token.ts"

/**
 * How long a rotated refresh token is still taken, unless the access token that came with its successor is used before:
 * time for a client to try again whose answer got lost. In milliseconds.
 */
export const rotationGrace = 60_000

/**
 * How long a code is known after it has expired, so that one that comes again ends what was issued for it, in
 * milliseconds.
 */
export const codeReuseWindow = 24 * 3_600_000

/**
 * How long a rotated refresh token is remembered, in milliseconds, so that presenting it again ends its grant. A stolen copy
 * is normally used much sooner.
 */
export const rotatedRetention = 90 * 24 * 3_600_000

/** How long a revoked grant is remembered, in milliseconds, so that its client learns of the revocation. */
export const revokedRetention = 24 * 3_600_000

/** A stored token of either kind with its grant. */
export type StoredToken =
  | { readonly kind: "access"; readonly token: AccessToken; readonly grant: Grant }
  | { readonly kind: "refresh"; readonly token: RefreshToken; readonly grant: Grant }

/** Whether the time of a code or an access token is over. */
export const isExpired = ({ expires_at }: { readonly expires_at: number }, now: number): boolean => now >= expires_at

/** Whether a refresh token is one that its owner has given up (RFC 9700 section 4.14.2). */
export const isReplay = (token: RefreshToken, now: number): boolean =>
  token.retired_at !== null || (token.rotated_at !== null && now >= token.rotated_at + rotationGrace)

/** Whether a token can be used, as far as it and its grant say. */
export const isActive = ({ grant, kind, token }: StoredToken, now: number): boolean =>
  grant.revoked_at === null && !(kind === "access" ? isExpired(token, now) : isReplay(token, now))

/** The refresh token that the use of an access token retires: the one it came for. Later its grace is over anyway. */
export const tokenToRetire = ({ created_at, retires }: AccessToken, now: number): TokenHash | null =>
  now < created_at + rotationGrace ? retires : null
