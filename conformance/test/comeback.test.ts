/**
 * Receivers that start again after the suite ended them, and receivers that stay down. Staying down is the receiver's
 * fault only if the same command or supervisor has started it before.
 */
import { freePort, listen } from "@doorhook/testkit/ListeningServer"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { receiverProgram } from "@doorhook/testkit/Doorhook"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { existsSync, readFileSync } from "node:fs"
import { createServer } from "node:http"
import { awaitReady, HookFailed, noHooks } from "../src/hooks/Hooks.ts"
import type { Hooks } from "../src/hooks/Hooks.ts"
import { spawned } from "../src/hooks/Spawned.ts"
import { startsAgain } from "../src/judgement/Judge.ts"
import { httpProbe } from "../src/probes/Probe.ts"
import type { Probe } from "../src/probes/Probe.ts"
import { exitCodeOf } from "../src/report/Explanation.ts"
import { run as runSuite } from "./support/run.ts"
import { executeIn, settingOf, criteria } from "./support/setting.ts"
import { saidAgain } from "./support/stored.ts"

/**
 * Restarts a receiver that first becomes ready at start number `startsAt`. Returns the outcome and the number of
 * starts.
 */
const restarted = (startsAt: number, given: { readonly startsIt?: boolean; readonly down?: string | undefined }) =>
  Effect.gen(function* () {
    let starts = 0
    const begun = yield* Deferred.make<void>()
    const down = "down" in given ? given.down : "it ended before it was ready: no disk"
    const failed = new HookFailed({ message: "the hook failed", ...(down === undefined ? {} : { down }) })
    const setting = settingOf(new URL("http://127.0.0.1:9/hook"), {
      hooks: {
        ...noHooks,
        restart: Effect.suspend(() => {
          starts++
          return Effect.asVoid(Deferred.succeed(begun, undefined))
        }),
        ready: Effect.suspend(() => (starts >= startsAt ? Effect.void : Effect.fail(failed))),
        startsIt: given.startsIt ?? true
      }
    })
    const restart = executeIn({ v: 1, ops: [{ k: "restart" }] }, setting)
    const fiber = yield* Effect.forkChild(restart)
    // The suite first checks that nothing listens at the URL, which takes real time.
    yield* Deferred.await(begun)
    yield* TestClock.adjust("2 minutes")
    const executed = yield* Fiber.join(fiber)
    return { ...executed, starts, startedAfter: setting.startedAfter }
  })

describe("a receiver that is down after a restart", () => {
  it.effect("is started for half a minute, then fails with its last words", () =>
    Effect.gen(function* () {
      const { broke, starts, trace } = yield* restarted(Infinity, {})
      assert.strictEqual(starts, 9)
      assert.isTrue(broke?.stayedDown)
      const finding = startsAgain(trace, criteria)
      assert.strictEqual(finding.verdict, "FAIL")
      if (finding.verdict === "FAIL") {
        assert.match(finding.observed, /did not start again.*: started 9 times in 32 s, it ended.*: no disk$/)
      }
    })
  )

  it.effect("does not fail if it starts at a later try", () =>
    Effect.gen(function* () {
      const { broke, startedAfter, starts, trace } = yield* restarted(7, {})
      assert.isNull(broke)
      assert.strictEqual(starts, 7)
      assert.notStrictEqual(startsAgain(trace, criteria).verdict, "FAIL")
      assert.isTrue(startedAfter.has("running"))
    })
  )

  it.effect("does not fail if the hook may be at fault: it failed, or does not start the receiver", () =>
    Effect.gen(function* () {
      for (const given of [{ down: undefined }, { startsIt: false }]) {
        const { broke, starts, trace } = yield* restarted(Infinity, given)
        assert.strictEqual(broke?.message, "the hook failed")
        assert.isUndefined(broke?.stayedDown)
        assert.strictEqual(starts, 1)
        assert.notStrictEqual(startsAgain(trace, criteria).verdict, "FAIL")
      }
    })
  )
})

/** Times of a supervised receiver, in milliseconds. */
interface Supervised {
  /** How long it still accepts connections after the kill, without answering. */
  readonly dies: number
  /** How long it then stays down until the supervisor starts it again. */
  readonly down: number
}

