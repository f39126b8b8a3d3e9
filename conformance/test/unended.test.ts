/**
 * The suite detects whether a receiver was really ended or paused, even behind a proxy. If the receiver was not ended,
 * requirements stay open instead of passing.
 */
import { listen } from "@doorhook/testkit/ListeningServer"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { once } from "node:events"
import { createServer } from "node:http"
import type { Socket } from "node:net"
import type { Setting } from "../src/execution/Execution.ts"
import { accessLog } from "../src/history/Events.ts"
import type { Operation } from "../src/history/Operations.ts"
import { noHooks } from "../src/hooks/Hooks.ts"
import type { Hooks } from "../src/hooks/Hooks.ts"
import { startsAgain } from "../src/judgement/Judge.ts"
import { exitCodeOf } from "../src/report/Explanation.ts"
import { model } from "./support/model.ts"
import { acknowledge, answer, receiver } from "./support/receiver.ts"
import { run as runSuite } from "./support/run.ts"
import { executeIn, settingOf, criteria } from "./support/setting.ts"
import { saidAgain } from "./support/stored.ts"

const restart: Operation = { k: "restart" }
const killAmid: Operation = { k: "kill_amid", event: accessLog, workers: 1, after: 5 }

const pauseDuring: Operation = { k: "pause_during", events: [accessLog, accessLog] }

const executed = (operation: Operation, setting: Setting) => executeIn({ v: 1, ops: [operation] }, setting)

/**
 * Executes an operation. Returns the finding about the receiver's end, and the actions after which the receiver was
 * started again.
 */
const ended = Effect.fnUntraced(function* (url: string, operation: Operation, hooks: Partial<Hooks>) {
  const setting = settingOf(new URL(url), { hooks: { ...noHooks, ...hooks } })
  const { broke, trace } = yield* executed(operation, setting)
  assert.isNull(broke)
  return { finding: startsAgain(trace, criteria), startedAfter: [...setting.startedAfter] }
})

/** Asserts that the suite saw the receiver end. The finding about the end is then empty. */
const assertSeen = ({ finding }: Effect.Success<ReturnType<typeof ended>>): void =>
  assert.isTrue(finding.verdict === "INCONCLUSIVE" && finding.empty, JSON.stringify(finding))

describe.concurrent("a receiver that keeps running", () => {
  it.live("is known not to have ended, whichever command should have ended it", () =>
    Effect.gen(function* () {
      const { url } = yield* receiver(acknowledge)
      const names = { kill: "--kill-cmd", restart: "--restart-cmd" }
      const all = [restart, killAmid].flatMap((operation) =>
        (["kill", "restart"] as const).map((by) =>
          Effect.map(ended(url, operation, { [by]: Effect.void, names }), (one) => ({ ...one, by }))
        )
      )
      for (const { by, finding, startedAfter } of yield* Effect.all(all, { concurrency: "unbounded" })) {
        if (finding.verdict !== "INCONCLUSIVE") return assert.fail(finding.verdict)
        assert.isFalse(finding.empty)
        assert.match(finding.observed, new RegExp(`^the receiver still answered after --${by}-cmd: does it end`))
        assert.deepStrictEqual(startedAfter, [], "it was not started again")
      }
    })
  )

  it.live("does not pass requirements about its end: exit code 2, also from the stored trace", () =>
    Effect.gen(function* () {
      const { hooks, probe, url } = yield* model({})
      const trace = `${yield* temporaryFolder}/trace.ndjson`
      const report = yield* runSuite({
        url,
        probe,
        hooks: { ...hooks, restart: Effect.void, names: { restart: "--restart-cmd" } },
        level: 3,
        only: ["R-CRA-04"],
        settle: 100,
        maxTime: 240_000,
        pace: 0.01,
        trace
      })
      const [requirement] = report.requirements
      assert.strictEqual(requirement?.verdict, "INCONCLUSIVE")
      assert.match(requirement?.observed ?? "", /^the receiver still answered after --restart-cmd/)
      assert.strictEqual(exitCodeOf(report), 2)
      assert.deepStrictEqual(yield* saidAgain(trace), report)
    })
  )
})

describe.concurrent("the end of a receiver is seen", () => {
  it.live("behind a proxy that answers 502 in the meantime", () =>
    Effect.gen(function* () {
      for (const by of ["kill", "restart"] as const) {
        let up = true
        const told = yield* Deferred.make<void>()
        const proxy = yield* receiver((_, response) => {
          answer(response, up ? 200 : 502)
          if (!up) Deferred.doneUnsafe(told, Effect.void)
        })
        const stop = Effect.sync(() => void (up = false))
        const start = Effect.sync(() => void (up = true))
        const hooks: Partial<Hooks> =
          by === "kill"
            ? { kill: stop, restart: start }
            : { restart: stop.pipe(Effect.andThen(Deferred.await(told)), Effect.andThen(start)) }
        const seen = yield* ended(proxy.url, killAmid, hooks)
        assertSeen(seen)
        assert.deepStrictEqual(seen.startedAfter, [by === "kill" ? "killed" : "running"])
      }
    })
  )

  it.live("by a request in flight that is cut off, even if it starts again immediately", () =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      const held: Array<Socket> = []
      const { url } = yield* receiver(({ method }, response, socket) => {
        if (method === "POST" && held.length === 0) {
          held.push(socket)
          Deferred.doneUnsafe(begun, Effect.void)
        } else answer(response, 200)
      })
      const kill = Effect.andThen(
        Deferred.await(begun),
        Effect.sync(() => held.forEach((socket) => socket.destroy()))
      )
      assertSeen(yield* ended(url, killAmid, { kill }))
    })
  )

  it.live("if it takes no more connections and waits until its open ones are closed", () =>
    Effect.gen(function* () {
      const server = createServer((request, response) => void request.resume().on("end", () => response.end()))
      const { port, url } = yield* Effect.acquireRelease(
        Effect.promise(() => listen(server)),
        ({ close }) => Effect.promise(close)
      )
      const again = Effect.promise(async () => {
        server.close()
        await once(server, "close")
        await once(server.listen(port, "127.0.0.1"), "listening")
      })
      assertSeen(yield* ended(`${url}/hook`, restart, { restart: again }).pipe(Effect.timeout(20_000)))
    })
  )
})

describe.concurrent("a receiver that should be paused", () => {
  it.live("is reported as not paused if it still answers, and is resumed", () =>
    Effect.gen(function* () {
      const { url } = yield* receiver(acknowledge)
      let resumed = 0
      const hooks: Partial<Hooks> = {
        pause: Effect.void,
        resume: Effect.sync(() => void resumed++),
        names: { pause: "--pause-cmd" }
      }
      const { broke } = yield* executed(pauseDuring, settingOf(new URL(url), { hooks: { ...noHooks, ...hooks } }))
      assert.match(broke?.message ?? "", /^The receiver still answers after --pause-cmd, so it is not paused\./)
      assert.strictEqual(resumed, 1)
    })
  )

  it.live("counts as paused if only a proxy answers for it", () =>
    Effect.gen(function* () {
      const { url } = yield* receiver((_, response) => answer(response, 504))
      const { broke } = yield* executed(
        pauseDuring,
        settingOf(new URL(url), { hooks: { ...noHooks, pause: Effect.void, resume: Effect.void } })
      )
      assert.isNull(broke)
    })
  )
})
