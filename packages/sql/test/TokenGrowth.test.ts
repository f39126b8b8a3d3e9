/**
 * Over months of use, the database keeps rows only for grants and tokens that are valid or must be remembered.
 */
import type { AuthorizeRequest, TokenResponse } from "@doorhook/core"
import {
  AuthorizationServer,
  AuthorizationSettings,
  Crypto,
  DeliverySettings,
  DirectoryDocument,
  DocumentDirectory,
  Retention,
  Parameters
} from "@doorhook/core"
import { SqliteStore } from "@doorhook/sql"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Redacted, Result } from "effect"
import { TestClock } from "effect/testing"
import { DatabaseSync } from "node:sqlite"
import { temporaryFile } from "./TemporaryFile.ts"

const client_id = "p1"
const redirect_uri = "http://127.0.0.1/cb"
const code_verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
const code_challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
const user = { login: "admin@example.com", password: "correct horse" }

const directory = DirectoryDocument.fromValue({
  clients: [{ id: client_id, name: "Pocket app", redirect_uris: [redirect_uri] }],
  users: [user],
  buildings: [],
  tenants: []
})

/**
 * Opens a store that uses the real clock. A store checks its file every second, so months of virtual time would mean
 * millions of checks.
 */
const storeOn = (filename: string) =>
  Layer.effectContext(TestClock.withLive(Layer.build(Layer.fresh(SqliteStore.layer({ filename })))))

const layerOn = (filename: string) =>
  AuthorizationServer.layer.pipe(
    Layer.provide(DocumentDirectory.layer(Result.getOrThrow(directory))),
    Layer.provideMerge(storeOn(filename)),
    Layer.provideMerge(DeliverySettings.layer()),
    Layer.provide([AuthorizationSettings.layer(), Crypto.layerWebCrypto])
  )

const request = (fields: Readonly<Record<string, string>>) => ({
  parameters: Parameters.fromPairs(Object.entries({ client_id, ...fields })),
  authorization: null,
  address: null
})

const logIn = Effect.gen(function* () {
  const service = yield* AuthorizationServer
  const asked = { response_type: "code", redirect_uri, code_challenge, code_challenge_method: "S256" }
  const check = yield* service.checkAuthorize(request(asked).parameters, null)
  if (check._tag !== "Valid") return assert.fail(check._tag)
  const checked: AuthorizeRequest = check.request
  const result = yield* service.login(checked, { ...user, password: Redacted.make(user.password), address: null })
  if (result._tag !== "LoggedIn") return assert.fail(result._tag)
  return yield* service.token(
    request({ grant_type: "authorization_code", code: result.code, redirect_uri, code_verifier })
  )
})

const refresh = ({ refresh_token }: TokenResponse) =>
  AuthorizationServer.use((service) => service.token(request({ grant_type: "refresh_token", refresh_token })))

/** Lets a day pass, and purges expired rows. */
const endDay = Effect.gen(function* () {
  yield* TestClock.adjust("1 day")
  const round = yield* Effect.forkChild(Retention.purgeExpired, { startImmediately: true })
  while (round.pollUnsafe() === undefined) yield* TestClock.adjust(50)
  yield* Fiber.join(round)
})

const rowsIn = (filename: string) => {
  const db = new DatabaseSync(filename, { readOnly: true })
  const count = (table: string) => Number(db.prepare(`SELECT count(*) AS count FROM ${table}`).get()?.["count"])
  const rows = {
    grants: count("grants"),
    codes: count("codes"),
    access: count("access_tokens"),
    refresh: count("refresh_tokens")
  }
  db.close()
  return rows
}

describe("the rows of tokens", () => {
  it.effect("of a client that refreshes twice a day and logs in and out once do not grow over months", () =>
    Effect.gen(function* () {
      const filename = yield* temporaryFile
      yield* Effect.gen(function* () {
        const service = yield* AuthorizationServer
        let tokens = yield* logIn
        const first = tokens
        const sizes: Array<ReturnType<typeof rowsIn>> = []
        for (let day = 1; day <= 150; day++) {
          for (let n = 0; n < 2; n++) tokens = yield* refresh(tokens)
          const visit = yield* logIn
          yield* service.revoke(request({ token: visit.refresh_token }))
          yield* endDay
          if (day % 50 === 0) sizes.push(rowsIn(filename))
        }
        const [early, ...later] = sizes
        assert.strictEqual(early?.refresh, 50 * 2 + 1)
        for (const rows of later) {
          // Of the refresh tokens, the newest one and those rotated in the last ninety days are left.
          assert.deepStrictEqual(rows, { grants: 1, codes: 0, access: 0, refresh: 1 + 89 * 2 })
        }
        // The newest token still works. Refreshing with a purged token is refused and revokes nothing.
        const forgotten = yield* Effect.flip(refresh(first))
        assert.include(forgotten.message, "unknown")
        yield* refresh(tokens)
      }).pipe(Effect.provide(layerOn(filename)))
    })
  )
})
