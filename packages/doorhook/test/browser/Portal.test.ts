/**
 * An integration's own page as its owner has it: in Chromium without JavaScript, from a link of the host.
 */
import { afterEach, assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { shared } from "../harness/Shared.ts"
import { accessibilityProblems } from "./Accessibility.ts"
import { hostile, openConsoleStage } from "./ConsoleStage.ts"
import { openSites } from "./Sites.ts"
import { hasBrowser, openVisitors, phone } from "./Visitors.ts"

const openStage = Effect.gen(function* () {
  const visitors = yield* openVisitors
  const stage = yield* openConsoleStage()
  const site = yield* openSites
  return yield* Effect.promise(async () => {
    const good = await stage.integrate("/good")
    const broken = await stage.integrate("/broken")
    const gone = await stage.integrate("/gone")
    await stage.publish(1)
    await stage.until(gone, "cancelled")
    await stage.until(broken, "retrying")
    return { ...stage, visitors, site, good, broken, gone }
  })
})
const stage = shared(openStage, hasBrowser)
afterEach(() => (hasBrowser ? stage().visitors.closePages() : undefined))

const button = (page: Page, name: string) => page.getByRole("button", { name })
const tests = (path: string) =>
  stage()
    .bodiesAt(path)
    .filter((body) => body.includes('"test":true'))

describe.skipIf(!hasBrowser)("the owner of an integration", () => {
  it("opens the link, sends a test, and sees that it arrived, without JavaScript and without a trace of the link", async () => {
    const { doorhook, good, visitors } = stage()
    const { addresses, complaints, context, page } = await visitors.page({ javaScriptEnabled: false })
    const { expires_at, url } = await doorhook.portalLink(good)
    const minutes = (Date.parse(expires_at) - Date.now()) / 60_000
    assert.isTrue(minutes > 14 && minutes <= 15, expires_at)
    await page.goto(url)
    assert.strictEqual(page.url(), `${stage().url}/portal/${good}`)
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
    assert.deepStrictEqual([...new Set(addresses.map((address) => new URL(address).origin))], [stage().url])
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
    const { broken, doorhook, good, visitors } = stage()
    const { page } = await visitors.page()
    await page.goto((await doorhook.portalLink(broken)).url)
    await page.getByText("has acknowledged nothing since", { exact: false }).waitFor()
    await page.getByRole("link", { name: /^dlv_/ }).first().click()
    await page.getByText("What the receiver answered").first().click()
    assert.strictEqual(await page.locator("pre").first().innerText(), hostile)
    assert.isUndefined(await page.evaluate("window.hacked"))
    const { deliveries } = await doorhook.deliveries.list({ integration_id: good, limit: 1 })
    const foreign = await page.goto(`${stage().url}/portal/${broken}/deliveries/${deliveries[0]?.id}`)
    assert.strictEqual(foreign?.status(), 404)
    assert.strictEqual((await page.goto(`${stage().url}/portal/${good}`))?.status(), 403)
  })

  it("tries again what doorhook has disabled, and it is enabled", async () => {
    const { doorhook, gone, visitors } = stage()
    const { page } = await visitors.page()
    await page.goto((await doorhook.portalLink(gone)).url)
    await page.getByText("the receiver answered 410 Gone", { exact: false }).waitFor()
    await button(page, "Try it again").click()
    await page.getByText("The receiver acknowledged with 200", { exact: false }).first().waitFor()
    await page.getByRole("link", { name: "All deliveries" }).click()
    await page.getByText("enabled", { exact: true }).waitFor()
    assert.strictEqual((await doorhook.integrations.show(gone)).status, "enabled")
  })

  it("needs no mouse", async () => {
    const { doorhook, good, visitors } = stage()
    const { page } = await visitors.page()
    await page.goto((await doorhook.portalLink(good)).url)
    await page.keyboard.press("Tab")
    assert.strictEqual(await page.evaluate("document.activeElement.textContent"), "Send a test event")
    assert.strictEqual(await page.evaluate("getComputedStyle(document.activeElement).outlineStyle"), "solid")
    await page.keyboard.press("Enter")
    await page.waitForURL(/deliveries\/dlv_/)
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await page.waitForURL(`${stage().url}/portal/${good}`)
    for (let step = 0; step < 2; step++) await page.keyboard.press("Tab")
    await page.keyboard.type("retr")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await page.getByText("Nothing here yet.").waitFor()
  })

  it("is told politely that the link has expired, while the page is open and when it is opened", async () => {
    const { doorhook, good, visitors } = stage()
    const { page } = await visitors.page()
    // It lives as long as it takes to open it on this machine.
    const heading = page.getByRole("heading")
    let url = ""
    for (let seconds = 1; (await page.locator("h1").allInnerTexts())[0] !== "Your webhooks"; seconds *= 2) {
      url = (await doorhook.portalLink(good, { expiresIn: `${seconds}s` })).url
      await page.goto(url)
    }
    while ((await page.reload())?.status() !== 403) await page.waitForLoadState()
    // The browser has let go of the cookie, or the service does not take it any more.
    assert.match(await heading.innerText(), /^This (?:link has expired|page is not open)$/)
    await page.goto(url)
    assert.strictEqual(await heading.innerText(), "This link has expired")
    assert.deepStrictEqual(await accessibilityProblems(page), [])
  })

  it("sends nothing by a form of another site", async () => {
    const { broken, doorhook, site, visitors } = stage()
    const { page } = await visitors.page()
    await page.goto((await doorhook.portalLink(broken)).url)
    const token = (await page.locator("input[name=form_token]").getAttribute("value")) ?? ""
    const before = tests("/broken").length
    // As bad as can be: the other site knows the token.
    const form = `<form method="post" action="${stage().url}/portal/${broken}/test"><input name="form_token" value="${token}"><button>go</button></form>`
    await page.goto((await site(form)).replace("127.0.0.1", "localhost"))
    const answered = page.waitForResponse(`${stage().url}/portal/${broken}/test`)
    await button(page, "go").click()
    assert.strictEqual((await answered).status(), 403)
    assert.strictEqual(tests("/broken").length, before)
  })
})

describe.skipIf(!hasBrowser)("the portal", () => {
  it("has names, headings, contrast and room on every page, light and dark, on a desk and on a phone", async () => {
    const { broken, doorhook, visitors } = stage()
    for (const options of [{ colorScheme: "light" }, { colorScheme: "dark", ...phone }] as const) {
      const { page } = await visitors.page(options)
      await page.goto((await doorhook.portalLink(broken)).url)
      assert.deepStrictEqual(await accessibilityProblems(page), [], options.colorScheme)
      await page.getByRole("link", { name: /^dlv_/ }).first().click()
      await page.getByText("What the receiver answered").first().click()
      assert.deepStrictEqual(await accessibilityProblems(page), [], options.colorScheme)
    }
  })
})
