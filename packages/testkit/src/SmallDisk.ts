/**
 * A small file system of its own, which tests can fill. Mounting it needs root.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import { spawnSync } from "node:child_process"
import { appendFileSync, mkdtempSync, rmdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

export interface SmallDisk {
  readonly folder: string
  /** Fills the disk to its last byte. */
  readonly fill: Effect.Effect<void>
  /** Removes what `fill` wrote. */
  readonly free: Effect.Effect<void>
}

const run = (command: string, ...args: ReadonlyArray<string>): string => {
  const { error, status, stderr } = spawnSync(command, args, { encoding: "utf8" })
  return status === 0 ? "" : `${command}: ${error?.message ?? stderr.trim()}`
}

const mount = (megabytes: number): { readonly folder: string; readonly flaw: string } => {
  const folder = mkdtempSync(join(tmpdir(), "doorhook-disk-"))
  return { folder, flaw: run("mount", "-t", "tmpfs", "-o", `size=${megabytes}m,mode=0777`, "tmpfs", folder) }
}

const unmount = (folder: string): void => {
  // Lazily, because a process may still have a file open.
  run("umount", "--lazy", folder)
  rmdirSync(folder)
}

/** Writes until the disk has no room for another byte. */
const fill = (file: string): void => {
  for (let size = 65_536; size >= 1; size = Math.floor(size / 2)) {
    try {
      for (;;) appendFileSync(file, new Uint8Array(size))
    } catch {
      // No room for this many bytes.
    }
  }
}

/** Mounts a file system of this size for the lifetime of the scope. */
export const smallDisk = (megabytes: number): Effect.Effect<SmallDisk, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => {
        const { flaw, folder } = mount(megabytes)
        if (flaw !== "") throw new Error(flaw)
        return folder
      }),
      (folder) => Effect.sync(() => unmount(folder))
    ),
    (folder) => ({
      folder,
      fill: Effect.sync(() => fill(join(folder, "filler"))),
      free: Effect.sync(() => rmSync(join(folder, "filler")))
    })
  )

let flaw: string | undefined

/** Whether this process may mount. If not, a line says what is skipped. */
export const canMount = (what: string): boolean => {
  if (flaw === undefined) {
    const tried = mount(1)
    flaw = tried.flaw
    if (flaw === "") unmount(tried.folder)
    else rmdirSync(tried.folder)
  }
  if (flaw !== "") process.stderr.write(`SKIPPED: ${what}: a small disk can't be mounted (${flaw})\n`)
  return flaw === ""
}
