/**
 * The published packages: all workspaces that are not private.
 */
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"

const root = new URL("..", import.meta.url).pathname

const manifestOf = (folder: string): { readonly private?: boolean; readonly workspaces?: ReadonlyArray<string> } =>
  JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"))

/** Folders of the published packages, relative to the root. */
export const published: ReadonlyArray<string> = (manifestOf(".").workspaces ?? [])
  .flatMap((pattern) => globSync(pattern, { cwd: root }))
  .filter((folder) => manifestOf(folder).private !== true)
  .toSorted()
