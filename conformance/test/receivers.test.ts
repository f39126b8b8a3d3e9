/**
 * The command on receivers of other tests' making: what they get, and how few requests a hopeless one gets.
 */
import { Signature } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { Effect } from "effect"
import { readFileSync, writeFileSync } from "node:fs"
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

describe("a receiver that breaks a SHOULD", () => {
  /** Refuses resource types that no binding selects. */
  const strictTypes: Behaviour = ({ body }, response) =>
    answer(response, /"resource_type": *"(?:access_log|call)", *"action": *"create"/.test(body) ? 200 : 422)
  const only = ["--only", "R-FWD-01,R-ACK-02"]

  it.live("passes, fails with --strict, and passes if the baseline lists it", () =>
    Effect.gen(function* () {
      const usual = yield* run(strictTypes, ...only)
      assert.deepStrictEqual([usual.exitCode, idsWith(usual.report, "WARN")], [0, ["R-FWD-01"]], usual.output)
      assert.include(usual.output, "is a SHOULD and does not change the exit code")

      const folder = yield* temporaryFolder
      const [junit, json, baseline] = [`${folder}/junit.xml`, `${folder}/report.json`, `${folder}/baseline`]
      const strict = yield* run(strictTypes, ...only, "--strict", "--report", `junit=${junit},json=${json}`)
      assert.strictEqual(strict.exitCode, 1, strict.output)
      assert.match(strict.message, /^The receiver does not conform: R-FWD-01 failed/)
      assert.include(strict.output, "is a SHOULD, which counts with --strict")
      assert.match(readFileSync(junit, "utf8"), /<testcase name="R-FWD-01 [^>]*><failure type="WARN"/)
      assert.include(readFileSync(json, "utf8"), '"verdict": "fail"')

      writeFileSync(baseline, "R-FWD-01")
      const known = yield* run(strictTypes, ...only, "--strict", "--baseline", baseline)
      assert.strictEqual(known.exitCode, 0, known.output)
    })
  )

  it.live("differs from one without a WARN, which passes with --strict", () =>
    Effect.gen(function* () {
      const { exitCode, output } = yield* run(acknowledge, ...only, "--strict")
      assert.strictEqual(exitCode, 0, output)
    })
  )
})

describe("answers that take longer for each stored event", () => {
  const grown = (growth: number) =>
    Effect.gen(function* () {
      let stored = 0
      const slower: Behaviour = (_, response) => void setTimeout(() => answer(response, 200), growth * stored++)
      const { report } = yield* run(slower, "--only", "R-ACK-01", "--max-time", "60s", "--seed", "1")
      return report?.notes.filter((note) => note.startsWith("Answers grow")) ?? []
    })

  it.live("are noted, with the growth for each event", () =>
    Effect.gen(function* () {
      const [growing, even] = yield* Effect.all([grown(5), grown(0)], { concurrency: 2 })
      assert.match(
        growing.join("\n"),
        /^Answers grow by \d+(?:\.\d)? ms per stored event, from \d+(?:\.\d)? ms to \d+ ms in \d+ answers: /
      )
      assert.isEmpty(even)
    })
  )
})
