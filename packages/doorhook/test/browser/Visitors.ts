/**
 * Browsers on a visit, with what they saw: every address, every complaint of the console, every breach of a policy.
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

/** Whether there is a browser; tests that need one are skipped where there is none. */
export const hasBrowser = path !== null

export const phone = { viewport: { width: 375, height: 720 }, isMobile: true, hasTouch: true } as const

/** How pages are looked at: on a desk and on a phone, light and dark. */
export const looks = [
  ["light, on a desk", { colorScheme: "light" }],
  ["dark, on a desk", { colorScheme: "dark" }],
  ["light, on a phone", { colorScheme: "light", ...phone }],
  ["dark, on a phone", { colorScheme: "dark", ...phone }]
] as const satisfies ReadonlyArray<readonly [string, BrowserContextOptions]>

/** What takes longer hangs, in milliseconds. */
const patience = 60_000

const launch = Effect.acquireRelease(
  Effect.promise(() =>
    chromium.launch({
      headless: true,
      ...(path !== null && { executablePath: path }),
      // Root may not use the sandbox.
      args: process.getuid?.() === 0 ? ["--no-sandbox"] : []
    })
  ),
  (browser) => Effect.promise(() => browser.close())
)

/** Opens a browser; each page is in a profile of its own that has been nowhere. */
export const openVisitors = Effect.map(launch, (browser) => {
  const contexts: Array<BrowserContext> = []
  return {
    /** A page, every address that it asks for, and what its console complains about. */
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
