/**
 * Takes the pictures of docs/console.md: `node --conditions=source packages/doorhook/test/browser/screenshots.ts`.
 */
import { Effect, Exit, Scope } from "effect"
import { mkdir } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import type { Page } from "playwright-core"
import { harmless, openConsoleStage, operatorKey } from "./ConsoleStage.ts"
import { openVisitors, phone } from "./Visitors.ts"

const folder = fileURLToPath(new URL("../../../../docs/images/", import.meta.url))
const desk = { viewport: { width: 1200, height: 800 } } as const
const hand = { ...phone, viewport: { width: 375, height: 760 }, deviceScaleFactor: 2, colorScheme: "dark" } as const

const scope = Scope.makeUnsafe()
const open = <A, E>(make: Effect.Effect<A, E, Scope.Scope>) => Effect.runPromise(Scope.provide(make, scope))
const stage = await open(openConsoleStage(harmless))
const visitors = await open(openVisitors)
await mkdir(folder, { recursive: true })

for (const path of ["/good", "/flaky", "/gone"]) await stage.integrate(path)
await stage.publish(40)
const broken = await stage.integrate("/broken")
const moody = await stage.integrate("/moody")
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

const view = async (page: Page, address: string) => {
  await page.goto(`${stage.url}/console#/${address}`)
  await page.locator("[aria-busy=true]").waitFor({ state: "detached" })
}

const { page } = await visitors.page(desk)
await signIn(page)
// The lines over the last minute need a while to be lines.
await Effect.runPromise(Effect.sleep("20 seconds"))
await take(page, "overview", true)
await view(page, "deliveries")
await take(page, "deliveries")
const delivery = await stage.until(moody, "delivered")
await view(page, `deliveries/${await stage.until(broken, "retrying")}`)
await page.getByText("What the receiver answered").first().click()
await take(page, "delivery", true)
await view(page, "integrations")
await page.getByText("acknowledged 200").first().waitFor()
await take(page, "integrations")
await view(page, `integrations/${broken}`)
await take(page, "integration")

const mobile = await visitors.page(hand)
await signIn(mobile.page)
await Effect.runPromise(Effect.sleep("7 seconds"))
await take(mobile.page, "phone-overview")
await view(mobile.page, `deliveries/${delivery}`)
await take(mobile.page, "phone-delivery")

clearInterval(traffic)
const owner = await visitors.page(desk)
await owner.page.goto((await stage.doorhook.portalLink(broken)).url)
await take(owner.page, "portal")
await owner.page.goto((await stage.doorhook.portalLink(moody)).url)
await owner.page.getByRole("button", { name: "Send a test event" }).click()
await owner.page.getByRole("heading", { name: "Attempts" }).waitFor()
await take(owner.page, "portal-test", true)

await Effect.runPromise(Scope.close(scope, Exit.void))
process.stdout.write(`pictures taken: ${folder}\n`)
