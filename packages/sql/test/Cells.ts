/**
 * Databases with buildings, whose rows a test compares before and after a move of buildings.
 */
import { BuildingMoves } from "@doorhook/core"
import { openDatabase } from "@doorhook/sql"
import { newDatabase } from "@doorhook/testkit/postgres/TestServer"
import type { TestServer } from "@doorhook/testkit/postgres/TestServer"
import { assert } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { arrivingTables, historyTables, movedTables, sharedTables } from "../src/move/MovedTables.ts"
import pg from "pg"
import { change, runMove } from "./MoveKills.ts"
import { buildingMove, isUsable, move, sourceAt, targetAt } from "./MoveSides.ts"
import { temporaryFile } from "./TemporaryFile.ts"

export type Engine = "file" | "postgres"

/** All pairs of engines. */
export const ways: ReadonlyArray<readonly [Engine, Engine]> = [
  ["file", "postgres"],
  ["postgres", "file"],
  ["file", "file"],
  ["postgres", "postgres"]
]

/** The number from which the second cell numbers its rows. */
export const firstId = 1_000_000_000_000

/** Rows of buildings, each with two tenants, numbered from `first` on. `seed` varies states and targets. */
const rowsOf = (
  buildings: ReadonlyArray<number>,
  first: number,
  count: number,
  seed: number
): ReadonlyArray<string> => {
  const integrations = buildings.flatMap((building) =>
    [
      ["building", building],
      ["tenant", building * 10]
    ].map(
      ([type, id]) => `INSERT INTO integrations (scope_type, scope_id, integrator, url, method, bindings, status,
        created_by_user, created_by_client, signing_secret, previous_secrets, overrides, failing_noticed, failing_attempts,
        version, created_at, updated_at)
      VALUES ('${type}', ${id}, 'webhook', 'https://receiver.example/', 'post', '[]', 'enabled', 'u', 'c',
        'whsec_c2VjcmV0', '[]', '{}', 0, 0, 1, 0, 0)`
    )
  )
  const list = `json_array(${buildings.join(", ")})`
  const of = (n: string) => `(${list} ->> ((${n} + ${n} / 7 * ${seed}) % ${buildings.length}))`
  return [
    ...integrations,
    `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${count - 1})
      INSERT INTO events SELECT ${first} + i, printf('evt_%013d%08d', ${first}, i), 'access_log', 'create', ${of("i")},
        json_array(${of("i")} * 10, ${of("i")} * 10 + 1), 1000 + i, ${first} + 2 * i, ${first} + 2 * i + 1,
        '{"id":' || i || '}' FROM n`,
    ...[0, 1].map(
      (nth) => `INSERT INTO deliveries SELECT ${first} + 2 * i + ${nth}, seq,
        ${first} + 2 * (SELECT key FROM json_each(${list}) WHERE value = building_id) + ${nth},
        (i + ${nth}) % 7, CASE WHEN (i + ${nth}) % 7 > 2 THEN 'lifetime_over' END, i % 4, i % 3, 0, 0,
        CASE WHEN (i + ${nth}) % 7 IN (0, 2) THEN 1000 + i END, NULL, NULL, NULL, NULL, NULL, NULL
        FROM (SELECT *, seq - ${first} AS i FROM events WHERE seq >= ${first})`
    ),
    `INSERT INTO attempts SELECT id, 1, id, 5, 'bad_status', 500, NULL, 'no' FROM deliveries
      WHERE id >= ${first} AND state IN (2, 3)`,
    ...buildings.flatMap((building, at) => [
      `INSERT INTO purged VALUES ('building', ${building}, 'call', ${first}, 5), ('tenant', ${building * 10}, 'call', ${first}, 5),
        ('integration', ${first + 2 * at}, 'call', ${first}, 5)`,
      `INSERT INTO notices (kind, integration_id, scope_type, scope_id, at, details)
        VALUES ('failing', ${first + 2 * at}, 'building', ${building}, 5, '{}')`
    ]),
    `INSERT INTO grants (id, user_id, client_id, scope, created_at, revoked_at) VALUES ('g${first}', 'u', 'c', 'public', 1, NULL)`,
    `INSERT INTO access_tokens (seq, grant_id, hash, created_at, expires_at) VALUES (${first}, 'g${first}', 'a${first}', 1, 2)`,
    `INSERT INTO refresh_tokens (hash, grant_id, created_at) VALUES ('r${first}', 'g${first}', 1)`,
    `INSERT INTO idempotency_keys VALUES ('k${first}', 'f', '[]', 1, 2)`,
    `UPDATE owner SET event = ${first + count - 1}, delivery = ${first + 2 * count - 1}, low = ${first + 2 * count}`,
    `DELETE FROM events_of; INSERT INTO events_of SELECT 'building', building_id, resource_type, created_at, seq FROM events`,
    `INSERT INTO events_of SELECT 'tenant', t.value, resource_type, created_at, seq FROM events, json_each(tenant_ids) AS t`,
    `DELETE FROM deliveries_of; INSERT INTO deliveries_of SELECT integration, id FROM deliveries`,
    "UPDATE owner SET listed_event = event, listed_delivery = delivery"
  ]
}

