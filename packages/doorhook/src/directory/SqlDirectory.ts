/**
 * The directory of a host with users and buildings in SQL tables.
 */
import { readHostId, rootMessage } from "@doorhook/core"
import { Predicate, Schema } from "effect"
import { DoorhookError } from "../DoorhookError.ts"
import type { HostBuilding, HostDirectory, HostId, HostTenant } from "./FunctionDirectory.ts"
import { dummyVerify, isPasswordHash, verifyPassword } from "./PasswordHash.ts"
import type { SqlTableNames, SqlTables } from "./SqlTables.ts"
import { isTrue, quoted, tableChecks, tablesOf } from "./SqlTables.ts"

/** Options of `sqlDirectory`: where the host's users and buildings are stored. */
export interface SqlDirectoryOptions {
  /**
   * The host's database: a pool of `pg`, a database of `node:sqlite` or `better-sqlite3`, or a function. The function
   * takes a statement with `$1`, `$2`, ... and its values, and returns the rows.
   */
  readonly database: SqlSource
  /** Names of tables and columns that differ from the defaults, or null for a table that does not exist. */
  readonly tables?: SqlTableNames | undefined
  /**
   * Whether a password matches the stored hash. Default: checks scrypt in PHC form, as `hashPassword` writes it. For an
   * unknown login, doorhook calls the function with another user's hash and ignores the result, because timing must not
   * reveal which logins exist.
   */
  readonly verifyPassword?: ((password: string, stored: string) => boolean | Promise<boolean>) | undefined
  /** The host's own OAuth clients. Default: only clients that are registered with doorhook (`clients.add`). */
  readonly client?: HostDirectory["client"] | undefined
}

/** An id in any form in which database clients return a `bigint`. Invalid values are refused later. */
const Id = Schema.Union([Schema.Number, Schema.BigInt, Schema.String])
const numbered = (id: HostId): HostId => readHostId(id) ?? id
const User = Schema.Struct({ id: Schema.Union([Schema.String, Schema.Int]), password: Schema.NullOr(Schema.String) })
const Example = Schema.Struct({ password: Schema.String })
const Building = Schema.Struct({ id: Id, name: Schema.String, time_zone: Schema.String })
const AccessPoint = Schema.Struct({ id: Id, building_id: Id, name: Schema.String })
const Tenant = Schema.Struct({
  id: Id,
  building_id: Id,
  unit_id: Schema.NullOr(Id),
  unit_label: Schema.NullOr(Schema.String)
})

/** Returns a list of columns for SELECT, under the names that doorhook reads. A missing column is selected as null. */
const columns = (names: Readonly<Record<string, string | null>>): string =>
  Object.entries(names)
    .map(([as, name]) => `${name === null ? "NULL" : quoted(name)} AS ${as}`)
    .join(", ")

const makeReaders = (run: RunSql, { accessPoints, administrators, buildings, tenants }: SqlTables) => {
  const read = async <A>(
    schema: Schema.Codec<A, unknown>,
    text: string,
    values: Array<string | number>
  ): Promise<ReadonlyArray<A>> => Schema.decodeUnknownPromise(Schema.Array(schema))(await run(text, values))

  const pointsOf = async (user: string) => {
    if (accessPoints === null || administrators === null) return []
    const { building, id, name, table } = accessPoints
    return read(
      AccessPoint,
      `SELECT ${columns({ id, building_id: building, name })} FROM ${quoted(table)}
       WHERE ${quoted(building)} IN (${administered(administrators)}) ORDER BY ${quoted(id)}`,
      [user]
    )
  }
  return {
    buildings: async (user: string): Promise<ReadonlyArray<HostBuilding>> => {
      if (buildings === null || administrators === null) return []
      const { id, name, table, timeZone } = buildings
      const found = await read(
        Building,
        `SELECT ${columns({ id, name, time_zone: timeZone })} FROM ${quoted(table)}
         WHERE ${quoted(id)} IN (${administered(administrators)}) ORDER BY ${quoted(id)}`,
        [user]
      )
      const points = await pointsOf(user)
      return found.map((building) => ({
        ...building,
        id: numbered(building.id),
        access_points: points
          .filter(({ building_id }) => String(building_id) === String(building.id))
          .map(({ id: point, name: label }) => ({ id: numbered(point), name: label }))
      }))
    },
    tenants: async (user: string): Promise<ReadonlyArray<HostTenant>> => {
      if (tenants === null) return []
      const { building, id, label, table, unit, user: owner } = tenants
      const found = await read(
        Tenant,
        `SELECT ${columns({ id, building_id: building, unit_id: unit, unit_label: label })} FROM ${quoted(table)}
         WHERE ${quoted(owner)} = $1 ORDER BY ${quoted(id)}`,
        [user]
      )
      return found.map(({ building_id, id: tenant, unit_id, unit_label }) => ({
        id: numbered(tenant),
        building_id: numbered(building_id),
        unit: unit_id === null || unit_label === null ? null : { id: numbered(unit_id), label: unit_label }
      }))
    }
  }
}

