/**
 * A PostgreSQL database as the source or the target of a move.
 */
import { BuildingMoves } from "@doorhook/core"
import type { PgClient } from "@effect/sql-pg/PgClient"
import type { Redacted } from "effect"
import { Effect, Struct } from "effect"
import type { Scope } from "effect"
import { Reactivity } from "effect/reactivity"
import type { SqlError } from "effect/sql"
import { DatabaseUnusable } from "../DatabaseUnusable.ts"
import type { BuildingSide } from "../move/BuildingMove.ts"
import type { FoundTenant, Key, KeyRange, Mark, MovedTable, Numbers, Part, Share } from "../move/MovedTables.ts"
import {
  belongs,
  firstIdName,
  isIn,
  isOfBuildings,
  keptSettings,
  marks,
  movedTables,
  partEnd
} from "../move/MovedTables.ts"
import { settingStatements } from "../statements/SettingStatements.ts"
import { movedState, movingState, sqlStateOf } from "../StoreFailure.ts"
import { keepLeft, keepOthersLeft, refusalsOf } from "./LeftBuildings.ts"
import { connect, linkTo, nameOf, schema } from "./PostgresDatabase.ts"
import { postgres } from "./PostgresDialect.ts"
import { explain } from "./PostgresFailure.ts"
import { findRoute } from "./Route.ts"
import { running } from "./Switches.ts"

/** Settings of statements that read whole tables. */
const wholeTables = "SELECT set_config('enable_seqscan', 'on', true), set_config('enable_hashjoin', 'on', true)"

/**
 * Settings of a move's connections. Nothing has a time limit, except waiting for locks. A commit waits for the disk only
 * where a mark is set.
 */
const session = {
  search_path: schema,
  lock_timeout: "30s",
  statement_timeout: "0",
  idle_in_transaction_session_timeout: "0",
  synchronous_commit: "off",
  // New tables have no statistics yet.
  enable_seqscan: "off",
  enable_hashjoin: "off",
  jit: "off"
}

/** One of them holds the database. */
const connections = 7

/** Time in which all processes notice a change of the moves of buildings, which they read every second. */
const noticeTime = "3 seconds"

const open = "state IN ('pending', 'retrying')"
const endedColumns = `attempt_started_at, attempt_duration_ms, attempt_outcome, attempt_status, attempt_detail, attempt_excerpt`

/** State and resend of a delivery in the queue without its lease, as after a release. */
const unleased = {
  state:
    "CASE WHEN state <> 'delivering' THEN state WHEN attempts = 0 OR resend > 0 THEN 'pending' ELSE 'retrying' END",
  resend: "least(resend, 1)"
}

/** Deliveries that wait, in the form they are copied in. A leased delivery waits, too. */
const waiting = (table: string): string => `SELECT id, integration_id AS integration, event_id,
    ${unleased.state} AS state, NULL AS reason, lane, attempts, early, ${unleased.resend} AS resend, due_at,
    NULL::bigint AS attempt_started_at,
    NULL::bigint AS attempt_duration_ms, NULL AS attempt_outcome, NULL::integer AS attempt_status,
    NULL AS attempt_detail, NULL AS attempt_excerpt FROM ${table}`

const over = `SELECT id, integration_id AS integration, event_id, state, reason, lane, attempts, early, 0 AS resend,
    NULL::bigint AS due_at, ${endedColumns} FROM deliveries`

/** Reads deliveries with their events. A delivery whose event is missing loses its reference. */
const deliveriesIn = (parts: ReadonlyArray<string>, condition = "TRUE"): string =>
  `(SELECT d.id, d.integration, e.id AS event_id, coalesce(e.created_at, 0) AS created_at, d.state, d.reason,
      d.lane, d.attempts, d.early, d.resend, d.due_at, ${endedColumns}
    FROM (${parts.join(" UNION ALL ")}) AS d LEFT JOIN events AS e ON e.id = d.event_id WHERE ${condition}) AS deliveries`

/** Tables whose rows are stored in another form than they are copied in. */
const stored: Readonly<Record<string, string>> = {
  codes: `(SELECT hash, grant_id, client_id, redirect_uri, redirect_uri_given::int, code_challenge, expires_at, used_at
    FROM codes) AS codes`,
  deliveries: deliveriesIn([waiting("queue"), over]),
  cancellations: `(SELECT integration_id AS integration, last_id AS last_delivery, reason FROM endings) AS endings`,
  settings: `(SELECT name, value FROM settings WHERE name NOT IN (${keptSettings})) AS settings`
}

