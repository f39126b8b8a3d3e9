/**
 * Rules for authorization codes, each of which can be redeemed once.
 */
import { Effect } from "effect"
import type { TokenStore } from "../../ports/TokenStore.ts"
import { start } from "../Fixtures.ts"
import type { SuiteCase } from "../SuiteCase.ts"
import { concurrently, expectEqual } from "../SuiteCase.ts"
import {
  access,
  expectTokensOf,
  granted,
  hash,
  issue,
  namedTokens,
  newCode,
  newGrant,
  refresh
} from "./TokenFixtures.ts"

export const codeCases: ReadonlyArray<SuiteCase<TokenStore>> = [
  {
    name: "a stored code is found unchanged, with its grant",
    run: Effect.gen(function* () {
      const store = yield* namedTokens
      const grant = newGrant("g", {
        scope: "",
        resource: "https://a.example https://b.example",
        created_at: 1_893_456_000_123
      })
      const code = newCode(grant, "c", { redirect_uri_given: false, code_challenge: "c".repeat(43) })
      yield* store.createCode(grant, code)
      yield* expectEqual("found", yield* store.findCode(hash("c")), { code, grant, isUsed: false })
      yield* expectEqual("unknown", yield* store.findCode(hash("C")), null)
    })
  },
  {
    name: "redeeming a code stores the issued tokens",
    run: Effect.gen(function* () {
      const store = yield* namedTokens
      const grant = newGrant("g")
      yield* store.createCode(grant, newCode(grant, "c"))
      const issued = {
        ...issue(grant, "a", "r"),
        access: access(grant, "a", { retires: hash("x"), resource: "https://a.example" })
      }
      yield* expectEqual("redeemed", yield* store.redeemCode(hash("c"), issued, start + 1), true)
      yield* expectEqual("access token", yield* store.findAccessToken(hash("a")), { token: issued.access, grant })
      yield* expectEqual("refresh token", yield* store.findRefreshToken(hash("r")), {
        token: refresh(grant, "r"),
        grant
      })
    })
  },
  {
    name: "a code can be redeemed once; a second redemption stores nothing, and the code can still be found",
    run: Effect.gen(function* () {
      const store = yield* namedTokens
      const grant = yield* granted("g")
      yield* expectEqual("again", yield* store.redeemCode(hash("code-g"), issue(grant, "a2", "r2"), start + 1), false)
      yield* expectEqual("access token", yield* store.findAccessToken(hash("a2")), null)
      yield* expectEqual("refresh token", yield* store.findRefreshToken(hash("r2")), null)
      const found = yield* store.findCode(hash("code-g"))
      yield* expectEqual("code", [found?.code.grant_id, found?.isUsed], [grant.id, true])
      yield* expectEqual("unknown", yield* store.redeemCode(hash("c"), issue(grant, "a3", "r3"), start), false)
      yield* expectEqual("issued for an unknown code", yield* store.findAccessToken(hash("a3")), null)
    })
  },
  {
    name: "of twenty concurrent redemptions of a code, one succeeds, and only its tokens exist",
    run: Effect.gen(function* () {
      const store = yield* namedTokens
      const grant = newGrant("g")
      yield* store.createCode(grant, newCode(grant, "c"))
      const answers = yield* concurrently(20, (n) => store.redeemCode(hash("c"), issue(grant, `a${n}`, `r${n}`), start))
      yield* expectEqual("winners", answers.filter(Boolean).length, 1)
      yield* expectTokensOf(answers)
    })
  },
  {
    name: "a code of a revoked grant can't be redeemed",
    run: Effect.gen(function* () {
      const store = yield* namedTokens
      const grant = newGrant("g")
      yield* store.createCode(grant, newCode(grant, "c"))
      yield* store.revokeGrant(grant.id, start + 5)
      yield* expectEqual("redeemed", yield* store.redeemCode(hash("c"), issue(grant, "a", "r"), start + 6), false)
      yield* expectEqual("access token", yield* store.findAccessToken(hash("a")), null)
      yield* expectEqual("revoked", (yield* store.findCode(hash("c")))?.grant.revoked_at, start + 5)
    })
  }
]
