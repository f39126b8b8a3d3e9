/**
 * Grants, codes and tokens in memory. A heap orders everything that will be deleted by its time.
 */
import { Effect, Layer } from "effect"
import type { GrantId, UserId } from "../domain/Ids.ts"
import type { AccessToken, AuthorizationCode, Grant, RefreshToken, TokenHash } from "../domain/Token.ts"
import { StoreError } from "../ports/StoreError.ts"
import type { IssuedTokens } from "../ports/TokenStore.ts"
import { TokenStore } from "../ports/TokenStore.ts"
import { codeMemory, revokedMemory, rotatedMemory } from "../rules/TokenLife.ts"
import type { Waiting } from "./DueHeap.ts"
import { DueHeap } from "./DueHeap.ts"

/** Something that is deleted after its `due_at`. */
interface Ending extends Waiting {
  /** Deletes at most `limit` tokens and codes, and returns how many. Removes itself from the heap when nothing is left. */
  readonly purge: (limit: number) => number
}

interface StoredGrant {
  grant: Grant
  readonly codes: Set<TokenHash>
  /** The oldest first. */
  readonly access: Set<TokenHash>
  readonly refresh: Set<TokenHash>
}

interface StoredCode {
  readonly code: AuthorizationCode
  used: boolean
  readonly ending: Ending
}

interface StoredAccess {
  readonly token: AccessToken
  readonly ending: Ending
}

interface StoredRefresh {
  token: RefreshToken
  /** Null until it is rotated. */
  ending: Ending | null
}

const yes = Effect.succeed(true)
const no = Effect.succeed(false)

