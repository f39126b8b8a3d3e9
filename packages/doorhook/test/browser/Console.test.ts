/**
 * The operator's console as an operator has it: in Chromium, by mouse and by keyboard, on a phone, by what a screen reader is
 * told; with receivers that answer what must not become a part of the page.
 */
import { afterEach, assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { shared } from "../harness/Shared.ts"
import { accessibilityProblems } from "./Accessibility.ts"
import { hostile, openConsoleStage, operatorKey } from "./ConsoleStage.ts"
import { hasBrowser, openVisitors, phone } from "./Visitors.ts"

const openStage = Effect.gen(function* () {
  const visitors = yield* openVisitors
  const stage = yield* openConsoleStage()
  return yield* Effect.promise(async () => {
    const good = await stage.integrate("/good")
    const broken = await stage.integrate("/broken")
    const gone = await stage.integrate("/gone")
    await stage.publish(1)
    await stage.until(gone, "cancelled")
    await stage.publish(2)
    return { ...stage, visitors, good, broken, gone, brokenDelivery: await stage.until(broken, "retrying") }
  })
})
const stage = shared(openStage, hasBrowser)
afterEach(() => (hasBrowser ? stage().visitors.closePages() : undefined))

const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name, exact: true }).waitFor()

/** Waits until a view has what it asked for. */
const drawn = (page: Page) => page.locator("[aria-busy=true]").waitFor({ state: "detached" })

const signIn = async (page: Page) => {
  await page.goto(`${stage().url}/console`)
  await page.getByLabel("Operator key").fill(operatorKey)
  await page.getByRole("button", { name: "Sign in" }).click()
  await heading(page, "Overview")
}

const view = async (page: Page, address: string, name: string) => {
  await page.goto(`${stage().url}/console#/${address}`)
  await heading(page, name)
  await drawn(page)
}

/** Every view with its heading. */
const views = ({
  broken,
  brokenDelivery,
  gone
}: ReturnType<typeof stage>): ReadonlyArray<readonly [string, string]> => [
  ["", "Overview"],
  ["deliveries", "Deliveries"],
  [`deliveries/${brokenDelivery}`, `Delivery ${brokenDelivery}`],
  ["integrations", "Integrations"],
  [`integrations/${broken}`, `Integration ${broken}`],
  [`integrations/${gone}`, `Integration ${gone}`],
  ["notices", "Notices"]
]

