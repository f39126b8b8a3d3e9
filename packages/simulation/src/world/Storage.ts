/**
 * Where simulated engines keep what they store: a memory that several processes share and that outlives each of them, or a
 * SQLite file that one process has at a time.
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
  /** Opens the stores for a process, which builds them: what they do by themselves dies with it. */
  readonly open: Effect.Effect<Stores, never, Scope.Scope>
  /** The process that had opened them was killed: keeps what had reached the file, and nothing else. */
  readonly crashed: () => void
  /** Deletes everything. */
  readonly dispose: () => void
}

/** A kind of storage. */
export interface StorageKind {
  readonly name: string
  /** Whether only one process at a time has it, which opens it when it starts and whose leases end with it. */
  readonly isOwned: boolean
  readonly make: () => Storage
}

/** One store for all processes, which only simulated crashes never touch: it stands for a database server. */
export const sharedMemory: StorageKind = {
  name: "memory",
  isOwned: false,
  make: () => {
    const stores = Effect.runSync(Effect.scoped(storesOf(MemoryStore.layer)))
    return { open: Effect.succeed(stores), crashed: () => undefined, dispose: () => undefined }
  }
}

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
