/** Answers of `simulate` about many buildings and about a receiver that fails, compared with counts of their own. */
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { runDoorhook } from "@doorhook/testkit/Doorhook"
import { startReceiver } from "@doorhook/testkit/Receiver"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { platform, printed, simulate } from "./simulateCli.ts"

const Report = Schema.fromJsonString(
  Schema.Struct({ totals: Schema.Record(Schema.String, Schema.NullOr(Schema.Finite)) })
)

const readTotals = Effect.fnUntraced(function* (file: string) {
  const { totals } = yield* Schema.decodeEffect(Report)(yield* Effect.promise(() => readFile(file, "utf8")))
  return (name: string): number => totals[name] ?? 0
})

/** Runs `simulate run` and returns the totals of its report. */
const totalsOf = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
  const file = join(yield* temporaryFolder, "report.json")
  yield* simulate("run", "--report", `json=${file}`, ...args)
  return yield* readTotals(file)
})

describe("2,000 buildings", () => {
  it.live("publish on Monday at 8:30 what their plan has, and everything is delivered", () =>
    Effect.gen(function* () {
      const out = join(yield* temporaryFolder, "plan.ndjson")
      const monday = ["--buildings", "2000", "--start", "2026-03-02T08:30", "--duration", "10m"]
      yield* simulate("plan", "--out", out, ...monday)
      const lines = (yield* Effect.promise(() => readFile(out, "utf8"))).trimEnd().split("\n")
      const totals = yield* totalsOf("--virtual", ...monday)
      assert.isAbove(lines.length, 5_000)
      assert.deepStrictEqual([totals("planned"), totals("accepted")], [lines.length, lines.length])
      assert.isAtLeast(totals("deliveries"), lines.length)
      assert.strictEqual(totals("delivered"), totals("deliveries"))
    }).pipe(Effect.provide(platform()))
  )

  it.live("have at their peak as many events as simulate size says", () =>
    Effect.gen(function* () {
      yield* simulate("size", "--buildings", "2000")
      const [, said, hours, minutes] =
        /^peak events\/s +([\d,.]+) .*Fri (\d+):(\d+) local time$/m.exec(yield* printed) ?? []
      const start = `2026-03-06T${hours}:${minutes}`
      const totals = yield* totalsOf("--virtual", "--buildings", "2000", "--start", start, "--duration", "10m")
      // The sample of 32 buildings differs by chance from 2,000.
      const real = totals("planned") / 600
      assert.closeTo(Number(said?.replace(",", "")), real, 0.25 * real)
    }).pipe(Effect.provide(platform()))
  )
})

describe("a receiver that fails for seconds", () => {
  it.live("gets all retries of many integrations, each counted", () =>
    Effect.gen(function* () {
      const began = Date.now()
      const receiver = yield* startReceiver(() =>
        Date.now() - began > 5_000 && Date.now() - began < 12_000 ? 503 : 200
      )
      const file = join(yield* temporaryFolder, "report.json")
      const how = "--rate 40/s --buildings 20 --duration 15s --tenant-integrations 0 --grace 2m"
      const retry = "--retry access_log=1s,2s,4s,8s,16s --retry call=1s,2s,4s,8s,16s"
      const { code, stdout } = yield* runDoorhook(
        ["simulate", "run", "--to-receiver", receiver.url, "--report", `json=${file}`].concat(
          how.split(" "),
          retry.split(" ")
        )
      )
      assert.strictEqual(code, 0, stdout)
      const totals = yield* readTotals(file)
      const ids = new Set(receiver.received.map(({ headers }) => String(headers["webhook-id"])))
      assert.strictEqual(totals("requests"), receiver.received.length)
      assert.isAbove(totals("requests"), totals("deliveries") + 100)
      assert.deepStrictEqual([totals("lost"), totals("open")], [0, 0])
      assert.strictEqual(ids.size, totals("accepted"))
    }).pipe(Effect.provide(platform()))
  )
})
