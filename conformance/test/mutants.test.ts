/**
 * The suite on receivers with known faults. `doorhook conformance mutants` tries all faults. These tests try one or two
 * faults of each family, and check that unreliable probes and weaknesses of the suite are detected.
 */
import * as NodePlatform from "@doorhook/testkit/NodePlatform"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { withControl } from "../src/hooks/Commands.ts"
import { noHooks } from "../src/hooks/Hooks.ts"
import type { Change } from "../src/mutants/Base.ts"
import { faults, inProcess, killLine, killOf, tryFault, weaknesses } from "../src/mutants/Faults.ts"
import type { Fault } from "../src/mutants/Faults.ts"
import { rows } from "../src/mutants/Rows.ts"
import { httpProbe } from "../src/probes/Probe.ts"
import { noMeans } from "../src/record/Options.ts"
import { requirements } from "../src/requirements/Catalogue.ts"
import { runSuite } from "../src/run/RunSuite.ts"
import { conformance } from "./support/command.ts"
import { sampleReport } from "./support/sampleReport.ts"

/** Faults that are found quickly when only their own requirement is tested. */
const quick = [
  "ack-202",
  "redirect-308",
  "short-body",
  "five-at-once",
  "duplicate-409",
  "no-memory",
  "by-bytes",
  "check-then-act",
  "one-scope",
  "last-wins",
  "numeric-ids",
  "busy-swallowed",
  "text-behind-it",
  "strict-data",
  "known-types-only",
  "three-byte-utf8",
  "normalised",
  "shared-field",
  "no-length-no-body",
  "no-continue",
  "no-charset",
  "slots-not-given-back",
  "chunks-unchecked",
  "large-unchecked",
  "trusts-the-connection",
  "says-what-it-expected",
  "any-version",
  "first-signature",
  "open-on-garbage",
  "an-hour",
  "seen-before-checked",
  "stale-lock",
  "seen-in-memory"
]

/** A race of one turn of the event loop. Copies that a busy machine sends too far apart miss it, so it is tried again. */
const shortRace = "check-then-act"

const faultNamed = (name: string): Fault => {
  const found = faults.find((fault) => fault.name === name)
  assert.isDefined(found, name)
  return found
}

describe("the faulty receivers", () => {
  it("are at least 100, with unique names", () => {
    assert.isAtLeast(faults.length, 100)
    assert.strictEqual(new Set(faults.map(({ name }) => name)).size, faults.length)
  })

  it("are at least two for each requirement, and none is for an unknown requirement", () => {
    const ids = requirements.map(({ id }) => id)
    const few = ids.filter((id) => Object.keys(rows[id] ?? {}).length < 2)
    assert.deepStrictEqual(few, [])
    assert.sameMembers(Object.keys(rows), ids)
  })

  it.live("fail, each by the requirement that it is listed for", () =>
    Effect.gen(function* () {
      const kills = yield* Effect.forEach(
        quick.map(faultNamed),
        (fault) =>
          tryFault(fault, { narrow: true, seed: 1, maxTime: 120_000 }).pipe(
            Effect.map((report) => killOf(fault, report)),
            Effect.repeat({
              times: fault.name === shortRace ? 2 : 0,
              while: (kill) => weaknesses([kill], []).length > 0
            })
          ),
        { concurrency: 4 }
      )
      const weak = weaknesses(kills, [])
      assert.deepStrictEqual(weak, [], weak.join("\n"))
    }).pipe(Effect.provide(NodePlatform.layer))
  )
})

