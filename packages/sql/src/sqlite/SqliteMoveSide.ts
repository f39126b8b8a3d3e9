/**
 * A SQLite file as the source or the target of a move.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import type { DatabaseSync } from "node:sqlite"
import { DatabaseUnusable } from "../DatabaseUnusable.ts"
import type { Key, KeyRange, Mark, MovedTable, Numbers, Part } from "../move/MovedTables.ts"
import { keptSettings, marks, movedTables, partEnd } from "../move/MovedTables.ts"
import type { MoveSide } from "../move/Move.ts"
import { fromStored, toStored } from "../postgres/NulText.ts"
import { sqlite } from "../Dialect.ts"
import { settingStatements } from "../statements/SettingStatements.ts"
import { codes, listByBuilding, listByIntegration, listByTenant, storedStates } from "./DeliverySql.ts"
import { openDatabase } from "./NodeSqlite.ts"

const stateOf = `CASE d.state ${storedStates.map((state) => `WHEN ${codes[state]} THEN '${state}'`).join(" ")} END`
const codeOf = `CASE state ${storedStates.map((state) => `WHEN '${state}' THEN ${codes[state]}`).join(" ")} END`

/** Tables whose rows are stored in another form than they are copied in. */
const stored: Readonly<Record<string, string>> = {
  // Like an owner at its start, makes due what an ended process had kept since the publication.
  deliveries: `(SELECT d.id, d.integration, e.id AS event_id,
      coalesce(e.created_at, 0) AS created_at, ${stateOf} AS state, d.reason, d.lane, d.attempts, d.early, d.resend,
      CASE WHEN d.state IN (0, 2) THEN coalesce(d.due_at, e.created_at, 0) END AS due_at, d.attempt_started_at,
      d.attempt_duration_ms, d.attempt_outcome, d.attempt_status, d.attempt_detail, d.attempt_excerpt
    FROM deliveries AS d LEFT JOIN events AS e ON e.seq = d.event)`,
  settings: `(SELECT name, value FROM settings WHERE name NOT IN (${keptSettings}))`
}

const intoDeliveries = `INSERT INTO deliveries (id, event, integration, state, reason, lane, attempts, early, resend, due_at,
    attempt_started_at, attempt_duration_ms, attempt_outcome, attempt_status, attempt_detail, attempt_excerpt)
  SELECT id, coalesce((SELECT seq FROM events AS e WHERE e.id = event_id), 0),
    integration, ${codeOf}, reason, lane, attempts, early, resend, due_at, attempt_started_at, attempt_duration_ms,
    attempt_outcome, attempt_status, attempt_detail, attempt_excerpt FROM moved`

/** Reads a receiver's text in the form of PostgreSQL. Calls JavaScript only for a text that differs. */
const escaped = (column: string): string =>
  `CASE WHEN instr(${column}, char(0)) + instr(${column}, char(57344)) > 0 THEN to_stored(${column}) ELSE ${column} END`

const fromOf = (table: MovedTable): string => stored[table.name] ?? table.name

const within = ({ key }: MovedTable, { after, last }: KeyRange): string =>
  [...(after === null ? [] : [`${key} > :after`]), ...(last === null ? [] : [`${key} <= :last`]), "TRUE"].join(" AND ")

const boundsOf = ({ after, last }: KeyRange): Readonly<Record<string, Key>> => ({
  ...(after !== null && { after }),
  ...(last !== null && { last })
})

const readOf = (table: MovedTable, range: KeyRange): string => {
  const values = Object.entries(table.columns).map(([name, type]) => (type === "answer" ? escaped(name) : name))
  return `SELECT '[' || coalesce(group_concat(item, ','), '') || ']' AS rows, count(*) AS count FROM (
    SELECT json_array(${values.join(", ")}) AS item FROM ${fromOf(table)}
    WHERE ${within(table, range)} ORDER BY ${[table.key, ...table.order].join(", ")})`
}

