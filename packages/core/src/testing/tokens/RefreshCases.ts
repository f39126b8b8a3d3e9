/**
 * Rules for `TokenStore.refresh`, for the rotation of refresh tokens, and for the retirement of rotated tokens.
 */
import { Effect } from "effect"
import { TokenStore } from "../../ports/TokenStore.ts"
import { start } from "../Fixtures.ts"
import type { SuiteCase } from "../SuiteCase.ts"
import { concurrently, expectEqual, expectPresent } from "../SuiteCase.ts"
import { access, expectTokensOf, granted, hash, issue, namedTokens, refresh } from "./TokenFixtures.ts"

export const refreshCases: ReadonlyArray<SuiteCase<TokenStore>> = [
  {
    name: "`refresh` without a new refresh token stores the access token and the time of use",
    run: Effect.gen(function* () {
      const store = yield* namedTokens
      const grant = yield* granted("g")
      const presented = hash("refresh-g")
      yield* expectEqual("answer", yield* store.refresh(presented, issue(grant, "a2", null), start + 1), true)
      yield* expectEqual("new", (yield* store.findAccessToken(hash("a2")))?.token, access(grant, "a2"))
      yield* expectEqual("old", (yield* store.findAccessToken(hash("access-g")))?.token, access(grant, "access-g"))
      const used = refresh(grant, "refresh-g", { used_at: start + 1 })
      yield* expectEqual("presented", (yield* store.findRefreshToken(presented))?.token, used)
    })
  },
  {
    name: "an access token is found by its number, whatever hash is presented, and numbers are ascending",
    run: Effect.gen(function* () {
      const store = yield* TokenStore
      const grant = yield* granted("g")
      const presented = hash("refresh-g")
      const bound = { scope: "doors:open", resource: "https://api.example/doors" }
      const narrowed = { ...issue(grant, "a2", null), access: access(grant, "a2", bound) }
      const second = yield* store.refresh(presented, narrowed, start + 1)
      const third = yield* store.refresh(presented, issue(grant, "a3", null), start + 2)
      const seq = yield* expectPresent("second", second)
      yield* expectEqual("number", Number.isSafeInteger(seq) && seq > 0, true)
      yield* expectEqual("grows", (third ?? 0) > seq, true)
      const found = yield* store.findAccessToken({ seq, hash: hash("whatever") })
      yield* expectEqual("found", found, { token: { ...narrowed.access, seq }, grant })
      const far = yield* store.findAccessToken({ seq: Number.MAX_SAFE_INTEGER, hash: hash("a2") })
      yield* expectEqual("another number", far, null)
    })
  },
  {
    name: "`refresh` with a new refresh token rotates the presented token, which is accepted until it is retired",
    run: Effect.gen(function* () {
      const store = yield* namedTokens
      const grant = yield* granted("g")
      const presented = hash("refresh-g")
      const rotatedAt = Effect.suspend(() =>
        Effect.map(store.findRefreshToken(presented), (found) => found?.token.rotated_at)
      )
      yield* expectEqual("rotated", yield* store.refresh(presented, issue(grant, "a2", "r2"), start + 10), true)
      yield* expectEqual("since", yield* rotatedAt, start + 10)
      yield* expectEqual("successor", (yield* store.findRefreshToken(hash("r2")))?.token, refresh(grant, "r2"))
      yield* expectEqual("once more", yield* store.refresh(presented, issue(grant, "a3", "r3"), start + 20), true)
      yield* expectEqual("still since", yield* rotatedAt, start + 10)
      yield* store.retireRefreshToken(presented, start + 30)
      const retired = (yield* store.findRefreshToken(presented))?.token
      yield* expectEqual("retired", [retired?.rotated_at, retired?.retired_at], [start + 10, start + 30])
      yield* store.retireRefreshToken(presented, start + 40)
      yield* expectEqual("since", (yield* store.findRefreshToken(presented))?.token.retired_at, start + 30)
      yield* expectEqual("refused", yield* store.refresh(presented, issue(grant, "a4", "r4"), start + 50), false)
      yield* expectEqual("access token", yield* store.findAccessToken(hash("a4")), null)
      yield* expectEqual("refresh token", yield* store.findRefreshToken(hash("r4")), null)
      yield* expectEqual("successor", yield* store.refresh(hash("r2"), issue(grant, "a5", "r5"), start + 50), true)
    })
  },
  {
    name: "`refresh` ends the oldest access tokens of the grant beyond the limit, and no tokens of other grants",
    run: Effect.gen(function* () {
      const store = yield* namedTokens
      const grant = yield* granted("g")
      yield* granted("other")
      const named = (n: number) => ({
        access: access(grant, `a${n}`, { created_at: start + n, expires_at: start + 86_400_000 + n }),
        refresh: null
      })
      const living = Effect.forEach(["access-g", "a1", "a2", "a3", "a4", "access-other"], (text) =>
        Effect.map(store.findAccessToken(hash(text)), (found) => found !== null)
      )
      const add = (n: number, maxAccessTokens: number) =>
        store.refresh(hash("refresh-g"), { ...named(n), maxAccessTokens }, start + n)
      yield* add(1, 3)
      yield* add(2, 3)
      yield* expectEqual("living access tokens", yield* living, [true, true, true, false, false, true])
      yield* add(3, 3)
      yield* expectEqual("one more", yield* living, [false, true, true, true, false, true])
      yield* add(4, 1)
      yield* expectEqual("a lower limit", yield* living, [false, false, false, false, true, true])
    })
  },
  {
    name: "after twenty concurrent refreshes of one grant, the number of access tokens is at its limit",
    run: Effect.gen(function* () {
      const store = yield* namedTokens
      const grant = yield* granted("g")
      const issued = (n: number) => ({ ...issue(grant, `a${n}`, `r${n}`), maxAccessTokens: 7 })
      yield* store.refresh(hash("refresh-g"), { ...issue(grant, "a", "r"), maxAccessTokens: 7 }, start)
      // The calls alternate between two refresh tokens of the grant.
      const answers = yield* concurrently(20, (n) =>
        store.refresh(hash(n % 2 === 0 ? "refresh-g" : "r"), issued(n), start + n)
      )
      yield* expectEqual("answers", new Set(answers), new Set([true]))
      const all = ["access-g", "a", ...answers.map((_, n) => `a${n}`)]
      const found = yield* Effect.forEach(all, (text) => store.findAccessToken(hash(text)))
      yield* expectEqual("left", found.filter((each) => each !== null).length, 7)
    })
  },
  {
    name: "each of twenty concurrent calls with the same refresh token gets tokens, and the token is rotated once",
    run: Effect.gen(function* () {
      const store = yield* namedTokens
      const grant = yield* granted("g")
      const presented = hash("refresh-g")
      const rotatedAt = Effect.suspend(() =>
        Effect.map(store.findRefreshToken(presented), (found) => found?.token.rotated_at ?? 0)
      )
      const times = yield* concurrently(20, (n) =>
        store.refresh(presented, issue(grant, `a${n}`, `r${n}`), start + n).pipe(Effect.andThen(rotatedAt))
      )
      yield* expectTokensOf(times.map(() => true))
      yield* expectEqual("rotated at", new Set(times), new Set([yield* rotatedAt]))
    })
  },
  ...(["its grant is revoked", "it is retired"] as const).map((end) => ({
    name: `of concurrent refreshes with a token, the calls made before ${end} succeed, and later calls fail`,
    run: Effect.gen(function* () {
      const store = yield* namedTokens
      const grant = yield* granted("g")
      const presented = hash("refresh-g")
      yield* store.refresh(presented, issue(grant, "a", "r"), start + 1)
      const ending = Effect.suspend(() =>
        end === "it is retired"
          ? store.retireRefreshToken(presented, start + 2)
          : store.revokeGrant(grant.id, start + 2)
      )
      const ask = (n: number) => store.refresh(presented, issue(grant, `a${n}`, `r${n}`), start + 2)
      const answers = yield* concurrently(21, (n) => (n === 10 ? Effect.as(ending, false) : ask(n)))
      yield* expectTokensOf([...answers, yield* ask(21)])
      yield* expectEqual("afterwards", yield* ask(22), false)
    })
  })),
  {
    name: "`retireRefreshToken` retires a refresh token only if it was rotated",
    run: Effect.gen(function* () {
      const store = yield* namedTokens
      const grant = yield* granted("g")
      yield* store.retireRefreshToken(hash("refresh-g"), start + 1)
      yield* store.retireRefreshToken(hash("unknown"), start + 1)
      yield* expectEqual(
        "token",
        (yield* store.findRefreshToken(hash("refresh-g")))?.token,
        refresh(grant, "refresh-g")
      )
    })
  },
  {
    name: "an unknown refresh token, or one of a revoked grant, can't be used for a refresh",
    run: Effect.gen(function* () {
      const store = yield* namedTokens
      const grant = yield* granted("g")
      yield* expectEqual("unknown", yield* store.refresh(hash("r"), issue(grant, "a2", null), start), false)
      yield* store.revokeGrant(grant.id, start + 1)
      yield* expectEqual("revoked", yield* store.refresh(hash("refresh-g"), issue(grant, "a2", "r2"), start + 2), false)
      yield* expectEqual("access token", yield* store.findAccessToken(hash("a2")), null)
      yield* expectEqual("refresh token", yield* store.findRefreshToken(hash("r2")), null)
      const token = (yield* store.findRefreshToken(hash("refresh-g")))?.token
      yield* expectEqual("rotated", token?.rotated_at, null)
    })
  }
]