// Rows of a share: buildings that move to or from a database with others.

/** The row that a move locks, so that no other one uses the database. */
const mover = [
  "CREATE TABLE IF NOT EXISTS mover (id integer PRIMARY KEY)",
  "INSERT INTO mover VALUES (1) ON CONFLICT DO NOTHING"
]

/**
 * Holds the deliveries of buildings that leave, where no worker finds them. It is like the queue of this version, unless a
 * killed move has left rows in it.
 */
const leaving = [
  `DO $$ BEGIN
    IF to_regclass('leaving') IS NOT NULL THEN
      IF NOT EXISTS (SELECT 1 FROM leaving) THEN
        DROP TABLE leaving;
      END IF;
    END IF;
  END $$`,
  "CREATE TABLE IF NOT EXISTS leaving (LIKE queue INCLUDING DEFAULTS, PRIMARY KEY (id))"
]

/** Where open deliveries are stored: in a source, also those that leave. */
const queuesOf = ({ copyBelow }: Share): ReadonlyArray<string> =>
  copyBelow === null ? ["queue", "leaving"] : ["queue"]

const isOfShare = (share: Share, delivery: string): string =>
  isOfBuildings(share, `${delivery}.id`, `SELECT 1 FROM events AS o WHERE o.id = ${delivery}.event_id AND`)

const attemptIsOfShare = (share: Share): string => {
  const deliveries = [...queuesOf(share), "deliveries"].map((name) => `SELECT id, event_id FROM ${name}`)
  const event = `SELECT 1 FROM (${deliveries.join(" UNION ALL ")}) AS d JOIN events AS o ON o.id = d.event_id WHERE d.id = delivery_id AND`
  return isOfBuildings(share, "delivery_id", event)
}

/** The rows of a table that are copied, all or those of a share. */
const rowsOf = (table: MovedTable, share: Share | null): string => {
  const all = stored[table.name] ?? table.name
  if (share === null) return all
  if (table.name === "deliveries") return deliveriesIn([over], isOfShare(share, "d"))
  if (table.name === "open_deliveries") return deliveriesIn(queuesOf(share).map(waiting), isOfShare(share, "d"))
  const condition = table.name === "attempts" ? attemptIsOfShare(share) : belongs(table, table.key, share)
  return condition === "TRUE" ? all : `(SELECT * FROM ${all} WHERE ${condition}) AS ${table.name}`
}

const referenced = `coalesce(event_id, 'evt_${"0".repeat(20)}')`

const intoQueue = `INSERT INTO queue (id, integration_id, event_id, created_at, state, lane, attempts, early, resend, due_at)
      SELECT id, integration, ${referenced}, created_at, state, lane, attempts, early, resend, due_at FROM moved WHERE ${open}`

/** Inserts the rows of the query `moved` into tables of another form. */
const intoStored: Readonly<Record<string, string>> = {
  codes: `INSERT INTO codes SELECT hash, grant_id, client_id, redirect_uri, redirect_uri_given <> 0, code_challenge,
      expires_at, used_at FROM moved`,
  // One statement, so that the part is parsed once.
  deliveries: `, queued AS (${intoQueue})
    INSERT INTO deliveries (id, integration_id, event_id, created_at, state, reason, lane, attempts, early, ${endedColumns})
      SELECT id, integration, ${referenced}, created_at, state, reason, lane, attempts, early, ${endedColumns}
      FROM moved WHERE NOT ${open}`,
  open_deliveries: intoQueue,
  cancellations:
    "INSERT INTO endings (integration_id, last_id, reason) SELECT integration, last_delivery, reason FROM moved"
}

/** The tables in which the rows are stored, with the name of their key. */
const placesOf = (
  { key, name }: MovedTable,
  share: Share | null = null
): ReadonlyArray<readonly [table: string, key: string]> => {
  if (name === "open_deliveries") return (share === null ? ["queue"] : queuesOf(share)).map((table) => [table, key])
  if (name === "deliveries" && share === null)
    return [
      ["queue", key],
      [name, key]
    ]
  return [name === "cancellations" ? ["endings", "integration_id"] : [name, key]]
}

