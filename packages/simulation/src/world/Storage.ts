/**
 * Storage of simulated engines: an in-memory store that several processes share and that outlives them, or a SQLite
 * file that one process has open at a time.
 */
import { MemoryStore } from "@doorhook/core"
import type { Stores } from "@doorhook/simulator/testing"
import { storesOf } from "@doorhook/simulator/testing"
import { SqliteStore } from "@doorhook/sql"
import type { Scope } from "effect"
import { Effect } from "effect"
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** The storage of one simulation. */
export interface Storage {
  /** Opens the stores for a process. Their background work ends with the process. */
  readonly open: Effect.Effect<Stores, never, Scope.Scope>
  /** Discards changes that the killed process had not written to its file. */
  readonly crashed: () => void
  /** Deletes everything. */
  readonly dispose: () => void
}

/** A kind of storage. */
export interface StorageKind {
  readonly name: string
  /** Whether only one process at a time has the storage open. If so, leases end with their process. */
  readonly isOwned: boolean
  readonly make: () => Storage
}

/** One store that all processes share and that survives crashes, like a database server. */
export const sharedMemory: StorageKind = {
  name: "memory",
  isOwned: false,
  make: () => {
    const stores = Effect.runSync(Effect.scoped(storesOf(MemoryStore.layer)))
    return { open: Effect.succeed(stores), crashed: () => undefined, dispose: () => undefined }
  }
}

/** An in-memory file system, if there is one, because simulations create thousands of short-lived files. */
const place = existsSync("/dev/shm") ? "/dev/shm" : tmpdir()

/** Suffixes of a database's files: the database itself and its write-ahead log. */
const parts = ["", "-wal"]

const makeStorage = (after: (filename: string) => void): Storage => {
  const folder = mkdtempSync(join(place, "doorhook-simulation-"))
  let generation = 0
  const fileOf = (number: number): string => join(folder, `${number}.sqlite`)
  return {
    // Without syncs, only power cuts lose data, and power cuts are not simulated.
    open: Effect.suspend(() =>
      Effect.orDie(storesOf(SqliteStore.layer({ filename: fileOf(generation), synchronous: "NORMAL" })))
    ),
    // A killed process still has its file open here, so the next process continues with a copy of what was written.
    crashed: () => {
      const [from, to] = [fileOf(generation), fileOf(++generation)]
      for (const part of parts) if (existsSync(`${from}${part}`)) copyFileSync(`${from}${part}`, `${to}${part}`)
      for (const part of [...parts, "-shm"]) rmSync(`${from}${part}`, { force: true })
      if (existsSync(to)) after(to)
    },
    dispose: () => rmSync(folder, { recursive: true, force: true })
  }
}

/** Storage in SQLite files. `after` changes the file of a killed process before the next one opens it. */
export const sqliteFiles = (after: (filename: string) => void = () => undefined): StorageKind => ({
  name: "sqlite",
  isOwned: true,
  make: () => makeStorage(after)
})
