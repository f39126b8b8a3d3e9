/**
 * Where grants, authorization codes and tokens are kept. The three calls that decide who wins a race (`redeemCode`,
 * `refresh`, `revokeGrant`) are atomic: a store must not let two callers both succeed.
 *
 * A store may work when it is called and answer with an `Exit`, so that a request needs no fiber; each call is therefore used
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

/** What one token request issues. */
export interface IssuedTokens {
  readonly access: NewAccessToken
  /** Null when the refresh token stays the same. */
  readonly refresh: RefreshToken | null
  /** The most access tokens that the grant keeps, the new one included: the oldest beyond it end. */
  readonly maxAccessTokens: number
}

/** A code as it is kept. */
export interface FoundCode {
  readonly code: AuthorizationCode
  /** Whether it was redeemed. */
  readonly isUsed: boolean
  readonly grant: Grant
}

export class TokenStore extends Context.Service<
  TokenStore,
  {
    /** Stores a grant with the code that it begins with. */
    readonly createCode: (grant: Grant, code: AuthorizationCode) => Effect.Effect<void, StoreError>
    /** A code, used and expired ones too until they are purged. Its grant says whether it was revoked; so below. */
    readonly findCode: (hash: TokenHash) => Effect.Effect<FoundCode | null, StoreError>
    /**
     * Marks a code as used and stores what was issued for it, once. Returns the number of the access token; null, and nothing is
     * stored, when the code was used before or its grant is revoked (RFC 6749 section 4.1.2).
     */
    readonly redeemCode: (
      hash: TokenHash,
      issued: IssuedTokens,
      now: number
    ) => Effect.Effect<number | null, StoreError>

    /**
     * The access token of that number. The caller compares the hash: a number is no secret, and may be used again once its token
     * is gone. Without a number, the one of that hash among those that were stored without numbers.
     */
    readonly findAccessToken: (
      presented: PresentedAccessToken
    ) => Effect.Effect<{ readonly token: AccessToken; readonly grant: Grant } | null, StoreError>
    readonly findRefreshToken: (
      hash: TokenHash
    ) => Effect.Effect<{ readonly token: RefreshToken; readonly grant: Grant } | null, StoreError>
    /**
     * Stores what a refresh issued. With a new refresh token in it, the presented one is marked as rotated at `now`
     * unless it already is. Returns the number of the access token; null, and nothing is stored, when the presented token is
     * retired or its grant revoked.
     */
    readonly refresh: (
      presented: TokenHash,
      issued: IssuedTokens,
      now: number
    ) => Effect.Effect<number | null, StoreError>
    /** Marks a rotated refresh token as retired: its successor has been used. */
    readonly retireRefreshToken: (hash: TokenHash, now: number) => Effect.Effect<void, StoreError>

    /** Ends a grant: its code and all its tokens are dead from now on. They are still found, with a grant that says so. */
    readonly revokeGrant: (id: GrantId, now: number) => Effect.Effect<void, StoreError>
    /** Ends all grants that were given to a client. */
    readonly revokeGrantsTo: (client: ClientId, now: number) => Effect.Effect<void, StoreError>
    /**
     * Grants of a user that are not revoked and have a refresh token, which is what goes on working by itself: at most `limit`,
     * the oldest first.
     */
    readonly grantsOf: (user: UserId, limit: number) => Effect.Effect<ReadonlyArray<Grant>, StoreError>
    /**
     * Ends all grants of a user, or those to one client: those too whose code was never redeemed. Says how many it ended of those
     * that `grantsOf` has.
     */
    readonly revokeGrantsOf: (user: UserId, client: ClientId | null, now: number) => Effect.Effect<number, StoreError>
    /** Ends the access token of that number and hash, if there is one. */
    readonly revokeAccessToken: (presented: PresentedAccessToken) => Effect.Effect<void, StoreError>
    /**
     * Deletes at most `limit` tokens, codes and revoked grants that are not needed any more, by the times of `model/TokenValidity`: access tokens
     * that expired before `now`; codes that did `codeReuseWindow` before and refresh tokens that were rotated `rotatedRetention`
     * before, so that their reuse is noticed until then; and what belongs to grants that were revoked `revokedRetention`
     * before, then these grants. Returns how many, without the grants of codes that were never used, which are deleted with
     * their codes. Refresh tokens do not expire.
     */
    readonly purgeExpired: (now: number, limit: number) => Effect.Effect<number, StoreError>
  }
>()("@doorhook/core/ports/TokenStore") {}