/** Texts are compared by their bytes, as in SQLite. */
const ordered = ({ columns, key }: MovedTable, column: string, as = key): string =>
  columns[as] === "integer" ? column : `${column} COLLATE "C"`

const within = (table: MovedTable, { after, last }: KeyRange, key = table.key): string =>
  [
    ...(after === null ? [] : [`${ordered(table, key)} > $1`]),
    ...(last === null ? [] : [`${ordered(table, key)} <= $${after === null ? 1 : 2}`]),
    "TRUE"
  ].join(" AND ")

const boundsOf = ({ after, last }: KeyRange): ReadonlyArray<Key> => [
  ...(after === null ? [] : [after]),
  ...(last === null ? [] : [last])
]

const readOf = (table: MovedTable, range: KeyRange, share: Share | null): string => {
  const values = Object.entries(table.columns).map(([name, type]) =>
    type === "integer" ? `coalesce(${name}::text, 'null')` : `coalesce(to_json(${name})::text, 'null')`
  )
  const order = [table.key, ...table.order].map((column) => ordered(table, column, column)).join(", ")
  return `SELECT '[' || coalesce(string_agg('[' || ${values.join(" || ',' || ")} || ']', ',' ORDER BY ${order}), '') || ']' AS rows,
    count(*) AS count FROM ${rowsOf(table, share)} WHERE ${within(table, range)}`
}

/** The query `moved`, whose rows are those of a part. */
const movedOf = (table: MovedTable): string => {
  const values = Object.entries(table.columns).map(([name, type], at) =>
    type === "integer" ? `(r ->> ${at})::bigint AS ${name}` : `r ->> ${at} AS ${name}`
  )
  return `WITH moved AS (SELECT ${values.join(", ")} FROM jsonb_array_elements($1::text::jsonb) AS r)`
}

const insertOf = (table: MovedTable): string => {
  const into =
    intoStored[table.name] ??
    `INSERT INTO ${table.name} (${Object.keys(table.columns).join(", ")}) OVERRIDING SYSTEM VALUE SELECT * FROM moved`
  return `${movedOf(table)} ${into}`
}

/** Adds the rows of a part that are missing, except those of a grant that has ended since the grants were read. */
const mergeOf = (table: MovedTable): string => {
  const isKnown = "grant_id" in table.columns ? " WHERE grant_id IN (SELECT id FROM grants)" : ""
  return `${insertOf(table)}${isKnown} ON CONFLICT DO NOTHING`
}

/** Finds a row of a part whose key another row has. */
const collision = (table: MovedTable): string =>
  `${movedOf(table)} SELECT m.seq AS key FROM moved AS m JOIN access_tokens AS t ON t.seq = m.seq
    WHERE t.hash <> m.hash LIMIT 1`

const tenantsOf = `events AS e CROSS JOIN json_array_elements_text(e.tenant_ids::json) AS t(id)`
const listed = "scope_type, scope_id, resource_type, created_at, event_seq"

/** Deletes the lists of the events in a range. */
const unlist = (range: string): ReadonlyArray<string> => [
  `DELETE FROM events_of WHERE (${listed}) IN (
    SELECT 'building', e.building_id, e.resource_type, e.created_at, e.seq FROM events AS e WHERE ${range})`,
  `DELETE FROM events_of WHERE (${listed}) IN (
    SELECT 'tenant', t.id::bigint, e.resource_type, e.created_at, e.seq FROM ${tenantsOf} WHERE ${range})`
]

const list = (range: string): ReadonlyArray<string> => [
  `INSERT INTO events_of (${listed})
    SELECT 'building', e.building_id, e.resource_type, e.created_at, e.seq FROM events AS e WHERE ${range}`,
  `INSERT INTO events_of (${listed})
    SELECT DISTINCT 'tenant', t.id::bigint, e.resource_type, e.created_at, e.seq FROM ${tenantsOf} WHERE ${range}`
]

/** Numbers that the tables or their sequences give to rows. */
const sequences: Readonly<Record<keyof Numbers, string>> = {
  integrations: `pg_get_serial_sequence('${schema}.integrations', 'id')`,
  notices: `pg_get_serial_sequence('${schema}.notices', 'id')`,
  access_tokens: `pg_get_serial_sequence('${schema}.access_tokens', 'seq')`,
  events: `'${schema}.event_numbers'`,
  deliveries: `'${schema}.delivery_ids'`
}

