/**
 * Tokens on SQLite. Many requests share a transaction and a sync, and none returns before its token is on disk.
 */
import { AuthorizationCode, ClientId, Grant, GrantId, StoreError, TokenHash, TokenStore, UserId } from "@doorhook/core"
import type { IssuedTokens } from "@doorhook/core"
import { SqliteStore } from "@doorhook/sql"
import { assert, describe, it } from "@effect/vitest"
import type { Scope } from "effect"
import { Effect, Exit, Fiber, Layer } from "effect"
import { DatabaseSync } from "node:sqlite"
import type { Done } from "./HeldDisk.ts"
import { eio, heldDisk, sync, turns, until } from "./HeldDisk.ts"
import { onStore, tamper } from "./OpenedStore.ts"
import { temporaryFile } from "./TemporaryFile.ts"

const hash = (text: string) => TokenHash.make(text)

const grant = Grant.make({
  id: GrantId.make("g"),
  user_id: UserId.make("user"),
  client_id: ClientId.make("client"),
  scope: "public",
  resource: "",
  created_at: 1_000,
  revoked_at: null
})

const code = AuthorizationCode.make({
  hash: hash("code"),
  grant_id: grant.id,
  client_id: grant.client_id,
  redirect_uri: "https://client.example/cb",
  redirect_uri_given: true,
  code_challenge: null,
  expires_at: 2_000
})

const issue = (name: string, refresh: string | null = null): IssuedTokens => ({
  access: {
    hash: hash(name),
    grant_id: grant.id,
    scope: null,
    resource: null,
    created_at: 1_000,
    expires_at: 9_000,
    retires: null
  },
  refresh:
    refresh === null
      ? null
      : {
          hash: hash(refresh),
          grant_id: grant.id,
          created_at: 1_000,
          used_at: null,
          rotated_at: null,
          retired_at: null
        },
  maxAccessTokens: 100
})

/** Creates a grant with the tokens `access` and `refresh`. */
const granted = Effect.gen(function* () {
  const store = yield* TokenStore
  yield* store.createCode(grant, code)
  yield* store.redeemCode(hash("code"), issue("access", "refresh"), 1_000)
  return store
})

/** Returns the names of the access tokens in a file. */
const storedIn = (filename: string) => {
  const db = new DatabaseSync(filename, { readOnly: true })
  const names = db
    .prepare("SELECT hash FROM access_tokens ORDER BY seq")
    .all()
    .map((row) => row["hash"])
  db.close()
  return names
}

/** Runs a function on a store with a grant, on a disk whose syncs the test completes. */
const onHeldDisk = <A, E>(
  use: (store: TokenStore["Service"], filename: string, asked: Array<Done>) => Effect.Effect<A, E, Scope.Scope>
) =>
  Effect.gen(function* () {
    const filename = yield* temporaryFile
    const services = yield* Layer.build(Layer.fresh(SqliteStore.layer({ filename })))
    const store = yield* Effect.provideContext(granted, services)
    const { asked } = yield* heldDisk
    return yield* use(store, filename, asked)
  })