/** Starts a receiver that a hook kills and a supervisor starts again, with a probe that counts its effects. */
const supervised = ({ dies, down }: Supervised) =>
  Effect.gen(function* () {
    const effects = new Map<string, number>()
    const start = (port?: number) => {
      const life = { dying: false }
      const server = createServer((request, response) => {
        request.resume().on("end", () => {
          if (life.dying) return
          const id = String(request.headers["webhook-id"])
          effects.set(id, 1)
          response.end("ok")
        })
      })
      return listen(server, port).then(({ close, port: own }) => ({ life, close, port: own }))
    }
    let running = yield* Effect.promise(() => start())
    let ended = false
    const url = new URL(`http://127.0.0.1:${running.port}/hook`)
    yield* Effect.addFinalizer(() =>
      Effect.promise(() => {
        ended = true
        return running.close()
      })
    )
    const later = (milliseconds: number, act: () => Promise<unknown>): unknown =>
      milliseconds === 0 ? act() : setTimeout(() => void act(), milliseconds)
    const supervise = async (): Promise<void> => {
      if (!ended) running = await start(running.port)
    }
    const kill = Effect.suspend(() => {
      if (running.life.dying) return Effect.fail(new HookFailed({ message: "--kill-cmd ended with 1: nothing runs" }))
      running.life.dying = true
      later(dies, () => running.close().then(() => later(down, supervise)))
      return Effect.void
    })
    const hooks: Hooks = { ...noHooks, kill, ready: awaitReady(url, null) }
    const probe: Probe = {
      kind: "http",
      name: "effects",
      concurrency: 8,
      read: ({ webhookId }) => Effect.sync(() => ({ effects: effects.get(webhookId) ?? 0, digest: null, data: null }))
    }
    return { url, hooks, probe }
  })

describe.concurrent("a receiver that is killed by a command and started by a supervisor", () => {
  it.live("is awaited until it is gone, and not judged by what it did while dying", () =>
    Effect.gen(function* () {
      const { hooks, probe, url } = yield* supervised({ dies: 150, down: 300 })
      const report = yield* runSuite({
        url,
        hooks,
        probe,
        level: 3,
        only: ["R-CRA-03", "R-CRA-04"],
        settle: 1_000,
        maxTime: 60_000,
        pace: 0.01,
        seed: 1
      })
      assert.strictEqual(report.ended, "complete", report.endedBecause)
      for (const { id, observed, verdict } of report.requirements)
        assert.strictEqual(verdict, "PASS", `${id} ${observed}`)
    })
  )

  it.live("delays the run only briefly if the supervisor starts it before the suite sees it gone", () =>
    Effect.gen(function* () {
      const { hooks, url } = yield* supervised({ dies: 0, down: 0 })
      const { broke, trace } = yield* executeIn({ v: 1, ops: [{ k: "restart" }] }, settingOf(url, { hooks }))
      assert.isNull(broke)
      const [restart] = trace.interventions
      assert.isBelow((restart?.until ?? Infinity) - (restart?.from ?? 0), 4_000)
    })
  )
})

/** Runs the suite on a bundled receiver in a separate process. */
const run = Effect.fnUntraced(function* (command: string, only: ReadonlyArray<string>) {
  const folder = yield* temporaryFolder
  const port = yield* Effect.promise(freePort)
  const origin = new URL(`http://127.0.0.1:${port}`)
  const env = { PORT: String(port), DATABASE: `${folder}/receiver.db` }
  const hooks = yield* spawned(command, env, origin, new URL("/probe?id=none", origin))
  const trace = `${folder}/trace.ndjson`
  const report = yield* runSuite({
    url: new URL("/hook", origin),
    probe: httpProbe(new URL("/probe", origin)),
    hooks,
    level: 3,
    only,
    settle: 1_000,
    comeback: 1_000,
    maxTime: 60_000,
    pace: 0.5,
    trace
  })
  assert.deepStrictEqual(yield* saidAgain(trace), report)
  return report
})

const bundled = (fault: string): string =>
  `exec env FAULT=${fault} ${process.execPath} --no-warnings ${receiverProgram}`

