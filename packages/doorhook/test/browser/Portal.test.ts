/**
 * An integration's own page as its owner has it: in Chromium without JavaScript, from a link of the host.
 */
import { afterAll, afterEach, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Page } from "playwright-core"
import { once } from "node:events"
import { createServer } from "node:http"
import { accessibilityProblems } from "./Accessibility.ts"
import type { ConsoleStage } from "./ConsoleStage.ts"
import { hostile, openConsoleStage } from "./ConsoleStage.ts"
import { hasBrowser } from "./Visit.ts"
import type { Visitors } from "./Visitors.ts"
import { openVisitors, phone } from "./Visitors.ts"

let stage: ConsoleStage
let visitors: Visitors
let good = ""
let broken = ""
let gone = ""

beforeAll(async () => {
  if (!hasBrowser) return
  visitors = await openVisitors()
  stage = await openConsoleStage()
  good = await stage.integrate("/good")
  broken = await stage.integrate("/broken")
  gone = await stage.integrate("/gone")
  await stage.publish(1)
  await stage.until(gone, "cancelled")
  await stage.until(broken, "retrying")
})
afterEach(() => visitors.closePages())
afterAll(async () => {
  if (!hasBrowser) return
  await visitors.close()
  await stage.close()
})

const button = (page: Page, name: string) => page.getByRole("button", { name })
const tests = (path: string) => stage.bodiesAt(path).filter((body) => body.includes('"test":true'))

