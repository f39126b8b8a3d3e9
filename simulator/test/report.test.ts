/**
 * Tests the HTML report in Chromium (wide and on a phone, light and dark, without network and scripts), and the JSON
 * and CSV reports.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { CommandFailure } from "@doorhook/core"
import { simulateCommand } from "@doorhook/simulator"
import * as NodePlatform from "@doorhook/testkit/NodePlatform"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Schema } from "effect"
import { Command } from "effect/cli"
import { FetchHttpClient } from "effect/http"
import { TestConsole } from "effect/testing"
import type { Browser, BrowserContextOptions } from "playwright-core"
import { chromium } from "playwright-core"
import { executable } from "../../packages/doorhook/test/browser/Executable.ts"

const path = executable()
if (path === null)
  process.stderr.write(
    "\n!!! NO BROWSER: the tests of the report in Chromium are SKIPPED. `npm run setup:browser` fetches one.\n\n"
  )

const platform = Layer.mergeAll(NodePlatform.layer, FetchHttpClient.layer, TestConsole.layer)

let folder = ""
let browser: Browser | null = null

const file = (name: string) => join(folder, name)

/** Arguments of a run of one day that fills all parts of a report. */
const args = [
  "run --virtual --preset residential-200 --duration 24h --start 2026-03-03T00:00",
  "--receiver 1=down:09:00-15:00 --receiver flaky:0.1 --receiver late:5%",
  "--crash-every 4h --slo ack_p99<5s,lost=0,delivered>=99.9%"
].flatMap((line) => line.split(" "))

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "simulate-report-"))
  const report = `html=${file("r.html")},json=${file("r.json")},csv=${file("r.csv")}`
  const exit = await Effect.runPromiseExit(
    Command.runWith(simulateCommand, { version: "0" })([...args, "--report", report]).pipe(
      Effect.provide(platform),
      Effect.flip
    )
  )
  // Calls that arrived during the outage expire, so the last objective can't be met.
  assert.isTrue(Exit.isSuccess(exit), "no objective is missed")
  if (Exit.isSuccess(exit) && exit.value instanceof CommandFailure)
    assert.include(exit.value.message, "delivered>=99.9%")
  if (path !== null)
    browser = await chromium.launch({
      executablePath: path,
      headless: true,
      args: process.getuid?.() === 0 ? ["--no-sandbox"] : []
    })
})

afterAll(async () => {
  await browser?.close()
  await rm(folder, { recursive: true })
})

const wide = { width: 1_180, height: 900 }
const phone = { width: 375, height: 740 }

/** Opens the report, and records all errors and requests of the page. */
const open = async (options: BrowserContextOptions) => {
  if (browser === null) throw new Error("there is no browser")
  const context = await browser.newContext(options)
  const page = await context.newPage()
  const complaints: Array<string> = []
  const requests: Array<string> = []
  page.on("console", (message) => complaints.push(message.text()))
  page.on("pageerror", (error) => complaints.push(String(error)))
  page.on("request", (request) => requests.push(request.url()))
  const url = pathToFileURL(file("r.html")).href
  await page.goto(url)
  return {
    page,
    complaints,
    requests: requests.filter((asked) => asked !== url && !asked.startsWith("data:")),
    close: () => context.close()
  }
}

