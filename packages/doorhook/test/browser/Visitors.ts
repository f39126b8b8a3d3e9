/**
 * Browsers that record every URL, console error and policy violation.
 */
import { Effect } from "effect"
import { chromium } from "playwright-core"
import type { BrowserContext, BrowserContextOptions } from "playwright-core"
import { executable } from "./Executable.ts"

const path = executable()

if (path === null) {
  process.stderr.write(
    "\n!!! NO BROWSER: the tests of pages in Chromium are SKIPPED. `npm run setup:browser` fetches one.\n\n"
  )
}

/** Whether a browser is available. Tests that need a browser are skipped without one. */
export const hasBrowser = path !== null

export const phone = { viewport: { width: 375, height: 720 }, isMobile: true, hasTouch: true } as const

/**
 * Views of pages that cover both sizes and both colour schemes. Two views are enough, because colours do not depend on
 * the size.
 */
export const looks = [
  ["light, on a desk", { colorScheme: "light" }],
  ["dark, on a phone", { colorScheme: "dark", ...phone }]
] as const satisfies ReadonlyArray<readonly [string, BrowserContextOptions]>

/** Time after which a page counts as hanging, in milliseconds. */
const patience = 60_000

const launch = Effect.acquireRelease(
  Effect.promise(() =>
    chromium.launch({
      headless: true,
      ...(path !== null && { executablePath: path }),
      // Chromium can't use its sandbox when run as root.
      args: process.getuid?.() === 0 ? ["--no-sandbox"] : []
    })
  ),
  (browser) => Effect.promise(() => browser.close())
)

/** Opens a browser. Each page gets a fresh profile. */
export const openVisitors = Effect.map(launch, (browser) => {
  const contexts: Array<BrowserContext> = []
  return {
    /** Opens a page, and records the URLs that it requests and its console errors. */
    page: async (options: BrowserContextOptions = {}) => {
      const context = await browser.newContext(options)
      contexts.push(context)
      const page = await context.newPage()
      page.setDefaultTimeout(patience)
      const addresses: Array<string> = []
      const complaints: Array<string> = []
      context.on("request", (request) => addresses.push(request.url()))
      page.on("console", (message) => {
        if (message.type() === "error" || message.type() === "warning") complaints.push(message.text())
      })
      page.on("pageerror", (error) => complaints.push(String(error)))
      return { page, context, addresses, complaints }
    },
    closePages: async () => {
      for (const context of contexts.splice(0)) await context.close()
    }
  }
})
