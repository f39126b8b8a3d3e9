/**
 * Three processes on one PostgreSQL database, whose clocks a test moves under load. Checks that deliveries do not suffer.
 */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { newDatabase } from "@doorhook/testkit/postgres/TestServer"
import type { TestServer } from "@doorhook/testkit/postgres/TestServer"
import { startService } from "@doorhook/testkit/Doorhook"
import { movedClock } from "@doorhook/testkit/MovedClock"
import type { MovedClock } from "@doorhook/testkit/MovedClock"
import { handlingReceiver } from "@doorhook/testkit/Receiver"
import { accountFor, readinessOf } from "./Accounting.ts"
import { configured, integrate } from "./Delivering.ts"
import { eventually } from "./Eventually.ts"
import { startLoad } from "./Load.ts"
import type { Load } from "./Load.ts"

/** Receives events, refuses every fifth request, and notes what no receiver may see. */
const startWatchfulReceiver = Effect.gen(function* () {
  const open = new Map<string, number>()
  const acknowledged = new Set<string>()
  const wrong = { openAtOnce: 0, afterAcknowledgement: 0, most: 0 }
  const receiver = yield* handlingReceiver(({ headers }, response, _, nth) => {
    const id = String(headers["webhook-id"])
    if (acknowledged.has(id)) wrong.afterAcknowledgement++
    if (open.has(id)) wrong.openAtOnce++
    open.set(id, (open.get(id) ?? 0) + 1)
    wrong.most = Math.max(
      wrong.most,
      [...open.values()].reduce((sum, count) => sum + count, 0)
    )
    const isRefused = nth % 5 === 0
    setTimeout(
      () => {
        const left = (open.get(id) ?? 1) - 1
        if (left === 0) open.delete(id)
        else open.set(id, left)
        if (!isRefused) acknowledged.add(id)
        response.writeHead(isRefused ? 500 : 200).end()
      },
      40 + ((nth * 37) % 200)
    )
  })
  return { receiver, wrong }
})

/** A process with its own clock. */
export interface Host {
  readonly url: string
  readonly clock: MovedClock
  readonly stderr: () => string
}

/**
 * Publishes rings and access logs through three processes while `moving` moves their clocks. In the end, every event
 * must have been delivered, once, with never more than ten requests open, and never two of one delivery.
 */
export const underMovedClocks = Effect.fnUntraced(function* <E, R>(
  server: TestServer,
  moving: (hosts: readonly [Host, Host, Host], load: Load) => Effect.Effect<void, E, R>
) {
  const database = server.url(yield* newDatabase(server))
  const { receiver, wrong } = yield* startWatchfulReceiver
  // No attempt may time out on a busy machine, because the receiver would get it again.
  const flags = yield* configured(database, {
    ackTimeout: "4s",
    lease: "10s",
    retry: { access_log: Array.from({ length: 50 }, () => "300ms"), call: ["300ms", "1s", "3s", "9s"] }
  })
  const start = Effect.gen(function* () {
    const clock = yield* movedClock
    const { stderr, url } = yield* startService(flags, clock.env)
    return { clock, stderr, url } satisfies Host
  })
  const hosts = [yield* start, yield* start, yield* start] as const
  yield* integrate(hosts[1].url, receiver.url)
  let calls = 0
  const load = yield* startLoad(() => hosts[calls++ % 3]?.url ?? hosts[0].url, { rest: 200, rings: true })
  yield* Effect.promise(() => load.more(50))
  yield* moving(hosts, load)
  yield* Effect.promise(() => load.more(50))
  for (const { clock, url } of hosts) {
    clock.move(0)
    yield* eventually("ready", readinessOf(url), ({ code, status }) => code === 200 && status === "ready")
  }
  yield* accountFor({ url: hosts[1].url, load, receiver, cutOff: 0 })
  assert.deepStrictEqual(load.refused, [])
  assert.deepInclude(wrong, { openAtOnce: 0, afterAcknowledgement: 0 })
  assert.isAtMost(wrong.most, 10)
})
