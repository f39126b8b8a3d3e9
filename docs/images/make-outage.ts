/**
 * Takes the pictures of `docs/load-testing.md`: `node --conditions=source docs/images/make-outage.ts`. It runs the
 * command on that page and takes screenshots of parts of the report in Chromium (`CHROMIUM_PATH`, or the system's own).
 */
import { execFileSync } from "node:child_process"
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { chromium } from "playwright-core"

const here = fileURLToPath(new URL(".", import.meta.url))
const command = fileURLToPath(new URL("../../packages/doorhook/src/command/main.ts", import.meta.url))
const args = [
  "simulate run --virtual --preset residential-200 --buildings 5 --duration 3d",
  "--receiver 1=down:09:00-15:00,on=2026-03-03 --slo lost=0,ack_p99<5s"
].flatMap((line) => line.split(" "))

const folder = mkdtempSync(join(tmpdir(), "doorhook-pictures-"))
const report = join(folder, "outage.html")
execFileSync(process.execPath, ["--conditions=source", command, ...args, "--report", `html=${report}`], {
  stdio: "inherit"
})

const named = process.env["CHROMIUM_PATH"]
const path = [named, chromium.executablePath(), "/usr/bin/chromium"].find(
  (candidate) => candidate !== undefined && existsSync(candidate)
)
const browser = await chromium.launch({
  ...(path !== undefined && { executablePath: path }),
  args: process.getuid?.() === 0 ? ["--no-sandbox"] : []
})
for (const colorScheme of ["light", "dark"] as const) {
  const page = await (await browser.newContext({ viewport: { width: 980, height: 900 }, colorScheme })).newPage()
  await page.goto(pathToFileURL(report).href)
  await page.locator(".charts").screenshot({ path: join(here, `outage-charts-${colorScheme}.png`) })
}
await browser.close()
rmSync(folder, { recursive: true })
