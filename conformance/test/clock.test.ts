/**
 * Receivers that check timestamps and whose clock is moved. The suite must take its timestamps from the receiver's
 * clock.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { withControl } from "../src/hooks/Commands.ts"
import { noHooks } from "../src/hooks/Hooks.ts"
import type { Change } from "../src/mutants/Base.ts"
import { faults, inProcess } from "../src/mutants/Faults.ts"
import { httpProbe } from "../src/probes/Probe.ts"
import { run as runSuite } from "./support/run.ts"

const secret = "whsec_dGhlIHNlY3JldCBvZiB0aGUgcmVjZWl2ZXI="

const tried = Effect.fnUntraced(function* (change: Change, ...only: ReadonlyArray<string>) {
  const origin = yield* inProcess({ change, secret })
  return yield* runSuite({
    url: new URL("/hook", origin),
    hooks: yield* withControl(noHooks, new URL("/control", origin)),
    probe: httpProbe(new URL("/probe", origin)),
    secret: Redacted.make(secret),
    level: 2,
    profile: ["signed", "clock"],
    only,
    settle: 1_000,
    maxTime: 240_000,
    pace: 0.05,
    seed: 1
  })
})

const changeOf = (name: string): Change => faults.find((fault) => fault.name === name)?.change ?? (() => ({}))

describe("a receiver that checks timestamps and whose clock is moved", () => {
  it.live("passes if it is correct", () =>
    Effect.gen(function* () {
      const report = yield* tried(() => ({}), "R-DUP-0*", "R-SIG-*", "R-LOS-*")
      for (const { id, observed, verdict } of report.requirements.filter(({ profile }) => profile !== "tenant")) {
        assert.strictEqual(verdict, "PASS", `${id} ${observed}`)
      }
    })
  )

  it.live("fails if it forgets ids or refuses late events", () =>
    Effect.gen(function* () {
      for (const [name, why] of [
        ["one-day", /^effects = 2 for event/],
        ["late-refused", /^the last attempt: 409 /]
      ] as const) {
        const { requirements } = yield* tried(changeOf(name), "R-DUP-06")
        assert.strictEqual(requirements[0]?.verdict, "FAIL", name)
        assert.match(requirements[0]?.observed ?? "", why)
      }
    })
  )
})