describe.concurrent("a spawned receiver that does not start again after it was killed", () => {
  it.live("fails the requirements of that history with its last words, and ends the run", () =>
    Effect.gen(function* () {
      const report = yield* run(bundled("stale-lock"), ["R-DUP-02", "R-CRA-*"])
      const verdicts = report.requirements.map(({ id, verdict }) => `${id} ${verdict}`)
      assert.deepStrictEqual(verdicts, [
        "R-CRA-01 FAIL",
        "R-CRA-02 FAIL",
        "R-CRA-03 INCONCLUSIVE",
        "R-CRA-04 INCONCLUSIVE",
        "R-DUP-02 PASS"
      ])
      assert.match(report.requirements[1]?.observed ?? "", /did not start again.*the lock is held/)
      assert.match(
        report.requirements[2]?.observed ?? "",
        /^not fully tested: the receiver was killed and did not start/
      )
      assert.strictEqual(report.ended, "stayed_down")
      assert.strictEqual(exitCodeOf(report), 1)
    })
  )
})

/** Starts a spawned receiver twice. The second start prints `lastWords` and exits. Returns the error. */
const failedAfter = Effect.fnUntraced(function* (server: string, lastWords: string) {
  const folder = yield* temporaryFolder
  const port = yield* Effect.promise(freePort)
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      if (existsSync(`${folder}/pid`)) process.kill(Number(readFileSync(`${folder}/pid`, "utf8")), "SIGKILL")
    })
  )
  const origin = new URL(`http://127.0.0.1:${port}`)
  const command = `if mkdir up; then ${server}; else echo '${lastWords}' >&2; exit 1; fi`
  // Reports ready only once, so a process that survives is not mistaken for the second start.
  const program = `let asked = 0; require("http").createServer((_, answer) => answer.writeHead(asked++ === 0 ? 200 : 503).end()).listen(${port}, "127.0.0.1")`
  const env = { PROGRAM: program }
  const hooks = yield* spawned(`cd ${folder}; ${command}`, env, origin, origin)
  return yield* Effect.flip(Effect.andThen(hooks.restart ?? Effect.void, hooks.ready))
})

const serve = `${process.execPath} -e "$PROGRAM"`

describe.concurrent("a spawned receiver that ends before it is ready", () => {
  it.live("is down by its own fault, with its last words", () =>
    Effect.gen(function* () {
      const { down } = yield* failedAfter(serve, "no disk")
      assert.strictEqual(down, "it ended before it was ready: no disk")
    })
  )

  it.live("is down with last words that arrive after its end is known", () =>
    Effect.gen(function* () {
      const after = "while kill -0 $$ 2>/dev/null; do :; done; echo 'Error: no disk' >&2"
      const origin = new URL(`http://127.0.0.1:${yield* Effect.promise(freePort)}`)
      for (const code of [1, 0]) {
        const { down } = yield* Effect.flip(spawned(`(${after}) & exit ${code}`, {}, origin, origin))
        assert.strictEqual(down, "it ended before it was ready: Error: no disk", String(code))
      }
    })
  )

  it.live("is down even if a process that it started keeps its output open", () =>
    Effect.gen(function* () {
      const origin = new URL(`http://127.0.0.1:${yield* Effect.promise(freePort)}`)
      const holds = `${process.execPath} -e 'setInterval(() => {}, 1000); setTimeout(process.exit, 20000)'`
      const { down } = yield* Effect.flip(spawned(`${holds} & exit 1`, {}, origin, origin))
      assert.strictEqual(down, "it ended before it was ready, without an error message")
    })
  )

  it.live("is not at fault if its port is taken", () =>
    Effect.gen(function* () {
      assert.isUndefined((yield* failedAfter(serve, "Error: listen EADDRINUSE: address already in use")).down)
    })
  )
})

describe.concurrent("a spawned receiver that survives the kill", () => {
  it.live("is not taken for one that started again", () =>
    Effect.gen(function* () {
      // A process in its own session outlives the shell, as a container does.
      const { down, message } = yield* failedAfter(`setsid ${serve} & echo $! > pid; wait`, "the name is taken")
      assert.match(message, /^--spawn: something at http:\S+ still accepts connections after SIGKILL\./)
      assert.isUndefined(down)
    })
  )
})
