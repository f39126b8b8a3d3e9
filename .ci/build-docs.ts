/**
 * Builds the documentation site: the reference from the code, the API by typedoc, then the pages. Fails on a broken
 * link.
 */
import { spawnSync } from "node:child_process"

const steps: ReadonlyArray<readonly [command: string, ...args: ReadonlyArray<string>]> = [
  ["node", "--conditions=source", ".ci/docs-reference.ts"],
  ["docs/node_modules/.bin/typedoc", "--options", "docs/.vitepress/typedoc.json"],
  ["vitepress", "build", "docs"]
]

for (const [command, ...args] of steps) {
  const { status } = spawnSync(command, args, { stdio: "inherit" })
  if (status !== 0) {
    process.exitCode = 1
    break
  }
}
