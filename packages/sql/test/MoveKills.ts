/**
 * Kills a move at random moments and repeats it, while the source changes in between.
 */
import { openDatabase } from "@doorhook/sql"
import type { MovedCount } from "@doorhook/sql"
import { moveProgram } from "@doorhook/testkit/Doorhook"
import { startNode } from "@doorhook/testkit/Process"
import { newDatabase } from "@doorhook/testkit/postgres/TestServer"
import type { TestServer } from "@doorhook/testkit/postgres/TestServer"
import { assert } from "@effect/vitest"
import { Effect, Schema } from "effect"
import pg from "pg"
import { movedTables } from "../src/move/MovedTables.ts"
import { isUsable, move, sourceAt, targetAt } from "./MoveSides.ts"
import { temporaryFile } from "./TemporaryFile.ts"

/** More rows than one part has, some of them in every state. */
export const rows = `INSERT INTO integrations (scope_type, scope_id, integrator, url, method, bindings, status, created_by_user, created_by_client,
    signing_secret, previous_secrets, overrides, failing_noticed, failing_attempts, version, created_at, updated_at)
  VALUES ('building', 1, 'webhook', 'https://receiver.example/', 'post', '[]', 'enabled', 'u', 'c', 'whsec_c2VjcmV0', '[]', '{}', 0, 0, 1, 0, 0);
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 11000)
  INSERT INTO events SELECT i, printf('evt_%029d', i), 'access_log', 'create', 1, '[7]', i, i, i, '{"id":1}' FROM n;
  INSERT INTO deliveries SELECT seq, seq, 1, seq % 7, CASE WHEN seq % 7 > 2 THEN 'lifetime_over' END, 3, 1, 0, 0,
    CASE WHEN seq % 7 IN (0, 2) THEN seq END, NULL, NULL, NULL, NULL, NULL, NULL FROM events;
  INSERT INTO attempts SELECT id, 1, id, 5, 'bad_status', 500, NULL, 'no' FROM deliveries WHERE state = 2;
  INSERT INTO grants (id, user_id, client_id, scope, created_at, revoked_at) VALUES ('g1', 'u', 'c', 'public', 1, NULL), ('g2', 'u', 'c', 'public', 1, NULL);
  INSERT INTO refresh_tokens (hash, grant_id, created_at, rotated_at, retired_at) VALUES ('h1', 'g1', 1, NULL, NULL), ('h2', 'g2', 1, NULL, NULL);
  UPDATE owner SET event = 11000, delivery = 11000, low = 11001`

/** What a service might change in the meantime: it settles, publishes, purges, issues tokens and revokes. */
export const changesOf = (round: number): ReadonlyArray<string> => [
  `UPDATE deliveries SET attempts = ${round + 2} WHERE id BETWEEN ${round * 100} AND ${round * 100 + 50}`,
  `DELETE FROM attempts WHERE delivery_id < ${round * 50}`,
  `DELETE FROM deliveries WHERE id < ${round * 10}`,
  `DELETE FROM events WHERE seq < ${round * 20}`,
  `INSERT INTO grants (id, user_id, client_id, scope, created_at, revoked_at) VALUES ('r${round}', 'u', 'c', 'public', 1, NULL)`,
  `INSERT INTO refresh_tokens (hash, grant_id, created_at, rotated_at, retired_at) VALUES ('r${round}', 'r${round}', 1, NULL, NULL)`,
  `DELETE FROM refresh_tokens WHERE grant_id = 'r${round - 1}'`,
  `DELETE FROM grants WHERE id = 'r${round - 1}'`,
  `INSERT INTO idempotency_keys VALUES ('k${round}', 'f', '[]', 1, 2)`
]

export const change = (database: string, statements: ReadonlyArray<string>): Effect.Effect<void> =>
  Effect.promise(async () => {
    if (!database.startsWith("postgres")) {
      const file = openDatabase(database, {})
      file.exec(statements.join(";"))
      file.close()
      return
    }
    const client = new pg.Client({ connectionString: database })
    await client.connect()
    await client.query(`SET search_path = doorhook; ${statements.join(";")}`)
    await client.end()
  })

const Ended = Schema.fromJsonString(
  Schema.Struct({
    moments: Schema.Int,
    counts: Schema.Array(
      Schema.Struct({ table: Schema.String, rows: Schema.Int, source: Schema.String, target: Schema.String })
    )
  })
)

/** Runs a move in a process. Returns null if it was killed. */
export const runMove = Effect.fnUntraced(function* (from: string, to: string, killAt: number, buildings = "all") {
  const { finished } = yield* startNode([moveProgram, from, to, String(killAt), buildings])
  const { code, stderr, stdout } = yield* Effect.promise(() => finished)
  if (code === null) return null
  assert.strictEqual(code, 0, stderr)
  return yield* Schema.decodeUnknownEffect(Ended)(stdout)
})

const filledIn = (database: string) => Effect.scoped(Effect.flatMap(sourceAt(database), ({ filled }) => filled))

/**
 * Moves a file to PostgreSQL, or back, and kills the move `kills` times. Both databases are never in use at once, and in
 * the end all rows are in the target.
 */
export const surviveKills = Effect.fnUntraced(function* (
  server: TestServer,
  direction: "there" | "back",
  kills: number,
  random: () => number
) {
  const file = yield* temporaryFile
  const url = server.url(yield* newDatabase(server))
  yield* Effect.scoped(targetAt(file))
  yield* change(file, [rows])
  const [from, to] = direction === "there" ? [file, url] : [url, yield* temporaryFile]
  if (direction === "back")
    yield* Effect.scoped(Effect.flatMap(Effect.all([sourceAt(file), targetAt(url)]), ([a, b]) => move(a, b)))
  let expected: ReadonlyArray<MovedCount> = []
  let most = 150
  for (let round = 1; round <= kills; round++) {
    const ended = yield* runMove(from, to, 1 + Math.floor(random() * most))
    const isSourceUsable = yield* isUsable(from)
    const isTargetUsable = yield* isUsable(to)
    // Before the first mark, the target is a new database.
    if (isSourceUsable && isTargetUsable) assert.deepStrictEqual(yield* filledIn(to), [])
    if (ended !== null) {
      expected = ended.counts
      break
    }
    if (isSourceUsable) yield* change(from, changesOf(round))
    // Later moments come later in the move, because less is left to copy.
    most = Math.max(20, most - 10)
  }
  const ended = expected.length > 0 ? null : yield* runMove(from, to, 0)
  const counts = ended?.counts ?? expected
  assert.isTrue(counts.every(({ source, target }) => source === target))
  assert.deepStrictEqual([yield* isUsable(from), yield* isUsable(to)], [false, true])
  // What is in the target equals what is in the source, which nothing has changed since.
  for (const table of movedTables) {
    const whole = { after: null, last: null }
    const [a, b] = [
      yield* Effect.scoped(Effect.flatMap(sourceAt(from), (side) => side.read(table, whole))),
      yield* Effect.scoped(Effect.flatMap(sourceAt(to), (side) => side.read(table, whole)))
    ]
    assert.strictEqual(b.count, a.count, table.name)
    assert.strictEqual(b.rows, a.rows, table.name)
  }
})
