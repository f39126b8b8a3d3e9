/**
 * A move copies every row, there and back, of any history. It can be killed at any moment and repeated.
 */
import { times } from "@doorhook/testkit/Sample"
import { assert, describe, it } from "@effect/vitest"
import { Move, openDatabase } from "@doorhook/sql"
import type { Progress } from "@doorhook/sql"
import { describeOnPostgres, newDatabase } from "@doorhook/testkit/postgres/TestServer"
import type { TestServer } from "@doorhook/testkit/postgres/TestServer"
import { Effect } from "effect"
import * as fc from "fast-check"
import { movedTables } from "../src/move/MovedTables.ts"
import { changesOf, rows, surviveKills } from "./MoveKills.ts"
import { isUsable, move, sourceAt, storeAt, targetAt } from "./MoveSides.ts"
import { callSequence, carryOutOn } from "./StoreCalls.ts"
import { temporaryFile } from "./TemporaryFile.ts"
import * as TokenCalls from "./TokenCalls.ts"

/** Texts that the two databases store or escape differently, for each kind of column. */
const awkward = `INSERT INTO clients (id, name, redirect_uris, secrets, created_at)
    VALUES ('ä "\\', char(1, 9, 10, 31, 127, 8232, 128512, 57344), '[]', '[]', 9007199254740991), ('Z', '', '[]', '[]', 0), ('a', '/', '[]', '[]', 0);
  INSERT INTO attempts SELECT n, 1, 0, 0, 'bad_status', 500, char(0, 57344, 48, 0) || n, char(57344, 57344)
    FROM (SELECT 900000 + value AS n FROM json_each('[1,2,3]'));
  INSERT INTO settings VALUES ('operator_key', 'dh_op_x'), ('portal_secret', char(57344, 48));
  INSERT INTO integrations (scope_type, scope_id, integrator, url, method, bindings, status, created_by_user, created_by_client,
      signing_secret, previous_secrets, overrides, failing_noticed, failing_attempts, version, created_at, updated_at, name)
    VALUES ('building', 9, 'webhook', 'https://r.example/', 'post', '[]', 'enabled', 'u', 'c', 'whsec_c2VjcmV0', '[]', '{}', 0, 0,
      1, 0, 0, 'Name "x"');
  INSERT INTO integrations (scope_type, scope_id, integrator, url, method, bindings, status, created_by_user, created_by_client,
      signing_secret, previous_secrets, overrides, failing_noticed, failing_attempts, version, created_at, updated_at, subscription, grant_id)
    VALUES ('building', 8, 'webhook', 'https://r.example/', 'post', '[]', 'enabled', 'u', 'c', 'whsec_c2VjcmV0', '[]', '{}', 0, 0,
      1, 0, 0, '{"id":"sub_1","name":"call.create","grant_id":"g","expires_at":1,"cursor":""}', 'g');
  INSERT INTO purged VALUES ('tenant', 91, 'B', 5, 5), ('tenant', 91, 'a', 5, 5), ('building', 91, 'call', 9, 9), ('building', 910, 'call', 9, 9);
  DELETE FROM integrations WHERE scope_id = 9;`

/** Completes the lists that an owner fills from time to time, and its memory, as at the end of a move. */
const complete = `INSERT OR IGNORE INTO events_of SELECT 'building', building_id, resource_type, created_at, seq FROM events;
  INSERT OR IGNORE INTO events_of SELECT 'tenant', t.value, resource_type, created_at, seq FROM events, json_each(tenant_ids) AS t;
  INSERT OR IGNORE INTO deliveries_of SELECT integration, id FROM deliveries;
  UPDATE owner SET listed_event = event, listed_delivery = delivery, low = delivery + 1, beat_at = 0`

const change = (file: string, statements: string) =>
  Effect.sync(() => {
    const database = openDatabase(file, {})
    database.exec(statements)
    database.close()
  })

/** Reads the rows of all tables, including what follows from them. */
const rowsIn = (file: string) =>
  Effect.sync(() => {
    const database = openDatabase(file, { readOnly: true })
    const names = database
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE '%migrations' ORDER BY name")
      .all()
    const tables = names.map(({ name }) => {
      const rows = database
        .prepare(`SELECT * FROM ${String(name)}`)
        .all()
        .map((row) => JSON.stringify(row))
      return [name, rows.toSorted()] as const
    })
    database.close()
    return Object.fromEntries(tables)
  })