describe("an unreliable probe", () => {
  const tried = Effect.fnUntraced(function* (change: Change, controlled: boolean, only: ReadonlyArray<string>) {
    const origin = yield* inProcess({ change, secret: null })
    const [url, probe] = [new URL("/hook", origin), httpProbe(new URL("/probe", origin))]
    return yield* runSuite(
      { url: [url.href], probe: `http:${probe.name}`, level: 2, only, cases: null, seed: 1, maxTime: 30_000 },
      {
        ...noMeans,
        urls: [url],
        probe,
        hooks: controlled ? yield* withControl(noHooks, new URL("/control", origin)) : noHooks
      }
    )
  })

  /** Reports at most one effect, like a probe that uses SELECT EXISTS. */
  const capped: Change = ({ count }) => ({ count: (...given) => Math.min(1, count(...given)) })

  it.live("that never counts past one is detected with a control URL", () =>
    Effect.gen(function* () {
      const report = yield* tried(capped, true, ["R-DUP-02"])
      assert.strictEqual(report.ended, "probe_unusable")
      assert.match(report.endedBecause, /can't count past 1/)
    })
  )

  it.live("that never counts past one gets a note if there is no control URL", () =>
    Effect.gen(function* () {
      const { notes, requirements: reported } = yield* tried(capped, false, ["R-DUP-02"])
      assert.strictEqual(reported[0]?.verdict, "PASS")
      assert.match(notes.join(" "), /upper range is unverified.* --control-url/)
    })
  )

  it.live("that ignores the case of ids leaves open whether the receiver does", () =>
    Effect.gen(function* () {
      const folded: Change = ({ count }, { ledger }) => ({
        identify: ({ id }) => id.toLowerCase(),
        keep: async (key, delivery, request) => {
          if (!ledger.mark(key, 0)) return false
          ledger.act({ id: delivery.id.toLowerCase(), scope: request.url, stored: delivery.body })
          return true
        },
        count: (id, scope) => count(id.toLowerCase(), scope)
      })
      const { requirements: reported } = yield* tried(folded, true, ["R-NEW-01"])
      assert.strictEqual(reported[0]?.verdict, "INCONCLUSIVE")
      assert.match(reported[0]?.observed ?? "", /undecided: the probe ignores the case of ids/)
    })
  )
})

describe("the result for a faulty receiver", () => {
  const report = { ...sampleReport, requirements: sampleReport.requirements.filter(({ id }) => id === "R-DUP-01") }
  const killed = killOf(faultNamed("duplicate-409"), report)
  const other = killOf(faultNamed("ack-202"), report)
  const survivor = killOf(faultNamed("ack-202"), { ...sampleReport, requirements: [] })

  it("is a weakness of the suite if only another requirement fails, or none", () => {
    assert.deepStrictEqual(weaknesses([killed], ["R-DUP-01"]), [])
    assert.match(weaknesses([other], [])[0] ?? "", /^ack-202 did not get FAIL from R-ACK-02, but failed R-DUP-01/)
    assert.match(weaknesses([survivor], [])[0] ?? "", /^ack-202 did not get FAIL from R-ACK-02 \(/)
  })

  it("is a weakness if the verdict is stronger or weaker than expected", () => {
    const weak = killOf({ ...faultNamed("duplicate-409"), found: "WARN" }, report)
    assert.match(weaknesses([weak], [])[0] ?? "", /^duplicate-409 did not get WARN from R-DUP-01/)
  })

  it("is a weakness if a requirement detects no faulty receiver", () => {
    assert.match(weaknesses([killed], ["R-DUP-01", "R-ACK-02"])[0] ?? "", /^R-ACK-02 detects no faulty receiver/)
  })

  it("is printed on one line, with other requirements that failed", () => {
    assert.match(killLine(killed), /^FAIL {6}duplicate-409 +R-DUP-01 +level 1 /)
    assert.match(killLine(other), /^SURVIVED {2}ack-202 +R-ACK-02 +level 1 .* also R-DUP-01$/)
  })
})

describe("conformance mutants", () => {
  it.live("exits with 1 when a faulty receiver survives, here for lack of time", () =>
    Effect.gen(function* () {
      const { exitCode, message, output } = yield* conformance(
        "mutants",
        "--only",
        "late",
        "--narrow",
        "--max-time",
        "1ms"
      )
      assert.strictEqual(exitCode, 1, output)
      assert.include(output, "SURVIVED  late")
      assert.include(message, "The suite is too weak in")
    })
  )

  it.live("exits with 0 when no faulty receiver survives, and with 3 on a wrong flag", () =>
    Effect.gen(function* () {
      const found = yield* conformance("mutants", "--only", "R-ACK-02", "--narrow", "--jobs", "3", "--max-time", "30s")
      assert.strictEqual(found.exitCode, 0, found.output)
      assert.include(found.output, "2 of 2 ")
      const nobody = yield* conformance("mutants", "--only", "ack-202,perfect")
      assert.strictEqual(nobody.exitCode, 3)
      assert.match(nobody.message, /^--only perfect: no \w+ receiver has such a name/)
      const jobless = yield* conformance("mutants", "--jobs", "0")
      assert.strictEqual(jobless.exitCode, 3)
    })
  )
})
