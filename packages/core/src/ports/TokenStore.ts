/**
 * Stores grants, authorization codes and tokens. The calls that decide races (`redeemCode`, `refresh`, `revokeGrant`) are
 * atomic: two concurrent calls must not both succeed.
 *
 * A store may do its work at the call and return an `Exit`, which needs no fiber. Callers must use the effect of each call only
 * once.
 */
import type { Effect } from "effect"
import { Context } from "effect"
import type { ClientId, GrantId, UserId } from "../model/Ids.ts"
import type {
  AccessToken,
  AuthorizationCode,
  Grant,
  NewAccessToken,
  PresentedAccessToken,
  RefreshToken,
  TokenHash
} from "../model/Token.ts"
import type { StoreError } from "./StoreError.ts"

/** The tokens issued by one request. */
export interface IssuedTokens {
  readonly access: NewAccessToken
  /** Null if the refresh token does not change. */
  readonly refresh: RefreshToken | null
  /** The most access tokens kept for the grant, including the new one. The oldest ones beyond it end. */
  readonly maxAccessTokens: number
}

/** A stored code. */
export interface FoundCode {
  readonly code: AuthorizationCode
  /** Whether it was redeemed. */
  readonly isUsed: boolean
  readonly grant: Grant
}

export class TokenStore extends Context.Service<
  TokenStore,
  {
    /** Stores a grant with its code. */
    readonly createCode: (grant: Grant, code: AuthorizationCode) => Effect.Effect<void, StoreError>
    /** A code, including used and expired ones until they are purged. As in all results, the grant shows a revocation. */
    readonly findCode: (hash: TokenHash) => Effect.Effect<FoundCode | null, StoreError>
    /**
     * Marks a code as used and stores the tokens issued for it, once. Returns the number of the access token. Returns null, and
     * stores nothing, if the code was used before or its grant is revoked (RFC 6749 section 4.1.2).
     */
    readonly redeemCode: (
      hash: TokenHash,
      issued: IssuedTokens,
      now: number
    ) => Effect.Effect<number | null, StoreError>

    /**
     * The access token with this number. The caller must compare the hash: a number is not secret, and may be used again after
     * its token is deleted. Without a number, finds a token by its hash among those stored without numbers.
     */
    readonly findAccessToken: (
      presented: PresentedAccessToken
    ) => Effect.Effect<{ readonly token: AccessToken; readonly grant: Grant } | null, StoreError>
    readonly findRefreshToken: (
      hash: TokenHash
    ) => Effect.Effect<{ readonly token: RefreshToken; readonly grant: Grant } | null, StoreError>
    /**
     * Stores the tokens issued by a refresh. If they include a new refresh token, the presented one is marked as rotated at
     * `now`, unless it is already. Returns the number of the access token. Returns null, and stores nothing, if the presented
     * token is retired or its grant revoked.
     */
    readonly refresh: (
      presented: TokenHash,
      issued: IssuedTokens,
      now: number
    ) => Effect.Effect<number | null, StoreError>
    /** Marks a rotated refresh token as retired, after its successor has been used. */
    readonly retireRefreshToken: (hash: TokenHash, now: number) => Effect.Effect<void, StoreError>

    /** Revokes a grant: its code and all its tokens are invalid from now on. They can still be found, with the revoked grant. */
    readonly revokeGrant: (id: GrantId, now: number) => Effect.Effect<void, StoreError>
    /** Revokes all grants of a client. */
    readonly revokeGrantsTo: (client: ClientId, now: number) => Effect.Effect<void, StoreError>
    /**
     * Grants of a user that are not revoked and have a refresh token, which keeps access alive. At most `limit`, the oldest
     * first.
     */
    readonly grantsOf: (user: UserId, limit: number) => Effect.Effect<ReadonlyArray<Grant>, StoreError>
    /**
     * Revokes all grants of a user, or those to one client, including grants whose code was never redeemed. Returns how many of
     * the grants in `grantsOf` it revoked.
     */
    readonly revokeGrantsOf: (user: UserId, client: ClientId | null, now: number) => Effect.Effect<number, StoreError>
    /** Ends the access token with this number and hash, if it exists. */
    readonly revokeAccessToken: (presented: PresentedAccessToken) => Effect.Effect<void, StoreError>
    /**
     * Deletes at most `limit` tokens, codes and revoked grants that are no longer needed, with the times of
     * `model/TokenValidity`:
     * - access tokens that expired before `now`;
     * - codes that expired `codeReuseWindow` before, and refresh tokens that were rotated `rotatedRetention` before, so that
     *   their reuse is detected until then;
     * - data of grants that were revoked `revokedRetention` before, then these grants.
     *
     * Returns how many were deleted. Grants of unused codes are deleted with their codes and not counted. Refresh tokens do not
     * expire.
     */
    readonly purgeExpired: (now: number, limit: number) => Effect.Effect<number, StoreError>
  }
>()("@doorhook/core/ports/TokenStore") {}
