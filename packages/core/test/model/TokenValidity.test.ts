import { GrantId, TokenHash, TokenValidity } from "@doorhook/core"
import type { AccessToken, Grant, RefreshToken } from "@doorhook/core"
import { ClientId, UserId } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"

const { isExpired, isActive, isReplay, tokenToRetire, rotationGrace } = TokenValidity

const grant: Grant = {
  id: GrantId.make("g"),
  user_id: UserId.make("u"),
  client_id: ClientId.make("c"),
  scope: "webhooks",
  resource: "",
  created_at: 0,
  revoked_at: null
}
const access: AccessToken = {
  seq: 1,
  hash: TokenHash.make("a"),
  grant_id: grant.id,
  scope: null,
  resource: null,
  created_at: 1_000,
  expires_at: 9_000,
  retires: TokenHash.make("old")
}
const refresh: RefreshToken = {
  hash: TokenHash.make("r"),
  grant_id: grant.id,
  created_at: 0,
  used_at: null,
  rotated_at: null,
  retired_at: null
}

describe("the validity of tokens", () => {
  it("ends for codes and access tokens at their expiry", () => {
    assert.deepStrictEqual(
      [8_999, 9_000, 9_001].map((now) => isExpired(access, now)),
      [false, true, true]
    )
  })

  it("never ends for a refresh token that is not rotated, ends a minute after a rotation, and immediately when retired", () => {
    assert.strictEqual(rotationGrace, 60_000)
    assert.isFalse(isReplay(refresh, Number.MAX_SAFE_INTEGER))
    const rotated = { ...refresh, rotated_at: 5_000 }
    assert.deepStrictEqual(
      [64_999, 65_000].map((now) => isReplay(rotated, now)),
      [false, true]
    )
    assert.isTrue(isReplay({ ...rotated, retired_at: 5_001 }, 5_001))
  })

  it("ends for access and refresh tokens with the grant", () => {
    const revoked = { ...grant, revoked_at: 1 }
    const ofAccess = { kind: "access", token: access } as const
    const ofRefresh = { kind: "refresh", token: refresh } as const
    for (const token of [ofAccess, ofRefresh]) {
      assert.isTrue(isActive({ ...token, grant }, 8_999))
      assert.isFalse(isActive({ ...token, grant: revoked }, 8_999))
    }
    assert.isFalse(isActive({ ...ofAccess, grant }, 9_000))
    assert.isFalse(isActive({ kind: "refresh", token: { ...refresh, retired_at: 1 }, grant }, 2))
  })

  it("ends for a rotated refresh token with the first use of its access token within the grace period", () => {
    assert.strictEqual(tokenToRetire(access, 60_999), access.retires)
    assert.isNull(tokenToRetire(access, 61_000))
    assert.isNull(tokenToRetire({ ...access, retires: null }, 2_000))
  })
})
