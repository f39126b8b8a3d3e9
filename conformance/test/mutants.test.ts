/**
 * The suite from both sides: the most typical wrong receiver of each requirement must fail it, and the right receivers
 * that differ most must fail none. `mutants.long.test.ts` tries others. Unreliable probes must be detected, too.
 */
import { handlingReceiver } from "@doorhook/testkit/Receiver"
import * as NodePlatform from "@doorhook/testkit/NodePlatform"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { request as forward } from "node:http"
import { withControl } from "../src/hooks/Commands.ts"
import { noHooks } from "../src/hooks/Hooks.ts"
import { httpProbe } from "../src/probes/Probe.ts"
import { requirements } from "../src/requirements/Catalogue.ts"
import type { Change } from "./mutants/Base.ts"
import { faults, inProcess, survival, tryRight } from "./mutants/Faults.ts"
import { rightReceivers } from "./mutants/Right.ts"
import { rows } from "./mutants/Wrong.ts"
import { assertRight } from "./support/right.ts"
import { run } from "./support/run.ts"

/** Factor for the suite's waits. */
const pace = 0.1

describe("the wrong receivers", () => {
  it("are at least two for each requirement, with unique names, and none is for an unknown requirement", () => {
    const ids = requirements.map(({ id }) => id)
    assert.deepStrictEqual(
      ids.filter((id) => Object.keys(rows[id] ?? {}).length < 2),
      []
    )
    assert.sameMembers(Object.keys(rows), ids)
    assert.strictEqual(new Set(faults.map(({ name }) => name)).size, faults.length)
  })
})

describe.concurrent("the most typical wrong receiver fails the requirement", () => {
  const typical = requirements.map(({ id }) => {
    const fault = faults.find(({ requirement }) => requirement === id) ?? assert.fail(id)
    return { ...fault, title: `${id}: ${fault.does}` }
  })
  it.live.each(typical)("$title", (fault) =>
    Effect.gen(function* () {
      assert.isNull(yield* survival(fault, true))
    }).pipe(Effect.provide(NodePlatform.layer))
  )
})

describe.concurrent("a right but unusual receiver does not fail", () => {
  /** The receivers that differ most from an ordinary one. The long tests try others. */
  const different = ["ignores-calls", "limit-of-five", "answers-early", "worker-that-polls", "clock-2m-fast"]
  it.live.each(rightReceivers.filter(({ name }) => different.includes(name)))("$name", (receiver) =>
    Effect.gen(function* () {
      assertRight(yield* tryRight(receiver, { whole: false, seed: 1 }), receiver.warned)
    }).pipe(Effect.provide(NodePlatform.layer))
  )

  it.live("that checks timestamps by a clock that is moved", () =>
    Effect.gen(function* () {
      const secret = "whsec_dGhlIHNlY3JldCBvZiB0aGUgcmVjZWl2ZXI="
      const origin = yield* inProcess({ change: () => ({}), secret })
      const report = yield* run({
        url: new URL("/hook", origin),
        hooks: yield* withControl(noHooks, new URL("/control", origin)),
        probe: httpProbe(new URL("/probe", origin)),
        secret: Redacted.make(secret),
        level: 2,
        profile: ["signed", "clock"],
        only: ["R-DUP-06", "R-SIG-07", "R-SIG-09"],
        settle: 1_000,
        maxTime: 60_000,
        pace,
        seed: 1
      })
      for (const { id, observed, verdict } of report.requirements)
        assert.strictEqual(verdict, "PASS", `${id} ${observed}`)
    })
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
        pace,
        seed: 1
      })
      assertRight(report, [])
    })
  )
})

describe.concurrent("an unreliable probe", () => {
  const tried = Effect.fnUntraced(function* (change: Change, controlled: boolean, only: string) {
    const origin = yield* inProcess({ change, secret: null })
    return yield* run({
      url: new URL("/hook", origin),
      probe: httpProbe(new URL("/probe", origin)),
      hooks: controlled ? yield* withControl(noHooks, new URL("/control", origin)) : noHooks,
      level: 2,
      only: [only],
      maxTime: 30_000,
      pace,
      seed: 1
    })
  })

  /** Reports at most one effect, like a probe that uses SELECT EXISTS. */
  const capped: Change = ({ count }) => ({ count: (...given) => Math.min(1, count(...given)) })

  it.live("that never counts past one is detected with a control URL", () =>
    Effect.gen(function* () {
      const report = yield* tried(capped, true, "R-DUP-02")
      assert.strictEqual(report.ended, "probe_unusable")
      assert.match(report.endedBecause, /can't count past 1/)
    })
  )

  it.live("that never counts past one gets a note if there is no control URL", () =>
    Effect.gen(function* () {
      const { notes, requirements: reported } = yield* tried(capped, false, "R-DUP-02")
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
      const { requirements: reported } = yield* tried(folded, true, "R-NEW-01")
      assert.strictEqual(reported[0]?.verdict, "INCONCLUSIVE")
      assert.match(reported[0]?.observed ?? "", /undecided: the probe ignores the case of ids/)
    })
  )
})
