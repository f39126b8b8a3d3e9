/**
 * The HTML report in a real browser. It makes no requests, fits a phone, is readable in dark mode, and filters without
 * a script.
 */
import { assert, describe, it } from "@effect/vitest"
import { chromium } from "playwright-core"
import type { BrowserContextOptions } from "playwright-core"
import { executable } from "../../../packages/doorhook/test/browser/Executable.ts"
import { toHtml } from "../../src/report/Html.ts"
import { sampleReport } from "../support/sampleReport.ts"

const path = executable()
if (path === null) process.stderr.write("\n!!! NO BROWSER: the tests of the HTML report in Chromium are SKIPPED.\n\n")

const wide: BrowserContextOptions = { viewport: { width: 1_100, height: 900 } }
const phone: BrowserContextOptions = { viewport: { width: 320, height: 640 } }

/** Returns the contrast of two CSS colours as defined by WCAG 2. */
const contrast = (a: string, b: string): number => {
  const light = (text: string): number => {
    const [red = 0, green = 0, blue = 0] = (text.match(/[\d.]+/g) ?? []).slice(0, 3).map((value) => {
      const share = Number(value) / 255
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const [dark = 0, bright = 0] = [light(a), light(b)].toSorted((x, y) => x - y)
  return (bright + 0.05) / (dark + 0.05)
}

/** Script that returns the colours of each coloured text and its background. */
const coloursOfTexts = `Array.from(document.querySelectorAll(".v, .soft, pre, a"), (element) => {
  let ground = "rgba(0, 0, 0, 0)"
  for (let at = element; at !== null && ground.endsWith(", 0)"); at = at.parentElement) {
    ground = getComputedStyle(at).backgroundColor
  }
  return [getComputedStyle(element).color, ground]
})`

describe.skipIf(path === null)("the page", () => {
  it("works offline and without scripts, on wide and narrow screens, in light and dark mode", async () => {
    const browser = await chromium.launch({
      ...(path !== null && { executablePath: path }),
      args: process.getuid?.() === 0 ? ["--no-sandbox"] : []
    })
    try {
      const settings: ReadonlyArray<BrowserContextOptions> = [wide, phone, { ...wide, colorScheme: "dark" }]
      for (const options of settings) {
        const context = await browser.newContext({ ...options, javaScriptEnabled: true })
        const page = await context.newPage()
        const complaints: Array<string> = []
        page.on("console", (message) => complaints.push(message.text()))
        page.on("request", (request) => complaints.push(request.url()))
        await page.setContent(toHtml(sampleReport))
        assert.deepStrictEqual(complaints, [])
        assert.strictEqual(await page.locator("script").count(), 0)

        // Scripts are strings, because this project has no browser types.
        const overflow = await page.evaluate<number>("document.documentElement.scrollWidth - window.innerWidth")
        assert.isAtMost(overflow, 0, "the page is wider than the screen")

        const behind = await page.evaluate<string>("getComputedStyle(document.body).backgroundColor")
        const isDark = contrast(behind, "rgb(255, 255, 255)") > 4.5
        assert.strictEqual(isDark, options.colorScheme === "dark")

        const colours = await page.evaluate<ReadonlyArray<readonly [ink: string, ground: string]>>(coloursOfTexts)
        assert.isAbove(colours.length, 20)
        for (const [ink, ground] of colours) assert.isAtLeast(contrast(ink, ground), 4.5, `${ink} on ${ground}`)

        const passed = page.locator('tr[data-verdict="PASS"]')
        assert.strictEqual(await passed.filter({ visible: true }).count(), 2)
        await page.locator("#show-PASS").uncheck()
        assert.strictEqual(await passed.filter({ visible: true }).count(), 0)
        assert.strictEqual(await page.locator('tr[data-verdict="FAIL"]').filter({ visible: true }).count(), 3)

        const history = page.locator("pre").first()
        assert.match(await history.innerText(), /got {3}409 after 3 ms: <script>alert\(1\)<\/script>.*<- here/)
        await page.locator('a[href="#R-DUP-01"]').click()
        assert.isTrue(await page.locator("#R-DUP-01").isVisible())
        const follower = page.locator("#R-DUP-03")
        assert.isFalse(await follower.isVisible(), "followers are folded")
        await page.locator(".followers > summary").click()
        assert.isTrue(await follower.isVisible())
        await context.close()
      }
    } finally {
      await browser.close()
    }
  })
})
