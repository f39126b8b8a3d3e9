/**
 * The moment at which a receiver is killed.
 */
import { listen } from "@doorhook/testkit/ListeningServer"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { createServer } from "node:http"
import { accessLog } from "../src/history/Events.ts"
import { noHooks } from "../src/hooks/Hooks.ts"
import type { Hooks } from "../src/hooks/Hooks.ts"
import { defaultCriteria } from "../src/judgement/Criteria.ts"
import { executeIn, settingOf } from "./support/setting.ts"

interface Manners {
  /** Time until the receiver answers, in milliseconds. */
  readonly answers: number
  readonly status?: number
}

/** A receiver that a hook kills and starts again, and its answers and kills, in order. */
const mortal = ({ answers, status = 200 }: Manners) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const log: Array<"answered" | "killed"> = []
      const start = (port?: number) => {
        const server = createServer((request, response) => {
          const answer = (): unknown =>
            server.listening && response.writeHead(status).end("ok", () => log.push("answered"))
          request.resume().on("end", () => setTimeout(answer, answers))
        })
        return listen(server, port)
      }
      let running = await start()
      const { port, url } = running
      const hooks: Hooks = {
        ...noHooks,
        kill: Effect.promise(() => {
          log.push("killed")
          return running.close()
        }),
        restart: Effect.promise(async () => void (running = await start(port))),
        startsIt: true
      }
      return { url: new URL(`${url}/hook`), hooks, log, close: () => running.close() }
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

describe.concurrent("a kill that is timed from the first acknowledgement", () => {
  it.live("happens soon after it, however long the acknowledgement takes", () =>
    Effect.gen(function* () {
      const { log } = yield* killed({ answers: 200 }, 2_000)
      assert.strictEqual(log[0], "answered")
      assert.include([1, 2], log.indexOf("killed"), "each of two workers had one at most")
    })
  )

  it.live("happens without one if everything is refused or nothing is answered in time", () =>
    Effect.gen(function* () {
      const refusing = yield* killed({ answers: 0, status: 500 }, 60_000)
      assert.strictEqual(refusing.log.filter((what) => what === "killed").length, 1)
      const silent = yield* killed({ answers: 60_000 }, 300)
      assert.deepStrictEqual(silent.log, ["killed"])
      assert.isAtMost(silent.attempts, 4, "each of two workers was in its second at most")
    })
  )
})
