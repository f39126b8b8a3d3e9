/**
 * Receivers that are correct but unusual must not fail. By default, only requirements about the unusual behaviour are
 * tested. `CONFORMANCE_SEEDS=20` tests all requirements up to level 3, with 20 seeds.
 */
import * as NodePlatform from "@doorhook/testkit/NodePlatform"
import { handlingReceiver } from "@doorhook/testkit/Receiver"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { request as forward } from "node:http"
import { inProcess, tryRight } from "../src/mutants/Faults.ts"
import { rightReceivers } from "../src/mutants/Right.ts"
import type { RightReceiver } from "../src/mutants/Right.ts"
import { httpProbe } from "../src/probes/Probe.ts"
import type { Report } from "../src/report/Report.ts"
import { render } from "../src/report/Text.ts"
import { run } from "./support/run.ts"

const { CONFORMANCE_SEEDS } = process.env
const quick = CONFORMANCE_SEEDS === undefined
const seeds = Array.from({ length: Number(CONFORMANCE_SEEDS ?? 1) }, (_, index) => index + 1)

const assertRight = (report: Report, warned: ReadonlyArray<string>): void => {
  assert.notStrictEqual(report.ended, "target_unusable", render(report))
  const wrong = report.requirements.filter(
    ({ id, observed, verdict }) =>
      verdict === "FAIL" ||
      verdict === "ERROR" ||
      // In most languages, digests round numbers that a double can't store exactly. Keeping such numbers is only a
      // SHOULD.
      (verdict === "WARN" && !warned.includes(id) && !(id === "R-FWD-02" && /was rounded to a double/.test(observed)))
  )
  assert.deepStrictEqual(
    wrong.map(({ id, observed, verdict }) => `${verdict} ${id}: ${observed}`),
    []
  )
  assert.isTrue(
    report.requirements.some(({ verdict }) => verdict === "PASS"),
    render(report)
  )
}

describe.concurrent("a correct but unusual receiver does not fail", () => {
  it.live.each<RightReceiver>([...rightReceivers])("$name", (receiver) =>
    Effect.gen(function* () {
      for (const seed of seeds) assertRight(yield* tryRight(receiver, { quick, seed }), receiver.warned)
    }).pipe(Effect.provide(NodePlatform.layer))
  )

  it.live("behind a reverse proxy, which forwards requests over other connections and in another form", () =>
    Effect.gen(function* () {
      const origin = yield* inProcess({ change: () => ({}), secret: null })
      const proxy = yield* handlingReceiver(({ body, headers, method }, response) => {
        const { "content-length": _length, connection: _connection, ...sent } = headers
        const onward = forward(
          new URL("/hook", origin),
          { method, headers: { ...sent, via: "1.1 proxy" } },
          (answer) => {
            response.writeHead(answer.statusCode ?? 502, { "content-type": answer.headers["content-type"] })
            answer.pipe(response)
          }
        )
        onward.end(body)
      })
      const report = yield* run({
        url: new URL(proxy.url),
        probe: httpProbe(new URL("/probe", origin)),
        level: 2,
        only: ["R-ACK-0*", "R-DUP-01", "R-DUP-03", "R-HTTP-0*"],
        maxTime: 60_000,
        pace: 0.1,
        seed: 1
      })
      assertRight(report, [])
    })
  )
})
