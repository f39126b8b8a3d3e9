/**
 * A SQLite file as the source or the target of a move.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import type { DatabaseSync } from "node:sqlite"
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
import { fromStored, toStored } from "../postgres/NulText.ts"
import { sqlite } from "../Dialect.ts"
import { settingStatements } from "../statements/SettingStatements.ts"
import { codes, listByBuilding, listByIntegration, listByTenant, storedStates } from "./DeliverySql.ts"
import { openDatabase } from "./NodeSqlite.ts"

const stateOf = `CASE d.state ${storedStates.map((state) => `WHEN ${codes[state]} THEN '${state}'`).join(" ")} END`
const codeOf = `CASE state ${storedStates.map((state) => `WHEN '${state}' THEN ${codes[state]}`).join(" ")} END`

/** Reads deliveries. Like an owner at its start, makes due what an ended process had kept since the publication. */
const deliveriesIn = (condition: string): string => `(SELECT d.id, d.integration, e.id AS event_id,
      coalesce(e.created_at, 0) AS created_at, ${stateOf} AS state, d.reason, d.lane, d.attempts, d.early, d.resend,
      CASE WHEN d.state IN (0, 2) THEN coalesce(d.due_at, e.created_at, 0) END AS due_at, d.attempt_started_at,
      d.attempt_duration_ms, d.attempt_outcome, d.attempt_status, d.attempt_detail, d.attempt_excerpt
    FROM deliveries AS d LEFT JOIN events AS e ON e.seq = d.event WHERE ${condition})`

const intoDeliveries = `INSERT INTO deliveries (id, event, integration, state, reason, lane, attempts, early, resend, due_at,
    attempt_started_at, attempt_duration_ms, attempt_outcome, attempt_status, attempt_detail, attempt_excerpt)
  SELECT id, coalesce((SELECT seq FROM events AS e WHERE e.id = event_id), 0),
    integration, ${codeOf}, reason, lane, attempts, early, resend, due_at, attempt_started_at, attempt_duration_ms,
    attempt_outcome, attempt_status, attempt_detail, attempt_excerpt FROM moved`

/** Reads a receiver's text in the form of PostgreSQL. Calls JavaScript only for a text that differs. */
const escaped = (column: string): string =>
  `CASE WHEN instr(${column}, char(0)) + instr(${column}, char(57344)) > 0 THEN to_stored(${column}) ELSE ${column} END`

// Rows of a share: buildings that move to or from a file with others.

const isOpen = "d.state IN (0, 2)"

/** SQL: whether a row of the table `d` is of a building of a share. In a target, a copy counts before its event is there. */
const isOfShare = (share: Share, id: string, event: string): string =>
  isOfBuildings(share, id, `SELECT 1 FROM events AS o WHERE o.seq = ${event} AND`)

/** SQL: whether a row of a table is one of those that are copied. */
const isCopied = (table: MovedTable, share: Share | null): string => {
  if (share === null) return table.name === "settings" ? `name NOT IN (${keptSettings})` : "TRUE"
  switch (table.name) {
    case "deliveries":
      return `NOT ${isOpen} AND ${isOfShare(share, "d.id", "d.event")}`
    case "open_deliveries":
      return `${isOpen} AND ${isOfShare(share, "d.id", "d.event")}`
    case "attempts":
      return isOfShare(share, "delivery_id", "(SELECT event FROM deliveries AS d WHERE d.id = delivery_id)")
    default:
      return belongs(table, table.key, share)
  }
}

/** The table that stores the rows of a moved table. */
const placeOf = ({ name }: MovedTable): string => (name === "open_deliveries" ? "deliveries" : name)

const isOfDeliveries = (table: MovedTable): boolean => placeOf(table) === "deliveries"

/** The rows of a table that are copied, all or those of a share. */
const fromOf = (table: MovedTable, share: Share | null): string => {
  const condition = isCopied(table, share)
  if (isOfDeliveries(table)) return deliveriesIn(condition)
  return condition === "TRUE" ? table.name : `(SELECT * FROM ${table.name} WHERE ${condition})`
}

