/**
 * Registered clients in a SQL database.
 */
import { ClientStore, RecentMap, RegisteredClient } from "@doorhook/core"
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Dialect } from "../Dialect.ts"
import { ReadConnection } from "../ReadConnection.ts"
import { failAs } from "../StoreFailure.ts"

const { jwks, redirect_uris, secrets } = RegisteredClient.fields
const Secrets = Schema.fromJsonString(secrets)
const Row = Schema.Struct({
  ...RegisteredClient.fields,
  redirect_uris: Schema.fromJsonString(redirect_uris),
  secrets: Secrets,
  jwks: Schema.NullOr(Schema.fromJsonString(jwks.members[0]))
})
const decode = Schema.decodeUnknownEffect(Schema.Array(Row))
const decodeOne = Schema.decodeUnknownExit(Row)
const encode = Schema.encodeEffect(Row)
const encodeSecrets = Schema.encodeEffect(Secrets)

/** A client's row. Not decoded yet. */
type Stored = Readonly<Record<keyof typeof Row.fields, unknown>>

const columns = ["id", "name", "redirect_uris", "secrets", "jwks", "created_at"] as const
const isSame = (a: Stored, b: Stored): boolean => columns.every((column) => a[column] === b[column])

/** Statements on clients. Each one searches by id or reads the whole table, which is small. */
const clientStatements = ({ text }: Dialect) => ({
  /** Returns the id if it was free. */
  insert: text(
    `INSERT INTO clients (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")}) ON CONFLICT (id) DO NOTHING RETURNING id`
  ),
  byId: text(`SELECT ${columns.join(", ")} FROM clients WHERE id = ?`),
  all: text(`SELECT ${columns.join(", ")} FROM clients ORDER BY id`),
  /**
   * Returns the id if the client still has the expected secrets. Compares the secrets as JSON text, which works because
   * the encoding is deterministic.
   */
  replaceSecrets: text(`UPDATE clients SET secrets = ? WHERE id = ? AND secrets = ? RETURNING id`),
  remove: text(`DELETE FROM clients WHERE id = ? RETURNING id`)
})

/** Maximum number of cached clients. Each request reads a client. */
const maxRemembered = 1_000

const none = Effect.succeed(null)

const make = Effect.fnUntraced(function* (dialect: Dialect) {
  const remembered = new RecentMap<string, { readonly row: Stored; readonly client: RegisteredClient }>(maxRemembered)
  const sql = yield* SqlClient.SqlClient
  const reads = yield* ReadConnection
  const statements = clientStatements(dialect)

  return ClientStore.of({
    add: Effect.fnUntraced(function* (client) {
      const row = yield* encode(client)
      const values = columns.map((column) => row[column])
      return (yield* sql.unsafe(statements.insert, values)).length > 0
    }, failAs("ClientStore.add")),

    find: (id) =>
      Effect.flatMapEager(reads.rows<Stored>(statements.byId, [id]), ([row]) => {
        if (row === undefined) return none
        const known = remembered.get(id)
        if (known !== undefined && isSame(known.row, row)) return Effect.succeed(known.client)
        return Effect.mapEager(decodeOne(row), (client) => {
          remembered.set(id, { row, client })
          return client
        })
      }).pipe(failAs("ClientStore.find")),

    list: Effect.flatMap(sql.unsafe(statements.all), decode).pipe(failAs("ClientStore.list")),

    replaceSecrets: Effect.fnUntraced(function* (found, changed) {
      const values = [yield* encodeSecrets(changed), found.id, yield* encodeSecrets(found.secrets)]
      return (yield* sql.unsafe(statements.replaceSecrets, values)).length > 0
    }, failAs("ClientStore.replaceSecrets")),

    remove: Effect.fnUntraced(function* (id) {
      return (yield* sql.unsafe(statements.remove, [id])).length > 0
    }, failAs("ClientStore.remove"))
  })
})

export const layer = (dialect: Dialect): Layer.Layer<ClientStore, never, SqlClient.SqlClient | ReadConnection> =>
  Layer.effect(ClientStore, make(dialect))
