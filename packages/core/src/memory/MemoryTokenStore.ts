/**
 * Grants, codes and tokens in memory. A heap orders them by deletion time, except access tokens, which expire in the order
 * of their numbers unless their lifetimes differ.
 */
import { Effect, Layer } from "effect"
import type { GrantId, UserId } from "../model/Ids.ts"
import type { AccessToken, AuthorizationCode, Grant, RefreshToken, TokenHash } from "../model/Token.ts"
import { constantTimeEqualTexts } from "../ports/Crypto.ts"
import { StoreError } from "../ports/StoreError.ts"
import type { IssuedTokens } from "../ports/TokenStore.ts"
import { TokenStore } from "../ports/TokenStore.ts"
import { codeReuseWindow, purgeWindow, revokedRetention, rotatedRetention } from "../model/TokenValidity.ts"
import type { Waiting } from "./DueHeap.ts"
import { DueHeap } from "./DueHeap.ts"

/** A heap entry for a code, token or grant that is deleted after `due_at`. */
interface Ending extends Waiting {
  /**
   * Deletes at most `limit` tokens, codes and grants, and returns their number. Removes this entry from the heap when
   * nothing is left to delete.
   */
  readonly purge: (limit: number) => number
}

interface StoredGrant {
  grant: Grant
  readonly codes: Set<TokenHash>
  /** Oldest first. */
  readonly access: Set<number>
  readonly refresh: Set<TokenHash>
}

interface StoredCode {
  readonly code: AuthorizationCode
  used: boolean
  readonly ending: Ending
}

interface StoredRefresh {
  token: RefreshToken
  /** Null until the token is rotated. */
  ending: Ending | null
}

const refused = Effect.succeed(null)

