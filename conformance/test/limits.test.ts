/**
 * A limit that a receiver keeps to is one WARN. `limits.long.test.ts` has more limits, and nginx in front of a receiver.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { httpProbe } from "../src/probes/Probe.ts"
import { limitsTo } from "./mutants/Base.ts"
import { inProcess } from "./mutants/Faults.ts"
import { run } from "./support/run.ts"

describe("a limit of requests a second", () => {
  it.live("is respected, and named in the report", () =>
    Effect.gen(function* () {
      const origin = yield* inProcess({ change: limitsTo({ rate: 15 }), secret: null })
      const report = yield* run({
        url: new URL("/hook", origin),
        probe: httpProbe(new URL("/probe", origin)),
        level: 2,
        only: ["R-ACK-01", "R-HTTP-06"],
        settle: 3_000,
        maxTime: 60_000,
        pace: 0.1,
        seed: 1
      })
      assert.deepStrictEqual(
        report.requirements.map(({ id, verdict }) => [id, verdict]),
        [
          ["R-ACK-01", "WARN"],
          ["R-HTTP-06", "PASS"]
        ]
      )
      assert.match(
        report.requirements[0]?.observed ?? "",
        /^limits to about \d+ requests a second, asked for a pause of 1 s: 429 after .*, retry-after: 1/
      )
    })
  )
})
