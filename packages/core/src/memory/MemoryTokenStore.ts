/**
 * Grants, codes and tokens in memory.
 */
import { Effect, Layer } from "effect"
import type { GrantId } from "../domain/Ids.ts"
import type { AccessToken, AuthorizationCode, Grant, RefreshToken, TokenHash } from "../domain/Token.ts"
import { StoreError } from "../ports/StoreError.ts"
import type { IssuedTokens } from "../ports/TokenStore.ts"
import { TokenStore } from "../ports/TokenStore.ts"
import { codeMemory } from "../rules/TokenLife.ts"

interface StoredCode {
  readonly code: AuthorizationCode
  used: boolean
}

const make = Effect.sync(() => {
  const grants = new Map<GrantId, Grant>()
  const codes = new Map<TokenHash, StoredCode>()
  const accessTokens = new Map<TokenHash, AccessToken>()
  const refreshTokens = new Map<TokenHash, RefreshToken>()

  const isAlive = (id: GrantId): boolean => grants.get(id)?.revoked_at === null

  const withGrant = <A extends { readonly grant_id: GrantId }, B>(
    found: A | undefined,
    answer: (found: A, grant: Grant) => B
  ): B | null => {
    const grant = found === undefined ? undefined : grants.get(found.grant_id)
    return found === undefined || grant === undefined ? null : answer(found, grant)
  }

  /** Whether a refresh token was issued for a grant. */
  const isRefreshable = () => {
    const ids = new Set(refreshTokens.values().map(({ grant_id }) => grant_id))
    return ({ id }: Grant): boolean => ids.has(id)
  }

  const store = ({ access, refresh }: IssuedTokens): void => {
    accessTokens.set(access.hash, access)
    if (refresh !== null) refreshTokens.set(refresh.hash, refresh)
  }

  return TokenStore.of({
    createCode: (grant, code) =>
      Effect.suspend(() => {
        if (grants.has(grant.id) || codes.has(code.hash)) {
          const cause = new Error("There is such a grant or code already.")
          return Effect.fail(new StoreError({ operation: "TokenStore.createCode", cause }))
        }
        grants.set(grant.id, grant)
        codes.set(code.hash, { code, used: false })
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
      Effect.sync(() => withGrant(accessTokens.get(hash), (token, grant) => ({ token, grant }))),

    findRefreshToken: (hash) =>
      Effect.sync(() => withGrant(refreshTokens.get(hash), (token, grant) => ({ token, grant }))),

    refresh: (presented, issued, now) =>
      Effect.sync(() => {
        const token = refreshTokens.get(presented)
        if (token === undefined || token.retired_at !== null || !isAlive(token.grant_id)) return false
        if (issued.refresh !== null && token.rotated_at === null) {
          refreshTokens.set(presented, { ...token, rotated_at: now })
        }
        store(issued)
        return true
      }),

    retireRefreshToken: (hash, now) =>
      Effect.sync(() => {
        const token = refreshTokens.get(hash)
        if (token === undefined || token.rotated_at === null || token.retired_at !== null) return
        refreshTokens.set(hash, { ...token, retired_at: now })
      }),

    revokeGrant: (id, now) =>
      Effect.sync(() => {
        const grant = grants.get(id)
        if (grant?.revoked_at === null) grants.set(id, { ...grant, revoked_at: now })
      }),

    revokeGrantsTo: (client, now) =>
      Effect.sync(() => {
        for (const grant of grants.values()) {
          if (grant.client_id === client && grant.revoked_at === null)
            grants.set(grant.id, { ...grant, revoked_at: now })
        }
      }),

    grantsOf: (user, limit) =>
      Effect.sync(() =>
        [...grants.values()]
          .filter(({ revoked_at, user_id }) => user_id === user && revoked_at === null)
          .filter(isRefreshable())
          .toSorted((a, b) => a.created_at - b.created_at)
          .slice(0, limit)
      ),

    revokeGrantsOf: (user, client, now) =>
      Effect.sync(() => {
        const ended = [...grants.values()].filter(
          ({ client_id, revoked_at, user_id }) =>
            user_id === user && revoked_at === null && (client === null || client_id === client)
        )
        for (const grant of ended) grants.set(grant.id, { ...grant, revoked_at: now })
        return ended.filter(isRefreshable()).length
      }),

    revokeAccessToken: (hash) => Effect.sync(() => void accessTokens.delete(hash)),

    purgeExpired: (now, limit) =>
      Effect.sync(() => {
        let purged = 0
        for (const { expires_at, hash } of accessTokens.values()) {
          if (purged === limit) return purged
          if (expires_at >= now) continue
          accessTokens.delete(hash)
          purged++
        }
        for (const { code, used } of codes.values()) {
          if (purged === limit) return purged
          if (code.expires_at >= now - codeMemory) continue
          codes.delete(code.hash)
          // Nothing was ever issued for it.
          if (!used) grants.delete(code.grant_id)
          purged++
        }
        return purged
      })
  })
})

export const layer: Layer.Layer<TokenStore> = Layer.effect(TokenStore, make)