/** Deletes an integration, with a cancellation that still covers deliveries. A store that opens the database applies it. */
const cancellationFrom = (first: number): ReadonlyArray<string> => [
  `DELETE FROM integrations WHERE id = ${first + 2}`,
  `INSERT INTO cancellations VALUES (${first + 2}, ${first + 1000}, 'integration_deleted')`
]

/** Makes a database with buildings, numbered from `first` on. */
export const makeCell = Effect.fnUntraced(function* (
  server: TestServer,
  engine: Engine,
  {
    buildings,
    count,
    first,
    seed
  }: {
    readonly buildings: ReadonlyArray<number>
    readonly count: number
    readonly first: number
    readonly seed: number
  },
  more: ReadonlyArray<string> = []
) {
  const file = yield* temporaryFile
  yield* Effect.scoped(Effect.flatMap(targetAt(file), (side) => (first > 1 ? side.startAt(first) : Effect.void)))
  yield* change(file, [...rowsOf(buildings, first, count, seed), ...more])
  // The counts of an owner, and the rows of the other database, are made by a move.
  const database = engine === "file" ? yield* temporaryFile : server.url(yield* newDatabase(server))
  yield* Effect.scoped(Effect.flatMap(Effect.all([sourceAt(file), targetAt(database)]), ([a, b]) => move(a, b)))
  return database
})

const Rows = Schema.fromJsonString(Schema.Array(Schema.Array(Schema.Unknown)))

const compared = [...historyTables, ...arrivingTables, ...sharedTables].map(({ name }) => name)

/** Reads the rows of all tables that a move of buildings reads, as text. */
export const rowsIn = Effect.fnUntraced(function* (database: string) {
  const whole = { after: null, last: null }
  const found: Record<string, ReadonlyArray<string>> = {}
  for (const table of movedTables.filter(({ name }) => compared.includes(name))) {
    const { rows } = yield* Effect.scoped(Effect.flatMap(sourceAt(database), (side) => side.read(table, whole)))
    found[table.name] = (yield* Schema.decodeUnknownEffect(Rows)(rows)).map((row) => JSON.stringify(row)).toSorted()
  }
  return found
})

type CellRows = Effect.Success<ReturnType<typeof rowsIn>>

/** Joins the rows of two databases. A row that both have counts twice, unless it belongs to no building. */
const joined = (a: CellRows, b: CellRows): CellRows =>
  Object.fromEntries(
    Object.keys(a).map((name) => {
      const rows = [...(a[name] ?? []), ...(b[name] ?? [])]
      const isShared = sharedTables.some((table) => table.name === name)
      return [name, (isShared ? [...new Set(rows)] : rows).toSorted()]
    })
  )

/** Moves a copy of a database, which makes its counts and lists again, and compares it with the database itself. */
const assertConsistent = Effect.fnUntraced(function* (server: TestServer, database: string) {
  const copies = [yield* temporaryFile, server.url(yield* newDatabase(server))]
  const isUrl = database.startsWith("postgres")
  const copy = copies[isUrl ? 1 : 0] ?? ""
  const before = yield* derivedIn(database)
  yield* Effect.scoped(Effect.flatMap(Effect.all([sourceAt(database), targetAt(copy)]), ([a, b]) => move(a, b)))
  assert.deepStrictEqual(before, yield* derivedIn(copy))
})

/** Reads what follows from the rows of a database: counts and lists. */
const derivedIn = Effect.fnUntraced(function* (database: string) {
  const isUrl = database.startsWith("postgres")
  const states = [
    "events",
    "pending",
    "delivering",
    "retrying",
    "delivered",
    "exhausted",
    "expired",
    "cancelled",
    "skipped"
  ]
  const sums = isUrl
    ? states.map((name) => `sum(${name})::int AS ${name}`)
    : states.filter((name) => name !== "delivering")
  return {
    counts: yield* query(database, `SELECT ${sums.join(", ")} FROM ${isUrl ? "tallies" : "owner"}`),
    events: yield* query(
      database,
      "SELECT * FROM events_of ORDER BY scope_type, scope_id, resource_type, created_at, event_seq"
    ),
    deliveries: isUrl ? [] : yield* query(database, "SELECT * FROM deliveries_of ORDER BY integration, delivery")
  }
})

