/**
 * The setup that all tests of the pages in a file share, and the parts of pages that they look for.
 */
import { afterEach } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { shared } from "../harness/Shared.ts"
import { accessibilityProblems } from "./Accessibility.ts"
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

/** Opens the menu of the page. */
export const openMenu = (page: Page, name = "More") => page.locator(".menu > summary", { hasText: name }).click()

/** Presses a button that opens a dialog, in the menu of the page if there. Returns the dialog. */
export const open = async (page: Page, name: string) => {
  const opener = page.locator("button[popovertarget]:not([popovertargetaction])").getByText(name, { exact: true })
  if (!(await opener.first().isVisible())) await openMenu(page)
  await opener.first().click()
  const dialog = page.locator("[popover]:popover-open")
  await dialog.waitFor()
  return dialog
}

/** Presses a button, and confirms with the button `yes` of the dialog. */
export const confirm = async (page: Page, name: string, yes = name) =>
  (await open(page, name)).getByRole("button", { name: yes, exact: true }).click()

/** Returns the texts in the bar of a page that are not wholly on the screen, also if the visitor's name is long. */
export const cutNavigation = (page: Page): Promise<unknown> =>
  page.evaluate(`(() => {
    for (const name of document.querySelectorAll(".who > span")) name.textContent = "ada.lovelace.of.the.north.tower@example.com"
    return [...document.querySelectorAll("nav a, .who > span, .who button")].filter((one) => {
      const { left, right } = one.getBoundingClientRect()
      return left < 0 || right > innerWidth || one.scrollWidth > one.clientWidth + 1
    }).map((one) => one.textContent)
  })()`)

/** Returns the accessibility problems of a page with all its parts open, and of each of its dialogs and menus. */
export const problemsOfAllParts = async (page: Page): Promise<ReadonlyArray<string>> => {
  for (const summary of await page.locator("details:not(.menu) > summary").all()) await summary.click()
  const problems = [...(await accessibilityProblems(page))]
  for (const summary of await page.locator(".menu > summary").all()) {
    await summary.click()
    problems.push(...(await accessibilityProblems(page)))
  }
  for (const dialog of await page.locator("[popover]").all()) {
    const own = `document.getElementById("${await dialog.getAttribute("id")}")`
    await page.evaluate(`${own}.showPopover()`)
    problems.push(...(await accessibilityProblems(page)))
    await page.evaluate(`${own}.hidePopover()`)
  }
  return problems
}
