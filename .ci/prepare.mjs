/**
 * Runs after `npm ci`: builds the packages, so that `import ... from "doorhook"` works in a checkout. Commands, tests and
 * examples run from the sources, so a failed build only prints a warning.
 */
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"

const compiler = fileURLToPath(new URL("../node_modules/typescript/bin/tsc", import.meta.url))

// The compiler is missing if only runtime dependencies were installed.
if (existsSync(compiler)) {
  const root = fileURLToPath(new URL("..", import.meta.url))
  const { status } = spawnSync(process.execPath, [compiler, "-b"], { cwd: root, stdio: "inherit" })
  if (status !== 0)
    process.stderr.write('doorhook: the packages were not built; `import "doorhook"` needs `npm run build`.\n')
}
