/**
 * The built `doorhook` command, started as npm starts it in a project that has installed it.
 */
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

export const root = fileURLToPath(new URL("../../../../", import.meta.url))

let isBuilt = false

/** Runs a script of the project's `package.json`, and throws if it fails. */
export const runScript = (name: string, ...args: ReadonlyArray<string>): void => {
  // What it prints is no result.
  const { status } = spawnSync("npm", ["run", "--silent", name, "--", ...args], {
    cwd: root,
    stdio: ["ignore", process.stderr, process.stderr]
  })
  if (status !== 0) throw new Error(`benchmarks use what is built, and \`npm run ${name}\` failed`)
}

/**
 * The arguments of Node.js that start it. Builds it first, once per process, so that no benchmark measures an old build.
 *
 * The command runs from `dist` only below a `node_modules`, where the workspace has a link to it that is not to be resolved.
 */
export const builtCommand: Effect.Effect<ReadonlyArray<string>> = Effect.sync(() => {
  if (!isBuilt) runScript("build")
  isBuilt = true
  return ["--preserve-symlinks-main", join(root, "node_modules/doorhook/bin/doorhook.js")]
})

/** Where compiled code is kept; otherwise the command would keep it beside its sources. */
export const compileCache = join(root, "node_modules/.cache/node")