const within = ({ key }: MovedTable, { after, last }: KeyRange): string =>
  [...(after === null ? [] : [`${key} > :after`]), ...(last === null ? [] : [`${key} <= :last`]), "TRUE"].join(" AND ")

const boundsOf = ({ after, last }: KeyRange): Readonly<Record<string, Key>> => ({
  ...(after !== null && { after }),
  ...(last !== null && { last })
})

const readOf = (table: MovedTable, range: KeyRange, share: Share | null): string => {
  const values = Object.entries(table.columns).map(([name, type]) => (type === "answer" ? escaped(name) : name))
  return `SELECT '[' || coalesce(group_concat(item, ','), '') || ']' AS rows, count(*) AS count FROM (
    SELECT json_array(${values.join(", ")}) AS item FROM ${fromOf(table, share)}
    WHERE ${within(table, range)} ORDER BY ${[table.key, ...table.order].join(", ")})`
}

const insertOf = (table: MovedTable): string => {
  const names = Object.keys(table.columns)
  const values = Object.entries(table.columns).map(([name, type], at) => {
    const value = `value ->> ${at}`
    return `${type === "answer" ? `from_stored(${value})` : value} AS ${name}`
  })
  const moved = `WITH moved AS (SELECT ${values.join(", ")} FROM json_each(:rows))`
  return `${moved} ${isOfDeliveries(table) ? intoDeliveries : `INSERT INTO ${table.name} (${names.join(", ")}) SELECT * FROM moved`}`
}

const isText = (value: unknown): string | null => (typeof value === "string" ? value : null)

const open = (filename: string, readOnly: boolean): DatabaseSync => {
  const database = openDatabase(filename, { readOnly, timeout: 10_000 })
  const same = { deterministic: true }
  database.function("to_stored", same, (text) => toStored(isText(text)))
  database.function("from_stored", same, (text) => fromStored(isText(text)))
  return database
}

const integrationsTable = movedTables[6]

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

/** Adds the rows of a range to the owner's counts, or subtracts them. */
const countRange = (table: MovedTable, range: KeyRange, share: Share, sign: "+" | "-"): string => {
  const rows = `FROM ${fromOf(table, share)} AS t WHERE ${within({ ...table, key: `t.${table.key}` }, range)}`
  if (table.name === "events") return `UPDATE owner SET events = events ${sign} (SELECT count(*) ${rows})`
  const isCovered = `t.state IN ('pending', 'retrying')
    AND t.id <= coalesce((SELECT last_delivery FROM cancellations AS c WHERE c.integration = t.integration), 0)`
  const state = `CASE WHEN ${isCovered} THEN 'cancelled' ELSE t.state END`
  return `UPDATE owner SET ${storedStates
    .map((each) => `${each} = ${each} ${sign} (SELECT count(*) ${rows} AND ${state} = '${each}')`)
    .join(", ")}`
}

/** Statements that list the rows of a range, or remove them from the lists. */
const listsOf = (table: MovedTable, range: KeyRange, share: Share) => {
  const rows = (from: string) => `${from} WHERE ${within(table, range)} AND ${isCopied(table, share)}`
  if (isOfDeliveries(table)) {
    const listed = rows("SELECT integration, id FROM deliveries AS d")
    return {
      add: [`INSERT OR IGNORE INTO deliveries_of (integration, delivery) ${listed}`],
      remove: [`DELETE FROM deliveries_of WHERE (integration, delivery) IN (${listed})`]
    }
  }
  if (table.name !== "events") return { add: [], remove: [] }
  const listed = [
    rows("SELECT 'building', building_id, resource_type, created_at, seq FROM events"),
    rows("SELECT 'tenant', t.value, resource_type, created_at, seq FROM events CROSS JOIN json_each(tenant_ids) AS t")
  ]
  const columns = "scope_type, scope_id, resource_type, created_at, event_seq"
  return {
    add: listed.map((query) => `INSERT OR IGNORE INTO events_of (${columns}) ${query}`),
    remove: listed.map((query) => `DELETE FROM events_of WHERE (${columns}) IN (${query})`)
  }
}

