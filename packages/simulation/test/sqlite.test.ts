/**
 * The delivery engine over a SQLite file in simulated worlds: each process opens what the one before it left.
 */
import { assert, describe, it } from "@effect/vitest"
import { rmSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { describeFailures, judge } from "../src/checks/Checks.ts"
import { hashOf } from "../src/History.ts"
import { simulate } from "../src/Simulation.ts"
import { sqliteFiles } from "../src/world/Storage.ts"

/** How many seeds are run as a test; `npm run simulate:seeds -- --store sqlite` runs any number. */
const seeds = 40

const from1To = (count: number): ReadonlyArray<number> => Array.from({ length: count }, (_, at) => at + 1)

describe("the engine over SQLite", () => {
  it(`keeps every rule in ${seeds} worlds whose processes die and open the file again`, () => {
    const met = new Set<string>()
    const failures = from1To(seeds).flatMap((seed) => {
      const outcome = simulate(seed, { storage: sqliteFiles() })
      for (const { state } of outcome.deliveries) met.add(state)
      for (const entry of outcome.entries) met.add(entry.kind === "process" ? entry.what : entry.kind)
      const found = judge(outcome)
      return found.length === 0 ? [] : [describeFailures(seed, outcome, found, " --store sqlite")]
    })
    assert.deepStrictEqual(failures, [])
    const wanted = ["delivered", "exhausted", "expired", "cancelled", "skipped", "killed", "closed", "opened", "purged"]
    assert.deepStrictEqual(
      wanted.filter((thing) => !met.has(thing)),
      []
    )
  })

  it("does exactly the same again with the same seed", () => {
    const hashes = () => from1To(3).map((seed) => hashOf(simulate(seed, { storage: sqliteFiles() }).entries))
    assert.deepStrictEqual(hashes(), hashes())
  })

  it.each([
    [
      "what was handed over in memory is not made due again",
      (filename: string) => {
        const db = new DatabaseSync(filename)
        db.exec("UPDATE owner SET low = delivery + 1")
        db.close()
      }
    ],
    ["the log is lost", (filename: string) => rmSync(`${filename}-wal`, { force: true })]
  ] as const)("is seen to lose events where after a crash %s", (_, after) => {
    const isSeen = from1To(40).some((seed) => {
      const outcome = simulate(seed, { storage: sqliteFiles(after) })
      return judge(outcome).some(({ check }) => check.name === "nothing-lost")
    })
    assert.isTrue(isSeen)
  })
})