/** References between tables, which would order the changes of a move. */
const references = ["codes", "access_tokens", "refresh_tokens"] as const

const unlink = references.map((table) => `ALTER TABLE ${table} DROP CONSTRAINT IF EXISTS ${table}_grant_id_fkey`)
const link = references.map(
  (table) => `ALTER TABLE ${table} ADD CONSTRAINT ${table}_grant_id_fkey FOREIGN KEY (grant_id) REFERENCES grants (id)`
)

const states = ["pending", "retrying", "delivered", "exhausted", "expired", "cancelled", "skipped"] as const
/** Counts deliveries by state. A cancellation counts as done. */
const countAll = `INSERT INTO tallies (events, delivering, ${states.join(", ")})
  SELECT (SELECT count(*) FROM events), 0, ${states.map((state) => `count(*) FILTER (WHERE state = '${state}')`).join(", ")}
  FROM (
    SELECT CASE WHEN n.last_id >= q.id THEN 'cancelled' ELSE q.state END AS state
    FROM queue AS q LEFT JOIN endings AS n ON n.integration_id = q.integration_id
    UNION ALL SELECT state FROM deliveries
  ) AS all_deliveries`

/** Adds the rows of a range to the counts, or subtracts them. */
const countRange = (table: MovedTable, range: KeyRange, share: Share, sign: 1 | -1): string => {
  const isWithin = within(table, range, `t.${table.key}`)
  const state = `CASE WHEN t.${open} AND n.last_id >= t.id THEN 'cancelled' ELSE t.state END`
  return table.name === "events"
    ? `INSERT INTO tallies (events, delivering, ${states.join(", ")})
      SELECT ${sign} * count(*), 0, ${states.map(() => 0).join(", ")} FROM (SELECT * FROM ${rowsOf(table, share)}) AS t WHERE ${isWithin}`
    : `INSERT INTO tallies (events, delivering, ${states.join(", ")})
      SELECT 0, 0, ${states.map((each) => `${sign} * count(*) FILTER (WHERE ${state} = '${each}')`).join(", ")}
      FROM (SELECT * FROM ${rowsOf(table, share)}) AS t LEFT JOIN endings AS n ON n.integration_id = t.integration
      WHERE ${isWithin}`
}

const counted = new Set(["events", "deliveries", "open_deliveries"])

/** Keeps late changes away while the rows leave: of integrations silently, and no delivery becomes active again. */
const holdStill = (integrations: ReadonlyArray<number>): ReadonlyArray<string> => {
  const list = `'{${integrations.join(",")}}'::bigint[]`
  return [
    `CREATE OR REPLACE FUNCTION hold_still() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF current_setting('doorhook.is_move', true) = 'on' THEN
          RETURN coalesce(NEW, OLD);
        END IF;
        IF TG_TABLE_NAME = 'queue' THEN
          RAISE EXCEPTION 'The building is being moved to another database (doorhook move --buildings).'
            USING ERRCODE = '${movingState}';
        END IF;
        RETURN NULL;
      END
    $$`,
    `CREATE OR REPLACE TRIGGER hold_still BEFORE UPDATE OR DELETE ON integrations
      FOR EACH ROW WHEN (OLD.id = ANY (${list})) EXECUTE FUNCTION hold_still()`,
    `CREATE OR REPLACE TRIGGER hold_still BEFORE INSERT ON queue
      FOR EACH ROW WHEN (NEW.integration_id = ANY (${list})) EXECUTE FUNCTION hold_still()`
  ]
}

const letGo = ["integrations", "queue"].map((table) => `DROP TRIGGER IF EXISTS hold_still ON ${table}`)

const kept = "id, integration_id, event_id, created_at, due_at, attempts, lane, early"
const queued = `${kept}, state, resend`

