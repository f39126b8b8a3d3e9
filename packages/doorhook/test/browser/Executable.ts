/**
 * Finds Chromium on this machine.
 */
import { chromium } from "playwright-core"
import { existsSync } from "node:fs"

/** Usual paths of an installed Chromium, by operating system. */
const usual = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/usr/bin/google-chrome-stable",
  "/snap/bin/chromium",
  "/opt/google/chrome/chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
  "C:\\Program Files (x86)\\Google\\Chrome\\Application\\chrome.exe"
]

/**
 * Returns the path of Chromium: the one in `CHROMIUM_PATH`, the one installed by `npm run setup:browser`, or the
 * system's. Null if there is none.
 */
export const executable = (): string | null => {
  const { CHROMIUM_PATH: named = "" } = process.env
  if (named !== "") {
    if (existsSync(named)) return named
    throw new Error(`CHROMIUM_PATH names ${named}, which does not exist.`)
  }
  return [chromium.executablePath(), ...usual].find((path) => existsSync(path)) ?? null
}
