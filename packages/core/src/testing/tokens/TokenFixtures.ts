/**
 * Grants, codes and tokens to fill a store with.
 */
import { Effect } from "effect"
import { ClientId, GrantId, UserId } from "../../domain/Ids.ts"
import type { AccessToken, AuthorizationCode, Grant, RefreshToken } from "../../domain/Token.ts"
import { TokenHash } from "../../domain/Token.ts"
import type { IssuedTokens } from "../../ports/TokenStore.ts"
import { TokenStore } from "../../ports/TokenStore.ts"
import { start } from "../Fixtures.ts"
import { expectEqual } from "../SuiteCase.ts"

export const hash = (text: string): TokenHash => TokenHash.make(text)

export const newGrant = (id: string, fields: Partial<Grant> = {}): Grant => ({
  id: GrantId.make(id),
  user_id: UserId.make("user"),
  client_id: ClientId.make("client"),
  scope: "public",
  created_at: start,
  revoked_at: null,
  ...fields
})

export const newCode = (grant: Grant, text: string, fields: Partial<AuthorizationCode> = {}): AuthorizationCode => ({
  hash: hash(text),
  grant_id: grant.id,
  client_id: grant.client_id,
  redirect_uri: "https://client.example/cb?x=1",
  redirect_uri_given: true,
  code_challenge: null,
  expires_at: start + 600_000,
  ...fields
})

export const access = (grant: Grant, text: string, fields: Partial<AccessToken> = {}): AccessToken => ({
  hash: hash(text),
  grant_id: grant.id,
  created_at: start,
  expires_at: start + 86_400_000,
  retires: null,
  ...fields
})

export const refresh = (grant: Grant, text: string, fields: Partial<RefreshToken> = {}): RefreshToken => ({
  hash: hash(text),
  grant_id: grant.id,
  created_at: start,
  rotated_at: null,
  retired_at: null,
  ...fields
})

export const issue = (grant: Grant, accessText: string, refreshText: string | null): IssuedTokens => ({
  access: access(grant, accessText),
  refresh: refreshText === null ? null : refresh(grant, refreshText),
  maxAccessTokens: 100
})

/** Fails unless the tokens `aN` and `rN` exist where answer number N says that they were issued, and nowhere else. */
export const expectTokensOf = Effect.fnUntraced(function* (answers: ReadonlyArray<boolean>) {
  const store = yield* TokenStore
  const found = yield* Effect.forEach(answers, (_, n) =>
    Effect.all([store.findAccessToken(hash(`a${n}`)), store.findRefreshToken(hash(`r${n}`))])
  )
  yield* expectEqual(
    "tokens",
    found.map(([a, r]) => [a !== null, r !== null]),
    answers.map((isIssued) => [isIssued, isIssued])
  )
})

/** A grant whose code was redeemed for the tokens `access-ID` and `refresh-ID`. */
export const granted = Effect.fnUntraced(function* (id: string, fields: Partial<Grant> = {}) {
  const store = yield* TokenStore
  const grant = newGrant(id, fields)
  yield* store.createCode(grant, newCode(grant, `code-${id}`))
  yield* store.redeemCode(hash(`code-${id}`), issue(grant, `access-${id}`, `refresh-${id}`), start)
  return grant
})