/** Takes the deliveries of a share away from the workers. Their attempts in flight are repeated in the target. */
const takeAway = (share: Share): ReadonlyArray<string> => {
  const [isOurs, waits] = [isOfShare(share, "q"), (attempts: string) => `CASE WHEN ${attempts} THEN 1 ELSE 0 END`]
  const isNew = "q.attempts = 0 OR q.resend > 0"
  return [
    `INSERT INTO tallies (events, delivering, ${states.join(", ")})
      SELECT 0, -count(*), ${states.map((state) => (state === "pending" ? `coalesce(sum(${waits(isNew)}), 0)` : state === "retrying" ? `coalesce(sum(${waits(`NOT (${isNew})`)}), 0)` : "0")).join(", ")}
      FROM queue AS q LEFT JOIN endings AS n ON n.integration_id = q.integration_id
      WHERE q.state = 'delivering' AND coalesce(n.last_id < q.id, TRUE) AND ${isOurs}`,
    `WITH gone AS (DELETE FROM queue AS q WHERE ${isOurs} RETURNING q.*)
      INSERT INTO leaving (${queued}) SELECT ${kept}, ${unleased.state}, ${unleased.resend} FROM gone`
  ]
}

/** Tables that a service changes. After a move, nothing changes them. */
const changed = [
  ...movedTables.flatMap((table) => placesOf(table).map(([name]) => name)),
  "events_of",
  "members",
  "tallies"
]

const closing = [
  `CREATE OR REPLACE FUNCTION moved() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      RAISE EXCEPTION 'doorhook was moved from this database to another one. Start it there; this one accepts no changes.'
        USING ERRCODE = '${movedState}';
    END
  $$`,
  ...changed.map(
    (name) => `CREATE OR REPLACE TRIGGER moved BEFORE INSERT OR UPDATE OR DELETE ON ${name}
      FOR EACH STATEMENT EXECUTE FUNCTION moved()`
  )
]

const integrationsTable = movedTables[6]

const { byName, put } = settingStatements(postgres)

/** SQLSTATE of a lock that was not free in time, and of a deadlock. */
const notFree = "55P03"
const deadlock = "40P01"
const busy = new Set([notFree, deadlock])

/** How often locks are taken again after a deadlock. */
const deadlockRetries = 20

class PostgresMoveSide implements BuildingSide {
  readonly name: string
  readonly #sql: PgClient
  #share: Share | null = null

  constructor(name: string, sql: PgClient) {
    this.name = name
    this.#sql = sql
  }

