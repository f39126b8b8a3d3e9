/**
 * Grants, codes and tokens that fill a store.
 */
import { Effect } from "effect"
import { ClientId, GrantId, UserId } from "../../model/Ids.ts"
import type { AuthorizationCode, Grant, NewAccessToken, RefreshToken } from "../../model/Token.ts"
import { TokenHash } from "../../model/Token.ts"
import type { StoreError } from "../../ports/StoreError.ts"
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
  resource: "",
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

export const access = (grant: Grant, text: string, fields: Partial<NewAccessToken> = {}): NewAccessToken => ({
  hash: hash(text),
  grant_id: grant.id,
  scope: null,
  resource: null,
  created_at: start,
  expires_at: start + 86_400_000,
  retires: null,
  ...fields
})

export const refresh = (grant: Grant, text: string, fields: Partial<RefreshToken> = {}): RefreshToken => ({
  hash: hash(text),
  grant_id: grant.id,
  created_at: start,
  used_at: null,
  rotated_at: null,
  retired_at: null,
  ...fields
})

export const issue = (grant: Grant, accessText: string, refreshText: string | null): IssuedTokens => ({
  access: access(grant, accessText),
  refresh: refreshText === null ? null : refresh(grant, refreshText),
  maxAccessTokens: 100
})

/** Numbers of the access tokens in each store, by token hash. */
const numbers = new WeakMap<TokenStore["Service"], Map<TokenHash, number>>()

/** How many numbers above the highest known number to try in the search for a token that must not exist. */
const numbersBeyond = 3

/**
 * Wraps the token store so that access tokens are found by hash alone, because cases can't predict the numbers that
 * stores assign.
 */
export const namedTokens = Effect.map(TokenStore, (store) => {
  const known = numbers.get(store) ?? new Map<TokenHash, number>()
  numbers.set(store, known)

  const numbered = (issued: Pick<IssuedTokens, "access">, stored: Effect.Effect<number | null, StoreError>) =>
    Effect.map(stored, (seq) => {
      if (seq !== null) known.set(issued.access.hash, seq)
      return seq !== null
    })

  const findAccessToken = Effect.fnUntraced(function* (named: TokenHash) {
    const last = Math.max(0, ...known.values())
    const possible = known.get(named)
    const seqs = possible === undefined ? Array.from({ length: numbersBeyond }, (_, n) => last + 1 + n) : [possible]
    for (const seq of seqs) {
      const found = yield* store.findAccessToken({ seq, hash: named })
      if (found === null || found.token.hash !== named) continue
      yield* expectEqual("number", found.token.seq, seq)
      const { seq: _, ...token } = found.token
      return { token, grant: found.grant }
    }
    return null
  })

  return {
    ...store,
    redeemCode: (code: TokenHash, issued: IssuedTokens, now: number) =>
      numbered(
        issued,
        Effect.suspend(() => store.redeemCode(code, issued, now))
      ),
    refresh: (presented: TokenHash, issued: IssuedTokens, now: number) =>
      numbered(
        issued,
        Effect.suspend(() => store.refresh(presented, issued, now))
      ),
    issue: (grant: Grant, issued: Omit<IssuedTokens, "refresh">) =>
      numbered(
        issued,
        Effect.suspend(() => store.issue(grant, issued))
      ),
    findAccessToken,
    revokeAccessToken: (named: TokenHash) =>
      store.revokeAccessToken({ seq: known.get(named) ?? Number.MAX_SAFE_INTEGER, hash: named })
  }
})

/** Fails unless the tokens `aN` and `rN` exist for each N whose answer is true, and for no other. */
export const expectTokensOf = Effect.fnUntraced(function* (answers: ReadonlyArray<boolean>) {
  const store = yield* namedTokens
  const found = yield* Effect.forEach(answers, (_, n) =>
    Effect.all([store.findAccessToken(hash(`a${n}`)), store.findRefreshToken(hash(`r${n}`))])
  )
  yield* expectEqual(
    "tokens",
    found.map(([a, r]) => [a !== null, r !== null]),
    answers.map((isIssued) => [isIssued, isIssued])
  )
})

/** Stores a grant with a redeemed code and the tokens `access-ID` and `refresh-ID`. */
export const granted = Effect.fnUntraced(function* (id: string, fields: Partial<Grant> = {}) {
  const store = yield* namedTokens
  const grant = newGrant(id, fields)
  yield* store.createCode(grant, newCode(grant, `code-${id}`))
  yield* store.redeemCode(hash(`code-${id}`), issue(grant, `access-${id}`, `refresh-${id}`), start)
  return grant
})
