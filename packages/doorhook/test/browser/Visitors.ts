/**
 * Browsers for pages of an embedded doorhook, with what they saw.
 */
import type { Browser, BrowserContext, BrowserContextOptions } from "playwright-core"
import { launch } from "./Visit.ts"

export const phone = { viewport: { width: 375, height: 720 }, isMobile: true, hasTouch: true } as const

/** Opens a browser; each page is in a profile of its own that has been nowhere. */
export const openVisitors = async () => {
  const browser: Browser = await launch()
  const contexts: Array<BrowserContext> = []
  return {
    /** A page, every address that it asks for, and what its console complains about. */
    page: async (options: BrowserContextOptions = {}) => {
      const context = await browser.newContext(options)
      contexts.push(context)
      const page = await context.newPage()
      page.setDefaultTimeout(20_000)
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
    },
    close: () => browser.close()
  }
}

export type Visitors = Awaited<ReturnType<typeof openVisitors>>
