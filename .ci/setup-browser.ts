/**
 * Downloads the browser for the browser tests, if the machine has none: `npm run setup:browser`.
 *
 * Playwright's installer stores it in the user's cache. `PLAYWRIGHT_BROWSERS_PATH` sets another folder, and
 * `PLAYWRIGHT_DOWNLOAD_HOST` a mirror.
 */
import { spawnSync } from "node:child_process"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { executable } from "../packages/doorhook/test/browser/Executable.ts"

const found = executable()
if (found !== null) {
  process.stdout.write(`A browser is already installed: ${found}\n`)
} else {
  const installer = join(dirname(createRequire(import.meta.url).resolve("playwright-core/package.json")), "cli.js")
  const { status } = spawnSync(process.execPath, [installer, "install", "--no-shell", "chromium"], { stdio: "inherit" })
  if (status !== 0) {
    process.stderr.write(
      "The download failed. Install Chromium from the system's packages and set CHROMIUM_PATH to it.\n"
    )
  }
  process.exitCode = status ?? 1
}
