/**
 * The delivery engine over a SQLite file in simulated worlds. Each process opens the file that the previous one left.
 */
import { assert, describe, it } from "@effect/vitest"
import { rmSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { describeFailures, judge } from "../src/checks/Checks.ts"
import { hashOf } from "../src/History.ts"
import { simulate } from "../src/Actors.ts"
import { sqliteFiles } from "../src/world/Storage.ts"

/** Number of seeds in this test; `npm run simulate:seeds -- --store sqlite` runs any number. */
const seeds = 16

const from1To = (count: number): ReadonlyArray<number> => Array.from({ length: count }, (_, at) => at + 1)

describe("the engine over SQLite", () => {
  it(`keeps every rule in ${seeds} worlds whose processes die and reopen the file`, () => {
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

  it("repeats a history exactly with the same seed", () => {
    const hashes = () => from1To(2).map((seed) => hashOf(simulate(seed, { storage: sqliteFiles() }).entries))
    assert.deepStrictEqual(hashes(), hashes())
  })

  it.each([
    [
      "deliveries handed over in memory are not made due again",
      30,
      (filename: string) => {
        const db = new DatabaseSync(filename)
        db.exec("UPDATE owner SET low = delivery + 1")
        db.close()
      }
    ],
    ["the log is lost", 1, (filename: string) => rmSync(`${filename}-wal`, { force: true })]
  ] as const)("loses events if after a crash %s, and the checks detect it", (_, likely, after) => {
    // Some seeds end with a file that SQLite refuses to open, which proves nothing about the checks.
    const outcomeOf = (seed: number) => {
      try {
        return [simulate(seed, { storage: sqliteFiles(after) })]
      } catch (error) {
        assert.match(String(error), /the file is damaged/)
        return []
      }
    }
    // A seed whose small world shows the fault is tried first, to save time.
    const isSeen = [likely, ...from1To(40)].some((seed) =>
      outcomeOf(seed).some((outcome) => judge(outcome).some(({ check }) => check.name === "nothing-lost"))
    )
    assert.isTrue(isSeen)
  })
})
