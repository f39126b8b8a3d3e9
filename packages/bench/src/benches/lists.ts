/**
 * Measures how much clients that read long lists delay other clients.
 */
import { DeliveryStore, IntegrationStore, Publisher } from "@doorhook/core"
import { Effect } from "effect"
import type { Benchmark, Options } from "../harness/Benchmark.ts"
import { createIntegration, delivered, sqliteEngine } from "../harness/Engine.ts"
import { cpuPerRequest, load, requestText } from "../harness/Load.ts"
import { OAuthSession } from "../harness/OAuthSession.ts"
import { besideAndAlone, roundsOf } from "../harness/Benchmark.ts"
import { startReceiver } from "../harness/Processes.ts"
import { startRingReceiver } from "../harness/Rings.ts"
import { building, startService } from "../harness/ServerProcess.ts"
import { fillWithSettled } from "../harness/SettledRows.ts"
import { rounded } from "../harness/Statistics.ts"
import { eventIn, temporaryDatabase } from "../harness/Workload.ts"

const name = "lists"

const defaultRows = 1_000_000

/** Number of deliveries that are really made. All other deliveries are copies of these. */
const templates = 1_000

const clients = 10

/** Number of tokens per client, enough to stay below the service's request limit. */
const tokensPerClient = 25

/** Returns the path of one of the deepest pages of the list. */
const path = (turn: number): string => `/v4/buildings/${building}/access_logs?per=100&page=${81 + (turn % 20)}`

/** Creates a database in which one building has `rows` events and no integration. */
const prepare = Effect.fnUntraced(function* (rows: number) {
  const database = yield* temporaryDatabase
  const port = yield* startReceiver()
  const settle = Effect.gen(function* () {
    const integration = yield* createIntegration(building, port)
    const publisher = yield* Publisher
    yield* publisher.publish(Array.from({ length: templates }, (_, n) => eventIn(building, n)))
    yield* delivered(templates)
    yield* (yield* IntegrationStore).remove(integration)
    // The store starts to index events at the first read of a list. So read one before the copies are added.
    const { scope } = integration
    const page = { offset: 0, limit: 1, countUpTo: 1 }
    yield* (yield* DeliveryStore).events({ scope, resource_type: "access_log", ...page })
  })
  yield* Effect.provide(settle, sqliteEngine(database))
  yield* fillWithSettled("sqlite", database, rows)
  return database
})

const run = Effect.fnUntraced(function* (options: Options) {
  const { quick } = options
  const rings = quick ? 30 : 400
  const rows = options.rows ?? (quick ? 20_000 : defaultRows)
  const receiver = yield* startRingReceiver
  const database = yield* prepare(rows)
  const server = yield* startService(database)
  const { pid, port } = server
  const grants = yield* Effect.promise(async () => {
    const session = new OAuthSession(port)
    const made = await session.grants(clients * tokensPerClient)
    await session.createIntegration(made[0]?.access_token ?? "", `http://127.0.0.1:${receiver.port}/hook`, "call")
    return made
  })
  const requests = grants.map(({ access_token }, turn) =>
    requestText("GET", path(turn), { authorization: `Bearer ${access_token}` })
  )
  yield* Effect.promise(async () => {
    const headers = { authorization: `Bearer ${grants[0]?.access_token}` }
    const page = await (await fetch(`http://127.0.0.1:${port}${path(19)}`, { headers })).text()
    if (!page.includes('"page_item_count":100')) throw new Error(`the deepest page is not full: ${page.slice(0, 500)}`)
  })
  const read = (seconds: number) => load({ pid, port, requests, connections: clients, warmUp: 0, seconds })

  const ring = (count: number) => receiver.ring(port, building, count)
  /** Publishes calls while clients read lists. */
  const ringBesideReaders = Effect.raceFirst(
    Effect.delay(ring(rings), "1 second"),
    Effect.andThen(read(3_600), Effect.never)
  )

  // The first run warms up the compiler.
  yield* ring(rings / 5)
  const lists = yield* read(quick ? 0.5 : 3)
  const { p99, rate } = lists
  process.stderr.write(`nothing but lists: ${Math.round(rate)}/s, p99 ${rounded(p99)} ms\n`)
  return [
    {
      line: name,
      ...(yield* besideAndAlone(roundsOf(options, 3), 0.99, "readers", ring(rings), ringBesideReaders)),
      more: { rows, lists_per_s: Math.round(rate), ...cpuPerRequest({ lists: [lists] }) }
    }
  ]
})

export const benchmark: Benchmark = {
  name,
  minutes: 3,
  summary:
    "latency of a call while 10 clients read deep pages of a building with a million events, against its latency without them",
  compares:
    "400 calls are published one by one over HTTP to the built `doorhook serve`, on a SQLite file in which the building has 1,000,000 events. Latency is measured from publish to arrival at the receiver: once when idle, and once while ten clients read the deepest pages, of 100 access logs each, as fast as possible. The results include pages per second without calls, and the server's processor time per page.",
  leavesOut: "PostgreSQL, where the database server reads the lists, and clients on other machines.",
  notes:
    "The readers ask for pages as fast as possible and use a whole core, 2 ms per page: 0.5 ms to find the place of a deep page, 0.3 ms for its rows, the rest for decoding, formatting and HTTP. While a call is being stored, no piece of a list begins. Without that, the same machine measured 2.94, with 200,000 events, instead of 1.38.",
  lines: {
    [name]: {
      ours: "p99 from publish to the receiver, with 10 clients that read lists",
      peer: "p99 without readers",
      unit: "ms",
      goal: { is: "at most", ratio: 1.4 }
    }
  },
  run
}