describe.skipIf(path === null)("the report in a browser", () => {
  it.each([
    ["wide and dark", { viewport: wide, colorScheme: "dark" as const }],
    [
      "light, on a phone, without JavaScript",
      { viewport: phone, colorScheme: "light" as const, javaScriptEnabled: false }
    ]
  ])("%s: has no errors, makes no requests, and fits", async (_, options) => {
    const { close, complaints, page, requests } = await open(options)
    assert.deepStrictEqual([complaints, requests], [[], []])
    assert.match(await page.title(), /^24 h of residential.200$/)
    if (options.viewport === phone) {
      const size = await page.locator("html").boundingBox()
      assert.strictEqual(size?.width, phone.width)
      assert.isAtMost((await page.locator("main").boundingBox())?.width ?? Infinity, phone.width)
    }
    await close()
  })

  it("does not scroll sideways on a phone, and its charts do not overlap", async () => {
    const { close, page } = await open({ viewport: phone })
    assert.strictEqual(await page.evaluate("document.documentElement.scrollWidth"), phone.width)
    await page.setViewportSize(wide)
    const boxes = await Promise.all((await page.locator(".canvas svg").all()).map((svg) => svg.boundingBox()))
    assert.isAtLeast(boxes.length, 3)
    const cards = await Promise.all((await page.locator(".chart").all()).map((card) => card.boundingBox()))
    boxes.forEach((box, at) => {
      const card = cards[at]
      assert.isAtMost((box?.y ?? 0) + (box?.height ?? 0), (card?.y ?? 0) + (card?.height ?? 0))
    })
    await close()
  })

  it("is accessible: headings, text for charts, table headers", async () => {
    const { close, page } = await open({ viewport: wide })
    assert.strictEqual(await page.locator("h1").count(), 1)
    for (const chart of await page.locator("svg[role=img]").all())
      assert.isAbove((await chart.getAttribute("aria-label"))?.length ?? 0, 40)
    assert.isAtLeast(await page.getByRole("columnheader").count(), 9)
    assert.isTrue(await page.getByText("Was anything lost?").isVisible())
    assert.isTrue(await page.getByText("missed", { exact: false }).first().isVisible())
    const rule = page.getByText("Nothing is sent after a delivery has ended", { exact: false })
    assert.isFalse(await rule.isVisible())
    await page.getByText("The rules", { exact: true }).click()
    assert.isTrue(await rule.isVisible())
    await close()
  })
})

const Report = Schema.fromJsonString(
  Schema.Struct({
    schemaVersion: Schema.Literal(3),
    verdict: Schema.Literals(["pass", "fail"]),
    interval: Schema.Int,
    totals: Schema.Record(Schema.String, Schema.NullOr(Schema.Finite)),
    series: Schema.Array(Schema.Record(Schema.String, Schema.NullOr(Schema.Finite))),
    slos: Schema.Array(Schema.Struct({ slo: Schema.String, met: Schema.Boolean, measured: Schema.String })),
    command: Schema.String
  })
)

describe("the report as data", () => {
  it("adds up in JSON and in CSV", async () => {
    const report = Schema.decodeSync(Report)(await readFile(file("r.json"), "utf8"))
    const { series, slos, totals } = report
    assert.strictEqual(report.verdict, "fail")
    assert.deepStrictEqual(
      slos.map(({ met }) => met),
      [true, true, false]
    )
    const sum = (column: string) => series.reduce((total, line) => total + (line[column] ?? 0), 0)
    assert.strictEqual(sum("planned"), totals["planned"])
    assert.strictEqual(sum("sent"), totals["accepted"])
    assert.strictEqual(sum("requests"), totals["requests"])
    assert.strictEqual(Math.max(...series.map((line) => line["peak_requests"] ?? 0)), totals["peak_requests"])
    assert.strictEqual(sum("duplicates"), totals["duplicates"])
    assert.strictEqual(Math.max(...series.map((line) => line["backlog"] ?? 0)), totals["backlog"])
    const ends = ["delivered", "exhausted", "expired", "cancelled", "skipped", "open"]
    assert.strictEqual(
      ends.reduce((total, end) => total + (totals[end] ?? 0), 0),
      totals["deliveries"]
    )
    assert.deepStrictEqual([totals["lost"], totals["broken"]], [0, 0])
    assert.match(report.command, /^npx doorhook simulate run --virtual .*--receiver 1=down:09:00-15:00/)

    const [head = "", ...lines] = (await readFile(file("r.csv"), "utf8")).trimEnd().split("\r\n")
    const columns = head.split(",")
    assert.deepStrictEqual(
      lines.map((line) => line.split(",").map((field) => (field === "" ? null : Number(field)))),
      series.map((line) => columns.map((column) => line[column] ?? null))
    )
  })
})
