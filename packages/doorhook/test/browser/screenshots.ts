/**
 * Takes the screenshots of docs/console.md: `node --conditions=source packages/doorhook/test/browser/screenshots.ts`.
 */
import { Effect, Exit, Scope } from "effect"
import { mkdir } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import type { Page } from "playwright-core"
import { harmless, openPageStage, operatorKey, owner } from "./PageStage.ts"
import { openVisitors, phone } from "./Visitors.ts"

const folder = fileURLToPath(new URL("../../../../docs/images/", import.meta.url))
const desk = { viewport: { width: 1200, height: 800 } } as const
const hand = { ...phone, viewport: { width: 375, height: 760 }, deviceScaleFactor: 2, colorScheme: "dark" } as const

const scope = Scope.makeUnsafe()
const open = <A, E>(make: Effect.Effect<A, E, Scope.Scope>) => Effect.runPromise(Scope.provide(make, scope))
const stage = await open(openPageStage(harmless))
const visitors = await open(openVisitors)
await mkdir(folder, { recursive: true })

for (const path of ["/good", "/flaky", "/gone"]) await stage.integrate(path)
await stage.publish(40)
const broken = await stage.integrate("/broken")
await stage.publish(2)
const traffic = setInterval(() => void stage.publish(1 + Math.floor(Math.random() * 5)), 300)

const take = (page: Page, name: string, fullPage = false) =>
  page.screenshot({ path: `${folder}console-${name}.png`, fullPage })

const signIn = async (page: Page) => {
  await page.goto(`${stage.url}/console`)
  await page.getByLabel("Operator key").fill(operatorKey)
  await page.getByRole("button", { name: "Sign in" }).click()
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor()
}

const { page } = await visitors.page(desk)
// The chart shows a bar for each minute.
await Effect.runPromise(Effect.sleep("90 seconds"))
await signIn(page)
await take(page, "overview", true)
const delivery = await stage.until(broken, "retrying")
await page.goto(`${stage.url}/console/deliveries/${delivery}`)
await page.getByText("Receiver's response").first().click()
await take(page, "delivery", true)

const { page: small } = await visitors.page(hand)
await signIn(small)
await take(small, "phone-overview")
await small.goto(`${stage.url}/console/deliveries/${delivery}`)
await take(small, "phone-delivery")

const { page: own } = await visitors.page(desk)
await own.goto(`${stage.url}/portal`)
await own.getByLabel("Login").fill(owner.login)
await own.getByLabel("Password").fill(owner.password)
await own.getByRole("button", { name: "Sign in" }).click()
await own.getByRole("heading", { level: 1, name: "Your webhooks" }).waitFor()
await take(own, "portal")
await own.goto(`${stage.url}/portal/${broken}`)
await own.getByRole("button", { name: "Send test event" }).click()
await take(own, "portal-test")

clearInterval(traffic)
await visitors.closePages()
await Effect.runPromise(Scope.close(scope, Exit.void))