const make = Effect.sync(() => {
  const grants = new Map<GrantId, StoredGrant>()
  const codes = new Map<TokenHash, StoredCode>()
  const accessTokens = new Map<TokenHash, StoredAccess>()
  const refreshTokens = new Map<TokenHash, StoredRefresh>()
  const endings = new DueHeap<Ending>()
  let serial = 0

  const endAt = (due_at: number, purge: Ending["purge"]): Ending => {
    const ending: Ending = { id: ++serial, standing: { due_at }, heap_index: 0, purge }
    endings.add(ending)
    return ending
  }

  const isAlive = (id: GrantId): boolean => grants.get(id)?.grant.revoked_at === null

  const withGrant = <A extends { readonly grant_id: GrantId }, B>(
    found: A | undefined,
    answer: (found: A, grant: Grant) => B
  ): B | null => {
    const stored = found === undefined ? undefined : grants.get(found.grant_id)
    return found === undefined || stored === undefined ? null : answer(found, stored.grant)
  }

  /** What deletes one code or token, with its place in the heap and in its grant, and returns how many it was. */
  const deleteIn =
    <Stored extends { readonly ending: Ending | null }>(
      stored: Map<TokenHash, Stored>,
      kind: "codes" | "access" | "refresh",
      grantOf: (one: Stored) => GrantId
    ) =>
    (hash: TokenHash): number => {
      const one = stored.get(hash)
      if (one === undefined) return 0
      if (one.ending !== null) endings.remove(one.ending)
      stored.delete(hash)
      grants.get(grantOf(one))?.[kind].delete(hash)
      return 1
    }
  const deleteCode = deleteIn(codes, "codes", ({ code }) => code.grant_id)
  const deleteAccess = deleteIn(accessTokens, "access", ({ token }) => token.grant_id)
  const deleteRefresh = deleteIn(refreshTokens, "refresh", ({ token }) => token.grant_id)

  /** Deletes what belongs to a grant, and at last the grant, which counts too. */
  const deleteGrant = ({ access, codes, grant, refresh }: StoredGrant, limit: number): number => {
    let deleted = 0
    for (const [hashes, deleteOne] of [
      [access, deleteAccess],
      [codes, deleteCode],
      [refresh, deleteRefresh]
    ] as const) {
      for (const hash of hashes) {
        if (deleted === limit) return deleted
        deleted += deleteOne(hash)
      }
    }
    if (deleted === limit) return deleted
    return grants.delete(grant.id) ? deleted + 1 : deleted
  }

  const revoke = (stored: StoredGrant, now: number): void => {
    stored.grant = { ...stored.grant, revoked_at: now }
    endRevoked(stored, now)
  }

  const endRevoked = (stored: StoredGrant, revoked_at: number): void => {
    const ending = endAt(revoked_at + revokedMemory, (limit) => {
      const deleted = deleteGrant(stored, limit)
      if (!grants.has(stored.grant.id)) endings.remove(ending)
      return deleted
    })
  }

  const activeOf = (user: UserId): ReadonlyArray<StoredGrant> =>
    [...grants.values()].filter(({ grant }) => grant.user_id === user && grant.revoked_at === null)

  const isRefreshable = ({ refresh }: StoredGrant): boolean => refresh.size > 0

  const store = ({ access, maxAccessTokens, refresh }: IssuedTokens): void => {
    const grant = grants.get(access.grant_id)
    if (grant === undefined) return
    for (const oldest of grant.access) {
      if (grant.access.size < maxAccessTokens) break
      deleteAccess(oldest)
    }
    const { expires_at, hash } = access
    accessTokens.set(hash, { token: access, ending: endAt(expires_at, () => deleteAccess(hash)) })
    grant.access.add(hash)
    if (refresh === null) return
    refreshTokens.set(refresh.hash, { token: refresh, ending: null })
    grant.refresh.add(refresh.hash)
  }

  return TokenStore.of({
    createCode: (grant, code) =>
      Effect.suspend(() => {
        if (grants.has(grant.id) || codes.has(code.hash)) {
          const cause = new Error("There is such a grant or code already.")
          return Effect.fail(new StoreError({ operation: "TokenStore.createCode", cause }))
        }
        const stored = {
          grant,
          codes: new Set([code.hash]),
          access: new Set<TokenHash>(),
          refresh: new Set<TokenHash>()
        }
        grants.set(grant.id, stored)
        if (grant.revoked_at !== null) endRevoked(stored, grant.revoked_at)
        const ending = endAt(code.expires_at + codeMemory, () => {
          // Nothing was ever issued for one that was not used. A revoked grant has an ending of its own.
          if (codes.get(code.hash)?.used === false && isAlive(grant.id)) grants.delete(grant.id)
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
        if (stored === undefined || stored.used || !isAlive(stored.code.grant_id)) return false
        stored.used = true
        store(issued)
        return true
      }),

    findAccessToken: (hash) =>
      Effect.succeed(withGrant(accessTokens.get(hash)?.token, (token, grant) => ({ token, grant }))),

    findRefreshToken: (hash) =>
      Effect.succeed(withGrant(refreshTokens.get(hash)?.token, (token, grant) => ({ token, grant }))),

    refresh: (presented, issued, now) => {
      const stored = refreshTokens.get(presented)
      if (stored === undefined || stored.token.retired_at !== null || !isAlive(stored.token.grant_id)) return no
      if (issued.refresh !== null && stored.token.rotated_at === null) {
        stored.token = { ...stored.token, rotated_at: now }
        stored.ending = endAt(now + rotatedMemory, () => deleteRefresh(presented))
      }
      store(issued)
      return yes
    },

    retireRefreshToken: (hash, now) =>
      Effect.sync(() => {
        const stored = refreshTokens.get(hash)
        if (stored === undefined || stored.token.rotated_at === null || stored.token.retired_at !== null) return
        stored.token = { ...stored.token, retired_at: now }
      }),

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
          .map(({ grant }) => grant)
          .toSorted((a, b) => a.created_at - b.created_at)
          .slice(0, limit)
      ),

    revokeGrantsOf: (user, client, now) =>
      Effect.sync(() => {
        const ended = activeOf(user).filter(({ grant }) => client === null || grant.client_id === client)
        for (const stored of ended) revoke(stored, now)
        return ended.filter(isRefreshable).length
      }),

    revokeAccessToken: (hash) => Effect.sync(() => void deleteAccess(hash)),

    purgeExpired: (now, limit) =>
      Effect.sync(() => {
        let purged = 0
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