const query = (database: string, statement: string): Effect.Effect<ReadonlyArray<unknown>> =>
  Effect.promise(async () => {
    if (!database.startsWith("postgres")) {
      const file = openDatabase(database, { readOnly: true })
      const rows = file.prepare(statement).all()
      file.close()
      return rows.map((row) => ({ ...row }))
    }
    const client = new pg.Client({ connectionString: database })
    await client.connect()
    await client.query("SET search_path = doorhook")
    const { rows } = await client.query<Record<string, unknown>>(statement)
    await client.end()
    return rows
  })

/** Moves buildings between two cells. Exactly their rows are in the target then, and its counts and lists contain them. */
export const takeBuildings = Effect.fnUntraced(function* (server: TestServer, [from, to]: readonly [Engine, Engine]) {
  const seed = 1 + Math.floor(Math.random() * 50)
  const own = { buildings: [1, 2, 3, 4, 7], count: 150, first: 1, seed }
  const others = { buildings: [101, 102], count: 50, first: firstId, seed }
  const a = yield* makeCell(server, from, own, cancellationFrom(1))
  const b = yield* makeCell(server, to, others, cancellationFrom(firstId))
  const expected = joined(yield* rowsIn(a), yield* rowsIn(b))
  const counts = yield* buildingMove(yield* sourceAt(a), yield* targetAt(b), "2-3,7").run()
  assert.isTrue(counts.every(({ source, target }) => source === target))
  const left = yield* rowsIn(a)
  for (const [name, rows] of Object.entries(joined(left, yield* rowsIn(b))))
    assert.deepStrictEqual(rows, expected[name], name)
  const buildings = left["events"]?.map((row) => Number(JSON.parse(row)[4]))
  assert.sameMembers([...new Set(buildings)], [1, 4])
  assert.deepStrictEqual(
    [yield* serves(a, 2), yield* serves(a, 1), yield* serves(b, 2), yield* serves(b, 101)],
    [false, true, true, true]
  )
  yield* assertConsistent(server, a)
  yield* assertConsistent(server, b)
})

/** What the source might change in the meantime. */
const changesOf = (round: number): ReadonlyArray<string> => [
  `UPDATE deliveries SET attempts = ${round + 5} WHERE id BETWEEN ${round * 20} AND ${round * 20 + 30}`,
  `DELETE FROM attempts WHERE delivery_id < ${round * 5}`,
  `INSERT INTO events (seq, id, resource_type, action, building_id, tenant_ids, created_at, data)
    VALUES (${5_000 + round}, 'evt_${5_000 + round}', 'call', 'create', 2, '[20]', 1, '{}'),
      (${5_100 + round}, 'evt_${5_100 + round}', 'call', 'create', 1, '[10]', 1, '{}')`,
  `INSERT INTO idempotency_keys VALUES ('new${round}', 'f', '[]', 1, 2)`
]

/**
 * Moves buildings from a cell to another one, and kills the move `kills` times. No building is alive in both, and in the
 * end both cells have the rows that they had before.
 */
export const surviveCellKills = Effect.fnUntraced(function* (
  server: TestServer,
  [from, to]: readonly [Engine, Engine],
  kills: number
) {
  const moving = "2-3,7"
  const a = yield* makeCell(server, from, { buildings: [1, 2, 3, 4, 7], count: 150, first: 1, seed: 3 })
  const b = yield* makeCell(server, to, { buildings: [101, 102], count: 50, first: firstId, seed: 3 })
  const own = yield* rowsIn(b)
  let expected = joined(yield* rowsIn(a), own)
  let isOver = false
  for (let round = 1; round <= kills && !isOver; round++) {
    isOver = (yield* runMove(a, b, 1 + Math.floor(Math.random() * 150), moving)) !== null
    const isServed = yield* serves(a, 2)
    const integrations = (yield* rowsIn(b))["integrations"]?.length
    if (isServed) assert.strictEqual(integrations, own["integrations"]?.length)
    // A file from which buildings leave is not served at all.
    assert.isTrue((yield* isUsable(a)) || (from === "file" && !isServed && !isOver))
    assert.isTrue(yield* isUsable(b))
    if (!isServed) continue
    yield* change(a, changesOf(round))
    expected = joined(yield* rowsIn(a), own)
  }
  // The command can also be repeated when the move is complete.
  assert.isNotNull(yield* runMove(a, b, 0, moving))
  for (const [name, rows] of Object.entries(joined(yield* rowsIn(a), yield* rowsIn(b))))
    assert.deepStrictEqual(rows, expected[name], name)
  assert.deepStrictEqual([yield* serves(a, 2), yield* serves(b, 2)], [false, true])
  yield* assertConsistent(server, b)
})

/** Whether a database serves a building. */
export const serves = Effect.fnUntraced(function* (database: string, building: number) {
  const text = yield* Effect.scoped(Effect.flatMap(sourceAt(database), (side) => side.mark(BuildingMoves.movesName)))
  const moves = BuildingMoves.decodeMoves(text)
  assert.isNotNull(moves)
  return BuildingMoves.someAbsent(moves, [[building, building]]) === null
})
