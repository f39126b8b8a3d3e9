/**
 * Stores grants, authorization codes and tokens. The calls that resolve races (`redeemCode`, `refresh`, `revokeGrant`)
 * are atomic: of two conflicting calls, only one succeeds.
 *
 * A store may do its work during the call and return an `Exit`, which needs no fiber. Callers must run the effect of
 * each call only once.
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
  /**
   * Maximum number of access tokens kept for the grant, including the new one. The oldest tokens beyond this number
   * become invalid.
   */
  readonly maxAccessTokens: number
}

/** A grant, and when its client last got a token for it. */
export interface UsedGrant {
  readonly grant: Grant
  readonly last_used_at: number
}

/** A stored code. */
export interface FoundCode {
  readonly code: AuthorizationCode
  /** Whether the code was redeemed. */
  readonly isUsed: boolean
  readonly grant: Grant
}

export class TokenStore extends Context.Service<
  TokenStore,
  {
    /** Stores a grant with its code. */
    readonly createCode: (grant: Grant, code: AuthorizationCode) => Effect.Effect<void, StoreError>
    /**
     * Returns a code, even if used or expired, until it is purged. As in all results, `grant` shows whether the grant
     * was revoked.
     */
    readonly findCode: (hash: TokenHash) => Effect.Effect<FoundCode | null, StoreError>
    /**
     * Marks a code as used and stores the tokens issued for it. Returns the number of the access token. Returns null
     * and stores nothing if the code was used before or its grant is revoked (RFC 6749 section 4.1.2).
     */
    readonly redeemCode: (
      hash: TokenHash,
      issued: IssuedTokens,
      now: number
    ) => Effect.Effect<number | null, StoreError>

    /**
     * Stores an access token for a grant that needs no code, and the grant if it does not exist. If the grant is revoked,
     * its tokens are deleted and it is valid again. Returns the number of the access token.
     */
    readonly issue: (grant: Grant, issued: Omit<IssuedTokens, "refresh">) => Effect.Effect<number, StoreError>
    /**
     * Stores the id of a client's assertion until `expires_at`; false if it is stored already. Of two processes, only one
     * gets true.
     */
    readonly useAssertion: (id: string, expires_at: number) => Effect.Effect<boolean, StoreError>

    /**
     * Returns the access token with this number. The caller must compare the hash, because a number is not secret and
     * may be reused after its token is deleted.
     */
    readonly findAccessToken: (
      presented: PresentedAccessToken
    ) => Effect.Effect<{ readonly token: AccessToken; readonly grant: Grant } | null, StoreError>
    readonly findRefreshToken: (
      hash: TokenHash
    ) => Effect.Effect<{ readonly token: RefreshToken; readonly grant: Grant } | null, StoreError>
    /**
     * Stores the tokens issued by a refresh. If they include a new refresh token, marks the presented refresh token as
     * rotated at `now`, unless it is already marked. Otherwise, marks it as used at `now`. Returns the number of the access token. Returns null and stores
     * nothing if the presented token is retired or its grant is revoked.
     */
    readonly refresh: (
      presented: TokenHash,
      issued: IssuedTokens,
      now: number
    ) => Effect.Effect<number | null, StoreError>
    /** Marks a rotated refresh token as retired, after its successor has been used. */
    readonly retireRefreshToken: (hash: TokenHash, now: number) => Effect.Effect<void, StoreError>

    /** Returns a grant, even if it is revoked; null if it was never stored or is purged. */
    readonly findGrant: (id: GrantId) => Effect.Effect<Grant | null, StoreError>
    /**
     * Revokes a grant, so that its code and all its tokens are invalid. Searches still return the code and the tokens,
     * with the revoked grant.
     */
    readonly revokeGrant: (id: GrantId, now: number) => Effect.Effect<void, StoreError>
    /** Revokes all grants of a client. */
    readonly revokeGrantsTo: (client: ClientId, now: number) => Effect.Effect<void, StoreError>
    /**
     * Returns a user's grants that are not revoked and have a refresh token, which keeps access alive. At most `limit`,
     * oldest first.
     */
    readonly grantsOf: (user: UserId, limit: number) => Effect.Effect<ReadonlyArray<UsedGrant>, StoreError>
    /**
     * Revokes a user's grants to `client`, or to all clients if `client` is null. Includes grants whose code was never
     * redeemed. Returns the number of revoked grants that have a refresh token, as in `grantsOf`.
     */
    readonly revokeGrantsOf: (user: UserId, client: ClientId | null, now: number) => Effect.Effect<number, StoreError>
    /** Revokes the access token with this number and hash, if it exists. */
    readonly revokeAccessToken: (presented: PresentedAccessToken) => Effect.Effect<void, StoreError>
    /**
     * Deletes at most `limit` tokens, codes and revoked grants that are no longer needed (times:
     * `model/TokenValidity`):
     * - access tokens that expired before `now`, and ids of assertions until before `now`;
     * - codes that expired more than `codeReuseWindow` ago, and refresh tokens that were rotated more than
     *   `rotatedRetention` ago, so that their reuse is detected until then;
     * - data of grants that were revoked more than `revokedRetention` ago, then these grants.
     *
     * Returns how many were deleted. Grants of unused codes are deleted with their codes and not counted,
     * and so are grants without a refresh token when their last access token is deleted. Refresh
     * tokens do not expire.
     */
    readonly purgeExpired: (now: number, limit: number) => Effect.Effect<number, StoreError>
  }
>()("@doorhook/core/ports/TokenStore") {}
