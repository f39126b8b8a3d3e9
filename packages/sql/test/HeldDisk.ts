/**
 * Replaces the process's `fdatasync`, so that tests can delay syncs and make them fail.
 */
import { Effect } from "effect"
import fs from "node:fs"
import { syncBuiltinESMExports } from "node:module"

export type Done = (error: NodeJS.ErrnoException | null) => void

export const eio = new Error("EIO: i/o error, fdatasync")

/** Replaces the functions that sync to disk. Pending syncs are collected in `asked` until the test completes them. */
export const heldDisk = Effect.acquireRelease(
  Effect.sync(() => {
    const real = { ...fs }
    const asked: Array<Done> = []
    /** Sizes of the writes that bypassed SQLite. */
    const written: Array<number> = []
    /** Folders that were synced. */
    const folders: Array<string> = []
    fs.fdatasync = Object.assign((_: number, done: Done) => void asked.push(done), {
      __promisify__: real.fdatasync.__promisify__
    })
    fs.writeSync = (descriptor: number, bytes: NodeJS.ArrayBufferView | string, ...place: ReadonlyArray<unknown>) => {
      const size = Number(Reflect.apply(real.writeSync, fs, [descriptor, bytes, ...place]))
      written.push(size)
      return size
    }
    fs.fsyncSync = (descriptor) => {
      folders.push(real.readlinkSync(`/proc/self/fd/${descriptor}`))
      real.fsyncSync(descriptor)
    }
    syncBuiltinESMExports()
    return { real, asked, written, folders }
  }),
  ({ asked, real: { fdatasync, fsyncSync, writeSync } }) =>
    Effect.sync(() => {
      // A file can only be closed after its syncs have completed.
      for (const done of asked.splice(0)) done(eio)
      Object.assign(fs, { fdatasync, fsyncSync, writeSync })
      syncBuiltinESMExports()
    })
)

export const until = (condition: () => boolean) =>
  Effect.callback<void>((resume) => {
    const look = () => {
      if (condition()) resume(Effect.void)
      else setImmediate(look)
    }
    look()
  })

/** Waits 20 turns of the event loop, in which all work that does not depend on the disk ends. */
export const turns = Effect.callback<void>((resume) => {
  let left = 20
  const turn = () => (left-- === 0 ? resume(Effect.void) : void setImmediate(turn))
  turn()
})

/** Waits for pending syncs and completes them, with an error if one is given. */
export const sync = Effect.fnUntraced(function* (asked: Array<Done>, error: Error | null = null) {
  yield* until(() => asked.length > 0)
  for (const done of asked.splice(0)) done(error)
})