  #run<A, R>(work: Effect.Effect<A, SqlError.SqlError | DatabaseUnusable, R>): Effect.Effect<A, DatabaseUnusable, R> {
    return Effect.catchTag(work, "SqlError", (error) =>
      Effect.fail(
        sqlStateOf(error) === "23505"
          ? new DatabaseUnusable({
              database: this.name,
              why: "refused",
              explanation: `a row of it has the number of another row of the source. Each cell must number its rows from a number of its own (doorhook migrate --first-id), also those whose buildings came from other cells. ${error.message}`,
              cause: error
            })
          : explain(this.name, error)
      )
    )
  }

  /** Runs statements one after the other. */
  #each(statements: ReadonlyArray<string>, values: ReadonlyArray<unknown> = []) {
    return Effect.forEach(statements, (statement) => this.#sql.unsafe(statement, values), { discard: true })
  }

  /** Locks a row in a transaction of its own, which works with every pooler and engine, and ends with the process. */
  get hold(): Effect.Effect<void, DatabaseUnusable, Scope.Scope> {
    return this.#run(
      Effect.gen({ self: this }, function* () {
        yield* this.#each(mover)
        const connection = yield* this.#sql.reserve
        const run = (statement: string) => connection.executeUnprepared(statement, [], undefined)
        yield* Effect.acquireRelease(run("BEGIN"), () => Effect.ignore(run("ROLLBACK")))
        yield* Effect.mapError(run("SELECT 1 FROM mover FOR UPDATE NOWAIT"), (error) =>
          sqlStateOf(error) === notFree
            ? new DatabaseUnusable({
                database: this.name,
                why: "locked",
                explanation: "another doorhook move uses it. Wait for its end.",
                cause: error
              })
            : error
        )
      })
    )
  }

  end(table: MovedTable, after: Key | null): Effect.Effect<Key | null, DatabaseUnusable> {
    const range = { after, last: null }
    const from = `(SELECT ${ordered(table, table.key)} AS ${table.key}, ${table.weight ?? "0"}
      FROM ${rowsOf(table, this.#share)} WHERE ${within(table, range)}) AS keys`
    return Effect.map(
      this.#run(this.#sql.unsafe<{ readonly last: Key | null }>(partEnd(table, from), boundsOf(range))),
      ([found]) => found?.last ?? null
    )
  }

  read(table: MovedTable, range: KeyRange): Effect.Effect<Part, DatabaseUnusable> {
    return Effect.map(
      this.#run(this.#sql.unsafe<Part>(readOf(table, range, this.#share), boundsOf(range))),
      ([found]) => found ?? { rows: "[]", count: 0 }
    )
  }

  replace(table: MovedTable, range: KeyRange, rows: string, isEmpty: boolean): Effect.Effect<void, DatabaseUnusable> {
    const bounds = boundsOf(range)
    const share = this.#share
    const isEvents = table.name === "events"
    const events = [
      within(table, range, "e.seq"),
      share === null ? "TRUE" : isIn("e.building_id", share.buildings)
    ].join(" AND ")
    const deletes = placesOf(table, share).map(
      ([name, key]) =>
        `DELETE FROM ${name} WHERE ${within(table, range, key)} AND ${this.#isReplaced(table, name, key)}`
    )
    const count = (sign: 1 | -1) =>
      share === null || !counted.has(table.name) ? [] : [countRange(table, range, share, sign)]
    return this.#run(
      this.#sql.withTransaction(
        Effect.gen({ self: this }, function* () {
          if (!isEmpty) yield* this.#each([...count(-1), ...(isEvents ? unlist(events) : []), ...deletes], bounds)
          if (rows === "[]") return
          yield* this.#each([insertOf(table)], [rows])
          yield* this.#each([...(isEvents ? list(events) : []), ...count(1)], bounds)
        })
      )
    )
  }

  /** SQL: whether a row is one of those that are copied. */
  #isReplaced(table: MovedTable, name: string, key: string): string {
    const share = this.#share
    if (share === null) return table.name === "settings" ? `name NOT IN (${keptSettings})` : "TRUE"
    if (["queue", "leaving", "deliveries"].includes(name)) return isOfShare(share, name)
    return name === "attempts" ? attemptIsOfShare(share) : belongs(table, key, share)
  }

  get #moves() {
    return Effect.map(this.mark(BuildingMoves.movesName), (text) => BuildingMoves.decodeMoves(text) ?? [])
  }

  mark(name: Mark): Effect.Effect<string | null, DatabaseUnusable> {
    return Effect.map(
      this.#run(this.#sql.unsafe<{ readonly value: string }>(byName, [name])),
      ([found]) => found?.value ?? null
    )
  }

  setMark(name: Mark, value: string | null): Effect.Effect<void, DatabaseUnusable> {
    const stored =
      value === null
        ? this.#sql.unsafe("DELETE FROM settings WHERE name = $1", [name])
        : this.#sql.unsafe(put, [name, value])
    const change =
      name === BuildingMoves.movesName
        ? Effect.andThen(stored, this.#each(refusalsOf(BuildingMoves.decodeMoves(value) ?? [])))
        : stored
    // A commit that waits for the disk also waits for all earlier ones.
    const durable = this.#sql.unsafe("SELECT set_config('synchronous_commit', 'on', true)")
    return this.#run(this.#sql.withTransaction(Effect.asVoid(Effect.andThen(durable, change))))
  }

  get filled(): Effect.Effect<ReadonlyArray<string>, DatabaseUnusable> {
    const names = movedTables.flatMap((table) => placesOf(table).map(([name]) => name))
    return this.#run(
      Effect.filter(
        names.filter((name) => name !== "settings"),
        (name) => Effect.map(this.#sql.unsafe(`SELECT 1 FROM ${name} LIMIT 1`), (rows) => rows.length > 0)
      )
    )
  }

  get numbers(): Effect.Effect<Numbers, DatabaseUnusable> {
    const each = Object.entries(sequences).map(
      ([name, sequence]) => `coalesce(pg_sequence_last_value((${sequence})::regclass), 0) AS ${name}`
    )
    return this.#run(
      Effect.flatMap(this.#sql.unsafe<Numbers>(`SELECT ${each.join(", ")}`), ([found]) =>
        found === undefined ? Effect.die(new Error("no row")) : Effect.succeed(found)
      )
    )
  }

  startAt(first: number): Effect.Effect<void, DatabaseUnusable> {
    const set = Struct.keys(sequences).map((name) => `SELECT setval((${sequences[name]})::regclass, ${first}, false)`)
    return this.#run(
      this.#sql.withTransaction(
        Effect.gen({ self: this }, function* () {
          const [found] = yield* this.#sql.unsafe<{ readonly count: number }>(running)
          if (found !== undefined && found.count > 0)
            return yield* this.#refuse(
              `${found.count} running workers use it. Stop all processes before you change from which number it numbers its rows.`
            )
          yield* this.#each([...set])
          yield* this.#sql.unsafe(put, [firstIdName, String(first)])
        })
      )
    )
  }

  #refuse(explanation: string) {
    return Effect.fail(new DatabaseUnusable({ database: this.name, why: "refused", explanation }))
  }

  choose(share: Share): Effect.Effect<void, DatabaseUnusable> {
    this.#share = share
    return this.#run(
      Effect.gen({ self: this }, function* () {
        // In a target, buildings that come back are no longer refused.
        yield* this.#each(share.copyBelow === null ? leaving : keepLeft(yield* this.#moves))
      })
    )
  }

  get tenants(): Effect.Effect<ReadonlyArray<FoundTenant>, DatabaseUnusable> {
    const inside = isIn("e.building_id", this.#share?.buildings ?? [])
    return this.#run(
      this.#sql
        .unsafe<FoundTenant>(`SELECT tenant, sum(inside)::int AS inside, sum(outside)::int AS outside, bool_or(bound) AS "isBound"
        FROM (
          SELECT t.id::bigint AS tenant, count(*) FILTER (WHERE ${inside}) AS inside,
            count(*) FILTER (WHERE NOT ${inside}) AS outside, FALSE AS bound FROM ${tenantsOf} GROUP BY 1
          UNION ALL SELECT scope_id, 0, 0, TRUE FROM integrations WHERE scope_type = 'tenant'
        ) AS found GROUP BY 1 ORDER BY 1`)
    )
  }

  get integrations(): Effect.Effect<ReadonlyArray<number>, DatabaseUnusable> {
    const share = this.#share
    if (share === null) return Effect.succeed([])
    const deliveries = queuesOf(share).map(
      (name) => `SELECT integration_id FROM ${name} WHERE ${isOfShare(share, name)}`
    )
    return Effect.map(
      this.#run(
        this.#sql.unsafe<{ readonly id: number }>(
          `SELECT id FROM integrations WHERE ${belongs(integrationsTable, "id", share)} UNION ${deliveries.join(" UNION ")} ORDER BY 1`
        )
      ),
      (rows) => rows.map(({ id }) => id)
    )
  }

  readonly noticed = Effect.sleep(noticeTime)

  whileLeaving<A>(work: Effect.Effect<A, DatabaseUnusable>): Effect.Effect<A, DatabaseUnusable> {
    // Outside of a transaction, each statement holds only one lock.
    return Effect.tap(work, () => this.#run(this.#each([...letGo, "DROP TABLE IF EXISTS leaving"])))
  }

  get fence(): Effect.Effect<void, DatabaseUnusable> {
    const share = this.#share
    if (share === null) return Effect.void
    const work = Effect.gen({ self: this }, function* () {
      yield* this.#lock(["integrations", "events", "queue", "deliveries", "endings"])
      yield* this.#each([wholeTables])
      const moves = yield* this.#moves
      const integrations = yield* this.integrations
      yield* this.#each([...takeAway(share), ...holdStill(integrations), ...keepLeft(moves)])
    })
    return this.atomically(this.#run(work))
  }

  get release(): Effect.Effect<void, DatabaseUnusable> {
    const share = this.#share
    if (share === null) return Effect.void
    const work = Effect.gen({ self: this }, function* () {
      yield* this.#each([
        ...keepOthersLeft(yield* this.#moves),
        `WITH back AS (DELETE FROM leaving AS q WHERE ${isOfShare(share, "q")} RETURNING q.*)
          INSERT INTO queue (${queued}) SELECT ${queued} FROM back`
      ])
    })
    return Effect.andThen(this.atomically(this.#run(work)), this.#run(this.#each(letGo)))
  }

  /** Also waits for a killed move's transaction, which has changed the setting. */
  atomically<A>(work: Effect.Effect<A, DatabaseUnusable>): Effect.Effect<A, DatabaseUnusable> {
    const begin = this.#each([
      "SELECT set_config('synchronous_commit', 'on', true), set_config('doorhook.is_move', 'on', true)",
      `SELECT 1 FROM settings WHERE name = '${BuildingMoves.movesName}' FOR UPDATE`
    ])
    return this.#run(
      Effect.retry(this.#sql.withTransaction(Effect.andThen(begin, work)), {
        while: (error) => sqlStateOf(error) === deadlock,
        times: deadlockRetries
      })
    )
  }

  merge(table: MovedTable, rows: string): Effect.Effect<void, DatabaseUnusable> {
    return this.#run(
      Effect.gen({ self: this }, function* () {
        yield* this.#each([mergeOf(table)], [rows])
        if (table.name !== "access_tokens") return
        const [found] = yield* this.#sql.unsafe<{ readonly key: number }>(collision(table), [rows])
        if (found !== undefined)
          return yield* this.#refuse(
            `its access token ${found.key} is another one than that of the source. Repeat the command when it has expired.`
          )
      })
    )
  }

  follow(moves: ReadonlyArray<BuildingMoves.BuildingMove>): Effect.Effect<void, DatabaseUnusable> {
    const wake = (this.#share?.integrations ?? []).map((id) => `SELECT wake('${id}')`)
    return this.#run(this.#each([...keepLeft(moves), ...wake, "SELECT wake('')"]))
  }

  begin(): Effect.Effect<void, DatabaseUnusable> {
    return this.#run(this.#each(unlink))
  }

  finish(numbers: Numbers): Effect.Effect<void, DatabaseUnusable> {
    const set = Struct.keys(sequences).map(
      (name) => `SELECT setval((${sequences[name]})::regclass, ${Math.max(numbers[name], 1)}, ${numbers[name] > 0})`
    )
    return this.#run(
      this.#sql.withTransaction(
        Effect.gen({ self: this }, function* () {
          const left = keepLeft(yield* this.#moves)
          yield* this.#each([wholeTables, ...unlink, ...link, "DELETE FROM tallies", countAll, ...set, ...left])
        })
      )
    )
  }

  whileStopped<A>(work: Effect.Effect<A, DatabaseUnusable>, movedTo: string): Effect.Effect<A, DatabaseUnusable> {
    const close = Effect.andThen(this.setMark(marks.source, movedTo), this.#each(closing))
    return this.#run(
      this.#sql.withTransaction(
        Effect.andThen(
          this.#lock(changed),
          Effect.tap(work, () => close)
        )
      )
    )
  }

  /**
   * Waits for the transactions that change tables or lock rows, and keeps others from them until the transaction ends.
   * Processes lock tables in other orders, and the server ends one of two transactions that wait for each other. The
   * locks are taken in a transaction inside, so that they can be taken again.
   */
  #lock(tables: ReadonlyArray<string>): Effect.Effect<void, SqlError.SqlError | DatabaseUnusable> {
    return this.#sql.withTransaction(this.#sql.unsafe(`LOCK TABLE ${tables.join(", ")} IN EXCLUSIVE MODE`)).pipe(
      Effect.retry({ while: (error) => sqlStateOf(error) === deadlock, times: deadlockRetries }),
      Effect.mapError((error) => (busy.has(sqlStateOf(error)) ? this.#inUse(error) : error)),
      Effect.asVoid
    )
  }

  #inUse(cause: SqlError.SqlError): DatabaseUnusable {
    return new DatabaseUnusable({
      database: this.name,
      why: "locked",
      explanation:
        "a transaction held locks on doorhook's tables for 30 seconds, so it could not be stopped. Nothing was changed in it. Stop the processes that use it, and repeat the move.",
      cause
    })
  }
}

/** Connects to a database for a move. The database must have doorhook's tables. */
export const make = (url: Redacted.Redacted<string>): Effect.Effect<BuildingSide, DatabaseUnusable, Scope.Scope> =>
  Effect.gen(function* () {
    const link = yield* linkTo(url)
    const route = yield* findRoute(link, session)
    return new PostgresMoveSide(nameOf(url), yield* connect(link, connections, route))
  }).pipe(
    Effect.mapError((error) => (error._tag === "DatabaseUnusable" ? error : explain(nameOf(url), error))),
    Effect.provide(Reactivity.layer)
  )