const insertOf = (table: MovedTable): string => {
  const names = Object.keys(table.columns)
  const values = Object.entries(table.columns).map(([name, type], at) => {
    const value = `value ->> ${at}`
    return `${type === "answer" ? `from_stored(${value})` : value} AS ${name}`
  })
  const moved = `WITH moved AS (SELECT ${values.join(", ")} FROM json_each(:rows))`
  return `${moved} ${table.name === "deliveries" ? intoDeliveries : `INSERT INTO ${table.name} (${names.join(", ")}) SELECT * FROM moved`}`
}

const isText = (value: unknown): string | null => (typeof value === "string" ? value : null)

const open = (filename: string, readOnly: boolean): DatabaseSync => {
  const database = openDatabase(filename, { readOnly, timeout: 10_000 })
  const same = { deterministic: true }
  database.function("to_stored", same, (text) => toStored(isText(text)))
  database.function("from_stored", same, (text) => fromStored(isText(text)))
  return database
}

const { byName, put } = settingStatements(sqlite)
const countOf = (where: string): string => `(SELECT count(*) FROM deliveries WHERE ${where})`
const covered = `id <= coalesce((SELECT last_delivery FROM cancellations AS c WHERE c.integration = deliveries.integration), 0)`

/** The counts of an owner: events, and deliveries by state. A cancellation counts as done. */
const counts = [
  "(SELECT count(*) FROM events)",
  ...storedStates.map((state) => {
    const isState = `state = ${codes[state]}`
    if (state === "cancelled") return countOf(`${isState} OR (state IN (0, 2) AND ${covered})`)
    return countOf(state === "pending" || state === "retrying" ? `${isState} AND NOT ${covered}` : isState)
  })
].join(", ")

class SqliteMoveSide implements MoveSide {
  readonly name: string
  #database: DatabaseSync
  readonly #take: Effect.Effect<unknown, DatabaseUnusable, Scope.Scope>

  constructor(name: string, database: DatabaseSync, take: Effect.Effect<unknown, DatabaseUnusable, Scope.Scope>) {
    this.name = name
    this.#database = database
    this.#take = take
  }

