/**
 * Runs after `npm ci`: makes what `import ... from "doorhook"` loads in a checkout. Commands, tests and examples read the
 * sources and need none of it, so nothing is refused when it can't be made.
 */
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"

const compiler = fileURLToPath(new URL("../node_modules/typescript/bin/tsc", import.meta.url))

// Not there when only what is needed to run was installed.
if (existsSync(compiler)) {
  const root = fileURLToPath(new URL("..", import.meta.url))
  const { status } = spawnSync(process.execPath, [compiler, "-b"], { cwd: root, stdio: "inherit" })
  if (status !== 0)
    process.stderr.write('doorhook: the packages were not built; `import "doorhook"` needs `npm run build`.\n')
}
