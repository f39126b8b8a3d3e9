/**
 * Operators' pages in Chromium: with and without JavaScript, by mouse and keyboard, on a phone, and for screen readers.
 * Some receivers answer with HTML that pages must escape.
 */
import { assert, describe, it } from "@effect/vitest"
import type { Page } from "playwright-core"
import { sample } from "@doorhook/testkit/Sample"
import { accessibilityProblems } from "./Accessibility.ts"
import { hostile, operatorKey } from "./PageStage.ts"
import {
  button,
  confirm,
  cutNavigation,
  heading,
  link,
  open,
  openMenu,
  problemsOfAllParts,
  sharedPageStage
} from "./SharedPages.ts"
import { hasBrowser, looks } from "./Visitors.ts"

const stage = sharedPageStage()

const signIn = async (page: Page) => {
  await page.goto(`${stage().url}/console`)
  await page.getByLabel("Operator key").fill(operatorKey)
  await button(page, "Sign in").click()
  await heading(page, "Overview")
}

/** Paths of all pages, relative to the console. */
const places = (): ReadonlyArray<string> => {
  const { broken, brokenDelivery, gone } = stage()
  return [
    "",
    "/deliveries?find=127.0.0.1&state=troubled",
    `/deliveries/${brokenDelivery}`,
    "/integrations",
    `/integrations/${broken}`,
    `/integrations/${gone}`,
    "/clients?user_id=admin",
    "/notifications",
    "/publish"
  ]
}

