/**
 * The entry for vitest, as the author of a receiver uses it. This file tests correct receivers, a separate project
 * faulty ones.
 */
import { receiverSuite } from "@doorhook/conformance/vitest"
import type { ReceiverSuiteOptions, StartedReceiver } from "@doorhook/conformance/vitest"
import { startNode } from "@doorhook/testkit/Process"
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { once } from "node:events"
import { createServer } from "node:http"
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { fileURLToPath } from "node:url"
import { inProcess } from "../mutants/Faults.ts"
import { httpProbe } from "../../src/probes/Probe.ts"
import { needs } from "../../src/requirements/Requirement.ts"

/** Starts the bundled receiver, as a project starts its own receiver. */
const start = async (): Promise<StartedReceiver> => {
  const scope = Scope.makeUnsafe()
  const origin = await Effect.runPromise(inProcess({ change: () => ({}), secret: null }).pipe(Scope.provide(scope)))
  return {
    url: new URL("/hook", origin).href,
    probe: async (webhookId) => {
      const { digest, effects } = await Effect.runPromise(
        httpProbe(new URL("/probe", origin)).read({ webhookId, resourceType: "", dataId: "", endpoint: null })
      )
      // Hex digits may have either case.
      return { effects, ...(digest === null ? {} : { digest: digest.toUpperCase() }) }
    },
    stop: () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
}

receiverSuite({
  start,
  level: 2,
  settle: 2_000,
  maxTime: 20_000,
  only: ["R-ACK-02", "R-DUP-04", "R-HTTP-02", "R-LOS-03"]
})

/** Starts a receiver that can be killed. A supervisor starts it again two seconds later, at the same port. */
const startSupervised = async (): Promise<StartedReceiver> => {
  const effects = new Map<string, number>()
  const seen = (request: IncomingMessage, response: ServerResponse): void => {
    const id = String(request.headers["webhook-id"])
    effects.set(id, 1)
    request.resume().on("end", () => response.end())
  }
  const listen = async (port: number): Promise<Server> => {
    const server = createServer(seen).listen(port, "127.0.0.1")
    await once(server, "listening")
    return server
  }
  let server = await listen(0)
  const address = server.address()
  const port = address !== null && typeof address === "object" ? address.port : 0
  const end = (): void => {
    server.closeAllConnections()
    server.close()
  }
  const startsAfter = 2_000
  return {
    url: `http://127.0.0.1:${port}/hook`,
    probe: (id) => ({ effects: effects.get(id) ?? 0 }),
    kill: () => {
      end()
      setTimeout(() => void listen(port).then((next) => (server = next)), startsAfter)
    },
    stop: end
  }
}

describe("a receiver whose supervisor takes seconds to start it again", () => {
  receiverSuite({
    start: startSupervised,
    level: 3,
    settle: 1_000,
    maxTime: 30_000,
    only: ["R-CRA-01"]
  })
})

/** Runs vitest on the separate project. Returns its exit code and output. */
const runFaulty = Effect.gen(function* () {
  const config = fileURLToPath(new URL("faulty/vitest.config.ts", import.meta.url))
  const bin = fileURLToPath(new URL("../../../node_modules/vitest/vitest.mjs", import.meta.url))
  const env = { VITEST: "", VITEST_WORKER_ID: "", VITEST_POOL_ID: "" }
  const { finished } = yield* startNode([bin, "run", "--config", config], { env })
  const { code, stderr, stdout } = yield* Effect.promise(() => finished)
  return { code, output: stdout + stderr }
}).pipe(Effect.scoped)

describe("receiverSuite on faulty receivers", () => {
  let output = ""

  beforeAll(async () => {
    const run = await Effect.runPromise(runFaulty)
    assert.strictEqual(run.code, 1, run.output)
    output = run.output
  })

  it("fails only the test of the broken requirement, with its explanation", () => {
    assert.match(output, /receiver\.case\.ts \(2 tests \| 1 failed\)/)
    assert.match(output, /× R-DUP-01/)
    assert.include(output, "sent  the same event again")
    assert.include(output, "409")
    assert.include(output, 'Again      run this test with only: ["R-DUP-01"], seed: 1')
    assert.notInclude(output, "npx doorhook")
  })

  it("says that a probe returned a text instead of a number", () => {
    assert.include(output, `the test's probe returned effects: "0", a text; give a whole number`)
  })

  it("skips an undecided SHOULD, which does not change the exit code of the command either", () => {
    assert.match(output, /✓ undecided\.case\.ts \(2 tests \| 1 skipped\)/)
  })

  it("fails if the receiver lacks what its level needs, instead of skipping tests", () => {
    for (const message of [
      "level: 2 needs a probe: return probe from start",
      "level: 3 needs a way to end the receiver: return restart or kill",
      "profiles: clock needs advance",
      "pause and resume go together: give both",
      "otherUrls holds the URL of start's result"
    ]) {
      assert.include(output, message)
    }
    assert.include(output, "5 receivers were stopped")
    assert.notMatch(output, /(?:uncounted|unseen)\.case\.ts \(.*passed/)
  })
})

describe("receiverSuite", () => {
  it("refuses an unknown requirement, and sends nothing", () => {
    assert.throws(() => receiverSuite({ start, only: ["R-DPU-02"] }), "only: R-DPU-02 is no requirement; did you mean")
  })

  it("names what a requirement lacks by the options of a test, not by flags", () => {
    for (const [need, { inTest }] of Object.entries(needs)) assert.notInclude(inTest, "--", need)
  })

  it("refuses profiles without what they need, and sends nothing", () => {
    const refused: ReadonlyArray<readonly [Partial<ReceiverSuiteOptions>, string]> = [
      [{ profiles: ["signed"] }, "profiles: signed needs the receiver's secret: set secret"],
      [{ profiles: ["signed"], secret: "whsec_?" }, "secret must be a Standard Webhooks secret: whsec_ and base64"],
      [
        { profiles: ["load"] },
        "profiles: load needs the load that the receiver is made for, in events a second: set peakRate"
      ],
      [{ profiles: ["tenant"], level: 2 }, "profiles: tenant needs a second URL"],
      [
        { profiles: ["tenant"], otherUrls: ["http://127.0.0.1:9/other"] },
        "profiles: tenant needs a probe: set level: 2"
      ],
      [{ profiles: ["clock"] }, "profiles: clock needs a probe: set level: 2"],
      [{ otherUrls: ["http://127.0.0.1:9/a", "http://127.0.0.1:9/b"] }, "otherUrls holds 2 URLs"]
    ]
    for (const [options, message] of refused) assert.throws(() => receiverSuite({ start, ...options }), message)
  })
})
