/**
 * The setup that all tests of the pages in a file share, and the parts of pages that they look for.
 */
import { afterEach } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { shared } from "../harness/Shared.ts"
import { openPageStage } from "./PageStage.ts"
import { openSites } from "./Sites.ts"
import { hasBrowser, openVisitors } from "./Visitors.ts"

/** The page stage, a browser, and an integration each for a good, a failing and a gone receiver. */
export const sharedPageStage = () => {
  const open = Effect.gen(function* () {
    const visitors = yield* openVisitors
    const site = yield* openSites
    const stage = yield* openPageStage()
    return yield* Effect.promise(async () => {
      const good = await stage.integrate("/good")
      const broken = await stage.integrate("/broken")
      const gone = await stage.integrate("/gone")
      await stage.publish(1)
      await stage.until(gone, "cancelled")
      await stage.publish(2)
      return { ...stage, visitors, site, good, broken, gone, brokenDelivery: await stage.until(broken, "retrying") }
    })
  })
  const stage = shared(open, hasBrowser)
  afterEach(() => (hasBrowser ? stage().visitors.closePages() : undefined))
  return stage
}

export const heading = (page: Page, name: string | RegExp) => page.getByRole("heading", { level: 1, name }).waitFor()
export const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true })
export const link = (page: Page, name: string) => page.getByRole("link", { name, exact: true })

/** Presses a button that opens a confirmation. */
export const open = (page: Page, name: string) => page.locator("summary").getByText(name, { exact: true }).click()

/** Presses a button, and confirms. */
export const confirm = async (page: Page, name: string) => {
  await open(page, name)
  await page.locator("details[open]").getByRole("button", { name, exact: true }).click()
}
