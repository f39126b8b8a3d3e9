/**
 * The built `doorhook` command, started as npm starts it in a project with `doorhook` installed.
 */
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

export const root = fileURLToPath(new URL("../../../../", import.meta.url))

let isBuilt = false

/** Runs a script of the root `package.json`. Throws if it fails. */
export const runScript = (name: string, ...args: ReadonlyArray<string>): void => {
  // The script's output goes to standard error, because standard output is reserved for results.
  const { status } = spawnSync("npm", ["run", "--silent", name, "--", ...args], {
    cwd: root,
    stdio: ["ignore", process.stderr, process.stderr]
  })
  if (status !== 0) throw new Error(`benchmarks need the build, but \`npm run ${name}\` failed`)
}

/**
 * Returns the arguments for Node.js that start the command. Builds the command first, once per process, so that no
 * benchmark measures an old build.
 *
 * The command uses `dist` only if its own path is in a `node_modules` folder. Node.js must therefore not resolve the
 * symbolic link of the workspace.
 */
export const builtCommand: Effect.Effect<ReadonlyArray<string>> = Effect.sync(() => {
  if (!isBuilt) runScript("build")
  isBuilt = true
  return ["--preserve-symlinks-main", join(root, "node_modules/doorhook/bin/doorhook.js")]
})

/** Folder for the command's cache of compiled code. The default folder would be beside the sources. */
export const compileCache = join(root, "node_modules/.cache/node")
