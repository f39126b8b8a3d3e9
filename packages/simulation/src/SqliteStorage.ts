/**
 * SQLite files for simulated engines: one file for each world, which one process has at a time.
 */
import type { Storage, StorageKind } from "@doorhook/simulator"
import { storesOf } from "@doorhook/simulator"
import { SqliteStore } from "@doorhook/sql"
import { Effect } from "effect"
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** A file system in memory, where there is one: thousands of files are made, and none has to last. */
const place = existsSync("/dev/shm") ? "/dev/shm" : tmpdir()

/** What belongs to a database: the file, and its log of what is not in the file yet. */
const parts = ["", "-wal"]

const makeStorage = (after: (filename: string) => void): Storage => {
  const folder = mkdtempSync(join(place, "doorhook-simulation-"))
  let generation = 0
  const fileOf = (number: number): string => join(folder, `${number}.sqlite`)
  return {
    // Nothing is lost but by power cuts, which are not simulated: syncs would only take time.
    open: Effect.suspend(() =>
      Effect.orDie(storesOf(SqliteStore.layer({ filename: fileOf(generation), synchronous: "NORMAL" })))
    ),
    // A dead process still has its file open here, so the next one goes on with a copy: what was written, and no more.
    crashed: () => {
      const [from, to] = [fileOf(generation), fileOf(++generation)]
      for (const part of parts) if (existsSync(`${from}${part}`)) copyFileSync(`${from}${part}`, `${to}${part}`)
      for (const part of [...parts, "-shm"]) rmSync(`${from}${part}`, { force: true })
      if (existsSync(to)) after(to)
    },
    dispose: () => rmSync(folder, { recursive: true, force: true })
  }
}

/** `after` is done to a file whose process is gone, before the next one opens it. */
export const sqliteFiles = (after: (filename: string) => void = () => undefined): StorageKind => ({
  name: "sqlite",
  isOwned: true,
  make: () => makeStorage(after)
})
