/**
 * A PostgreSQL database as the source or the target of a move.
 */
import type { PgClient } from "@effect/sql-pg/PgClient"
import type { Redacted } from "effect"
import { Effect, Struct } from "effect"
import type { Scope } from "effect"
import { Reactivity } from "effect/reactivity"
import type { SqlError } from "effect/sql"
import { DatabaseUnusable } from "../DatabaseUnusable.ts"
import type { Key, KeyRange, Mark, MovedTable, Numbers, Part } from "../move/MovedTables.ts"
import { keptSettings, marks, movedTables, partEnd } from "../move/MovedTables.ts"
import type { MoveSide } from "../move/Move.ts"
import { settingStatements } from "../statements/SettingStatements.ts"
import { sqlStateOf } from "../StoreFailure.ts"
import { connect, linkTo, nameOf, schema } from "./PostgresDatabase.ts"
import { postgres } from "./PostgresDialect.ts"
import { explain } from "./PostgresFailure.ts"
import { findRoute } from "./Route.ts"

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

const connections = 6

const open = "state IN ('pending', 'retrying')"
const endedColumns = `attempt_started_at, attempt_duration_ms, attempt_outcome, attempt_status, attempt_detail, attempt_excerpt`

/** Tables whose rows are stored in another form than they are copied in. */
const stored: Readonly<Record<string, string>> = {
  codes: `(SELECT hash, grant_id, client_id, redirect_uri, redirect_uri_given::int, code_challenge, expires_at, used_at
    FROM codes) AS codes`,
  // A leased delivery waits, as after the release of its lease. A delivery whose event is missing loses its reference.
  deliveries: `(SELECT d.id, d.integration, e.id AS event_id, coalesce(e.created_at, 0) AS created_at, d.state, d.reason,
      d.lane, d.attempts, d.early, d.resend, d.due_at, ${endedColumns} FROM (
        SELECT id, integration_id AS integration, event_id, CASE WHEN state <> 'delivering' THEN state
            WHEN attempts = 0 OR resend > 0 THEN 'pending' ELSE 'retrying' END AS state,
          NULL AS reason, lane, attempts, early, least(resend, 1) AS resend, due_at, NULL::bigint AS attempt_started_at,
          NULL::bigint AS attempt_duration_ms, NULL AS attempt_outcome, NULL::integer AS attempt_status,
          NULL AS attempt_detail, NULL AS attempt_excerpt FROM queue
        UNION ALL SELECT id, integration_id, event_id, state, reason, lane, attempts, early, 0, NULL, ${endedColumns}
        FROM deliveries
      ) AS d LEFT JOIN events AS e ON e.id = d.event_id) AS deliveries`,
  cancellations: `(SELECT integration_id AS integration, last_id AS last_delivery, reason FROM endings) AS endings`,
  settings: `(SELECT name, value FROM settings WHERE name NOT IN (${keptSettings})) AS settings`
}

const referenced = `coalesce(event_id, 'evt_${"0".repeat(20)}')`

/** Inserts the rows of the query `moved` into tables of another form. */
const intoStored: Readonly<Record<string, ReadonlyArray<string>>> = {
  codes: [
    `INSERT INTO codes SELECT hash, grant_id, client_id, redirect_uri, redirect_uri_given <> 0, code_challenge, expires_at,
      used_at FROM moved`
  ],
  deliveries: [
    `INSERT INTO queue (id, integration_id, event_id, created_at, state, lane, attempts, early, resend, due_at)
      SELECT id, integration, ${referenced}, created_at, state, lane, attempts, early, resend, due_at FROM moved WHERE ${open}`,
    `INSERT INTO deliveries (id, integration_id, event_id, created_at, state, reason, lane, attempts, early, ${endedColumns})
      SELECT id, integration, ${referenced}, created_at, state, reason, lane, attempts, early, ${endedColumns}
      FROM moved WHERE NOT ${open}`
  ],
  cancellations: [
    "INSERT INTO endings (integration_id, last_id, reason) SELECT integration, last_delivery, reason FROM moved"
  ]
}