class SqliteMoveSide implements BuildingSide {
  readonly name: string
  #database: DatabaseSync
  readonly #take: Effect.Effect<unknown, DatabaseUnusable, Scope.Scope>
  #share: Share | null = null
  #isInTransaction = false

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
      if (this.#isInTransaction) return work(database)
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
    // A whole table of deliveries needs no events for this.
    const rows = this.#share === null ? table.name : fromOf(table, this.#share)
    const from = `${rows} WHERE ${within(table, { after, last: null })}`
    return this.#run((database) => {
      const last = database.prepare(partEnd(table, from)).get(boundsOf({ after, last: null }))?.["last"] ?? null
      return last === null || typeof last === "string" ? last : Number(last)
    })
  }

  read(table: MovedTable, range: KeyRange): Effect.Effect<Part, DatabaseUnusable> {
    return this.#run((database) => {
      const found = database.prepare(readOf(table, range, this.#share)).get(boundsOf(range))
      return { rows: String(found?.["rows"]), count: Number(found?.["count"]) }
    })
  }

  replace(table: MovedTable, range: KeyRange, rows: string, isEmpty: boolean): Effect.Effect<void, DatabaseUnusable> {
    const share = this.#share
    const { add, remove } = share === null ? { add: [], remove: [] } : listsOf(table, range, share)
    const isCounted = share !== null && (table.name === "events" || isOfDeliveries(table))
    const [counted, uncounted] = isCounted
      ? [[countRange(table, range, share, "+")], [countRange(table, range, share, "-")]]
      : [[], []]
    const where = `${within(table, range)} AND ${isCopied(table, share)}`
    const name = isOfDeliveries(table) ? "deliveries AS d" : table.name
    return this.#change((database) => {
      const run = (statements: ReadonlyArray<string>) => {
        for (const statement of statements) database.prepare(statement).run(boundsOf(range))
      }
      if (!isEmpty) run([...uncounted, ...remove, `DELETE FROM ${name} WHERE ${where}`])
      if (rows === "[]") return
      database.prepare(insertOf(table)).run({ rows })
      run([...add, ...counted])
    })
  }

  mark(name: Mark): Effect.Effect<string | null, DatabaseUnusable> {
    return this.#run((database) => isText(database.prepare(byName).get(name)?.["value"]))
  }

  setMark(name: Mark, value: string | null): Effect.Effect<void, DatabaseUnusable> {
    const durably = this.#isInTransaction
      ? Effect.void
      : this.#run((database) => database.exec("PRAGMA synchronous = FULL"))
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

  startAt(first: number): Effect.Effect<void, DatabaseUnusable> {
    return this.#change((database) => {
      database.exec(`UPDATE owner SET event = ${first - 1}, delivery = ${first - 1}`)
      for (const name of ["integrations", "notices"]) {
        database.prepare("DELETE FROM sqlite_sequence WHERE name = ?").run(name)
        database.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)").run(name, first - 1)
      }
      database.prepare(put).run(firstIdName, String(first))
    })
  }

  choose(share: Share): Effect.Effect<void, DatabaseUnusable> {
    this.#share = share
    // Where this side is the target, the references would order the changes.
    return share.copyBelow === null ? Effect.void : this.begin()
  }

  get tenants(): Effect.Effect<ReadonlyArray<FoundTenant>, DatabaseUnusable> {
    const inside = isIn("e.building_id", this.#share?.buildings ?? [])
    return this.#run((database) =>
      database
        .prepare(
          `SELECT tenant, sum(inside) AS inside, sum(outside) AS outside, max(bound) AS bound FROM (
            SELECT t.value AS tenant, count(*) FILTER (WHERE ${inside}) AS inside,
              count(*) FILTER (WHERE NOT ${inside}) AS outside, 0 AS bound
            FROM events AS e CROSS JOIN json_each(e.tenant_ids) AS t GROUP BY 1
            UNION ALL SELECT scope_id, 0, 0, 1 FROM integrations WHERE scope_type = 'tenant'
          ) GROUP BY 1 ORDER BY 1`
        )
        .all()
        .map(({ bound, inside: own, outside, tenant }) => ({
          tenant: Number(tenant),
          inside: Number(own),
          outside: Number(outside),
          isBound: Number(bound) === 1
        }))
    )
  }

  get integrations(): Effect.Effect<ReadonlyArray<number>, DatabaseUnusable> {
    const share = this.#share
    if (share === null) return Effect.succeed([])
    const deliveries = `SELECT d.integration FROM deliveries AS d WHERE ${isOpen} AND ${isOfShare(share, "d.id", "d.event")}`
    return this.#run((database) =>
      database
        .prepare(
          `SELECT id FROM integrations WHERE ${belongs(integrationsTable, "id", share)} UNION ${deliveries} ORDER BY 1`
        )
        .all()
        .map(({ id }) => Number(id))
    )
  }

  readonly hold = Effect.void

  /** No other process uses the file. */
  readonly noticed = Effect.void

  readonly release = Effect.void

  get fence(): Effect.Effect<void, DatabaseUnusable> {
    return Effect.void
  }

  atomically<A>(work: Effect.Effect<A, DatabaseUnusable>): Effect.Effect<A, DatabaseUnusable> {
    const begin = this.#run((database) => {
      database.exec("PRAGMA synchronous = FULL")
      database.exec("BEGIN IMMEDIATE")
      this.#isInTransaction = true
    })
    const end = (how: "COMMIT" | "ROLLBACK") =>
      this.#run((database) => {
        this.#isInTransaction = false
        database.exec(how)
      })
    return Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(begin, () =>
        Effect.matchCauseEffect(restore(work), {
          onFailure: (cause) => Effect.andThen(end("ROLLBACK"), Effect.failCause(cause)),
          onSuccess: (done) => Effect.as(end("COMMIT"), done)
        })
      )
    )
  }

  merge(table: MovedTable, rows: string): Effect.Effect<void, DatabaseUnusable> {
    return Effect.flatMap(
      this.#run((database) => {
        const isKnown = "grant_id" in table.columns ? "WHERE grant_id IN (SELECT id FROM grants)" : "WHERE TRUE"
        database.prepare(`${insertOf(table)} ${isKnown} ON CONFLICT DO NOTHING`).run({ rows })
        if (table.name !== "access_tokens") return undefined
        return database
          .prepare(
            `SELECT t.seq FROM json_each(:rows) AS r JOIN access_tokens AS t ON t.seq = r.value ->> 0
              WHERE t.hash <> r.value ->> ${Object.keys(table.columns).indexOf("hash")} LIMIT 1`
          )
          .get({ rows })
      }),
      (found) =>
        found === undefined
          ? Effect.void
          : Effect.fail(
              new DatabaseUnusable({
                database: this.name,
                why: "refused",
                explanation: `its access token ${String(found["seq"])} is another one than that of the source. Repeat the command when it has expired.`
              })
            )
    )
  }

  /** Nothing follows: no other process uses the file. */
  follow(): Effect.Effect<void, DatabaseUnusable> {
    return Effect.void
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
    return this.whileLeaving(Effect.tap(work, () => this.setMark(marks.source, movedTo)))
  }

  whileLeaving<A>(work: Effect.Effect<A, DatabaseUnusable>): Effect.Effect<A, DatabaseUnusable> {
    const take = this.#take
    return Effect.gen({ self: this }, function* () {
      yield* take
      const writable = yield* opened(this.name, false)
      this.#database = writable
      return yield* work
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
): Effect.Effect<BuildingSide, DatabaseUnusable, Scope.Scope> =>
  Effect.map(opened(filename, role === "source"), (database) => new SqliteMoveSide(filename, database, take))
