/**
 * Fetches the browser that the tests of the login page drive, where the machine has none: `npm run setup:browser`.
 *
 * It is kept in the user's cache by Playwright's own installer. `PLAYWRIGHT_BROWSERS_PATH` puts it elsewhere, and
 * `PLAYWRIGHT_DOWNLOAD_HOST` takes it from a mirror.
 */
import { spawnSync } from "node:child_process"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { executable } from "../packages/doorhook/test/browser/Executable.ts"

const found = executable()
if (found !== null) {
  process.stdout.write(`There is one already: ${found}\n`)
} else {
  const installer = join(dirname(createRequire(import.meta.url).resolve("playwright-core/package.json")), "cli.js")
  const { status } = spawnSync(process.execPath, [installer, "install", "--no-shell", "chromium"], { stdio: "inherit" })
  if (status !== 0) {
    process.stderr.write(
      "The browser was not fetched. Install Chromium from the system's packages and name it in CHROMIUM_PATH.\n"
    )
  }
  process.exitCode = status ?? 1
}
