/**
 * What a PostgreSQL database refuses while buildings leave it and afterwards, and what comes back with them.
 */
import { AgreedSettings, BuildingId, BuildingMoves, DeliveryStore, IntegrationStore, JsonText } from "@doorhook/core"
import type { NewEvent } from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { PostgresPublish, PostgresStore } from "@doorhook/sql/postgres"
import { describeOnPostgres, newDatabase } from "@doorhook/testkit/postgres/TestServer"
import type { TestServer } from "@doorhook/testkit/postgres/TestServer"
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { buildingMove, move, sourceAt, targetAt } from "../MoveSides.ts"
import { temporaryFile } from "../TemporaryFile.ts"

const { building, newEvent, newIntegration, record, tenant } = StoreFixtures

const leaving = (isDone: boolean): BuildingMoves.BuildingMove => ({
  id: "m",
  way: "out",
  isDone,
  other: "cell-b",
  buildings: [[2, 3]],
  tenants: [[20, 20]]
})

const eventIn = (building: number): NewEvent => ({
  resource_type: "access_log",
  action: "create",
  building_id: BuildingId.make(building),
  tenant_ids: [],
  data: JsonText.JsonText.make("{}")
})

/** Publishes in a host's transaction. Returns the refusal, or the number of events. */
const publishIn = (url: string, buildings: ReadonlyArray<number>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    return yield* sql.withTransaction(
      PostgresPublish.publish(buildings.map(eventIn)).pipe(
        Effect.map(({ length }) => ({ _tag: "Published", message: String(length) })),
        Effect.catch(({ _tag, message }) => Effect.succeed({ _tag, message }))
      )
    )
  }).pipe(Effect.provide(PgClient.layer({ url: Redacted.make(url) })), Effect.scoped)

/** Makes a database. `from`: the number from which it numbers its rows. */
const makeCell = Effect.fnUntraced(function* (server: TestServer, from?: number) {
  const url = server.url(yield* newDatabase(server))
  const side = yield* targetAt(url)
  if (from !== undefined) yield* side.startAt(from)
  const store = yield* Layer.build(Layer.fresh(PostgresStore.layer({ url: Redacted.make(url) })))
  const query = (text: string) =>
    Effect.map(
      Effect.provide(
        Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe<Record<string, unknown>>(text)),
        PgClient.layer({ url: Redacted.make(url) })
      ),
      (rows) => rows.map((row) => Object.values(row)[0])
    )
  return { url, side, query, store, integrations: Context.get(store, IntegrationStore) }
})

const agreeOn = (name: string) => AgreedSettings.encodeAgreed({ authorizationDatabase: name })

await describeOnPostgres("a database that buildings leave", (server) => {
  it.live("refuses their events and integrations by name, first until the end of the move, then for good", () =>
    Effect.gen(function* () {
      const { integrations, side, store, url } = yield* makeCell(server)
      const held = yield* integrations.create(newIntegration({ scope: building(2) }))
      yield* side.choose({ copyBelow: null, buildings: [[2, 3]], tenants: [[20, 20]], integrations: [held.id] })
      yield* side.setMark(BuildingMoves.movesName, BuildingMoves.encodeMoves([leaving(false)]))
      yield* side.fence
      const moving = yield* publishIn(url, [1, 3])
      assert.strictEqual(moving._tag, "BeingMoved")
      assert.include(moving.message, "The building 3 is being moved to cell-b")

      // A process that has not noticed the move.
      const late = yield* Effect.flip(
        Context.get(store, DeliveryStore).enqueue([record(newEvent(1, { building_id: BuildingId.make(2) }))], [])
      )
      assert.strictEqual(late._tag === "StoreError" ? late.reason : late._tag, "moved")
      assert.match(late.message, /The building 2 is being moved to cell-b.*try again after the move/)
      for (const scope of [building(3), tenant(20)]) {
        const refused = yield* Effect.flip(integrations.create(newIntegration({ scope })))
        assert.strictEqual(refused._tag === "StoreError" ? refused.reason : refused._tag, "moved")
        assert.include(refused.message, `The ${scope.type} ${scope.id} is being moved`)
      }
      assert.isFalse(yield* integrations.update({ ...held, version: 2 }, 1))

      yield* side.setMark(BuildingMoves.movesName, BuildingMoves.encodeMoves([leaving(true)]))
      const moved = yield* publishIn(url, [1, 3])
      assert.deepStrictEqual(moved, {
        _tag: "Misdirected",
        message: "The building 3 was moved to cell-b, which serves it now."
      })
      assert.deepInclude(yield* publishIn(url, [1, 4]), { _tag: "Published" })
    }).pipe(Effect.scoped)
  )

  it.live.each(["file", "postgres"])("refuses them also after it was moved as a whole: from %s", (engine) =>
    Effect.gen(function* () {
      const from = engine === "file" ? yield* temporaryFile : (yield* makeCell(server)).url
      const leave = Effect.flatMap(targetAt(from), (side) =>
        side.setMark(BuildingMoves.movesName, BuildingMoves.encodeMoves([leaving(true)]))
      )
      yield* Effect.scoped(leave)
      const source = yield* sourceAt(from)
      const { side, url } = yield* makeCell(server)
      yield* move(source, side)
      assert.strictEqual((yield* publishIn(url, [2]))._tag, "Misdirected")
      assert.deepInclude(yield* publishIn(url, [1]), { _tag: "Published" })
    }).pipe(Effect.scoped)
  )

  it.live(
    "gets them back without the clients and tokens of a cell that uses its own, and keeps no table of the move",
    () =>
      Effect.gen(function* () {
        const [a, b] = [yield* makeCell(server), yield* makeCell(server, 1_000_000)]
        const grant = (id: string) =>
          `INSERT INTO doorhook.grants (id, user_id, client_id, scope, created_at) VALUES ('${id}', 'u', 'c', 'public', 1)`
        yield* a.query(grant("valid"))
        yield* b.query(grant("revoked-and-purged-in-the-first-cell"))
        yield* a.integrations.create(newIntegration({ scope: building(2) }))
        yield* publishIn(a.url, [1, 2])
        yield* b.side.setMark(AgreedSettings.agreedName, agreeOn("postgres://elsewhere/doorhook"))
        const refused = yield* Effect.flip(buildingMove(a.side, b.side, "2").run())
        assert.include(refused.message, "it has its clients and tokens in postgres://elsewhere/doorhook")
        yield* b.side.setMark(AgreedSettings.agreedName, agreeOn(a.side.name))
        yield* buildingMove(a.side, b.side, "2").run()
        yield* publishIn(b.url, [2])
        yield* a.side.startAt(2_000_000)
        yield* buildingMove(b.side, a.side, "2").run()
        assert.deepStrictEqual(yield* a.query("SELECT id FROM doorhook.grants"), ["valid"])
        assert.deepStrictEqual(yield* a.query("SELECT count(*)::int FROM doorhook.events WHERE building_id = 2"), [2])
        assert.strictEqual((yield* publishIn(a.url, [2]))._tag, "Published")
        for (const cell of [a, b])
          assert.deepStrictEqual(yield* cell.query("SELECT to_regclass('doorhook.leaving')::text"), [null])
      }).pipe(Effect.scoped)
  )
})
