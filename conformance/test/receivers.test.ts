/**
 * The command on receivers of other tests' making: what they get, and how few requests a hopeless one gets.
 */
import { Signature } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { requirements } from "../src/requirements/Catalogue.ts"
import { conformance, idsWith } from "./support/command.ts"
import { acknowledge, answer, receiver } from "./support/receiver.ts"
import type { Behaviour } from "./support/receiver.ts"

/** The requirements that can pass at level 1. R-GET-01 is one of them: only its check of effects needs a probe. */
const proven = requirements.filter(({ level, profile }) => level === 1 && profile === null).map(({ id }) => id)

const run = Effect.fnUntraced(function* (behave: Behaviour, ...flags: ReadonlyArray<string>) {
  const target = yield* receiver(behave)
  const result = yield* conformance("run", "--url", target.url, ...flags)
  return { ...result, target }
})

describe("a correct receiver passes", () => {
  it.live("all requirements of level 1", () =>
    Effect.gen(function* () {
      const { exitCode, output, report, target } = yield* run(acknowledge, "--seed", "3", "--max-time", "60s")
      assert.sameMembers([...idsWith(report, "PASS")], [...proven], output)
      assert.strictEqual(exitCode, 0)
      assert.strictEqual(report?.verdict, "pass")
      assert.strictEqual(report?.seed, 3)
      // Some attempts are given up before they have arrived.
      assert.isAtLeast(report?.attempts ?? 0, target.received.filter(({ method }) => method === "POST").length)
    })
  )

  it.live("that accepts only what doorhook sends", () =>
    Effect.gen(function* () {
      const { exitCode, output, report } = yield* run(
        (received, response) => {
          const { body, headers, method } = received
          const isDoorhook =
            method === "POST" &&
            headers["content-type"]?.toLowerCase().startsWith("application/json") === true &&
            headers["user-agent"]?.startsWith("doorhook/") === true &&
            String(headers[Signature.headerNames.id]).startsWith("evt_") &&
            /^\d{10}$/.test(String(headers[Signature.headerNames.timestamp])) &&
            /^[1-9]\d*$/.test(String(headers[Signature.headerNames.attempt])) &&
            headers[Signature.headerNames.signature] === undefined &&
            /^\{\s*"event":\s*\{[^]*"data":\s*\{[^]*\}\s*\}\s*\}\s*$/.test(body)
          answer(response, isDoorhook ? 204 : 400)
        },
        "--only",
        "R-ACK-*,R-DUP-*,R-HTTP-01,R-HTTP-04,R-HTTP-05",
        "--ack",
        "2xx"
      )
      assert.strictEqual(exitCode, 0, output)
      assert.isNotEmpty(idsWith(report, "PASS"))
    })
  )
})

const shortest = ["--deadline", "200ms"]

describe.concurrent("a faulty receiver", () => {
  it.live("redirects to a page that answers 200, which the suite never requests", () =>
    Effect.gen(function* () {
      const redirecting: Behaviour = ({ path }, response) => {
        if (path !== "/hook") return answer(response, 200)
        return response.writeHead(302, { location: "/elsewhere" }).end()
      }
      const { exitCode, report, target } = yield* run(redirecting, "--only", "R-ACK-*")
      assert.include(idsWith(report, "FAIL"), "R-ACK-02")
      assert.strictEqual(exitCode, 1)
      assert.deepStrictEqual([...new Set(target.received.map(({ path }) => path))], ["/hook"])
      assert.include(
        report?.requirements.find(({ id }) => id === "R-ACK-02")?.observed,
        "302",
        "the report says what came back"
      )
    })
  )

  it.live("an answer that is late once, but not in a repeat, is not a failure", () =>
    Effect.gen(function* () {
      const { exitCode, report } = yield* run(
        ({ index }, response) => (index === 1 ? undefined : response.end("ok")),
        "--deadline",
        "1s",
        "--only",
        "R-ACK-*"
      )
      assert.deepStrictEqual(idsWith(report, "FAIL"), [])
      assert.include(idsWith(report, "INCONCLUSIVE"), "R-ACK-03")
      assert.strictEqual(exitCode, 2)
    })
  )

  it.live("a receiver that acknowledges nothing gets few requests", () =>
    Effect.gen(function* () {
      const [silent, endless] = yield* Effect.all(
        [run(() => undefined, ...shortest), run((_, response) => void response.writeHead(200).write("o"), ...shortest)],
        { concurrency: 2 }
      )
      assert.includeMembers([...idsWith(silent.report, "INCONCLUSIVE")], ["R-DUP-01", "R-FWD-01", "R-HTTP-09"])
      assert.isAtMost(silent.target.received.length, 60)
      assert.isAtMost(endless.target.received.length, 60)
    })
  )
})