describe.skipIf(!hasBrowser)("an operator with a browser", () => {
  it.each([true, false])(
    "sees a problem, finds the delivery and the reason, resends it and recovers; with JavaScript: %s",
    async (javaScriptEnabled) => {
      const { broken, brokenDelivery, visitors } = stage()
      const { addresses, complaints, context, page } = await visitors.page({ javaScriptEnabled })
      await signIn(page)
      await page.getByText("Ready: events are accepted").waitFor()
      await page.getByRole("link", { name: /^retrying/ }).click()
      await heading(page, "Deliveries")
      await page.getByLabel("Receiver, client, event or delivery").fill(broken)
      await page.getByLabel("State").selectOption({ label: "not acknowledged" })
      await button(page, "Show").click()
      await page.getByRole("row").filter({ hasText: brokenDelivery }).getByRole("link").first().click()
      await heading(page, /^Door .*window\.hacked/)
      await page.getByText("The receiver answered 500", { exact: false }).first().waitFor()
      await page.getByText("Receiver's response").first().click()
      assert.strictEqual(await page.locator(".timeline pre").first().innerText(), hostile)
      assert.include(await page.locator("#body").innerText(), "</pre><script>window.hacked = 1</script>")

      const attempts = await page.locator(".timeline > li:not(.coming)").count()
      await confirm(page, "Send again")
      await page.getByText("The delivery is being sent.").waitFor()
      while ((await page.locator(".timeline > li:not(.coming)").count()) === attempts)
        await link(page, "Refresh").click()

      await page.goto(`${stage().url}/console/integrations/${broken}`)
      await openMenu(page)
      await link(page, "Recover missed events").click()
      const count = Number(/^\d+/.exec(await page.getByText(/ since .* can be sent again\.$/).innerText())?.[0])
      assert.isAbove(count, 0)
      await button(page, `Send ${count} ${count === 1 ? "delivery" : "deliveries"} again`).click()
      await page.getByText(/Deliveries being sent: \d/).waitFor()

      const cookies = (await context.cookies()).map(({ httpOnly, name, sameSite }) => ({ httpOnly, name, sameSite }))
      assert.deepInclude(cookies, { httpOnly: true, name: "doorhook_console", sameSite: "Strict" })
      await button(page, "Sign out").click()
      await heading(page, "Operator console")
      assert.deepStrictEqual((await context.cookies()).map(({ name }) => name).toSorted(), [
        "doorhook_login",
        ...(javaScriptEnabled ? ["doorhook_zone"] : [])
      ])
      assert.deepStrictEqual(complaints, [])
      if (javaScriptEnabled) assert.isUndefined(await page.evaluate("window.hacked"))
      assert.deepStrictEqual([...new Set(addresses.map((address) => new URL(address).origin))], [stage().url])
      for (const address of addresses) assert.notInclude(address, operatorKey)
    }
  )

  it("sends a test to one integration, disables and enables it, and makes a link for its owner", async () => {
    const { doorhook, good, visitors } = stage()
    const { page } = await visitors.page({ permissions: ["clipboard-read", "clipboard-write"] })
    await signIn(page)
    const address = `${stage().url}/console/integrations/${good}`
    const testsAt = (path: string) =>
      stage()
        .bodiesAt(path)
        .filter((body) => body.includes('"test":true')).length
    await page.goto(address)
    await confirm(page, "Send test event")
    await page.getByText("The receiver acknowledged with 200", { exact: false }).first().waitFor()
    assert.deepStrictEqual([testsAt("/good"), testsAt("/broken")], [1, 0])

    await page.goto(address)
    await confirm(page, "Disable")
    await page.getByText("This integration was disabled by hand.", { exact: false }).waitFor()
    assert.strictEqual((await doorhook.integrations.show(good)).status, "disabled")
    await confirm(page, "Enable")
    await page.getByText("Integration enabled.").waitFor()
    assert.strictEqual((await doorhook.integrations.show(good)).status, "enabled")

    await confirm(page, "Create a link for the owner")
    const made = await page.getByRole("textbox", { name: "Link" }).inputValue()
    assert.isTrue(made.startsWith(`${stage().url}/portal/open/dh_pl_${good}.`))
    await button(page, "Copy").click()
    await button(page, "Copied").waitFor()
    assert.strictEqual(await page.evaluate("navigator.clipboard.readText()"), made)
  })

  it("probes an integration that doorhook disabled, which enables it", async () => {
    const { doorhook, gone, visitors } = stage()
    const { page } = await visitors.page()
    await signIn(page)
    await page.goto(`${stage().url}/console/integrations/${gone}`)
    await page.getByText("the receiver answered 410 Gone", { exact: false }).waitFor()
    await confirm(page, "Try it again")
    await page.getByText("The receiver acknowledged with 200", { exact: false }).first().waitFor()
    assert.strictEqual((await doorhook.integrations.show(gone)).status, "enabled")
    await link(page, "Notifications").click()
    await page.getByText("acknowledges again").first().waitFor()
  })

  it("sees pages refresh without losing open parts and selections", async () => {
    const { brokenDelivery, doorhook, visitors } = stage()
    const { page } = await visitors.page()
    await page.clock.install()
    await signIn(page)
    await page.goto(`${stage().url}/console/deliveries/${brokenDelivery}?done=sent`)
    // The page removes `done` from its address, so the result is shown only once.
    assert.notInclude(page.url(), "done")
    await page.locator("summary", { hasText: "Receiver's response" }).first().focus()
    await page.keyboard.press("Enter")
    const attempts = await page.locator(".timeline > li:not(.coming)").count()
    await doorhook.deliveries.resend(brokenDelivery)
    while ((await page.locator(".timeline > li:not(.coming)").count()) === attempts) {
      const answered = page.waitForResponse(/console\/deliveries\/dlv_/)
      await page.clock.fastForward("00:04")
      await (await answered).finished()
    }
    await page.locator("details[open] summary:focus").waitFor()
    // An open dialog stays open when the page refreshes.
    await open(page, "Send again")
    const before = stage().bodiesAt("/broken").length
    await page.clock.fastForward("00:30")
    await page.locator("[popover]:popover-open").waitFor()
    assert.strictEqual(stage().bodiesAt("/broken").length, before)
  })

  it("sees when the service stops and resumes responding", async () => {
    const { visitors } = stage()
    const { page } = await visitors.page()
    await page.clock.install()
    await signIn(page)
    await page.route("**/console", (route) => route.abort())
    await page.clock.fastForward("00:06")
    await page.getByRole("alert").getByText("The service does not answer.", { exact: false }).waitFor()
    // Earlier content stays.
    assert.strictEqual(await page.getByRole("heading", { name: "Deliveries over time" }).count(), 1)
    await page.unroute("**/console")
    await page.clock.fastForward("00:06")
    await page.getByText("The service does not answer.", { exact: false }).waitFor({ state: "hidden" })
  })

  it("selects all deliveries of a page and resends them", async () => {
    const { visitors } = stage()
    const { page } = await visitors.page()
    await signIn(page)
    await page.goto(`${stage().url}/console/deliveries?find=${stage().good}`)
    await page.getByLabel("Select all on this page").check()
    const boxes = await page.locator("input[name=delivery]").count()
    assert.strictEqual(await page.locator("input[name=delivery]:checked").count(), boxes)
    await button(page, "Send selected again").click()
    await page.getByText(`Deliveries being sent: ${boxes}`).waitFor()
  })

  it.each([
    ["/notifications", "Notifications"],
    ["", "Overview"]
  ])("gets the sign-in page if the session was ended elsewhere, on /console%s", async (place, title) => {
    const { visitors } = stage()
    const { context, page } = await visitors.page()
    await page.clock.install()
    await signIn(page)
    await context.clearCookies({ name: "doorhook_console" })
    await page.goto(`${stage().url}/console${place}`)
    await heading(page, "Operator console")
    await page.getByLabel("Operator key").fill(operatorKey)
    await page.keyboard.press("Enter")
    await heading(page, title)
    await context.clearCookies({ name: "doorhook_console" })
    await page.clock.fastForward("00:15")
    await heading(page, "Operator console")
    assert.strictEqual(await page.getByRole("navigation").count(), 0)
  })

  it("needs no mouse: skips to the content, opens a delivery, and cancels a confirmation", async () => {
    const { brokenDelivery, visitors } = stage()
    const { page } = await visitors.page()
    await page.goto(`${stage().url}/console`)
    const focused = () => page.evaluate("document.activeElement.id || document.activeElement.textContent.trim()")
    assert.strictEqual(await focused(), "key")
    await page.keyboard.type(operatorKey)
    await page.keyboard.press("Enter")
    await heading(page, "Overview")
    const order: Array<unknown> = []
    for (let step = 0; step < 8; step++) {
      await page.keyboard.press("Tab")
      order.push(await focused())
      assert.strictEqual(await page.evaluate("getComputedStyle(document.activeElement).outlineStyle"), "solid")
    }
    assert.deepStrictEqual(order, [
      "Skip to content",
      "Overview",
      "Deliveries",
      "Integrations",
      "Clients",
      "Notifications",
      "Publish",
      "Sign out"
    ])
    await page.goto(`${stage().url}/console/deliveries/${brokenDelivery}`)
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    assert.strictEqual(await focused(), "main")
    const dialog = page.locator("[popover]:popover-open")
    await button(page, "Send again").focus()
    await page.keyboard.press("Enter")
    await dialog.waitFor()
    assert.strictEqual(await focused(), "Cancel")
    await page.keyboard.press("Enter")
    await dialog.waitFor({ state: "detached" })
    assert.strictEqual(await focused(), "Send again")
  })
})

