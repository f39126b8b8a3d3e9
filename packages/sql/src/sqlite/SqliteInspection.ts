/**
 * Inspects a database file without changing it.
 */
import { AgreedSettings } from "@doorhook/core"
import { Effect } from "effect"
import { accessSync, constants, existsSync, statSync } from "node:fs"
import { dirname } from "node:path"
import type { DatabaseSync } from "node:sqlite"
import { DatabaseUnusable } from "../DatabaseUnusable.ts"
import { sqlite } from "../Dialect.ts"
import type { Inspection } from "../Inspection.ts"
import { rowFrom } from "../IntegrationRows.ts"
import { sealedPattern, someSealed } from "../statements/SealedSecrets.ts"
import { integrationStatements } from "../statements/IntegrationStatements.ts"
import { settingStatements } from "../statements/SettingStatements.ts"
import type { Applied, Migrations } from "../Migrations.ts"
import { appliedIn, newestOf, refusalOf, versionOf } from "../Migrations.ts"
import { SqliteMigrations, startAgain, table } from "./migrations/index.ts"
import { openDatabase } from "./NodeSqlite.ts"
import { flawOfLog } from "./SqliteFile.ts"
import { failedReads, maxInspected, unreadableAmong } from "../UnreadableRows.ts"
import { codes } from "./DeliverySql.ts"

const mayWrite = (path: string): boolean => {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** Returns the path or its nearest existing parent folder. Missing folders are created with the file. */
const folderOf = (path: string): string => (existsSync(path) || dirname(path) === path ? path : folderOf(dirname(path)))

const appliedTo = (database: DatabaseSync): ReadonlyArray<Applied> => {
  const found = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = ?").get(table)
  if (found === undefined) return []
  const rows = database.prepare(appliedIn(table)).all()
  return rows.map(({ migration_id, name }) => ({ migration_id: Number(migration_id), name: String(name) }))
}

const sealedIn = (database: DatabaseSync): ReadonlyArray<string> =>
  someSealed(sqlite).flatMap((statement) =>
    database
      .prepare(statement)
      .all(sealedPattern)
      .map(({ sealed }) => String(sealed))
  )

const unreadableIn = (database: DatabaseSync): ReadonlyArray<string> => {
  const rows = database.prepare(integrationStatements(sqlite).survey).all(0, maxInspected)
  // Decoding is synchronous.
  return Effect.runSync(unreadableAmong(rows.map((row) => rowFrom((column) => row[column]))))
}

const settingIn = (database: DatabaseSync, name: string): string | null => {
  const value = database.prepare(settingStatements(sqlite).byName).get(name)?.["value"]
  return typeof value === "string" ? value : null
}

/** Reads the versions and a few encrypted secrets, and checks the file's pages for damage. */
const look = (
  filename: string,
  migrations: Migrations
): Pick<
  Inspection,
  "engine" | "version" | "refusal" | "sealed" | "unreadable" | "failedReads" | "agreed" | "proposed" | "workers"
> => {
  const flaw = flawOfLog(filename)
  if (flaw !== null) throw new Error(flaw)
  const database = openDatabase(filename, { readOnly: true })
  try {
    const checked = database.prepare("PRAGMA quick_check(1)").get()?.["quick_check"]
    if (checked !== "ok") throw new Error(`the file is damaged (${String(checked)}). Restore it from a backup.`)
    const engine = database.prepare("SELECT sqlite_version() AS version").get()?.["version"]
    const applied = appliedTo(database)
    const version = versionOf(applied)
    const refusal = refusalOf(applied, migrations, startAgain)?.explanation ?? null
    const isKnown = version > 0 && refusal === null
    // Rows of an older version lack columns until the next start migrates them.
    const isCurrent = isKnown && version === newestOf(migrations)
    return {
      engine: `SQLite ${String(engine)}`,
      version,
      refusal,
      sealed: isKnown ? sealedIn(database) : [],
      unreadable: isCurrent ? unreadableIn(database) : [],
      failedReads: isKnown
        ? Number(database.prepare(failedReads(`state > 1 AND state = ${codes.cancelled}`)).get()?.["count"])
        : 0,
      agreed: isKnown ? settingIn(database, AgreedSettings.agreedName) : null,
      proposed: isKnown ? settingIn(database, AgreedSettings.proposedName) : null,
      workers: null
    }
  } finally {
    database.close()
  }
}

/** Inspects a file. A missing file counts as writable if its folder is writable. */
export const inspect = Effect.fnUntraced(function* (filename: string): Effect.fn.Return<Inspection, DatabaseUnusable> {
  const migrations = yield* SqliteMigrations
  const newest = newestOf(migrations)
  return yield* Effect.try({
    try: () => {
      if (!existsSync(filename)) {
        const isWritable = mayWrite(folderOf(dirname(filename)))
        return { exists: false, version: 0, newest, engine: "SQLite", isWritable, ...nothingMore }
      }
      const found = look(filename, migrations)
      const isReadableByOthers = process.platform === "win32" ? null : (statSync(filename).mode & 0o077) !== 0
      const isWritable = mayWrite(filename) && mayWrite(dirname(filename))
      return { ...nothingMore, exists: found.version > 0, newest, isWritable, isReadableByOthers, ...found }
    },
    catch: (cause) =>
      new DatabaseUnusable({
        database: filename,
        why: "failed",
        explanation: cause instanceof Error ? cause.message : String(cause),
        cause
      })
  })
})

const nothingMore = {
  refusal: null,
  isReadableByOthers: null,
  clockOffset: null,
  encryption: null,
  pooler: null,
  sealed: [],
  unreadable: [],
  failedReads: 0,
  agreed: null,
  proposed: null,
  workers: null
}