/** The tables in which the rows are stored, with the name of their key. */
const placesOf = ({ key, name }: MovedTable): ReadonlyArray<readonly [table: string, key: string]> => {
  if (name === "deliveries")
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

const readOf = (table: MovedTable, range: KeyRange): string => {
  const values = Object.entries(table.columns).map(([name, type]) =>
    type === "integer" ? `coalesce(${name}::text, 'null')` : `coalesce(to_json(${name})::text, 'null')`
  )
  const order = [table.key, ...table.order].map((column) => ordered(table, column, column)).join(", ")
  return `SELECT '[' || coalesce(string_agg('[' || ${values.join(" || ',' || ")} || ']', ',' ORDER BY ${order}), '') || ']' AS rows,
    count(*) AS count FROM ${stored[table.name] ?? table.name} WHERE ${within(table, range)}`
}

const insertsOf = (table: MovedTable): ReadonlyArray<string> => {
  const names = Object.keys(table.columns)
  const values = Object.entries(table.columns).map(([name, type], at) =>
    type === "integer" ? `(r ->> ${at})::bigint AS ${name}` : `r ->> ${at} AS ${name}`
  )
  const moved = `WITH moved AS (SELECT ${values.join(", ")} FROM jsonb_array_elements($1::text::jsonb) AS r)`
  const into = intoStored[table.name] ?? [
    `INSERT INTO ${table.name} (${names.join(", ")}) OVERRIDING SYSTEM VALUE SELECT * FROM moved`
  ]
  return into.map((statement) => `${moved} ${statement}`)
}

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
        USING ERRCODE = 'object_not_in_prerequisite_state';
    END
  $$`,
  ...changed.map(
    (name) => `CREATE OR REPLACE TRIGGER moved BEFORE INSERT OR UPDATE OR DELETE ON ${name}
      FOR EACH STATEMENT EXECUTE FUNCTION moved()`
  )
]

const { byName, put } = settingStatements(postgres)

/** SQLSTATE of a lock that was not free in time, and of a deadlock. */
const busy = new Set(["55P03", "40P01"])

class PostgresMoveSide implements MoveSide {
  readonly name: string
  readonly #sql: PgClient

  constructor(name: string, sql: PgClient) {
    this.name = name
    this.#sql = sql
  }

  #run<A, R>(work: Effect.Effect<A, SqlError.SqlError | DatabaseUnusable, R>): Effect.Effect<A, DatabaseUnusable, R> {
    return Effect.catchTag(work, "SqlError", (error) => Effect.fail(explain(this.name, error)))
  }

  /** Runs statements one after the other. */
  #each(statements: ReadonlyArray<string>, values: ReadonlyArray<unknown> = []) {
    return Effect.forEach(statements, (statement) => this.#sql.unsafe(statement, values), { discard: true })
  }

  end(table: MovedTable, after: Key | null): Effect.Effect<Key | null, DatabaseUnusable> {
    const range = { after, last: null }
    const from = `(SELECT ${ordered(table, table.key)} AS ${table.key}, ${table.weight ?? "0"}
      FROM ${stored[table.name] ?? table.name} WHERE ${within(table, range)}) AS keys`
    return Effect.map(
      this.#run(this.#sql.unsafe<{ readonly last: Key | null }>(partEnd(table, from), boundsOf(range))),
      ([found]) => found?.last ?? null
    )
  }

  read(table: MovedTable, range: KeyRange): Effect.Effect<Part, DatabaseUnusable> {
    return Effect.map(
      this.#run(this.#sql.unsafe<Part>(readOf(table, range), boundsOf(range))),
      ([found]) => found ?? { rows: "[]", count: 0 }
    )
  }

  replace(table: MovedTable, range: KeyRange, rows: string, isEmpty: boolean): Effect.Effect<void, DatabaseUnusable> {
    const bounds = boundsOf(range)
    const isEvents = table.name === "events"
    const events = within(table, range, "e.seq")
    const kept = table.name === "settings" ? ` AND name NOT IN (${keptSettings})` : ""
    const deletes = placesOf(table).map(
      ([name, key]) => `DELETE FROM ${name} WHERE ${within(table, range, key)}${kept}`
    )
    return this.#run(
      this.#sql.withTransaction(
        Effect.gen({ self: this }, function* () {
          if (!isEmpty) yield* this.#each([...(isEvents ? unlist(events) : []), ...deletes], bounds)
          yield* this.#each(insertsOf(table), [rows])
          if (isEvents) yield* this.#each(list(events), bounds)
        })
      )
    )
  }

  mark(name: Mark): Effect.Effect<string | null, DatabaseUnusable> {
    return Effect.map(
      this.#run(this.#sql.unsafe<{ readonly value: string }>(byName, [name])),
      ([found]) => found?.value ?? null
    )
  }

  setMark(name: Mark, value: string | null): Effect.Effect<void, DatabaseUnusable> {
    const change =
      value === null
        ? this.#sql.unsafe("DELETE FROM settings WHERE name = $1", [name])
        : this.#sql.unsafe(put, [name, value])
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

  begin(): Effect.Effect<void, DatabaseUnusable> {
    return this.#run(this.#each(unlink))
  }

  finish(numbers: Numbers): Effect.Effect<void, DatabaseUnusable> {
    const set = Struct.keys(sequences).map(
      (name) => `SELECT setval((${sequences[name]})::regclass, ${Math.max(numbers[name], 1)}, ${numbers[name] > 0})`
    )
    return this.#run(
      this.#sql.withTransaction(this.#each([wholeTables, ...unlink, ...link, "DELETE FROM tallies", countAll, ...set]))
    )
  }

  whileStopped<A>(work: Effect.Effect<A, DatabaseUnusable>, movedTo: string): Effect.Effect<A, DatabaseUnusable> {
    const lock = this.#sql.unsafe(`LOCK TABLE ${changed.join(", ")} IN SHARE ROW EXCLUSIVE MODE`)
    const locked = Effect.mapError(lock, (error) => (busy.has(sqlStateOf(error)) ? this.#inUse(error) : error))
    const close = Effect.andThen(this.setMark(marks.source, movedTo), this.#each(closing))
    return this.#run(
      this.#sql.withTransaction(
        Effect.andThen(
          locked,
          Effect.tap(work, () => close)
        )
      )
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
export const make = (url: Redacted.Redacted<string>): Effect.Effect<MoveSide, DatabaseUnusable, Scope.Scope> =>
  Effect.gen(function* () {
    const link = yield* linkTo(url)
    const route = yield* findRoute(link, session)
    return new PostgresMoveSide(nameOf(url), yield* connect(link, connections, route))
  }).pipe(
    Effect.mapError((error) => (error._tag === "DatabaseUnusable" ? error : explain(nameOf(url), error))),
    Effect.provide(Reactivity.layer)
  )
