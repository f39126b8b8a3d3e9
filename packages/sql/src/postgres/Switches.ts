/**
 * Switches for engines that are compatible with PostgreSQL but lack NOTIFY, advisory locks or SKIP LOCKED.
 *
 * They belong to the database, because processes with different locks would not exclude each other. The first process
 * stores them. A later URL without switches uses the stored ones. One with others replaces them, but only while no
 * worker is running.
 */
import { BuildingMoves } from "@doorhook/core"
import { Context, Effect, Equal, Option, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { DatabaseUnusable } from "../DatabaseUnusable.ts"
import { settingStatements } from "../statements/SettingStatements.ts"
import { refusalsOf } from "./LeftBuildings.ts"
import { publishFunctions } from "./migrations/PublishFunction.ts"
import { refreshAccess } from "./migrations/RefreshFunction.ts"
import { postgres } from "./PostgresDialect.ts"
import type { Asked } from "./PostgresUrl.ts"
import { switchValues } from "./PostgresUrl.ts"
import { primitives } from "./Primitives.ts"

const Values = Schema.Struct({
  /** `off`: no NOTIFY. Processes look for changes every second. */
  notify: Schema.Literals(switchValues.notify),
  /** `rows`: rows in place of advisory locks. */
  locks: Schema.Literals(switchValues.locks),
  /** `update`: no SKIP LOCKED. A transaction waits for rows that another one has locked, and takes those still free. */
  claim: Schema.Literals(switchValues.claim)
})
export type Values = typeof Values.Type

/** The features of PostgreSQL itself. */
const all: Values = { notify: "on", locks: "advisory", claim: "skip-locked" }

/** The switches of the database that this process has opened. */
export const Switches = Context.Reference<Values>("@doorhook/sql/Switches", { defaultValue: () => all })

/** Increased when the text of a function in the schema changes. */
const functions = 3

const Stored = Schema.fromJsonString(Schema.Struct({ functions: Schema.Int, switches: Values }))
type Stored = typeof Stored.Type

/** Name of the setting. */
const name = "switches"

const encode = Schema.encodeSync(Stored)
const decode = Schema.decodeUnknownOption(Stored)

/** Returns switches as parameters of a URL; null if none differs from PostgreSQL's own features. */
export const inWords = (switches: Values): string | null => {
  const words = [
    switches.notify === all.notify ? [] : [`notify=${switches.notify}`],
    switches.locks === all.locks ? [] : [`locks=${switches.locks}`],
    switches.claim === all.claim ? [] : [`claim=${switches.claim}`]
  ].flat()
  return words.length === 0 ? null : words.join("&")
}

/** Reads the stored switches. The tables must exist. */
export const stored = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const [row] = yield* sql.unsafe<{ readonly value: string }>(settingStatements(postgres).byName, [name])
  return Option.getOrNull(decode(row?.value))
})

/** Returns the switches of a database with these stored ones, for a URL with these. */
export const merged = (found: Stored | null, asked: Asked): Values => {
  const { claim, locks, notify } = found?.switches ?? all
  return { notify: asked.notify ?? notify, locks: asked.locks ?? locks, claim: asked.claim ?? claim }
}

/** Whether the functions of a database must be installed. */
export const isOutdated = (found: Stored | null, asked: Asked): boolean =>
  found === null || found.functions < functions || !Equal.equals(found.switches, merged(found, asked))

/** Removes "SKIP LOCKED" from a statement. */
export const withoutSkips = (statement: string): string => statement.replaceAll(" SKIP LOCKED", "")

/** Number of workers whose membership has not lapsed by the server's clock. */
export const running = `SELECT count(*)::int AS count FROM members WHERE until > extract(epoch FROM clock_timestamp()) * 1000`

/**
 * Installs the functions, and stores the switches. Runs in the transaction that holds the lock for migrations. Fails if
 * the switches would change while a worker is running. Returns the switches, which another process may have stored since
 * this one read them.
 */
export const install = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, asked: Asked, database: string) {
  const found = yield* stored(sql)
  const switches = merged(found, asked)
  if (!isOutdated(found, asked)) return switches
  const [workers] = yield* sql.unsafe<{ readonly count: number }>(running)
  if (found !== null && !Equal.equals(switches, found.switches) && workers !== undefined && workers.count > 0)
    return yield* new DatabaseUnusable({
      database,
      why: "refused",
      explanation: `${workers.count} running workers use it with ${inWords(found.switches) ?? "all features of PostgreSQL"}. Leave notify, locks and claim out of the URL, or stop all processes before you change them.`
    })
  const [left] = yield* sql.unsafe<{ readonly value: string }>(settingStatements(postgres).byName, [
    BuildingMoves.movesName
  ])
  const moves = BuildingMoves.decodeMoves(left?.value ?? null) ?? []
  for (const statement of [
    ...primitives(switches.notify, switches.locks),
    ...publishFunctions,
    refreshAccess,
    ...(moves.length === 0 ? [] : refusalsOf(moves))
  ])
    yield* sql.unsafe(switches.claim === "update" ? withoutSkips(statement) : statement).unprepared
  yield* sql.unsafe(settingStatements(postgres).put, [
    name,
    encode({ functions: Math.max(functions, found?.functions ?? 0), switches })
  ])
  return switches
})