/** Returns messages about the tables and columns that can't be read, one for each reason. */
const problemsIn = async (run: RunSql, tables: SqlTables): Promise<ReadonlyArray<string>> => {
  const found = new Map<string, Array<string>>()
  for (const { described, name, statement } of tableChecks(tables)) {
    try {
      await run(statement, [])
    } catch (error) {
      const reason = rootMessage(error)
      found.set(reason, [...(found.get(reason) ?? []), `${name} (${described})`])
    }
  }
  return [...found].map(
    ([reason, names]) =>
      `sqlDirectory can't read ${names.join(", ")}: ${reason}. Until this is fixed, callers get 503. Check the database, or set the names in the option \`tables\`.`
  )
}

const administered = ({ building, table, user }: NonNullable<SqlTables["administrators"]>): string =>
  `SELECT ${quoted(building)} FROM ${quoted(table)} WHERE ${quoted(user)} = $1`

const unverifiable = (column: string): string =>
  `sqlDirectory can't verify a password in ${column}: it is not scrypt in PHC form, like $scrypt$ln=15,r=8,p=3$..., as hashPassword writes it. The user can't log in. For hashes in another format, set the option \`verifyPassword\`. This is logged once.`

/** Whether an id is too large for its column on PostgreSQL, so that no row has it. Clients may send any id. */
const isOutOfRange = (error: unknown): boolean => Predicate.hasProperty(error, "code") && error.code === "22003"

/**
 * A directory over the host's own tables, for `createDoorhook({ directory: sqlDirectory({ database: pool }) })`. If the
 * host has its own login, add `session`: `{ ...sqlDirectory(...), session }`. Throws a `DoorhookError` that lists the
 * invalid names.
 */