describe.skipIf(!hasBrowser)("an operator's page", () => {
  it.each(sample(looks, 1))("has names, headings, contrast and large enough controls: %s", async (_, options) => {
    const { visitors } = stage()
    const { complaints, page } = await visitors.page(options)
    await page.goto(`${stage().url}/console`)
    assert.deepStrictEqual(await accessibilityProblems(page), [])
    await signIn(page)
    for (const place of places()) {
      await page.goto(`${stage().url}/console${place}`)
      assert.deepStrictEqual(await problemsOfAllParts(page), [], place)
      assert.deepStrictEqual(await cutNavigation(page), [], place)
    }
    assert.deepStrictEqual(complaints, [])
  })

  it("describes itself to screen readers", async () => {
    const { brokenDelivery, visitors } = stage()
    const { page } = await visitors.page()
    await signIn(page)
    await page.goto(`${stage().url}/console/deliveries/${brokenDelivery}`)
    const snapshot = await page.locator("body").ariaSnapshot()
    assert.match(snapshot, /- banner:[\s\S]*- navigation "doorhook console":[\s\S]*- main:/)
    assert.match(snapshot, /heading "Door .*, \d\d:\d\d" \[level=1\]/)
    assert.match(snapshot, /- region "Status":[\s\S]*- region "Attempts":[\s\S]*- list:[\s\S]*- region "Request":/)
    await page.goto(`${stage().url}/console/deliveries`)
    const list = await page.locator("main").ariaSnapshot()
    assert.match(list, /- search:[\s\S]*- searchbox "Receiver, client, event or delivery"[\s\S]*- combobox "State"/)
    assert.match(list, /- table "Deliveries":[\s\S]*- columnheader "Last attempt"/)
  })

  it("blocks injected scripts, and escapes texts", async () => {
    const { visitors } = stage()
    const { addresses, complaints, page } = await visitors.page()
    await signIn(page)
    for (const place of places()) {
      await page.goto(`${stage().url}/console${place}`)
      assert.isUndefined(await page.evaluate("window.hacked"), place)
    }
    assert.deepStrictEqual(complaints, [])
    const refusal = (expression: string) =>
      page.evaluate(`(() => { try { ${expression}; return "done" } catch (error) { return String(error) } })()`)
    assert.match(String(await refusal("document.body.innerHTML = '<b>x</b>'")), /TrustedHTML/)
    assert.match(String(await refusal("document.createElement('script').src = 'https://evil.example/x.js'")), /Trusted/)
    await refusal("const image = new Image(); image.src = 'https://evil.example/x.png'; document.body.append(image)")
    await page.goto(`${stage().url}/console`)
    assert.match(complaints.join("\n"), /Content Security Policy/)
    assert.notInclude(addresses.join("\n"), "/console/x")
  })

  it("can't be framed, on any page", async () => {
    const { visitors } = stage()
    const { context, page } = await visitors.page()
    await signIn(page)
    const frames = await context.newPage()
    for (const place of ["/console", "/portal", ...places().map((one) => `/console${one}`)]) {
      await frames.goto(`${stage().url}/health/live`)
      await frames.setContent(`<iframe src="${stage().url}${place}"></iframe>`)
      await frames.waitForLoadState("load")
      const [, frame] = frames.frames()
      assert.strictEqual((await frame?.locator("main").count()) ?? 0, 0, place)
    }
  })

  it("refuses forms of another site, and planted cookies", async () => {
    const { doorhook, good, site, visitors } = stage()
    const { context, page } = await visitors.page()
    await signIn(page)
    await page.goto(`${stage().url}/console/integrations/${good}`)
    const token = (await page.locator("input[name=csrf_token]").first().getAttribute("value")) ?? ""
    const action = `${stage().url}/console/integrations/${good}/status`
    // Worst case: the other site has a valid form token.
    const form = `<form method="post" action="${action}"><input name="csrf_token" value="${token}"><input name="status" value="disabled"><button>go</button></form>`
    await page.goto((await site(form)).replace("127.0.0.1", "localhost"))
    const answered = page.waitForResponse(action)
    await button(page, "go").click()
    assert.strictEqual((await answered).status(), 403)
    assert.strictEqual((await doorhook.integrations.show(good)).status, "enabled")

    const { page: fresh } = await visitors.page()
    const [session] = (await context.cookies()).filter(({ name }) => name === "doorhook_console")
    const planted = (session?.value ?? "").replace(/.$/, (last) => (last === "A" ? "B" : "A"))
    await fresh.context().addCookies([{ name: "doorhook_console", value: planted, url: stage().url }])
    assert.strictEqual((await fresh.goto(`${stage().url}/console/notifications`))?.status(), 403)
  })
})