/** Opens a file once, so that what its last process had kept is due, and moves it to PostgreSQL and to another file. */
const thereAndBack = Effect.fnUntraced(function* (server: TestServer, first: string) {
  const second = yield* temporaryFile
  const between = server.url(yield* newDatabase(server))
  assert.isTrue(yield* isUsable(first))
  const seen = (database: string) => Effect.promise(() => carryOutOn(storeAt(database), []))
  const before = yield* seen(first)
  yield* change(first, complete)
  const stored = yield* rowsIn(first)
  const counts = yield* move(yield* sourceAt(first), yield* targetAt(between))
  assert.deepStrictEqual(yield* seen(between), before)
  const back = yield* move(yield* sourceAt(between), yield* targetAt(second))
  assert.deepStrictEqual(yield* seen(second), before)
  // Both sources refuse to start.
  assert.deepStrictEqual([yield* isUsable(first), yield* isUsable(between)], [false, false])
  return { rows: stored, counts, back, found: yield* rowsIn(second) }
})

/** Makes a file with a random history of deliveries and of tokens. */
const fileWith = Effect.fnUntraced(function* (
  calls: Parameters<typeof carryOutOn>[1],
  tokens: Parameters<typeof TokenCalls.carryOutOn>[1]
) {
  const file = yield* temporaryFile
  yield* Effect.promise(() => carryOutOn(storeAt(file), calls))
  yield* Effect.promise(() => TokenCalls.carryOutOn(storeAt(file), tokens))
  yield* change(file, awkward)
  return file
})

await describeOnPostgres("a move", (server) => {
  it("copies every row of any history, there and back", async () => {
    await fc.assert(
      fc.asyncProperty(callSequence, TokenCalls.tokenCallSequence, (calls, tokens) =>
        Effect.runPromise(
          Effect.gen(function* () {
            const file = yield* fileWith(calls, tokens)
            const { back, counts, found, rows: stored } = yield* thereAndBack(server, file)
            assert.deepStrictEqual(found, stored)
            assert.deepStrictEqual(back, counts)
            assert.isTrue(counts.every((one) => one.source === one.target))
          }).pipe(Effect.scoped)
        )
      ),
      { numRuns: times(3, 5) }
    )
  }, 300_000)

  it.live("copies again what has changed since it was copied", () =>
    Effect.gen(function* () {
      const [file, url] = [yield* temporaryFile, server.url(yield* newDatabase(server))]
      yield* Effect.scoped(targetAt(file))
      yield* change(file, rows)
      const [from, to] = [yield* sourceAt(file), yield* targetAt(url)]
      const changing = ({ step, table }: Progress) =>
        step === "stopped" && table === "clients" ? change(file, changesOf(9).join(";")) : Effect.void
      const counts = yield* new Move(from, to, changing).run()
      assert.isTrue(counts.every(({ source, target }) => source === target))
      assert.isBelow(counts.find(({ table }) => table === "deliveries")?.rows ?? 0, 11_000)
    }).pipe(Effect.scoped)
  )

  it.live.each(["there", "back"] as const)("loses nothing when it is killed and repeated: %s", (direction) =>
    Effect.scoped(surviveKills(server, direction, 2, Math.random))
  )
})

describe("the tables of a move", () => {
  it.effect("are all tables of a file, with all their columns", () =>
    Effect.gen(function* () {
      const file = yield* temporaryFile
      yield* targetAt(file)
      const database = openDatabase(file, { readOnly: true })
      const columns = (table: string) =>
        database
          .prepare(`SELECT name FROM pragma_table_info('${table}')`)
          .all()
          .map(({ name }) => String(name))
      for (const { columns: moved, name } of movedTables) {
        const own = name === "deliveries" ? ["event_id", "created_at"] : []
        const stored = columns(name).map((column) =>
          column === "event" && name === "deliveries" ? "event_id" : column
        )
        assert.sameMembers(Object.keys(moved), [...new Set([...stored, ...own])], name)
      }
      const names = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
      const followed = ["doorhook_migrations", "sqlite_sequence", "events_of", "deliveries_of", "owner"]
      assert.sameMembers(
        names.map(({ name }) => String(name)),
        [...movedTables.map(({ name }) => name), ...followed]
      )
      database.close()
    }).pipe(Effect.scoped)
  )
})
