/** Answers of `simulate run` to questions of capacity planners, compared with what a receiver counts. */
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { handlingReceiver } from "@doorhook/testkit/Receiver"
import { runDoorhook } from "@doorhook/testkit/Doorhook"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { platform, simulate } from "./simulateCli.ts"

const Report = Schema.fromJsonString(
  Schema.Struct({
    totals: Schema.Record(Schema.String, Schema.NullOr(Schema.Finite)),
    sending: Schema.Finite,
    first_requests: Schema.Struct({ offered: Schema.Finite, begun: Schema.Finite })
  })
)

/** Starts a receiver that answers after a time, and counts requests and those that are open at the same time. */
const countingReceiver = Effect.fnUntraced(function* (answersIn: number) {
  const at: Array<number> = []
  const counts = { open: 0, mostOpen: 0, at }
  const receiver = yield* handlingReceiver((_, response) => {
    counts.open++
    counts.mostOpen = Math.max(counts.mostOpen, counts.open)
    at.push(Date.now())
    setTimeout(() => {
      counts.open--
      response.end()
    }, answersIn)
  })
  return { counts, url: receiver.url }
})

describe.concurrent("a receiver that answers in half a second", () => {
  const run = (...more: ReadonlyArray<string>) =>
    Effect.gen(function* () {
      const { counts, url } = yield* countingReceiver(500)
      const file = join(yield* temporaryFolder, "report.json")
      const rate = "--rate 60/s --duration 5s --tenant-integrations 0 --slo reached>=95%".split(" ")
      const { code, stdout } = yield* runDoorhook(
        ["simulate", "run", "--to-receiver", url, "--report", `json=${file}`].concat(rate, more)
      )
      const text = yield* Effect.promise(() => readFile(file, "utf8"))
      return { code, counts, stdout, ...(yield* Schema.decodeEffect(Report)(text)) }
    })

  it.live("gets at most twenty requests a second for one integration, and the run says so", () =>
    Effect.gen(function* () {
      const { code, counts, first_requests: first, stdout, totals } = yield* run("--grace", "3s")
      assert.strictEqual(code, 1, stdout)
      assert.match(stdout, /RATE NOT REACHED.*spread the load with --buildings/)
      assert.strictEqual(counts.mostOpen, 10)
      assert.strictEqual(totals["requests"], counts.at.length)
      assert.isAtMost(first.begun, 20.5)
      assert.isAbove(first.offered, 40)
    })
  )

  it.live("gets all of them if many integrations share the load", () =>
    Effect.gen(function* () {
      const {
        counts,
        first_requests: first,
        sending,
        stdout,
        totals
      } = yield* run("--buildings", "50", "--grace", "60s")
      assert.strictEqual(totals["requests"], counts.at.length)
      assert.strictEqual(totals["delivered"], totals["deliveries"], stdout)
      assert.isAbove(counts.mostOpen, 10)
      assert.closeTo((first.begun * sending) / 1_000, counts.at.length, 0.1 * counts.at.length)
    })
  )
})

describe("a log of a vendor in Windows-1252, with German headings", () => {
  it.live("is played to a receiver at a multiple of its pace, except for the rows that aren't understood", () =>
    Effect.gen(function* () {
      const { counts, url } = yield* countingReceiver(0)
      const folder = yield* temporaryFolder
      const [csv, file] = [join(folder, "log.csv"), join(folder, "report.json")]
      const rows = Array.from({ length: 61 }, (_, at) => {
        const what = at % 10 === 0 ? "Türruf;Tableau;" : at === 33 ? "Wartung;Tor;" : "Zutritt gewährt;Tor;Bo"
        return `02.03.2026;${at === 60 ? "09:00" : `08:${`${at}`.padStart(2, "0")}`}:00;${what};W1`
      })
      const header = "Datum;Uhrzeit;Ereignis;Leser;Karte;Wohnung"
      const text = [header, ...rows.slice(0, 31), ...rows.slice(28)].join("\r\n")
      yield* Effect.promise(() => writeFile(csv, Buffer.from(text, "latin1")))
      const how = "--time-zone Europe/Berlin --columns time=Datum+Uhrzeit --speed 1800x --tenant-integrations 0".split(
        " "
      )
      const { code, stderr, stdout } = yield* runDoorhook(
        ["simulate", "run", "--to-receiver", url, "--events", csv, "--report", `json=${file}`].concat(how)
      )
      assert.strictEqual(code, 0, stderr)
      assert.match(stdout, /kind +"Türruf" +8 +call/)
      assert.match(stdout, /^63 rows; 3 repeated, 2 out of order, 1 uploaded more than a minute late$/m)
      assert.match(stdout, /^one row NOT UNDERSTOOD and left out:\n {2}line 38: "Wartung"/m)
      const report = yield* Effect.promise(() => readFile(file, "utf8"))
      const { sending, totals } = yield* Schema.decodeEffect(Report)(report)
      assert.deepStrictEqual([totals["planned"], totals["delivered"], counts.at.length], [63, 63, 63])
      // An hour at 1800 times its pace.
      assert.isAtLeast(sending, 2_000)
    })
  )
})

describe("a region that is offline for hours", () => {
  it.live("is drawn: what its devices stored, and the burst of uploads when it is back", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const [scenario, csv, html, events] = ["region.json", "run.csv", "run.html", "plan.ndjson"].map((name) =>
        join(folder, name)
      )
      const devices = { region: "north", region_outages: { every: "30h", down: { median: "3h", sigma: 0.2 } } }
      const building = { name: "House", time_zone: "Europe/Berlin", homes: { flats: 60 }, copies: 30, devices }
      yield* Effect.promise(() => writeFile(`${scenario}`, JSON.stringify({ name: "region", buildings: [building] })))
      const plan = ["--scenario", `${scenario}`, "--start", "2026-03-03T20:00", "--duration", "8h"]
      yield* Effect.provide(
        Effect.andThen(
          simulate("plan", "--out", `${events}`, ...plan),
          simulate("run", "--virtual", "--report", `csv=${csv},html=${html}`, ...plan)
        ),
        platform()
      )
      const late = (yield* Effect.promise(() => readFile(`${events}`, "utf8")))
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line))
        .filter(({ at, data }) => Date.parse(at) - Date.parse(data.logged_at) > 5 * 60_000)
      const [head = "", ...lines] = (yield* Effect.promise(() => readFile(`${csv}`, "utf8"))).trimEnd().split("\r\n")
      const valuesOf = (name: string) => lines.map((line) => Number(line.split(",")[head.split(",").indexOf(name)]))
      const sum = (values: ReadonlyArray<number>) => values.reduce((all, value) => all + value, 0)
      assert.isAbove(late.length, 100)
      assert.deepStrictEqual([sum(valuesOf("stored")), sum(valuesOf("uploaded"))], [late.length, late.length])
      // Nearly all buildings are back within a minute.
      assert.isAbove(Math.max(...valuesOf("uploaded")), 0.8 * late.length)
      assert.isAbove(valuesOf("stored").filter((count) => count > 0).length, 10)
      const page = yield* Effect.promise(() => readFile(`${html}`, "utf8"))
      assert.match(page, /Offline devices: events stored, and uploaded in each 5 min/)
    })
  )
})