  /** Runs statements. A failure names the file. */
  #run<A>(work: (database: DatabaseSync) => A): Effect.Effect<A, DatabaseUnusable> {
    return running(this.name, () => work(this.#database))
  }

  /** Runs statements in a transaction. */
  #change(work: (database: DatabaseSync) => void): Effect.Effect<void, DatabaseUnusable> {
    return this.#run((database) => {
      database.exec("BEGIN IMMEDIATE")
      try {
        work(database)
        database.exec("COMMIT")
      } catch (error) {
        database.exec("ROLLBACK")
        throw error
      }
    })
  }

  end(table: MovedTable, after: Key | null): Effect.Effect<Key | null, DatabaseUnusable> {
    const from = `${table.name} WHERE ${within(table, { after, last: null })}`
    return this.#run((database) => {
      const last = database.prepare(partEnd(table, from)).get(boundsOf({ after, last: null }))?.["last"] ?? null
      return last === null || typeof last === "string" ? last : Number(last)
    })
  }

  read(table: MovedTable, range: KeyRange): Effect.Effect<Part, DatabaseUnusable> {
    return this.#run((database) => {
      const found = database.prepare(readOf(table, range)).get(boundsOf(range))
      return { rows: String(found?.["rows"]), count: Number(found?.["count"]) }
    })
  }

  replace(table: MovedTable, range: KeyRange, rows: string, isEmpty: boolean): Effect.Effect<void, DatabaseUnusable> {
    return this.#change((database) => {
      const kept = table.name === "settings" ? ` AND name NOT IN (${keptSettings})` : ""
      if (!isEmpty)
        database.prepare(`DELETE FROM ${table.name} WHERE ${within(table, range)}${kept}`).run(boundsOf(range))
      database.prepare(insertOf(table)).run({ rows })
    })
  }

  mark(name: Mark): Effect.Effect<string | null, DatabaseUnusable> {
    return this.#run((database) => isText(database.prepare(byName).get(name)?.["value"]))
  }

  setMark(name: Mark, value: string | null): Effect.Effect<void, DatabaseUnusable> {
    const durably = this.#run((database) => database.exec("PRAGMA synchronous = FULL"))
    return Effect.andThen(
      durably,
      this.#change((database) => {
        if (value === null) database.prepare("DELETE FROM settings WHERE name = ?").run(name)
        else database.prepare(put).run(name, value)
      })
    )
  }

  get filled(): Effect.Effect<ReadonlyArray<string>, DatabaseUnusable> {
    return this.#run((database) =>
      movedTables
        .map(({ name }) => name)
        .filter((name) => name !== "settings" && database.prepare(`SELECT 1 FROM ${name} LIMIT 1`).get() !== undefined)
    )
  }

  get numbers(): Effect.Effect<Numbers, DatabaseUnusable> {
    return this.#run((database) => {
      const given = (query: string) => Number(Object.values(database.prepare(query).get() ?? {})[0] ?? 0)
      const sequence = (name: string) => given(`SELECT seq FROM sqlite_sequence WHERE name = '${name}'`)
      return {
        integrations: sequence("integrations"),
        notices: sequence("notices"),
        access_tokens: given("SELECT max(seq) FROM access_tokens"),
        events: given("SELECT event FROM owner"),
        deliveries: given("SELECT delivery FROM owner")
      }
    })
  }

  begin(): Effect.Effect<void, DatabaseUnusable> {
    // References would order the changes, and the mark at the end syncs everything.
    return this.#run((database) => database.exec("PRAGMA foreign_keys = OFF; PRAGMA synchronous = NORMAL"))
  }

  finish(numbers: Numbers): Effect.Effect<void, DatabaseUnusable> {
    const { access_tokens: _, deliveries, events, ...sequences } = numbers
    return this.#change((database) => {
      database.exec("DELETE FROM events_of; DELETE FROM deliveries_of; DELETE FROM owner")
      for (const list of [listByBuilding, listByTenant]) database.prepare(list).run(0, events)
      database.prepare(listByIntegration).run(0, deliveries)
      const names = `event, delivery, listed_event, listed_delivery, low, beat_at, events, ${storedStates.join(", ")}`
      database
        .prepare(`INSERT INTO owner (${names}) SELECT ?, ?, ?, ?, ?, 0, ${counts}`)
        .run(events, deliveries, events, deliveries, deliveries + 1)
      for (const [name, number] of Object.entries(sequences)) {
        database.prepare("DELETE FROM sqlite_sequence WHERE name = ?").run(name)
        if (number > 0) database.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)").run(name, number)
      }
    })
  }

  whileStopped<A>(work: Effect.Effect<A, DatabaseUnusable>, movedTo: string): Effect.Effect<A, DatabaseUnusable> {
    const take = this.#take
    return Effect.gen({ self: this }, function* () {
      yield* take
      const writable = yield* opened(this.name, false)
      this.#database = writable
      const done = yield* work
      yield* this.setMark(marks.source, movedTo)
      return done
    }).pipe(Effect.scoped)
  }
}

const running = <A>(filename: string, work: () => A): Effect.Effect<A, DatabaseUnusable> =>
  Effect.try({
    try: work,
    catch: (cause) =>
      new DatabaseUnusable({
        database: filename,
        why: "failed",
        explanation: `SQLite reports: ${String(cause)}`,
        cause
      })
  })

const opened = (filename: string, readOnly: boolean): Effect.Effect<DatabaseSync, DatabaseUnusable, Scope.Scope> =>
  Effect.acquireRelease(
    running(filename, () => open(filename, readOnly)),
    (database) => Effect.sync(() => database.close())
  )

/**
 * Opens a file for a move. A source is only read until `whileStopped`. `take` waits until no process uses the file, and
 * then keeps others from it for the lifetime of its scope.
 */
export const make = (
  filename: string,
  role: "source" | "target",
  take: Effect.Effect<unknown, DatabaseUnusable, Scope.Scope>
): Effect.Effect<MoveSide, DatabaseUnusable, Scope.Scope> =>
  Effect.map(opened(filename, role === "source"), (database) => new SqliteMoveSide(filename, database, take))
