/**
 * Rules for tokens of service users, which need no code, and for the ids of assertions.
 */
import { Effect } from "effect"
import { TokenStore } from "../../ports/TokenStore.ts"
import { revokedRetention } from "../../model/TokenValidity.ts"
import { start } from "../Fixtures.ts"
import type { SuiteCase } from "../SuiteCase.ts"
import { concurrently, expectEqual } from "../SuiteCase.ts"
import { access, hash, namedTokens, newGrant } from "./TokenFixtures.ts"

const grant = newGrant("service", { scope: "" })
const issued = (text: string, fields: Parameters<typeof access>[2] = {}, maxAccessTokens = 100) => ({
  access: access(grant, text, { scope: "public", ...fields }),
  maxAccessTokens
})

export const serviceCases: ReadonlyArray<SuiteCase<TokenStore>> = [
  {
    name: "`issue` stores an access token, and its grant only once; the oldest tokens beyond the limit end",
    run: Effect.gen(function* () {
      const store = yield* namedTokens
      for (const text of ["a1", "a2", "a3"]) yield* store.issue(grant, issued(text, {}, 2))
      yield* expectEqual("first", yield* store.findAccessToken(hash("a1")), null)
      for (const text of ["a2", "a3"]) {
        yield* expectEqual(text, yield* store.findAccessToken(hash(text)), { token: issued(text).access, grant })
      }
      yield* expectEqual("has no refresh token", yield* store.grantsOf(grant.user_id, 10), [])
    })
  },
  {
    name: "`issue` for a revoked grant makes it valid without its earlier tokens, and a purge keeps it",
    run: Effect.gen(function* () {
      const store = yield* namedTokens
      yield* store.issue(grant, issued("a1", { expires_at: start + 2 * revokedRetention }))
      yield* expectEqual("revoked", yield* store.revokeGrantsOf(grant.user_id, grant.client_id, start + 1), 0)
      yield* expectEqual("ended", (yield* store.findAccessToken(hash("a1")))?.grant.revoked_at, start + 1)
      yield* store.issue(grant, issued("a2", { expires_at: start + 3 * revokedRetention }))
      yield* store.purgeExpired(start + revokedRetention + 2, 100)
      yield* expectEqual("earlier", yield* store.findAccessToken(hash("a1")), null)
      yield* expectEqual("later", (yield* store.findAccessToken(hash("a2")))?.grant, grant)
    })
  },
  {
    name: "`purgeExpired` deletes the grant with its last access token",
    run: Effect.gen(function* () {
      const store = yield* namedTokens
      yield* store.issue(grant, issued("a1", { expires_at: start + 10 }))
      yield* expectEqual("purged", yield* store.purgeExpired(start + 11, 100), 1)
      yield* store.issue({ ...grant, created_at: start + 20 }, issued("a2"))
      yield* expectEqual("new", (yield* store.findAccessToken(hash("a2")))?.grant.created_at, start + 20)
    })
  },
  {
    name: "`useAssertion` succeeds once of twenty concurrent calls, and again after a purge",
    run: Effect.gen(function* () {
      const store = yield* TokenStore
      const answers = yield* concurrently(20, () => Effect.suspend(() => store.useAssertion("one", start + 10)))
      yield* expectEqual("winners", answers.filter(Boolean).length, 1)
      yield* expectEqual("another", yield* store.useAssertion("two", start + 20), true)
      yield* expectEqual("early", yield* store.purgeExpired(start + 10, 100), 0)
      yield* expectEqual("purged", yield* store.purgeExpired(start + 11, 100), 1)
      yield* expectEqual("one", yield* store.useAssertion("one", start + 30), true)
      yield* expectEqual("two", yield* store.useAssertion("two", start + 30), false)
    })
  }
]