describe.skipIf(!hasBrowser)("the owner of an integration", () => {
  it("opens the link, sends a test, and sees that it arrived, without JavaScript and without a trace of the link", async () => {
    const { addresses, complaints, context, page } = await visitors.page({ javaScriptEnabled: false })
    const { expires_at, url } = await stage.doorhook.portalLink(good)
    const minutes = (Date.parse(expires_at) - Date.now()) / 60_000
    assert.isTrue(minutes > 14 && minutes <= 15, expires_at)
    await page.goto(url)
    assert.strictEqual(page.url(), `${stage.url}/portal/${good}`)
    assert.strictEqual(await page.getByRole("row").count(), 2)
    await button(page, "Send a test event").click()
    await page.getByText("The receiver acknowledged with 200", { exact: false }).first().waitFor()
    assert.match(page.url(), /\/portal\/\d+\/deliveries\/dlv_\d+$/)
    assert.include(await page.locator("pre").last().innerText(), '"test":true')
    const [sent = "", ...more] = tests("/good")
    assert.strictEqual(more.length, 0)
    assert.strictEqual(tests("/broken").length, 0)
    const event: unknown = JSON.parse(sent)
    assert.nestedPropertyVal(event, "event.resource_type", "access_log")
    assert.nestedPropertyVal(event, "event.data.test", true)
    await page.getByRole("link", { name: "All deliveries" }).click()
    assert.strictEqual(await page.getByRole("row").count(), 3)

    assert.deepStrictEqual(complaints, [])
    assert.deepStrictEqual([...new Set(addresses.map((address) => new URL(address).origin))], [stage.url])
    assert.deepStrictEqual(
      addresses.filter((address) => address.includes("dh_pl_")),
      [url]
    )
    const cookies = await context.cookies()
    assert.deepStrictEqual(
      cookies.map(({ httpOnly, name, sameSite }) => ({ httpOnly, name, sameSite })),
      [{ httpOnly: true, name: `doorhook_portal_${good}`, sameSite: "Lax" }]
    )
  })

  it("reads what the receiver answered, as text, and nothing of another integration", async () => {
    const { page } = await visitors.page()
    await page.goto((await stage.doorhook.portalLink(broken)).url)
    await page.getByText("has acknowledged nothing since", { exact: false }).waitFor()
    await page.getByRole("link", { name: /^dlv_/ }).first().click()
    await page.getByText("What the receiver answered").first().click()
    assert.strictEqual(await page.locator("pre").first().innerText(), hostile)
    assert.isUndefined(await page.evaluate("window.hacked"))
    const { deliveries } = await stage.doorhook.deliveries.list({ integration_id: good, limit: 1 })
    const foreign = await page.goto(`${stage.url}/portal/${broken}/deliveries/${deliveries[0]?.id}`)
    assert.strictEqual(foreign?.status(), 404)
    assert.strictEqual((await page.goto(`${stage.url}/portal/${good}`))?.status(), 403)
  })

  it("tries again what doorhook has disabled, and it is enabled", async () => {
    const { page } = await visitors.page()
    await page.goto((await stage.doorhook.portalLink(gone)).url)
    await page.getByText("the receiver answered 410 Gone", { exact: false }).waitFor()
    await button(page, "Try it again").click()
    await page.getByText("The receiver acknowledged with 200", { exact: false }).first().waitFor()
    await page.getByRole("link", { name: "All deliveries" }).click()
    await page.getByText("enabled", { exact: true }).waitFor()
    assert.strictEqual((await stage.doorhook.integrations.show(gone)).status, "enabled")
  })

  it("needs no mouse", async () => {
    const { page } = await visitors.page()
    await page.goto((await stage.doorhook.portalLink(good)).url)
    await page.keyboard.press("Tab")
    assert.strictEqual(await page.evaluate("document.activeElement.textContent"), "Send a test event")
    assert.strictEqual(await page.evaluate("getComputedStyle(document.activeElement).outlineStyle"), "solid")
    await page.keyboard.press("Enter")
    await page.waitForURL(/deliveries\/dlv_/)
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await page.waitForURL(`${stage.url}/portal/${good}`)
    for (let step = 0; step < 2; step++) await page.keyboard.press("Tab")
    await page.keyboard.type("retr")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await page.getByText("Nothing here yet.").waitFor()
  })

  it("is told politely that the link has expired, while the page is open and when it is opened", async () => {
    const { page } = await visitors.page()
    const { url } = await stage.doorhook.portalLink(good, { expiresIn: "1s" })
    await page.goto(url)
    await page.getByRole("heading", { name: "Your webhooks" }).waitFor()
    while ((await page.reload())?.status() !== 403) await page.waitForLoadState()
    // The browser has let go of the cookie, or the service does not take it any more.
    assert.match(await page.getByRole("heading").innerText(), /^This (?:link has expired|page is not open)$/)
    await page.goto(url)
    assert.strictEqual(await page.getByRole("heading").innerText(), "This link has expired")
    assert.deepStrictEqual(await accessibilityProblems(page), [])
  })

  it("sends nothing by a form of another site", async () => {
    const { page } = await visitors.page()
    await page.goto((await stage.doorhook.portalLink(broken)).url)
    const token = (await page.locator("input[name=form_token]").getAttribute("value")) ?? ""
    const before = tests("/broken").length
    // As bad as can be: the other site knows the token.
    const form = `<form method="post" action="${stage.url}/portal/${broken}/test"><input name="form_token" value="${token}"><button>go</button></form>`
    const site = createServer((_, response) => response.setHeader("content-type", "text/html").end(form)).listen(0)
    await once(site, "listening")
    const address = site.address()
    await page.goto(`http://localhost:${address !== null && typeof address === "object" ? address.port : 0}`)
    const answered = page.waitForResponse(`${stage.url}/portal/${broken}/test`)
    await button(page, "go").click()
    assert.strictEqual((await answered).status(), 403)
    assert.strictEqual(tests("/broken").length, before)
    site.closeAllConnections()
    site.close()
    await once(site, "close")
  })
})

describe.skipIf(!hasBrowser)("the portal", () => {
  it("has names, headings, contrast and room on every page, light and dark, on a desk and on a phone", async () => {
    for (const options of [{ colorScheme: "light" }, { colorScheme: "dark", ...phone }] as const) {
      const { page } = await visitors.page(options)
      await page.goto((await stage.doorhook.portalLink(broken)).url)
      assert.deepStrictEqual(await accessibilityProblems(page), [], options.colorScheme)
      await page.getByRole("link", { name: /^dlv_/ }).first().click()
      await page.getByText("What the receiver answered").first().click()
      assert.deepStrictEqual(await accessibilityProblems(page), [], options.colorScheme)
    }
  })
})
