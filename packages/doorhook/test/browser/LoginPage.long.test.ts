/**
 * The login page in Chromium: with and without JavaScript, on a phone, with the keyboard only, and for screen readers.
 * Also tests the effect of the page's headers.
 */
import { afterEach, assert, describe, it } from "@effect/vitest"
import { admin } from "../harness/KnownDirectory.ts"
import { shared } from "../harness/Shared.ts"
import { colors } from "./Accessibility.ts"
import { allow, codeAt, deny, fill, openLoginStage, state } from "./LoginStage.ts"
import { hasBrowser } from "./Visitors.ts"

const stage = shared(openLoginStage, hasBrowser)
afterEach(() => (hasBrowser ? stage().closePages() : undefined))

describe.skipIf(!hasBrowser)("logging in with a browser", () => {
  it("leads only to the app, with a working code, no console errors, and no secret in a URL", async () => {
    const { app, callback, toApp, url } = stage()
    const { addresses, complaints, context, page } = await stage().page()
    await page.goto(toApp)
    await fill(page, admin)
    await allow(page).click()
    await page.waitForURL(`${callback}?**`)
    const answer = new URL(page.url()).searchParams
    assert.strictEqual(answer.get("state"), state)
    assert.strictEqual(answer.get("iss"), url)
    assert.strictEqual(await stage().exchange(codeAt(page)), 200)

    assert.deepStrictEqual(complaints, [])
    const origins = new Set(addresses.map((address) => new URL(address).origin))
    assert.deepStrictEqual(origins, new Set([url, app]))
    const cookies = await context.cookies()
    for (const address of addresses) {
      for (const secret of [admin.password, "correct", ...cookies.map(({ value }) => value)]) {
        assert.notInclude(decodeURIComponent(address), secret)
      }
    }
    assert.deepStrictEqual(
      cookies.map(({ httpOnly, name, sameSite }) => ({ httpOnly, name, sameSite })),
      [{ httpOnly: true, name: "doorhook_login", sameSite: "Lax" }]
    )
    // The app must not see the login page's URL as its referrer.
    const referrer = await page.evaluate("document.referrer")
    assert.strictEqual(referrer, "")
  })

  it("says that login or password is wrong, keeps only the login, and lets the user continue", async () => {
    const { callback, toApp } = stage()
    const { page } = await stage().page()
    await page.goto(toApp)
    await fill(page, { ...admin, password: "wrong" })
    await allow(page).click()
    const alert = page.getByRole("alert")
    assert.match(await alert.innerText(), /Login or password is wrong/)
    assert.match(await page.title(), /^Error: /)
    assert.strictEqual(await page.getByLabel("Login").inputValue(), admin.login)
    assert.strictEqual(await page.getByLabel("Password").inputValue(), "")
    assert.isFalse(page.url().includes("wrong"))
    await fill(page, admin)
    await allow(page).click()
    await page.waitForURL(`${callback}?**`)
    assert.isNotEmpty(codeAt(page))
  })

  it("denies without any input, and the app gets the error", async () => {
    const { callback, toApp } = stage()
    const { complaints, page } = await stage().page()
    await page.goto(toApp)
    await deny(page).click()
    await page.waitForURL(`${callback}?**`)
    const answer = new URL(page.url()).searchParams
    assert.strictEqual(answer.get("error"), "access_denied")
    assert.isNull(answer.get("code"))
    assert.deepStrictEqual(complaints, [])
  })

  it.each([
    ["allowed", "code"],
    ["denied", "error"]
  ] as const)("works with a callback that redirects to another origin: %s", async (what, answer) => {
    const { callback, toEntrance } = stage()
    const { complaints, page } = await stage().page()
    await page.goto(toEntrance)
    await fill(page, admin)
    await (what === "allowed" ? allow : deny)(page).click()
    await page.waitForURL(`${callback}?**`)
    assert.isNotNull(new URL(page.url()).searchParams.get(answer))
    assert.deepStrictEqual(complaints, [])
  })

  it("shows an out-of-band code on a page, and leaves neither it nor the client's secret in a URL", async () => {
    const { outOfBand, url } = stage()
    const { addresses, page } = await stage().page()
    await page.goto(outOfBand)
    assert.notInclude(page.url(), "client_secret")
    await fill(page, admin)
    await allow(page).click()
    const code = await page.locator("#authorization_code").innerText()
    assert.match(code, /^dh_ac_[A-Za-z0-9_-]{43}$/)
    assert.strictEqual(page.url(), `${url}/oauth/authorize`)
    // Only the first URL, made by the client itself, contains a secret.
    assert.strictEqual(addresses.filter((address) => /client_secret|dh_ac_|correct/.test(address)).length, 1)
    await page.goBack()
    assert.notInclude(page.url(), "client_secret")
    assert.strictEqual(await page.locator("form").count(), 1)
  })

  it("can be repeated after going back", async () => {
    const { callback, toApp } = stage()
    const { page } = await stage().page()
    await page.goto(toApp)
    await fill(page, admin)
    await allow(page).click()
    await page.waitForURL(`${callback}?**`)
    const first = codeAt(page)
    await page.goBack()
    assert.strictEqual(await page.getByLabel("Password").inputValue(), "")
    await fill(page, admin)
    await allow(page).click()
    await page.waitForURL(`${callback}?**`)
    const second = codeAt(page)
    assert.notStrictEqual(second, first)
    for (const code of [first, second]) {
      assert.strictEqual(await stage().exchange(code), 200)
    }
  })

  it("survives a double click", async () => {
    const { callback, toApp } = stage()
    const { complaints, page } = await stage().page()
    await page.goto(toApp)
    await fill(page, admin)
    await allow(page).dblclick({ noWaitAfter: true })
    const back = () => page.waitForURL(`${callback}?**`)
    // The second click might cancel the navigation that the first click started.
    await back().catch(back)
    assert.strictEqual(await stage().exchange(codeAt(page)), 200)
    assert.deepStrictEqual(complaints, [])
  })

  it("works in two tabs of one browser", async () => {
    const { callback, toApp } = stage()
    const { context, page: first } = await stage().page()
    const second = await context.newPage()
    await first.goto(toApp)
    await second.goto(toApp)
    for (const page of [first, second]) {
      await fill(page, admin)
      await allow(page).click()
      await page.waitForURL(`${callback}?**`)
      assert.isNotEmpty(codeAt(page))
    }
  })

  it("asks again if the browser refuses cookies", async () => {
    const { toApp } = stage()
    const { context, page } = await stage().page()
    await page.goto(toApp)
    await context.clearCookies()
    await fill(page, admin)
    await allow(page).click()
    assert.match(await page.getByRole("alert").innerText(), /refuses cookies/)
  })

  it("needs no JavaScript", async () => {
    const { callback, toApp } = stage()
    const { page } = await stage().page({ javaScriptEnabled: false })
    await page.goto(toApp)
    await fill(page, admin)
    await allow(page).click()
    await page.waitForURL(`${callback}?**`)
    assert.isNotEmpty(codeAt(page))
  })

  it("needs no mouse: Tab follows the order of the page, and Enter logs in", async () => {
    const { callback, toApp } = stage()
    const { page } = await stage().page()
    await page.goto(toApp)
    const focused = () => page.evaluate("document.activeElement.id || document.activeElement.textContent.trim()")
    const order: Array<unknown> = []
    for (let step = 0; step < 4; step++) {
      await page.keyboard.press("Tab")
      order.push(await focused())
      assert.strictEqual(await page.evaluate("getComputedStyle(document.activeElement).outlineStyle"), "solid")
    }
    assert.deepStrictEqual(order, ["login", "password", "Log in and allow", "Deny"])
    for (let step = 0; step < 3; step++) await page.keyboard.press("Shift+Tab")
    await page.keyboard.type(admin.login)
    await page.keyboard.press("Tab")
    await page.keyboard.type(admin.password)
    await page.keyboard.press("Enter")
    await page.waitForURL(`${callback}?**`)
    assert.isNotEmpty(codeAt(page))
  })
})

