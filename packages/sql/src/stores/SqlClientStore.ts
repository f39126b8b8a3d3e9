/**
 * Registered clients in a SQL database.
 */
import { ClientStore, RegisteredClient } from "@doorhook/core"
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Dialect } from "../Dialect.ts"
import { clientStatements } from "../statements/ClientStatements.ts"
import { SqlReads } from "../SqlReads.ts"
import { failAs } from "../StoreFailure.ts"

const { redirect_uris, secrets } = RegisteredClient.fields
const Secrets = Schema.fromJsonString(secrets)
const Row = Schema.Struct({
  ...RegisteredClient.fields,
  redirect_uris: Schema.fromJsonString(redirect_uris),
  secrets: Secrets
})
const decode = Schema.decodeUnknownEffect(Schema.Array(Row))
const encode = Schema.encodeEffect(Row)
const encodeSecrets = Schema.encodeEffect(Secrets)

const make = Effect.fnUntraced(function* (dialect: Dialect) {
  const sql = yield* SqlClient.SqlClient
  const reads = yield* SqlReads
  const statements = clientStatements(dialect)

  return ClientStore.of({
    add: Effect.fnUntraced(function* (client) {
      const row = yield* encode(client)
      const values = [row.id, row.name, row.redirect_uris, row.secrets, row.created_at]
      return (yield* sql.unsafe(statements.insert, values)).length > 0
    }, failAs("ClientStore.add")),

    find: Effect.fnUntraced(function* (id) {
      const [client] = yield* decode(yield* reads.rows(statements.byId, [id]))
      return client ?? null
    }, failAs("ClientStore.find")),

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

export const layer = (dialect: Dialect): Layer.Layer<ClientStore, never, SqlClient.SqlClient | SqlReads> =>
  Layer.effect(ClientStore, make(dialect))
