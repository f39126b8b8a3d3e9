/**
 * Temporary folders and database files, which are removed even if the benchmark is interrupted.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

export const temporaryFolder: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => {
    const folder = mkdtempSync(join(tmpdir(), "doorhook-bench-"))
    const remove = (): void => rmSync(folder, { recursive: true, force: true })
    process.once("exit", remove)
    return { folder, remove }
  }),
  ({ remove }) =>
    Effect.sync(() => {
      process.off("exit", remove)
      remove()
    })
).pipe(Effect.map(({ folder }) => folder))

export const temporaryDatabase: Effect.Effect<string, never, Scope.Scope> = Effect.map(temporaryFolder, (folder) =>
  join(folder, "bench.db")
)