const phone = { viewport: { width: 320, height: 568 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 }

describe.skipIf(!hasBrowser)("the login page", () => {
  it("fits a small phone: no horizontal scrolling, and nothing too small to tap", async () => {
    const { outOfBand } = stage()
    for (const colorScheme of ["light", "dark"] as const) {
      const { page } = await stage().page({ ...phone, colorScheme })
      const assertFits = async () => {
        const content = await page.evaluate("document.documentElement.scrollWidth")
        assert.strictEqual(content, await page.evaluate("document.documentElement.clientWidth"))
        for (const target of await page.locator("input:not([type=hidden]), button").all()) {
          const box = await target.boundingBox()
          assert.isAtLeast(box?.height ?? 0, 44)
          assert.isAtLeast(box?.width ?? 0, 44)
        }
        // Phones zoom in on input fields whose text is smaller than 16 pixels.
        const sizes = await page.evaluate(
          '[...document.querySelectorAll("input")].map((input) => getComputedStyle(input).fontSize)'
        )
        for (const size of Array.isArray(sizes) ? sizes : []) assert.isAtLeast(Number.parseFloat(String(size)), 16)
      }
      await page.goto(outOfBand)
      await assertFits()
      await fill(page, { login: `${"x".repeat(300)}@example.com`, password: "x" })
      await allow(page).tap()
      await page.getByRole("alert").waitFor()
      await assertFits()
      await fill(page, admin)
      await allow(page).tap()
      await page.locator("#authorization_code").waitFor()
      await assertFits()
    }
  })

  it("has a name and a role for everything, before and after a mistake", async () => {
    const { toApp } = stage()
    const { page } = await stage().page()
    await page.goto(toApp)
    const form = `- textbox "Login"
- text: Password
- textbox "Password"
- button "Log in and allow"
- button "Deny"`
    const snapshot = async () => (await page.locator("body").ariaSnapshot()).replaceAll(/^ {2}/gm, "")
    assert.include(await snapshot(), '- heading "Log in" [level=1]')
    assert.include(await snapshot(), form)
    assert.match(await snapshot(), /^- main:/)
    assert.match(await page.title(), /^Log in for Pocket app$/)
    await fill(page, { ...admin, password: "wrong" })
    await allow(page).click()
    await page.getByRole("alert").waitFor()
    assert.match(await snapshot(), /- alert: Login or password is wrong/)
    for (const label of ["Login", "Password"]) {
      const described = await page.getByLabel(label).getAttribute("aria-describedby")
      assert.strictEqual(await page.locator(`#${described}`).getAttribute("role"), "alert")
    }
  })

  it("has enough contrast in light and dark", async () => {
    const { toApp } = stage()
    for (const colorScheme of ["light", "dark"] as const) {
      const { page } = await stage().page({ colorScheme })
      await page.goto(toApp)
      await fill(page, { ...admin, password: "wrong" })
      await allow(page).click()
      await page.getByRole("alert").waitFor()
      const ratios = await page.evaluate(contrast)
      assert.isArray(ratios)
      for (const [text, ratio] of Array.isArray(ratios) ? ratios : []) {
        assert.isAtLeast(Number(ratio), 4.5, `${colorScheme}: ${text}`)
      }
    }
  })

  it("describes its fields to password managers", async () => {
    const { toApp } = stage()
    const { page } = await stage().page()
    await page.goto(toApp)
    const attributes = async (label: string) => {
      const field = page.getByLabel(label)
      return [await field.getAttribute("type"), await field.getAttribute("autocomplete")]
    }
    assert.deepStrictEqual(await attributes("Login"), ["text", "username"])
    assert.deepStrictEqual(await attributes("Password"), ["password", "current-password"])
    assert.strictEqual(await page.locator("input[type=password]").count(), 1)
  })

  it("can't be framed", async () => {
    const { toApp } = stage()
    const evil = await stage().site(`<iframe src="${toApp.replaceAll("&", "&amp;")}"></iframe>`)
    const { complaints, page } = await stage().page()
    await page.goto(evil)
    await page.waitForLoadState("load")
    const [, frame] = page.frames()
    assert.strictEqual((await frame?.locator("form").count()) ?? 0, 0)
    assert.match(complaints.join("\n"), /frame-ancestors|X-Frame-Options/i)
  })

  it("blocks injected scripts, and refuses forms of another site", async () => {
    const { toApp, url } = stage()
    const { complaints, page } = await stage().page()
    await page.goto(toApp)
    // Does what an injected script would do.
    await page.evaluate(
      'const script = document.createElement("script"); script.textContent = "window.injected = 1"; document.body.append(script); const image = new Image(); image.src = "https://evil.example/x.png"; document.body.append(image)'
    )
    await page.waitForFunction("true")
    assert.isUndefined(await page.evaluate("window.injected"))
    assert.match(complaints.join("\n"), /Content Security Policy/)

    const fields = [...new URL(toApp).searchParams, ["login", admin.login], ["password", admin.password]]
    const inputs = fields.map(([name, value]) => `<input name="${name}" value="${value}">`).join("")
    const form = `<form method="post" action="${url}/oauth/authorize">${inputs}<button>go</button></form>`
    const evil = await stage().site(form)
    const evilOrigin = evil.replace("127.0.0.1", "localhost")
    await page.goto(evilOrigin)
    const answered = page.waitForResponse(`${url}/oauth/authorize`)
    await page.getByRole("button").click()
    assert.strictEqual((await answered).status(), 403)
  })
})

/** Returns the contrast of every text with its background (WCAG 2.1 section 1.4.3). */
const contrast = `
(() => {
  ${colors}
  return [...document.querySelectorAll("h1, p, strong, label, input:not([type=hidden]), button")].map((element) => {
    return [element.textContent.trim() || element.id, contrastOf(element)]
  })
})()
`