const make = Effect.sync(() => {
  const grants = new Map<GrantId, StoredGrant>()
  const codes = new Map<TokenHash, StoredCode>()
  const accessTokens = new Map<number, AccessToken>()
  const refreshTokens = new Map<TokenHash, StoredRefresh>()
  const assertions = new Set<string>()
  const endings = new DueHeap<Ending>()
  let serial = 0
  let lastSeq = 0

  const endAt = (due_at: number, purge: Ending["purge"]): Ending => {
    const ending: Ending = { id: ++serial, standing: { due_at }, heap_index: 0, purge }
    endings.add(ending)
    return ending
  }

  /** Returns the grant with this id; null if it is revoked or unknown. */
  const aliveGrant = (id: GrantId): StoredGrant | null => {
    const stored = grants.get(id)
    return stored?.grant.revoked_at === null ? stored : null
  }

  const withGrant = <A extends { readonly grant_id: GrantId }, B>(
    found: A | undefined,
    answer: (found: A, grant: Grant) => B
  ): B | null => {
    const stored = found === undefined ? undefined : grants.get(found.grant_id)
    return found === undefined || stored === undefined ? null : answer(found, stored.grant)
  }

  /**
   * Makes a function that deletes one code or token from its map, the heap and its grant, and returns the number
   * deleted.
   */
  const deleteIn =
    <Key, Stored extends { readonly ending: Ending | null }>(
      stored: Map<Key, Stored>,
      keysIn: (grant: StoredGrant) => Set<Key>,
      grantOf: (one: Stored) => GrantId
    ) =>
    (key: Key): number => {
      const one = stored.get(key)
      if (one === undefined) return 0
      if (one.ending !== null) endings.remove(one.ending)
      stored.delete(key)
      const grant = grants.get(grantOf(one))
      if (grant !== undefined) keysIn(grant).delete(key)
      return 1
    }
  const deleteCode = deleteIn(
    codes,
    (grant) => grant.codes,
    ({ code }) => code.grant_id
  )
  const deleteAccess = (seq: number): number => {
    const token = accessTokens.get(seq)
    if (token === undefined) return 0
    accessTokens.delete(seq)
    grants.get(token.grant_id)?.access.delete(seq)
    return 1
  }
  const deleteRefresh = deleteIn(
    refreshTokens,
    (grant) => grant.refresh,
    ({ token }) => token.grant_id
  )

  /**
   * Deletes the codes and tokens of a grant, and finally the grant. Returns how many it deleted, including the grant.
   */
  const deleteGrant = (stored: StoredGrant, limit: number): number => {
    const { access, codes, grant, refresh } = stored
    const each = [
      ...[...access].map((seq) => () => deleteAccess(seq)),
      ...[...codes].map((hash) => () => deleteCode(hash)),
      ...[...refresh].map((hash) => () => deleteRefresh(hash))
    ]
    let deleted = 0
    for (const deleteOne of each.slice(0, limit)) deleted += deleteOne()
    if (deleted === limit) return deleted
    // Another grant may have the id by now, see `issue`.
    return grants.get(grant.id) === stored && grants.delete(grant.id) ? deleted + 1 : deleted
  }

  const revoke = (stored: StoredGrant, now: number): void => {
    stored.grant = { ...stored.grant, revoked_at: now }
    endRevoked(stored, now)
  }

  const endRevoked = (stored: StoredGrant, revoked_at: number): void => {
    const ending = endAt(revoked_at + revokedRetention, (limit) => {
      const deleted = deleteGrant(stored, limit)
      if (grants.get(stored.grant.id) !== stored) endings.remove(ending)
      return deleted
    })
  }

  const activeOf = (user: UserId): ReadonlyArray<StoredGrant> =>
    [...grants.values()].filter(({ grant }) => grant.user_id === user && grant.revoked_at === null)

  const isRefreshable = ({ refresh }: StoredGrant): boolean => refresh.size > 0

  /** Stores tokens issued for a grant, and returns the number of the access token. */
  const store = (grant: StoredGrant, { access, maxAccessTokens, refresh }: IssuedTokens): number => {
    for (const oldest of grant.access) {
      if (grant.access.size < maxAccessTokens) break
      deleteAccess(oldest)
    }
    const seq = ++lastSeq
    accessTokens.set(seq, { ...access, seq })
    grant.access.add(seq)
    if (refresh === null) return seq
    refreshTokens.set(refresh.hash, { token: refresh, ending: null })
    grant.refresh.add(refresh.hash)
    return seq
  }

  /** Deletes expired access tokens, and grants that have nothing left. Returns the number of tokens. */
  const purgeAccess = (now: number, limit: number): number => {
    const oldest = accessTokens.values().take(purgeWindow)
    const expired = oldest.filter((token) => token.expires_at < now).take(limit)
    let purged = 0
    for (const { grant_id, seq } of expired) {
      purged += deleteAccess(seq)
      const left = aliveGrant(grant_id)
      if (left !== null && left.access.size + left.codes.size + left.refresh.size === 0) grants.delete(grant_id)
    }
    return purged
  }

  return TokenStore.of({
    createCode: (grant, code) =>
      Effect.suspend(() => {
        if (grants.has(grant.id) || codes.has(code.hash)) {
          const cause = new Error("The grant or code already exists.")
          return Effect.fail(new StoreError({ operation: "TokenStore.createCode", cause }))
        }
        const stored = {
          grant,
          codes: new Set([code.hash]),
          access: new Set<number>(),
          refresh: new Set<TokenHash>()
        }
        grants.set(grant.id, stored)
        if (grant.revoked_at !== null) endRevoked(stored, grant.revoked_at)
        const ending = endAt(code.expires_at + codeReuseWindow, () => {
          // The grant of an unused code has no tokens, so it is deleted with the code. A revoked grant has its own heap
          // entry.
          if (codes.get(code.hash)?.used === false && aliveGrant(grant.id) !== null) grants.delete(grant.id)
          return deleteCode(code.hash)
        })
        codes.set(code.hash, { code, used: false, ending })
        return Effect.void
      }),

    findCode: (hash) =>
      Effect.sync(() => {
        const stored = codes.get(hash)
        return withGrant(stored?.code, (code, grant) => ({ code, grant, isUsed: stored?.used === true }))
      }),

    redeemCode: (hash, issued) =>
      Effect.sync(() => {
        const stored = codes.get(hash)
        const grant = stored === undefined || stored.used ? null : aliveGrant(stored.code.grant_id)
        if (stored === undefined || grant === null) return null
        stored.used = true
        return store(grant, issued)
      }),

    issue: (grant, issued) =>
      Effect.sync(() => {
        const known = grants.get(grant.id)
        const made = { grant, codes: new Set<TokenHash>(), access: new Set<number>(), refresh: new Set<TokenHash>() }
        if (known?.grant.revoked_at === null) return store(known, { ...issued, refresh: null })
        for (const seq of known?.access ?? []) deleteAccess(seq)
        grants.set(grant.id, made)
        return store(made, { ...issued, refresh: null })
      }),

    useAssertion: (id, expires_at) =>
      Effect.sync(() => {
        if (assertions.has(id)) return false
        assertions.add(id)
        const ending = endAt(expires_at, () => {
          endings.remove(ending)
          return assertions.delete(id) ? 1 : 0
        })
        return true
      }),

    findAccessToken: ({ seq }) =>
      Effect.succeed(withGrant(accessTokens.get(seq), (token, grant) => ({ token, grant }))),

    findRefreshToken: (hash) =>
      Effect.succeed(withGrant(refreshTokens.get(hash)?.token, (token, grant) => ({ token, grant }))),

    refresh: (presented, issued, now) => {
      const stored = refreshTokens.get(presented)
      const grant = stored === undefined || stored.token.retired_at !== null ? null : aliveGrant(stored.token.grant_id)
      if (stored === undefined || grant === null) return refused
      if (issued.refresh === null) stored.token = { ...stored.token, used_at: now }
      else if (stored.token.rotated_at === null) {
        stored.token = { ...stored.token, rotated_at: now }
        stored.ending = endAt(now + rotatedRetention, () => deleteRefresh(presented))
      }
      return Effect.succeed(store(grant, issued))
    },

    retireRefreshToken: (hash, now) =>
      Effect.sync(() => {
        const stored = refreshTokens.get(hash)
        if (stored === undefined || stored.token.rotated_at === null || stored.token.retired_at !== null) return
        stored.token = { ...stored.token, retired_at: now }
      }),

    findGrant: (id) => Effect.sync(() => grants.get(id)?.grant ?? null),

    revokeGrant: (id, now) =>
      Effect.sync(() => {
        const stored = grants.get(id)
        if (stored?.grant.revoked_at === null) revoke(stored, now)
      }),

    revokeGrantsTo: (client, now) =>
      Effect.sync(() => {
        for (const stored of grants.values()) {
          if (stored.grant.client_id === client && stored.grant.revoked_at === null) revoke(stored, now)
        }
      }),

    grantsOf: (user, limit) =>
      Effect.sync(() =>
        activeOf(user)
          .filter(isRefreshable)
          .toSorted((a, b) => a.grant.created_at - b.grant.created_at)
          .slice(0, limit)
          .map(({ grant, refresh }) => {
            const tokens = [...refresh].flatMap((hash) => refreshTokens.get(hash)?.token ?? [])
            return { grant, last_used_at: Math.max(...tokens.map((token) => token.used_at ?? token.created_at)) }
          })
      ),

    revokeGrantsOf: (user, client, now) =>
      Effect.sync(() => {
        const ended = activeOf(user).filter(({ grant }) => client === null || grant.client_id === client)
        for (const stored of ended) revoke(stored, now)
        return ended.filter(isRefreshable).length
      }),

    revokeAccessToken: ({ hash, seq }) =>
      Effect.sync(() => {
        const token = accessTokens.get(seq)
        if (token !== undefined && constantTimeEqualTexts(token.hash, hash)) deleteAccess(seq)
      }),

    purgeExpired: (now, limit) =>
      Effect.sync(() => {
        let purged = purgeAccess(now, limit)
        while (purged < limit) {
          const { first } = endings
          if (first === undefined || (first.standing.due_at ?? now) >= now) break
          purged += first.purge(limit - purged)
        }
        return purged
      })
  })
})

export const layer: Layer.Layer<TokenStore> = Layer.effect(TokenStore, make)
