/**
 * Rules for the revocation, expiry and purging of tokens.
 */
import { Effect } from "effect"
import { ClientId, GrantId, UserId } from "../../model/Ids.ts"
import { TokenStore } from "../../ports/TokenStore.ts"
import { codeReuseWindow, revokedRetention, rotatedRetention } from "../../model/TokenValidity.ts"
import { start } from "../Fixtures.ts"
import type { SuiteCase } from "../SuiteCase.ts"
import { expectEqual, expectPresent } from "../SuiteCase.ts"
import { access, granted, hash, issue, namedTokens, newCode, newGrant, refresh } from "./TokenFixtures.ts"

/** Returns the grants of a user without their use. */
const grantsOf = (store: Pick<TokenStore["Service"], "grantsOf">, user: UserId, limit: number) =>
  Effect.map(
    Effect.suspend(() => store.grantsOf(user, limit)),
    (used) => used.map(({ grant }) => grant)
  )

export const revokeCases: ReadonlyArray<SuiteCase<TokenStore>> = [
  {
    name: "`revokeGrant` revokes the code and all tokens of the grant, and nothing of other grants",
    run: Effect.gen(function* () {
      const store = yield* namedTokens
      const grant = yield* granted("g")
      const other = yield* granted("other")
      yield* store.refresh(hash("refresh-g"), issue(grant, "a2", "r2"), start + 1)
      yield* store.revokeGrant(grant.id, start + 5)
      yield* store.revokeGrant(grant.id, start + 6)
      yield* store.revokeGrant(GrantId.make("unknown"), start + 6)
      const found = yield* Effect.all([
        store.findCode(hash("code-g")),
        store.findAccessToken(hash("access-g")),
        store.findAccessToken(hash("a2")),
        store.findRefreshToken(hash("refresh-g")),
        store.findRefreshToken(hash("r2"))
      ])
      const revoked = { ...grant, revoked_at: start + 5 }
      yield* expectEqual("by id", yield* store.findGrant(grant.id), revoked)
      yield* expectEqual("other by id", yield* store.findGrant(other.id), other)
      yield* expectEqual("unknown", yield* store.findGrant(GrantId.make("unknown")), null)
      for (const each of found) yield* expectEqual("grant", each?.grant, revoked)
      yield* expectEqual("other grant", (yield* store.findAccessToken(hash("access-other")))?.grant, other)
    })
  },
  {
    name: "`revokeGrantsTo` revokes all grants of a client, and no others",
    run: Effect.gen(function* () {
      const store = yield* namedTokens
      const grant = yield* granted("g")
      const again = yield* granted("again")
      const theirs = newGrant("theirs", { client_id: ClientId.make("another client") })
      yield* store.createCode(theirs, newCode(theirs, "their code"))
      yield* store.revokeGrantsTo(grant.client_id, start + 5)
      const revoked = yield* Effect.forEach(["access-g", "access-again"], (name) => store.findAccessToken(hash(name)))
      yield* expectEqual(
        "the user's grants to the client",
        revoked.map((found) => [found?.grant.id, found?.grant.revoked_at]),
        [
          [grant.id, start + 5],
          [again.id, start + 5]
        ]
      )
      const other = yield* store.findCode(hash("their code"))
      yield* expectEqual("to another", other?.grant, theirs)
    })
  },
  {
    name: "`grantsOf` lists a user's grants that can be refreshed, oldest first",
    run: Effect.gen(function* () {
      const store = yield* namedTokens
      const second = yield* granted("a second", { created_at: start + 20, client_id: ClientId.make("another client") })
      const first = yield* granted("first", { created_at: start + 10, scope: "" })
      const third = yield* granted("b third", { created_at: start + 30 })
      const revoked = yield* granted("revoked")
      yield* store.revokeGrant(revoked.id, start + 40)
      yield* granted("theirs", { user_id: UserId.make("another user") })
      const unredeemed = newGrant("unredeemed")
      yield* store.createCode(unredeemed, newCode(unredeemed, "code"))
      yield* store.refresh(hash("refresh-first"), issue(first, "a2", "r2"), start + 50)
      const user = first.user_id
      yield* expectEqual("grants", yield* grantsOf(store, user, 10), [first, second, third])
      yield* expectEqual("at most two", yield* grantsOf(store, user, 2), [first, second])
      yield* store.refresh(hash("refresh-first"), issue(first, "used", null), start + 40)
      yield* store.refresh(hash("refresh-b third"), issue(third, "new", "rotated"), start + 50)
      const uses = (yield* store.grantsOf(user, 10)).map(({ last_used_at }) => last_used_at)
      yield* expectEqual("last use", uses, [start + 40, start, start])
      // Access tokens have expired by then; refresh tokens do not expire.
      yield* store.purgeExpired(start + 1_000_000_000_000, 1_000)
      yield* expectEqual("much later", yield* grantsOf(store, user, 10), [first, second, third])
      yield* expectEqual("of nobody", yield* grantsOf(store, UserId.make("nobody"), 10), [])
    })
  },
  {
    name: "`revokeGrantsOf` revokes all grants of a user, and returns how many could be refreshed",
    run: Effect.gen(function* () {
      const store = yield* namedTokens
      const one = yield* granted("one")
      yield* granted("two", { client_id: ClientId.make("another client") })
      yield* store.refresh(hash("refresh-one"), issue(one, "a2", "r2"), start + 1)
      const gone = yield* granted("gone")
      yield* store.revokeGrant(gone.id, start + 2)
      const theirs = yield* granted("theirs", { user_id: UserId.make("another user") })
      const unredeemed = newGrant("unredeemed")
      yield* store.createCode(unredeemed, newCode(unredeemed, "code"))
      const user = one.user_id
      yield* expectEqual("ended", yield* store.revokeGrantsOf(user, null, start + 5), 2)
      yield* expectEqual("left", yield* grantsOf(store, user, 10), [])
      const dead = yield* Effect.forEach(["refresh-one", "r2", "refresh-two"], (name) =>
        store.refresh(hash(name), issue(one, `new-${name}`, null), start + 6)
      )
      yield* expectEqual("refreshes", dead, [false, false, false])
      yield* expectEqual("access", (yield* store.findAccessToken(hash("access-two")))?.grant.revoked_at, start + 5)
      yield* expectEqual("code", yield* store.redeemCode(hash("code"), issue(unredeemed, "a", "r"), start + 6), false)
      const before = yield* store.findAccessToken(hash("access-gone"))
      yield* expectEqual("since before", before?.grant.revoked_at, start + 2)
      yield* expectEqual("another's", (yield* store.findAccessToken(hash("access-theirs")))?.grant, theirs)
      yield* expectEqual("again", yield* store.revokeGrantsOf(user, null, start + 7), 0)
    })
  },
  {
    name: "`revokeGrantsOf` with a client revokes only the user's grants to this client",
    run: Effect.gen(function* () {
      const store = yield* namedTokens
      const client_id = ClientId.make("another client")
      const kept = yield* granted("kept")
      yield* granted("old phone", { client_id })
      yield* granted("new phone", { client_id })
      const theirs = yield* granted("theirs", { client_id, user_id: UserId.make("another user") })
      const unknown = ClientId.make("unknown")
      yield* expectEqual("to none", yield* store.revokeGrantsOf(kept.user_id, unknown, start + 1), 0)
      yield* expectEqual("to one", yield* store.revokeGrantsOf(kept.user_id, client_id, start + 2), 2)
      yield* expectEqual("left", yield* grantsOf(store, kept.user_id, 10), [kept])
      yield* expectEqual("another's", yield* grantsOf(store, theirs.user_id, 10), [theirs])
    })
  },
  {
    name: "`revokeAccessToken` revokes the given access token and no other token",
    run: Effect.gen(function* () {
      const store = yield* namedTokens
      const grant = yield* granted("g")
      yield* store.refresh(hash("refresh-g"), issue(grant, "a2", null), start + 1)
      yield* store.revokeAccessToken(hash("access-g"))
      yield* store.revokeAccessToken(hash("unknown"))
      yield* expectEqual("revoked", yield* store.findAccessToken(hash("access-g")), null)
      yield* expectEqual("other", (yield* store.findAccessToken(hash("a2")))?.grant, grant)
      yield* expectEqual("refresh token", (yield* store.findRefreshToken(hash("refresh-g")))?.grant, grant)
    })
  },
  {
    name: "`revokeAccessToken` requires the right hash and, if the token has a number, the right number",
    run: Effect.gen(function* () {
      const store = yield* TokenStore
      const grant = yield* granted("g")
      const seq = yield* expectPresent(
        "number",
        yield* store.refresh(hash("refresh-g"), issue(grant, "a2", null), start)
      )
      const find = Effect.suspend(() => store.findAccessToken({ seq, hash: hash("a2") }))
      yield* store.revokeAccessToken({ seq, hash: hash("another") })
      yield* expectEqual("still there", (yield* find)?.grant, grant)
      yield* store.revokeAccessToken({ seq, hash: hash("a2") })
      yield* expectEqual("revoked", yield* find, null)
    })
  }
]