describe.skipIf(!hasBrowser)("an operator with a browser", () => {
  it("sees what is wrong, finds the delivery, reads why, sends it again and recovers, silently and from one place", async () => {
    const { broken, brokenDelivery, gone, visitors } = stage()
    const { addresses, complaints, page } = await visitors.page()
    await signIn(page)
    await page.getByText("Ready: events are accepted").waitFor()
    await page.getByRole("link", { name: `Integration ${broken}`, exact: true }).waitFor()

    await page.getByRole("link", { name: /^retrying/ }).click()
    await heading(page, "Deliveries")
    assert.match(page.url(), /#\/deliveries\?state=retrying$/)
    await page.getByLabel("State").selectOption({ label: "not acknowledged" })
    await page.getByRole("button", { name: "Search" }).click()
    await page.waitForURL(/state=retrying%2Cexhausted%2Cexpired$/)
    await page.getByRole("link", { name: brokenDelivery, exact: true }).click()
    await heading(page, `Delivery ${brokenDelivery}`)
    await page.getByText("The receiver answered 500", { exact: false }).first().waitFor()
    await page.getByText("What the receiver answered").first().click()
    assert.strictEqual(await page.locator("pre").first().innerText(), hostile)

    const attempts = await page.locator(".timeline > li:not(.coming)").count()
    await page.getByRole("button", { name: "Send again" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click()
    await page.getByRole("button", { name: "Send again" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Send again" }).click()
    await page.getByText(`${brokenDelivery} is on its way.`).waitFor()
    await page.locator(".timeline > li:not(.coming)").nth(attempts).waitFor()

    const event = await page.locator("dd a.mono").innerText()
    await page.getByRole("link", { name: "Deliveries" }).click()
    await page.getByLabel("Event, delivery or integration").fill("what?")
    await page.getByRole("button", { name: "Search" }).click()
    await page.getByText("Give the id of an event").waitFor()
    await page.getByLabel("Event, delivery or integration").fill(event)
    await page.getByRole("button", { name: "Search" }).click()
    await page.waitForURL(/event_id=evt_/)
    // The list from before may still be there.
    await page.waitForFunction("document.querySelectorAll('tr').length === 4")

    await view(page, `integrations/${gone}`, `Integration ${gone}`)
    await page.getByText("its receiver answered 410 Gone", { exact: false }).first().waitFor()
    await page.getByRole("button", { name: "Try it again" }).click()
    await page.getByText("The receiver acknowledged with 200", { exact: false }).first().waitFor()
    await view(page, `integrations/${gone}`, `Integration ${gone}`)
    await page.getByRole("button", { name: "Recover" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Recover" }).click()
    await page.getByText(/\d+ deliver(?:y is|ies are) on the way\./).waitFor()

    await page.getByRole("link", { name: "Notices" }).click()
    await page.getByText("acknowledges again").first().waitFor()

    await page.getByRole("button", { name: "Sign out" }).click()
    await heading(page, "Operator console")
    assert.strictEqual(await page.evaluate("sessionStorage.length + localStorage.length + document.cookie.length"), 0)
    assert.deepStrictEqual(complaints, [])
    assert.isUndefined(await page.evaluate("window.hacked"))
    assert.deepStrictEqual([...new Set(addresses.map((address) => new URL(address).origin))], [stage().url])
    for (const address of addresses) assert.notInclude(address, operatorKey)
  })

  it("tells of an integration that can't be read, beside those that can", async () => {
    const { good, visitors } = stage()
    const { complaints, page } = await visitors.page()
    await page.route("**/operator/integrations?*", async (route) => {
      const response = await route.fetch()
      const unreadable = `"unreadable":[{"id":"99","scope":{"type":"building","id":1},"why":"<b>odd</b>"}]`
      const body = (await response.text()).replace('"unreadable":[]', unreadable)
      await route.fulfill({ response, body })
    })
    await signIn(page)
    await view(page, "integrations", "Integrations")
    await page.getByText("Integration 99 of building 1 can't be read: <b>odd</b>").waitFor()
    await page.getByRole("link", { name: `Integration ${good}`, exact: true }).waitFor()
    assert.deepStrictEqual(complaints, [])
  })

  it("opens a delivery whose receiver names a time that is none", async () => {
    const { brokenDelivery, visitors } = stage()
    const { complaints, page } = await visitors.page()
    await page.route("**/operator/deliveries/dlv_*", async (route) => {
      const response = await route.fetch()
      const body = (await response.text()).replace('"why":"', '"why":"It points to /2026-99-99T99:99Z. ')
      await route.fulfill({ response, body })
    })
    await signIn(page)
    await view(page, `deliveries/${brokenDelivery}`, `Delivery ${brokenDelivery}`)
    await page.getByText("It points to /2026-99-99T99:99Z. The receiver answered 500").waitFor()
    assert.deepStrictEqual(complaints, [])
  })

  it("signs in while the database is away", async () => {
    const { visitors } = stage()
    const { page } = await visitors.page()
    await page.route(/\/operator\/(?!figures$)/, (route) =>
      route.fulfill({ status: 503, json: { errors: [{ detail: "The database is away." }] } })
    )
    await signIn(page)
    await page.getByText("The database is away.").waitFor()
    assert.strictEqual(await page.evaluate("sessionStorage.length"), 1)
  })

  it("is told of a trouble once, however often it is looked at", async () => {
    const { visitors } = stage()
    const { page } = await visitors.page()
    await page.route("**/operator/figures", async (route) => {
      const response = await route.fetch()
      const figures: object = await response.json()
      await route.fulfill({ response, json: { ...figures, detail: "The disk is full." } })
    })
    await signIn(page)
    await page.getByRole("alert").getByText("The disk is full.").waitFor()
    await page.evaluate("window.first = document.querySelector('[role=alert]')")
    // The second is asked for when what the first answered is drawn.
    for (let round = 0; round < 2; round++) await page.waitForRequest("**/operator/figures")
    assert.isTrue(await page.evaluate("document.querySelector('[role=alert]') === window.first"))
    await page.unrouteAll({ behavior: "ignoreErrors" })
  })

  it("is told whether a link was copied, and where the browser can't", async () => {
    const { good, visitors } = stage()
    const { context, page } = await visitors.page({ permissions: ["clipboard-read", "clipboard-write"] })
    await signIn(page)
    const copy = async () => {
      await view(page, `integrations/${good}`, `Integration ${good}`)
      await page.getByRole("button", { name: "Make a link for its owner" }).click()
      await page.getByRole("button", { name: "Copy" }).click()
      return page.getByRole("dialog").getByRole("status")
    }
    await (await copy()).getByText("The link is copied.").waitFor()
    const copied = await page.evaluate("navigator.clipboard.readText()")
    assert.strictEqual(copied, await page.getByRole("textbox", { name: "Link" }).inputValue())
    await context.addInitScript("Object.defineProperty(Navigator.prototype, 'clipboard', { get: () => undefined })")
    await page.reload()
    await (await copy()).getByText("on pages of https only").waitFor()
    assert.strictEqual(await page.evaluate("getSelection().toString().slice(0, 4)"), "http")
  })

  it("sends a test to one integration, and makes a link for its owner", async () => {
    const { good, visitors } = stage()
    const { page } = await visitors.page()
    await signIn(page)
    const before = stage().bodiesAt("/broken").length
    await view(page, `integrations/${good}`, `Integration ${good}`)
    await page.getByRole("button", { name: "Make a link for its owner" }).click()
    const link = await page.getByRole("textbox", { name: "Link" }).inputValue()
    assert.isTrue(link.startsWith(`${stage().url}/portal/open/dh_pl_${good}.`))
    await page.getByRole("button", { name: "Close" }).click()
    await page.getByRole("button", { name: "Send a test event" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Send it" }).click()
    await page.getByText("The receiver acknowledged with 200", { exact: false }).first().waitFor()
    assert.strictEqual(
      stage()
        .bodiesAt("/good")
        .filter((body) => body.includes('"test":true')).length,
      1
    )
    assert.strictEqual(
      stage()
        .bodiesAt("/broken")
        .slice(before)
        .filter((body) => body.includes('"test":true')).length,
      0
    )
  })

  it("disables an integration after a question, and enables it", async () => {
    const { doorhook, good, visitors } = stage()
    const { page } = await visitors.page()
    await signIn(page)
    await view(page, `integrations/${good}`, `Integration ${good}`)
    await page.getByRole("button", { name: "Disable" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Disable" }).click()
    await page.getByText("It was disabled by hand.", { exact: false }).waitFor()
    assert.strictEqual((await doorhook.integrations.show(good)).status, "disabled")
    await page.getByRole("button", { name: "Enable" }).click()
    await page.getByRole("button", { name: "Disable" }).waitFor()
    assert.strictEqual((await doorhook.integrations.show(good)).status, "enabled")
  })

  it("is told that a key is wrong, and that a key has changed", async () => {
    const { visitors } = stage()
    const { page } = await visitors.page()
    await page.goto(`${stage().url}/console`)
    await page.getByLabel("Operator key").fill("wrong")
    await page.keyboard.press("Enter")
    assert.match(await page.getByRole("alert").innerText(), /not the operator key/)
    assert.strictEqual(await page.evaluate("sessionStorage.length"), 0)
    await page.evaluate("sessionStorage.setItem('doorhook_operator_key', 'old')")
    await page.reload()
    await page.getByText("The operator key has changed.", { exact: false }).waitFor()
    assert.strictEqual(await page.evaluate("sessionStorage.length"), 0)
  })

  it("is told when the service does not answer, and when it does again", async () => {
    const { visitors } = stage()
    const { page } = await visitors.page()
    await page.clock.install()
    await signIn(page)
    await drawn(page)
    await page.route("**/operator/**", (route) => route.abort())
    await page.clock.fastForward("00:10")
    await page.getByText("The service does not answer.", { exact: false }).waitFor()
    // What was shown before stays.
    assert.strictEqual(await page.getByRole("heading", { name: "Events a second" }).count(), 1)
    await page.unroute("**/operator/**")
    await page.clock.fastForward("01:00")
    await page.getByText("The service does not answer.", { exact: false }).waitFor({ state: "detached" })
  })

  it("needs no mouse: signs in, goes to a delivery, is asked, cancels and stays where they were", async () => {
    const { brokenDelivery, visitors } = stage()
    const { page } = await visitors.page()
    await page.clock.install()
    await page.goto(`${stage().url}/console`)
    const focused = () => page.evaluate("document.activeElement.id || document.activeElement.textContent.trim()")
    await page.getByLabel("Operator key").waitFor()
    assert.strictEqual(await focused(), "key")
    await page.keyboard.type(operatorKey)
    await page.keyboard.press("Enter")
    await heading(page, "Overview")
    assert.strictEqual(await focused(), "Overview")
    const order: Array<unknown> = []
    for (let step = 0; step < 6; step++) {
      await page.keyboard.press("Shift+Tab")
      order.unshift(await focused())
      assert.strictEqual(await page.evaluate("getComputedStyle(document.activeElement).outlineStyle"), "solid")
    }
    assert.deepStrictEqual(order, [
      "Skip to the content",
      "Overview",
      "Deliveries",
      "Integrations",
      "Notices",
      "sign-out"
    ])
    for (let step = 0; step < 3; step++) await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await heading(page, "Integrations")
    await page.keyboard.press("Tab")
    assert.strictEqual(await focused(), "number")

    await view(page, `deliveries/${brokenDelivery}`, `Delivery ${brokenDelivery}`)
    await page.getByRole("button", { name: "Send again" }).focus()
    await page.keyboard.press("Enter")
    await page.getByRole("dialog").waitFor()
    assert.strictEqual(await focused(), "Cancel")
    await page.keyboard.press("Escape")
    await page.getByRole("dialog").waitFor({ state: "detached" })
    assert.strictEqual(await focused(), "resend")
    // What was opened stays open, and who reads it stays there, when the view is drawn anew.
    await page.locator("summary").first().focus()
    await page.keyboard.press("Enter")
    const answered = page.waitForResponse(/operator\/deliveries\/dlv_/)
    await page.clock.fastForward("00:10")
    await (await answered).finished()
    await page.locator("details[open] summary:focus").waitFor()
  })
})

describe.skipIf(!hasBrowser)("the console", () => {
  it("has names, headings, contrast and room in every view, light and dark, on a desk and on a phone", async () => {
    const { visitors } = stage()
    for (const [options, tappable] of [
      [{ colorScheme: "light" }, 44],
      [{ colorScheme: "dark", ...phone }, 44]
    ] as const) {
      const { complaints, page } = await visitors.page(options)
      await page.goto(`${stage().url}/console`)
      await page.getByLabel("Operator key").waitFor()
      assert.deepStrictEqual(await accessibilityProblems(page, tappable), [])
      await signIn(page)
      for (const [address, name] of views(stage())) {
        await view(page, address, name)
        assert.deepStrictEqual(await accessibilityProblems(page, tappable), [], `${options.colorScheme} ${name}`)
        assert.strictEqual(await page.title(), `${name} - doorhook console`)
      }
      assert.deepStrictEqual(complaints, [])
    }
  })

  it("tells a screen reader what is what", async () => {
    const { brokenDelivery, visitors } = stage()
    const { page } = await visitors.page()
    await signIn(page)
    await view(page, `deliveries/${brokenDelivery}`, `Delivery ${brokenDelivery}`)
    const snapshot = await page.locator("body").ariaSnapshot()
    assert.match(snapshot, /- banner:[\s\S]*- navigation "Console":[\s\S]*- main:/)
    assert.include(snapshot, `- heading "Delivery ${brokenDelivery}" [level=1]`)
    assert.match(snapshot, /- region "What happens":[\s\S]*- region "Attempts":[\s\S]*- list:/)
    await view(page, "deliveries", "Deliveries")
    const list = await page.locator("main").ariaSnapshot()
    assert.match(list, /- search:[\s\S]*- searchbox "Event, delivery or integration"[\s\S]*- combobox "State"/)
    assert.match(list, /- table "Deliveries":[\s\S]*- columnheader "Last attempt"/)
  })

  it("runs no script that got into it, makes no HTML of a text, and is shown in no frame", async () => {
    const { visitors } = stage()
    const { addresses, complaints, page } = await visitors.page()
    await signIn(page)
    const refusal = (expression: string) =>
      page.evaluate(`(() => { try { ${expression}; return "done" } catch (error) { return String(error) } })()`)
    assert.match(String(await refusal("document.body.innerHTML = '<b>x</b>'")), /TrustedHTML/)
    assert.match(String(await refusal("document.createElement('script').src = 'https://evil.example/x.js'")), /Trusted/)
    await refusal("const image = new Image(); image.src = 'https://evil.example/x.png'; document.body.append(image)")
    await page.getByRole("link", { name: "Notices" }).click()
    await heading(page, "Notices")
    assert.match(complaints.join("\n"), /Content Security Policy/)
    assert.notInclude(addresses.join("\n"), "/console/x")

    const other = await visitors.page()
    await other.page.goto(`${stage().url}/health/live`)
    await other.page.setContent(`<iframe src="${stage().url}/console"></iframe>`)
    await other.page.waitForLoadState("load")
    const [, frame] = other.page.frames()
    assert.strictEqual((await frame?.locator("form").count()) ?? 0, 0)
    assert.match(other.complaints.join("\n"), /frame-ancestors|X-Frame-Options/i)
  })
})
