/**
 * A backend in Effect on PostgreSQL, with its own tables of users and entries. It publishes each event in the
 * transaction that stores the entry.
 *
 * doorhook takes all settings from the environment, and logs and traces through the application.
 */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as PgClient from "@effect/sql-pg/PgClient"
import { Directory, DirectoryError, PublishRequest, UserId } from "@doorhook/core"
import { PostgresPublish } from "@doorhook/sql/postgres"
import { verifyPassword } from "doorhook"
import * as Doorhook from "doorhook/effect"
import { Config, Console, Effect, Layer, Redacted, Schema } from "effect"
import { HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import { SqlClient } from "effect/sql"
import { createServer } from "node:http"

const Database = PgClient.layerConfig({ url: Config.Redacted("DOORHOOK_DATABASE"), spanAttributes: Config.succeed({}) })

/** Creates the application's own tables. */
const Tables = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE TABLE IF NOT EXISTS app_users (
      id bigint PRIMARY KEY, login text UNIQUE NOT NULL, password_hash text NOT NULL, building_id bigint
    )`
    yield* sql`CREATE TABLE IF NOT EXISTS app_entries (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, building_id bigint NOT NULL, method text NOT NULL
    )`
  })
)

const User = Schema.Struct({ id: Schema.String, password_hash: Schema.String })

/** doorhook's directory, from the application's tables. */
const AppDirectory = Layer.effect(
  Directory,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const failAs = (operation: string) => Effect.mapError((cause: unknown) => new DirectoryError({ operation, cause }))
    return Directory.of({
      client: () => Effect.succeed(null),
      authenticate: (login, password) =>
        Effect.gen(function* () {
          const rows = yield* sql`SELECT id::text, password_hash FROM app_users WHERE login = ${login}`
          const [user] = yield* Schema.decodeUnknownEffect(Schema.Array(User))(rows)
          // An unknown login must take as long as a wrong password.
          const stored = user?.password_hash ?? ""
          const isRight = yield* Effect.promise(() => verifyPassword(Redacted.value(password), stored))
          return isRight && user !== undefined ? { id: UserId.make(user.id) } : null
        }).pipe(failAs("authenticate")),
      isActive: (user) =>
        sql`SELECT 1 FROM app_users WHERE id = ${Number(user)}`.pipe(
          Effect.map((rows) => rows.length > 0),
          failAs("isActive")
        ),
      administers: (user, building) =>
        sql`SELECT 1 FROM app_users WHERE id = ${Number(user)} AND building_id = ${building}`.pipe(
          Effect.map((rows) => rows.length > 0),
          failAs("administers")
        ),
      isTenant: () => Effect.succeed(false),
      buildings: () => Effect.succeed([]),
      tenants: () => Effect.succeed([])
    })
  })
)

/** `POST /entries`: stores the entry and publishes its event in one transaction. */
const Entries = HttpRouter.add(
  "POST",
  "/entries",
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const published = yield* Effect.gen(function* () {
      const rows = yield* sql`INSERT INTO app_entries (building_id, method) VALUES (1, 'PIN') RETURNING id::text`
      const { fromValue } = yield* PublishRequest.reader
      const { events } = yield* Effect.fromResult(
        fromValue({
          resource_type: "access_log",
          action: "create",
          building_id: 1,
          data: { id: Number(rows[0]?.["id"]), entry_method: "PIN" }
        })
      )
      return yield* PostgresPublish.publish(events)
    }).pipe(sql.withTransaction)
    return yield* HttpServerResponse.json(published, { status: 201 })
  })
)

const Engine = Doorhook.layer(Doorhook.fromEnvironment, AppDirectory.pipe(Layer.provide(Tables)))

const Server = Layer.unwrap(
  Effect.map(Config.Int("PORT").pipe(Config.withDefault(3000)), (port) =>
    NodeHttpServer.layer(createServer, { port, host: "127.0.0.1" })
  )
)

/** Logs the address of the server once it listens. */
const Announce = Layer.effectDiscard(HttpServer.addressFormattedWith((url) => Console.log(`listening on ${url}`)))

const App = Announce.pipe(
  Layer.provideMerge(HttpRouter.serve(Layer.merge(Doorhook.Routes, Entries), { routerConfig: Doorhook.routerConfig })),
  Layer.provide(Engine),
  Layer.provide(Database),
  Layer.provide(Server)
)

NodeRuntime.runMain(Layer.launch(App))