describe("refreshes on SQLite", () => {
  it.effect("at the same time share a transaction and a sync, and return after it", () =>
    onHeldDisk((store, filename, asked) =>
      Effect.gen(function* () {
        const names = Array.from({ length: 32 }, (_, n) => `a${n}`)
        const refreshes = yield* Effect.forEach(names, (name) =>
          Effect.forkChild(store.refresh(hash("refresh"), issue(name), 1_001), { startImmediately: true })
        )
        yield* until(() => asked.length > 0)
        yield* turns
        assert.lengthOf(asked, 1)
        assert.deepStrictEqual(storedIn(filename), ["access", ...names])
        assert.isTrue(refreshes.every((fiber) => fiber.pollUnsafe() === undefined))
        yield* sync(asked)
        const seqs = yield* Effect.forEach(refreshes, (fiber) => Fiber.join(fiber))
        assert.deepStrictEqual(
          seqs,
          names.map((_, n) => n + 2)
        )
        assert.lengthOf(asked, 0)
      })
    )
  )

  it.effect("fail when the sync fails, all of them", () =>
    onHeldDisk((store, _, asked) =>
      Effect.gen(function* () {
        const refreshes = yield* Effect.forEach(["a1", "a2"], (name) =>
          Effect.forkChild(Effect.exit(store.refresh(hash("refresh"), issue(name), 1_001)), { startImmediately: true })
        )
        yield* sync(asked, eio)
        for (const fiber of refreshes) {
          const exit = yield* Fiber.join(fiber)
          assert.isTrue(Exit.isFailure(exit))
        }
        // Until the disk works again, every refresh is refused.
        const refused = yield* Effect.flip(store.refresh(hash("refresh"), issue("a3"), 1_002))
        assert.instanceOf(refused, StoreError)
      })
    )
  )

  it.effect("of callers that leave before their turn store nothing and block no others", () =>
    onHeldDisk((store, filename, asked) =>
      Effect.gen(function* () {
        const gone = yield* Effect.forkChild(store.refresh(hash("refresh"), issue("gone"), 1_001), {
          startImmediately: true
        })
        const kept = yield* Effect.forkChild(store.refresh(hash("refresh"), issue("kept"), 1_001), {
          startImmediately: true
        })
        yield* Fiber.interrupt(gone)
        yield* sync(asked)
        assert.strictEqual(yield* Fiber.join(kept), 2)
        assert.deepStrictEqual(storedIn(filename), ["access", "kept"])
      })
    )
  )

  it.effect("that are refused wait for the commit that caused the refusal", () =>
    onHeldDisk((store, _, asked) =>
      Effect.gen(function* () {
        const revoking = yield* Effect.forkChild(store.revokeGrant(grant.id, 1_001), { startImmediately: true })
        yield* until(() => asked.length > 0)
        const refresh = yield* Effect.forkChild(store.refresh(hash("refresh"), issue("late"), 1_002), {
          startImmediately: true
        })
        yield* turns
        assert.isUndefined(refresh.pollUnsafe())
        // The refresh arrived during the sync of the revocation, so it waits for the next sync.
        yield* sync(asked)
        yield* Fiber.join(revoking)
        yield* sync(asked)
        assert.isNull(yield* Fiber.join(refresh))
      })
    )
  )

  it.effect("do not affect each other if one can't be stored", () =>
    Effect.gen(function* () {
      const filename = yield* temporaryFile
      yield* onStore(
        { filename },
        Effect.gen(function* () {
          const store = yield* granted
          // The second request would store a refresh token that already exists.
          const exits = yield* Effect.forEach(
            [issue("a1", "r1"), issue("a2", "refresh"), issue("a3", "r3")],
            (issued) => Effect.exit(store.refresh(hash("refresh"), issued, 1_001)),
            { concurrency: "unbounded" }
          )
          assert.deepStrictEqual(exits.map(Exit.isSuccess), [true, false, true])
          assert.deepStrictEqual(storedIn(filename), ["access", "a1", "a3"])
        })
      )
    })
  )
})

describe("a damaged row of a token", () => {
  for (const [what, damage] of [
    ["an empty hash", "UPDATE access_tokens SET hash = ''"],
    ["a grant without a user", "UPDATE grants SET user_id = ''"],
    ["a grant without a client", "UPDATE grants SET client_id = ''"]
  ] as const) {
    it.effect(`is refused with advice: ${what}`, () =>
      Effect.gen(function* () {
        const filename = yield* temporaryFile
        yield* onStore({ filename }, granted)
        yield* tamper(filename, damage)
        const error = yield* onStore(
          { filename },
          Effect.flatMap(TokenStore, (store) => Effect.flip(store.findAccessToken({ seq: 1, hash: hash("access") })))
        )
        assert.include(error.message, "a stored row is damaged or was changed by another program")
      })
    )
  }
})
