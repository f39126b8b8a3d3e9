/**
 * How many SQL statements a refresh costs on SQLite. The count does not depend on the machine, unlike the time.
 */
import {
  AuthorizationServer,
  AuthorizationSettings,
  Clients,
  DirectoryDocument,
  DocumentDirectory,
  Parameters
} from "@doorhook/core"
import { NodeCrypto } from "@doorhook/node"
import { SqliteStore } from "@doorhook/sql"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted, Result } from "effect"
import { DatabaseSync, StatementSync } from "node:sqlite"

const redirect_uri = "https://client.example/cb"
const user = { login: "admin@example.com", password: "correct horse" }
const issuer = "https://doors.example"
const directory = Result.getOrThrow(
  DirectoryDocument.fromValue({
    clients: [{ id: "c1", secret: "s1", name: "Acme", redirect_uris: [redirect_uri] }],
    users: [user]
  })
)

const layerWith = (refreshRotation: "never" | "always") =>
  Layer.merge(AuthorizationServer.layer, Clients.layer).pipe(
    Layer.provide(DocumentDirectory.layer(directory)),
    Layer.provide(Layer.fresh(SqliteStore.layer({ filename: ":memory:" }))),
    Layer.provide([AuthorizationSettings.layer({ refreshRotation }), NodeCrypto.layer])
  )

const requestOf = (fields: Readonly<Record<string, string>>) => ({
  parameters: Parameters.fromPairs(Object.entries(fields)),
  authorization: null,
  address: null,
  issuer
})

/**
 * Returns the statements that a call runs, without those around transactions. The call may do its work before its effect
 * runs.
 */
const statementsOf = Effect.fnUntraced(function* <A, E, R>(call: () => Effect.Effect<A, E, R>) {
  const ran: Array<string> = []
  const restore: Array<() => void> = []
  for (const name of ["all", "get", "run", "iterate"] as const) {
    const original = StatementSync.prototype[name]
    restore.push(() => void Reflect.set(StatementSync.prototype, name, original))
    Reflect.set(StatementSync.prototype, name, function (this: StatementSync, ...args: ReadonlyArray<unknown>) {
      ran.push(this.sourceSQL)
      return Reflect.apply(original, this, args)
    })
  }
  const { exec } = DatabaseSync.prototype
  restore.push(() => void Reflect.set(DatabaseSync.prototype, "exec", exec))
  Reflect.set(DatabaseSync.prototype, "exec", function (this: DatabaseSync, sql: string) {
    ran.push(sql)
    return Reflect.apply(exec, this, [sql])
  })
  yield* Effect.ensuring(
    Effect.suspend(call),
    Effect.sync(() => {
      for (const undo of restore) undo()
    })
  )
  return ran.filter((sql) => !/^\s*(?:BEGIN|COMMIT|SAVEPOINT|RELEASE|PRAGMA|SELECT total_changes)/i.test(sql))
})

describe("a refresh on SQLite", () => {
  for (const [kind, rotation, expected] of [
    ["of a client of the directory whose token stays", "never", 4],
    ["of a client of the directory whose token rotates", "always", 4],
    ["of a registered client whose token stays", "never", 5],
    ["of a registered client whose token rotates", "always", 5]
  ] as const) {
    it.live(`${kind} runs ${expected} statements`, () =>
      Effect.gen(function* () {
        const { checkAuthorize, login, token } = yield* AuthorizationServer
        const wanted = { id: "r1", name: "Registered", redirect_uris: [redirect_uri], confidential: true }
        const added = yield* (yield* Clients).add(wanted)
        const client = kind.includes("registered")
          ? { client_id: "r1", client_secret: added.secret === null ? "" : Redacted.value(added.secret) }
          : { client_id: "c1", client_secret: "s1" }
        const check = yield* checkAuthorize(
          requestOf({ client_id: client.client_id, redirect_uri, response_type: "code" }).parameters,
          { address: null, issuer }
        )
        if (check._tag !== "Valid") return assert.fail(check._tag)
        const attempt = { login: user.login, password: Redacted.make(user.password), address: null }
        const result = yield* login(check.request, attempt)
        if (result._tag !== "LoggedIn") return assert.fail(result._tag)
        const exchange = { ...client, grant_type: "authorization_code", code: result.code, redirect_uri }
        const { refresh_token = "" } = yield* token(requestOf(exchange))
        const refresh = { ...client, grant_type: "refresh_token", refresh_token }
        const ran = yield* statementsOf(() => token(requestOf(refresh)))
        assert.lengthOf(ran, expected, ran.join("\n"))
      }).pipe(Effect.provide(layerWith(rotation)))
    )
  }
})
