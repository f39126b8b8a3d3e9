/**
 * Kills and restarts of a receiver, at the right moment.
 */
import { listen } from "@doorhook/testkit/ListeningServer"
import type { ListeningServer } from "@doorhook/testkit/ListeningServer"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { createServer } from "node:http"
import { accessLog } from "../src/history/Events.ts"
import { again, newEvent } from "../src/history/History.ts"
import type { Operation } from "../src/history/Operations.ts"
import { retry } from "../src/history/Variations.ts"
import { noHooks } from "../src/hooks/Hooks.ts"
import type { Hooks } from "../src/hooks/Hooks.ts"
import { defaultCriteria } from "../src/judgement/Criteria.ts"
import type { Probe } from "../src/probes/Probe.ts"
import { executeIn, settingOf } from "./support/setting.ts"

interface Manners {
  /** Time until the receiver answers, in milliseconds. */
  readonly answers: number
  /** Time from the answer until the effect is on disk, in milliseconds; null if it is on disk before the answer. */
  readonly writesLater: number | null
  readonly status?: number
}

/** A receiver with a disk, and with a memory that a kill erases. */
const mortal = ({ answers, status = 200, writesLater }: Manners) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const disk = new Map<string, number>()
      /** Answers and kills, in order. */
      const log: Array<"answered" | "killed"> = []
      let life = 0
      const commit = (id: string): void => void (disk.has(id) || disk.set(id, 1))
      const start = (port?: number): Promise<ListeningServer> => {
        const mine = life
        const server = createServer((request, response) => {
          request.resume().on("end", () => {
            const id = String(request.headers["webhook-id"])
            setTimeout(() => {
              if (mine !== life) return
              if (status === 200 && writesLater === null) commit(id)
              response.writeHead(status).end("ok", () => log.push("answered"))
              if (writesLater !== null) setTimeout(() => mine === life && commit(id), writesLater)
            }, answers)
          })
        })
        return listen(server, port)
      }
      let running = await start()
      const { port, url } = running
      const hooks: Hooks = {
        ...noHooks,
        kill: Effect.promise(async () => {
          life++
          log.push("killed")
          await running.close()
        }),
        restart: Effect.promise(async () => {
          await running.close()
          running = await start(port)
        }),
        startsIt: true
      }
      const probe: Probe = {
        kind: "http",
        name: "disk",
        concurrency: 8,
        read: ({ webhookId }) => Effect.sync(() => ({ effects: disk.get(webhookId) ?? 0, digest: null, data: null }))
      }
      return { url: new URL(`${url}/hook`), hooks, probe, log, close: () => running.close() }
    }),
    ({ close }) => Effect.promise(close)
  )

/**
 * Kills the receiver soon after the first acknowledgement. Returns answers and kills in order, and the number of
 * attempts.
 */
const killed = Effect.fnUntraced(function* (manners: Manners, deadline: number) {
  const { hooks, log, url } = yield* mortal(manners)
  const { broke, trace } = yield* executeIn(
    { v: 1, ops: [{ k: "kill_amid", event: accessLog, workers: 2, after: 5, from: "acknowledgement" }] },
    settingOf(url, { criteria: { ...defaultCriteria, deadline }, hooks, comeback: 1_000 })
  )
  assert.isNull(broke)
  return { log, attempts: trace.attempts.length }
})

/** Executes an operation between an event and its retry, with only the hooks in `leaves`. */
const operated = Effect.fnUntraced(function* (operation: Operation, leaves: ReadonlyArray<"kill" | "restart">) {
  const { hooks, log, probe, url } = yield* mortal({ answers: 0, writesLater: null })
  const { kill, restart } = hooks
  const own = { ...hooks, kill: null, restart: null, ...(leaves.includes("kill") ? { kill } : {}) }
  const setting = settingOf(url, { hooks: { ...own, ...(leaves.includes("restart") ? { restart } : {}) } })
  const { broke, trace } = yield* executeIn({ v: 1, ops: [newEvent(accessLog), operation, again(0, retry)] }, setting)
  assert.isNull(broke)
  const [one] = trace.interventions
  const [first] = trace.events
  if (one === undefined || first === undefined) return assert.fail("an intervention and an event")
  const effects = yield* probe.read({ ...first, endpoint: null })
  const last = trace.attempts.at(-1)
  return {
    log,
    what: one.what,
    op: one.op,
    unended: one.unended !== undefined,
    effects: effects.effects,
    last,
    trace,
    setting
  }
})

describe.concurrent("an operation on the receiver itself", () => {
  it.live("restarts it: earlier effects are on its disk, and it is ready for the next request", () =>
    Effect.gen(function* () {
      const { effects, last, log, trace, ...done } = yield* operated({ k: "restart" }, ["restart"])
      assert.deepInclude(done, { what: "restarted", op: 1, unended: false })
      assert.deepStrictEqual([...done.setting.startedAfter], ["running"])
      assert.deepStrictEqual([effects, log], [1, ["answered", "answered"]])
      assert.deepInclude(last, { op: 2, number: 2, reused: false })
      assert.isTrue(trace.attempts.every(({ exchange }) => exchange._tag === "Answered"))
    })
  )

  it.live("kills it during traffic and starts it: requests in flight may fail, later requests do not", () =>
    Effect.gen(function* () {
      const kill: Operation = { k: "kill_amid", event: accessLog, workers: 2, after: 5, from: "acknowledgement" }
      const { effects, last, log, trace, ...done } = yield* operated(kill, ["kill", "restart"])
      assert.deepInclude(done, { what: "killed", op: 1, unended: false })
      assert.deepStrictEqual([...done.setting.startedAfter], ["killed"])
      assert.strictEqual(log.filter((what) => what === "killed").length, 1)
      assert.strictEqual(effects, 1)
      const amid = trace.attempts.filter(({ kind }) => kind === "amid")
      assert.isNotEmpty(amid)
      assert.isTrue(amid.every(({ op }) => op === 1))
      assert.deepInclude(last?.exchange, { _tag: "Answered", status: 200 })
    })
  )
})

describe.concurrent("a kill that is timed from the first acknowledgement", () => {
  it.live("happens soon after it, however long the acknowledgement takes", () =>
    Effect.gen(function* () {
      const { log } = yield* killed({ answers: 200, writesLater: null }, 2_000)
      assert.strictEqual(log[0], "answered")
      assert.include([1, 2], log.indexOf("killed"), "each of two workers had one at most")
    })
  )

  it.live("happens without one if everything is refused or nothing is answered in time", () =>
    Effect.gen(function* () {
      const refusing = yield* killed({ answers: 0, writesLater: null, status: 500 }, 60_000)
      assert.strictEqual(refusing.log.filter((what) => what === "killed").length, 1)
      const silent = yield* killed({ answers: 60_000, writesLater: null }, 300)
      assert.deepStrictEqual(silent.log, ["killed"])
      assert.isAtMost(silent.attempts, 4, "each of two workers was in its second at most")
    })
  )
})