export const sqlDirectory = (options: SqlDirectoryOptions): HostDirectory => {
  const run = runnerOf(options.database)
  const tables = tablesOf(options.tables)
  const { administrators, tenants, users } = tables
  const verify = options.verifyPassword ?? verifyPassword
  const exists = async (text: string, values: Array<string | number>): Promise<boolean> => {
    try {
      return (await run(`SELECT 1 AS found FROM ${text} LIMIT 1`, values)).length > 0
    } catch (error) {
      if (isOutOfRange(error)) return false
      throw error
    }
  }
  /**
   * Stored hash of any user. Passwords for unknown logins are checked against this hash, so that the check takes as
   * long as for known logins.
   */
  let example: string | null = null
  const findExample = async (): Promise<string | null> => {
    const { password, table } = users
    const text = `SELECT ${columns({ password })} FROM ${quoted(table)} WHERE ${quoted(password)} IS NOT NULL LIMIT 1`
    const [found] = await Schema.decodeUnknownPromise(Schema.Array(Example))(await run(text, []))
    return found?.password ?? null
  }
  let warn = (_line: string): void => {}
  let isWarned = false
  const checkHash = (stored: string): void => {
    if (isWarned || options.verifyPassword !== undefined || isPasswordHash(stored)) return
    isWarned = true
    warn(unverifiable(`${users.table}.${users.password}`))
  }
  const findUser = `SELECT ${columns({ id: users.id, password: users.password })} FROM ${quoted(users.table)}
    WHERE ${quoted(users.login)} = $1${isTrue(users.active)}`

  return {
    client: options.client ?? (() => null),
    authenticate: async (login, password) => {
      const [user, second] = await Schema.decodeUnknownPromise(Schema.Array(User))(await run(findUser, [login]))
      // A login that two accounts share is refused.
      if (user === undefined || second !== undefined || user.password === null) {
        example ??= await findExample()
        if (example !== null) await verify(password, example)
        else if (options.verifyPassword === undefined) await dummyVerify(password)
        return null
      }
      example = user.password
      checkHash(user.password)
      return (await verify(password, user.password)) ? { id: String(user.id) } : null
    },
    isActive: (user) => exists(`${quoted(users.table)} WHERE ${quoted(users.id)} = $1${isTrue(users.active)}`, [user]),
    administers: async (user, building) =>
      administrators !== null &&
      (await exists(
        `${quoted(administrators.table)} WHERE ${quoted(administrators.user)} = $1 AND ${quoted(administrators.building)} = $2`,
        [user, building]
      )),
    isTenant: async (user, tenant) =>
      tenants !== null &&
      (await exists(`${quoted(tenants.table)} WHERE ${quoted(tenants.user)} = $1 AND ${quoted(tenants.id)} = $2`, [
        user,
        tenant
      ])),
    ...makeReaders(run, tables),
    check: async (log) => {
      warn = log
      const problems = await problemsIn(run, tables)
      for (const problem of problems) warn(problem)
      if (problems.length > 0) return
      example ??= await findExample()
      if (example !== null) checkHash(example)
    }
  }
}

/** The rows that a statement returns. */
type Rows = ReadonlyArray<unknown>

/** Runs a statement with the placeholders `$1`, `$2`, ... */
export type SqlQuery = (text: string, values: Array<unknown>) => Promise<Rows | { readonly rows: Rows }>

/** A pool or client of `pg`, or a compatible object. */
export interface PgLike {
  readonly query: (text: string, values: Array<unknown>) => Promise<{ readonly rows: Rows }>
}

/** A database of `node:sqlite` or `better-sqlite3`, or a compatible object. */
export interface SqliteLike {
  readonly prepare: (text: string) => { readonly all: (...values: Array<string | number>) => Rows }
}

/** The host's database: a pool or client of `pg`, a database of `node:sqlite` or `better-sqlite3`, or a function that queries. */
export type SqlSource = PgLike | SqliteLike | SqlQuery

/** Runs a statement on any kind of database. `$1`, `$2`, ... must occur in the order of the values. */
type RunSql = (text: string, values: Array<string | number>) => Promise<Rows>

const rowsOf = (answer: unknown): Rows => {
  const rows: unknown = Predicate.hasProperty(answer, "rows") ? answer.rows : answer
  if (Array.isArray(rows)) return rows
  throw new TypeError("the query function must return the rows, or an object with `rows`")
}

const unusable = (): DoorhookError =>
  new DoorhookError(
    "invalid_config",
    "sqlDirectory: database must be a pool of pg, a database of node:sqlite or better-sqlite3, or a function that takes a text and values and returns rows"
  )

/**
 * Returns a function that runs statements on a host's database. Throws a `DoorhookError` for an unsupported database.
 */
const runnerOf = (source: SqlSource): RunSql => {
  if (typeof source === "function") return async (text, values) => rowsOf(await source(text, values))
  if (Predicate.hasProperty(source, "query") && Predicate.isFunction(source.query)) {
    return async (text, values) => rowsOf(await source.query(text, values))
  }
  if (Predicate.hasProperty(source, "prepare") && Predicate.isFunction(source.prepare)) {
    return async (text, values) => source.prepare(text.replaceAll(/\$\d+/g, "?")).all(...values)
  }
  throw unusable()
}
