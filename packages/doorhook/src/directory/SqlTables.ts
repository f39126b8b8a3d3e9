/**
 * The tables and columns of a host with users and buildings in SQL.
 */
import { Predicate } from "effect"
import { DoorhookError } from "../DoorhookError.ts"

/** Users who can log in. */
export interface UsersTable {
  /** Default `users`. */
  readonly table: string
  /** The user's id, a number or a text. All other tables refer to it. Default `id`. */
  readonly id: string
  /** The login that the user types. Default `login`. */
  readonly login: string
  /** The hash for `verifyPassword`. Default `password_hash`. */
  readonly password: string
  /** A column that is true (or 1) while the user may use the service; null if there is no such column. Default null. */
  readonly active: string | null
}

/** Administrators of buildings. */
export interface AdministratorsTable {
  /** Default `building_administrators`. */
  readonly table: string
  /** Default `user_id`. */
  readonly user: string
  /** Default `building_id`. */
  readonly building: string
}

/** Users who are tenants, and their buildings. */
export interface TenantsTable {
  /** Default `tenants`. */
  readonly table: string
  /** Default `id`. */
  readonly id: string
  /** Default `user_id`. */
  readonly user: string
  /** Default `building_id`. */
  readonly building: string
  /** The number of the unit; null if there is no such column. Default `unit_id`. */
  readonly unit: string | null
  /** The label of the unit; null if there is no such column. Default `unit_label`. */
  readonly label: string | null
}

/** Buildings, as shown to their administrators. */
export interface BuildingsTable {
  /** Default `buildings`. */
  readonly table: string
  /** Default `id`. */
  readonly id: string
  /** Default `name`. */
  readonly name: string
  /** An IANA name, like `Europe/Berlin`. Default `time_zone`. */
  readonly timeZone: string
}

/** The doors of each building. */
export interface AccessPointsTable {
  /** Default `access_points`. */
  readonly table: string
  /** Default `id`. */
  readonly id: string
  /** Default `building_id`. */
  readonly building: string
  /** Default `name`. */
  readonly name: string
}

/** All tables; null for a table that the host does not have. */
export interface SqlTables {
  /** Users who can log in. */
  readonly users: UsersTable
  /** Administrators of buildings; null if there are none. */
  readonly administrators: AdministratorsTable | null
  /** Users who are tenants; null if there are none. */
  readonly tenants: TenantsTable | null
  /** Buildings for lists; null if buildings are not listed. */
  readonly buildings: BuildingsTable | null
  /** The doors of each building; null if doors are not listed. */
  readonly accessPoints: AccessPointsTable | null
}

/** Names that differ from the defaults. */
export type SqlTableNames = {
  readonly [K in keyof SqlTables]?: Partial<NonNullable<SqlTables[K]>> | (null extends SqlTables[K] ? null : never)
}

const defaults = {
  users: { table: "users", id: "id", login: "login", password: "password_hash", active: null },
  administrators: { table: "building_administrators", user: "user_id", building: "building_id" },
  tenants: {
    table: "tenants",
    id: "id",
    user: "user_id",
    building: "building_id",
    unit: "unit_id",
    label: "unit_label"
  },
  buildings: { table: "buildings", id: "id", name: "name", timeZone: "time_zone" },
  accessPoints: { table: "access_points", id: "id", building: "building_id", name: "name" }
} satisfies SqlTables

/** Columns that may be null. */
const optional: ReadonlyArray<string> = ["users.active", "tenants.unit", "tenants.label"]

const problemsOf = (given: SqlTableNames): ReadonlyArray<string> => {
  const known = Object.keys(defaults)
  return Object.entries(given).flatMap(([name, table]: readonly [string, unknown]) => {
    const columns = Object.entries(defaults).find(([own]) => own === name)?.[1]
    if (columns === undefined) return [`tables.${name}: no such table; there are ${known.join(", ")}`]
    if (table === null && name !== "users") return []
    if (!Predicate.isObject(table))
      return [`tables.${name}: must be an object of names${name === "users" ? "" : ", or null"}`]
    return Object.entries(table).flatMap(([column, value]: readonly [string, unknown]) => {
      if (!(column in columns)) {
        return [`tables.${name}.${column}: no such name; there are ${Object.keys(columns).join(", ")}`]
      }
      const isOptional = optional.includes(`${name}.${column}`)
      if (Predicate.isString(value) || (value === null && isOptional)) return []
      return [`tables.${name}.${column}: must be a text${isOptional ? ", or null" : ""}`]
    })
  })
}

const merge = <T extends object>(standard: T, given: Partial<T> | null | undefined): T | null =>
  given === null ? null : { ...standard, ...given }

/** Returns all tables with their given or default names. Throws a `DoorhookError` that lists the invalid names. */
export const tablesOf = (given: SqlTableNames = {}): SqlTables => {
  const problems = problemsOf(given)
  if (problems.length > 0) throw new DoorhookError("invalid_config", `sqlDirectory: ${problems.join("; ")}`)
  return {
    users: { ...defaults.users, ...given.users },
    administrators: merge<AdministratorsTable>(defaults.administrators, given.administrators),
    tenants: merge<TenantsTable>(defaults.tenants, given.tenants),
    buildings: merge<BuildingsTable>(defaults.buildings, given.buildings),
    accessPoints: merge<AccessPointsTable>(defaults.accessPoints, given.accessPoints)
  }
}

/** Returns a condition for the end of a WHERE clause, with AND in front: the column is true. Empty without a column. */
export const isTrue = (column: string | null): string => (column === null ? "" : ` AND ${quoted(column)} IN (TRUE)`)

/** Quotes a table or column name for SQL. A dot separates a schema from its table. */
export const quoted = (name: string): string =>
  name
    .split(".")
    .map((part) => `"${part.replaceAll('"', '""')}"`)
    .join(".")

/**
 * Returns a check for each table: the table's setting, and a statement that fails if the table or one of its columns is
 * missing, and otherwise returns no rows.
 */
export const tableChecks = (
  tables: SqlTables
): ReadonlyArray<{ readonly name: string; readonly described: string; readonly statement: string }> =>
  Object.entries(tables).flatMap(([name, given]: readonly [string, Readonly<Record<string, string | null>> | null]) => {
    if (given === null) return []
    const { table, ...rest } = given
    const columns = Object.values(rest).filter(Predicate.isString)
    const active = isTrue(given["active"] ?? null)
    return [
      {
        name: `tables.${name}`,
        described: `table ${table}, columns ${columns.join(", ")}`,
        statement: `SELECT ${columns.map(quoted).join(", ")} FROM ${quoted(table ?? "")} WHERE 1 = 0${active}`
      }
    ]
  })