export const purgeCases: ReadonlyArray<SuiteCase<TokenStore>> = [
  {
    name: "`purgeExpired` deletes expired access tokens in batches, and keeps refresh tokens that were not rotated",
    run: Effect.gen(function* () {
      const store = yield* namedTokens
      const grant = yield* granted("g")
      const old = Array.from({ length: 7 }, (_, index) => `old-${index}`)
      for (const text of old) {
        const issued = { ...issue(grant, text, null), access: access(grant, text, { expires_at: start + 100 }) }
        yield* store.refresh(hash("refresh-g"), issued, start)
      }
      yield* expectEqual("exactly at their expiry", yield* store.purgeExpired(start + 100, 100), 0)
      const purge = store.purgeExpired(start + 101, 3)
      yield* expectEqual("batches", [yield* purge, yield* purge, yield* purge, yield* purge], [3, 3, 1, 0])
      for (const text of old) yield* expectEqual(text, yield* store.findAccessToken(hash(text)), null)
      yield* expectEqual("living", (yield* store.findAccessToken(hash("access-g")))?.grant, grant)
      yield* store.purgeExpired(start + 1_000_000_000_000, 1_000)
      yield* expectEqual("access token after many years", yield* store.findAccessToken(hash("access-g")), null)
      yield* expectEqual(
        "refresh token after many years",
        (yield* store.findRefreshToken(hash("refresh-g")))?.grant,
        grant
      )
    })
  },
  {
    name: "`purgeExpired` deletes codes one day after their expiry; a used code can be found until then",
    run: Effect.gen(function* () {
      const store = yield* namedTokens
      yield* granted("used")
      const unused = newGrant("unused")
      yield* store.createCode(unused, newCode(unused, "code-unused", { expires_at: start + 600_001 }))
      const end = start + 600_000 + codeReuseWindow
      yield* store.purgeExpired(end, 10)
      yield* expectEqual("deleted while reuse is still detected", yield* store.purgeExpired(end, 10), 0)
      yield* expectEqual("used", (yield* store.findCode(hash("code-used"))) === null, false)
      yield* expectEqual("deleted when the first code is due", yield* store.purgeExpired(end + 1, 10), 1)
      yield* expectEqual("used", yield* store.findCode(hash("code-used")), null)
      yield* expectEqual("unused", (yield* store.findCode(hash("code-unused"))) === null, false)
      yield* expectEqual("the second", yield* store.purgeExpired(end + 2, 10), 1)
      yield* expectEqual("unused", yield* store.findCode(hash("code-unused")), null)
      const token = yield* store.findRefreshToken(hash("refresh-used"))
      yield* expectEqual("the refresh token issued for the code", token?.grant.id, GrantId.make("used"))
    })
  },
  {
    name: "`purgeExpired` deletes rotated refresh tokens in batches ninety days after the rotation; they can be found until then",
    run: Effect.gen(function* () {
      const store = yield* namedTokens
      const grant = yield* granted("g")
      const chain = ["refresh-g", ...Array.from({ length: 6 }, (_, n) => `r${n}`), "newest"]
      for (const [at, text] of chain.slice(1).entries()) {
        yield* store.refresh(hash(chain[at] ?? ""), issue(grant, `a-${text}`, text), start + 10)
      }
      yield* store.retireRefreshToken(hash("r0"), start + 20)
      const end = start + 10 + rotatedRetention
      // Purges codes and access tokens first, because they expired long before.
      yield* store.purgeExpired(end, 100)
      const found = yield* Effect.forEach(chain, (text) => store.findRefreshToken(hash(text)))
      yield* expectEqual("found until the end of the ninety days", found.includes(null), false)
      const purge = store.purgeExpired(end + 1, 3)
      yield* expectEqual("batches", [yield* purge, yield* purge, yield* purge, yield* purge], [3, 3, 1, 0])
      const left = yield* Effect.forEach(chain, (text) => store.findRefreshToken(hash(text)))
      yield* expectEqual("left", left.filter((each) => each !== null).length, 1)
      yield* expectEqual("in use", left.at(-1)?.token, refresh(grant, "newest"))
      yield* expectEqual("a replay", yield* store.refresh(hash("r0"), issue(grant, "a", "r"), end + 2), false)
      yield* expectEqual("its use", yield* store.refresh(hash("newest"), issue(grant, "a", "r"), end + 2), true)
    })
  },
  {
    name: "`purgeExpired` deletes a revoked grant with all its data, in batches, after one day",
    run: Effect.gen(function* () {
      const store = yield* namedTokens
      const grant = yield* granted("g")
      const other = yield* granted("other")
      yield* store.refresh(hash("refresh-g"), issue(grant, "a2", "r2"), start + 1)
      const unused = newGrant("unused")
      yield* store.createCode(unused, newCode(unused, "code"))
      yield* store.revokeGrant(grant.id, start + 5)
      yield* store.revokeGrantsOf(unused.user_id, unused.client_id, start + 5)
      yield* store.revokeGrantsTo(other.client_id, start + 6)
      const end = start + 5 + revokedRetention
      yield* store.purgeExpired(end, 100)
      yield* expectEqual("deleted while the grant can still be found", yield* store.purgeExpired(end, 100), 0)
      yield* expectEqual("since", (yield* store.findRefreshToken(hash("r2")))?.grant.revoked_at, start + 5)
      // To delete: three grants, three refresh tokens and three codes.
      const purge = store.purgeExpired(end + 2, 2)
      const batches = yield* Effect.replicateEffect(purge, 6)
      yield* expectEqual("batches", batches, [2, 2, 2, 2, 1, 0])
      const left = yield* Effect.all([
        store.findCode(hash("code-g")),
        store.findCode(hash("code")),
        store.findRefreshToken(hash("refresh-g")),
        store.findRefreshToken(hash("r2")),
        store.findRefreshToken(hash("refresh-other"))
      ])
      yield* expectEqual("left", left, [null, null, null, null, null])
      // `createCode` fails if the grant still exists.
      for (const each of [grant, unused, other]) yield* store.createCode(each, newCode(each, `new-${each.id}`))
    })
  },
  {
    name: "`purgeExpired` counts a revoked grant even if it has no data left, so a full batch means that more may follow",
    run: Effect.gen(function* () {
      const store = yield* namedTokens
      const grants = Array.from({ length: 7 }, (_, n) => newGrant(`g${n}`))
      for (const grant of grants) yield* store.createCode(grant, newCode(grant, `code-${grant.id}`))
      const end = start + 600_000 + codeReuseWindow
      // Once their codes are purged, these revoked grants have no data left.
      for (const { id } of grants) yield* store.revokeGrant(id, end)
      yield* expectEqual("codes", yield* store.purgeExpired(end + 1, 100), 7)
      const purge = store.purgeExpired(end + revokedRetention + 1, 3)
      yield* expectEqual("batches", yield* Effect.replicateEffect(purge, 4), [3, 3, 1, 0])
      for (const grant of grants) yield* store.createCode(grant, newCode(grant, `new-${grant.id}`))
    })
  }
]
