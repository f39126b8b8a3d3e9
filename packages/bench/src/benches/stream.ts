/**
 * Measures live streams: how fast an event reaches many clients, and what idle streams cost.
 */
import { Effect } from "effect"
import { connect } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import type { Socket } from "node:net"
import { fileURLToPath } from "node:url"
import type { Benchmark, Options } from "../harness/Benchmark.ts"
import { roundsOf } from "../harness/Benchmark.ts"
import { requestText } from "../harness/Load.ts"
import { OAuthSession } from "../harness/OAuthSession.ts"
import { startPostgres } from "../harness/PostgresServer.ts"
import { startRingReceiver } from "../harness/Rings.ts"
import { building, startServer } from "../harness/ServerProcess.ts"
import { quantile, rounded, spread } from "../harness/Statistics.ts"
import { temporaryDatabase } from "../harness/Workload.ts"

const name = "stream"

/** Number of streams that are opened at the same time. */
const opened = 50

/** Most bytes of an idle stream, and the longest time to a stream of another process in milliseconds. */
const streamLimit = 10_000
const latencyLimit = 100

/** Milliseconds of a clock that all processes of the machine share. */
const now = (): number => Number(process.hrtime.bigint()) / 1e6

/** Starts `follow.ts`. */
const startFollowed = (database: string) =>
  startServer(fileURLToPath(new URL("../follow.ts", import.meta.url)), database)

const measure = async (port: number, path: string): Promise<string> =>
  (await fetch(`http://127.0.0.1:${port}/measure/${path}`)).text()

const memoryOf = async (port: number): Promise<{ readonly heap: number; readonly rss: number }> => {
  const memory: { readonly heap: number; readonly rss: number } = JSON.parse(await measure(port, "memory"))
  return memory
}

/** Clients that follow the events of a building by stream. */
class Followers {
  readonly #port: number
  readonly #request: string
  readonly #sockets: Array<Socket> = []
  /** When each client got the event with the number `#awaited`. */
  #arrivals: Array<number> = []
  #awaited = ""
  #allArrived: () => void = () => undefined

  constructor(port: number, token: string, of: number) {
    this.#port = port
    const headers = { authorization: `Bearer ${token}`, accept: "text/event-stream" }
    this.#request = requestText("GET", `/v4/buildings/${of}/events`, headers)
  }

  async open(count: number): Promise<void> {
    for (let left = count; left > 0; left -= opened)
      await Promise.all(Array.from({ length: Math.min(opened, left) }, () => this.#follow()))
  }

  /** Publishes events one by one at a server. Returns the latencies from then to each client's line. */
  async latencies(publisher: number, count: number): Promise<ReadonlyArray<number>> {
    const latencies: Array<number> = []
    for (let n = 1; n <= count; n++) {
      const arrived = new Promise<void>((resolve) => (this.#allArrived = resolve))
      this.#arrivals = []
      this.#awaited = `"n":${n}}`
      // Without a changing pause, each publication would come just after a look for new events.
      await sleep((n * 17) % 50)
      const at = Number(await measure(publisher, `publish?n=${n}`))
      await arrived
      latencies.push(...this.#arrivals.map((arrival) => arrival - at))
    }
    return latencies
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  /** Opens a stream, and returns when its first comment has come. */
  #follow(): Promise<void> {
    return new Promise((resolve, reject) => {
      const socket = connect(this.#port, "127.0.0.1")
      this.#sockets.push(socket)
      socket.setNoDelay().setEncoding("latin1").on("error", reject)
      socket.on("data", (text: string) => {
        if (text.includes("\n:")) resolve()
        if (!text.startsWith("HTTP/1.1 200") && text.startsWith("HTTP")) reject(new Error(text))
        if (this.#awaited === "" || !text.includes(this.#awaited)) return
        this.#arrivals.push(now())
        if (this.#arrivals.length === this.#sockets.length) this.#allArrived()
      })
      socket.write(this.#request)
    })
  }
}

/** Opens streams of a building for the lifetime of the scope. */
const follow = (port: number, token: string, count: number, of = building) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const followers = new Followers(port, token, of)
      await followers.open(count)
      return followers
    }),
    (followers) => Effect.sync(() => followers.close())
  )

const tokenOf = (port: number) =>
  Effect.promise(async () => (await new OAuthSession(port).grants(1))[0]?.access_token ?? "")

/** Latencies from publishing to the client's line, of one server. */
const latenciesOf = Effect.fnUntraced(function* (database: string, streams: number, events: number) {
  const { port } = yield* startFollowed(database)
  const token = database === "bare" ? "none" : yield* tokenOf(port)
  const followers = yield* follow(port, token, streams)
  // The first events warm up the compiler.
  yield* Effect.promise(() => followers.latencies(port, Math.ceil(events / 3)))
  return yield* Effect.promise(() => followers.latencies(port, events))
}, Effect.scoped)

/** Bytes of server memory that each of many idle streams takes. */
const bytesPerStream = Effect.fnUntraced(function* (database: string, streams: number) {
  const { port } = yield* startFollowed(database)
  const token = database === "bare" ? "none" : yield* tokenOf(port)
  // The first streams warm up the compiler.
  yield* Effect.scoped(follow(port, token, streams / 10))
  const before = yield* Effect.promise(() => memoryOf(port))
  yield* follow(port, token, streams)
  const after = yield* Effect.promise(() => memoryOf(port))
  return { heap: (after.heap - before.heap) / streams, rss: (after.rss - before.rss) / streams }
}, Effect.scoped)

/** Latencies of calls to a receiver, without and beside idle streams of another building's events. */
const ringsBeside = Effect.fnUntraced(function* (streams: number, rings: number) {
  const receiver = yield* startRingReceiver
  const { port } = yield* startFollowed(yield* temporaryDatabase)
  const token = yield* tokenOf(port)
  yield* Effect.promise(() =>
    new OAuthSession(port).createIntegration(token, `http://127.0.0.1:${receiver.port}/hook`, "call")
  )
  yield* receiver.ring(port, building, rings / 5)
  const alone = yield* receiver.ring(port, building, rings)
  yield* follow(port, token, streams, building + 1)
  return { alone, beside: yield* receiver.ring(port, building, rings) }
}, Effect.scoped)

/** Latencies from publishing at one process on PostgreSQL to the streams of another. */
const latenciesAcross = Effect.fnUntraced(function* (database: string, events: number) {
  const [publisher, server] = [yield* startFollowed(database), yield* startFollowed(database)]
  const followers = yield* follow(server.port, yield* tokenOf(server.port), 1)
  yield* Effect.promise(() => followers.latencies(publisher.port, events / 5))
  return yield* Effect.promise(() => followers.latencies(publisher.port, events))
}, Effect.scoped)

const run = Effect.fnUntraced(function* (options: Options) {
  const { quick } = options
  const streams = quick ? 20 : 1_000
  const idle = quick ? 50 : 10_000
  const events = quick ? 5 : 30
  const samples = quick ? 10 : 200
  const p99 = { ours: new Array<number>(), peer: new Array<number>() }
  const memory = new Array<{ readonly heap: number; readonly rss: number }>()
  const bareMemory = new Array<number>()
  const rings = { ours: new Array<number>(), peer: new Array<number>() }
  const across: Array<ReadonlyArray<number>> = []
  const postgres = yield* startPostgres
  for (let round = 1; round <= roundsOf(options, 3); round++) {
    const peer = yield* latenciesOf("bare", streams, events)
    const ours = yield* latenciesOf(yield* temporaryDatabase, streams, events)
    p99.ours.push(quantile(ours, 0.99))
    p99.peer.push(quantile(peer, 0.99))
    process.stderr.write(`round ${round}: ${spread(ours)}; bare ${spread(peer)}\n`)
    const bytes = yield* bytesPerStream(yield* temporaryDatabase, idle)
    const bare = yield* bytesPerStream("bare", idle)
    memory.push(bytes)
    bareMemory.push(bare.heap)
    process.stderr.write(`round ${round}: bytes of a stream ${JSON.stringify(bytes)}, bare ${JSON.stringify(bare)}\n`)
    const { alone, beside } = yield* ringsBeside(idle, samples)
    rings.ours.push(quantile(beside, 0.99))
    rings.peer.push(quantile(alone, 0.99))
    process.stderr.write(`round ${round}: calls beside idle streams ${spread(beside)}; alone ${spread(alone)}\n`)
    across.push(yield* latenciesAcross(yield* postgres.newDatabase, samples))
    process.stderr.write(`round ${round}: from another process ${spread(across.at(-1) ?? [])}\n`)
  }
  const p50 = rounded(quantile(across.flat(), 0.5))
  const rss = rounded(
    quantile(
      memory.map((each) => each.rss),
      0.5
    )
  )
  const bare_bytes = rounded(quantile(bareMemory, 0.5))
  return [
    { line: name, ...p99 },
    {
      line: `${name}/memory`,
      ours: memory.map(({ heap }) => heap),
      peer: memory.map(() => streamLimit),
      more: { resident_bytes: rss, bare_bytes }
    },
    { line: `${name}/calls`, ...rings },
    {
      line: `${name}/processes`,
      ours: across.map((each) => quantile(each, 0.99)),
      peer: across.map(() => latencyLimit),
      more: { p50_ms: p50 }
    }
  ]
})

export const benchmark: Benchmark = {
  name,
  minutes: 4,
  summary:
    "time from publishing an event to the lines of 1,000 streams, against a bare server, and the costs of 10,000 idle streams",
  compares:
    "An embedded doorhook on SQLite publishes 30 calls one by one. Latency is measured from each publication, so it includes the commit, to the line at each of 1,000 clients in another process. The bare server on `node:http` writes a line to each open answer, and stores nothing. The second line is the heap and external memory of the server, after a garbage collection, for each of 10,000 streams that get nothing; the results include its resident memory, and the heap that an answer of the bare server takes. The third line publishes 200 calls one by one over HTTP for a receiver, with and without 10,000 idle streams of another building. In the fourth, one process on PostgreSQL publishes, and a client follows by stream at another.",
  leavesOut: "Memory of the kernel, TLS, proxies, clients on other machines, and streams that fall behind.",
  notes:
    "A run on a busy machine (load 20): 2.87 (0.62 to 3.6, 272 ms against 77 ms); 11.6 kB of heap and 18.7 kB resident for a stream, where the bare server takes 5.2 kB and 13.5 kB; calls beside idle streams 1.63; p50 54 ms from another process, published just after a look for new events, which comes every 50 ms. Of doorhook's own 6.4 kB, about 1.3 kB are closures, 1.2 kB their contexts and 0.7 kB more headers.",
  lines: {
    [name]: {
      ours: "p99 from publishing to the line, 1,000 streams",
      peer: "p99 of a bare node:http server",
      unit: "ms",
      goal: { is: "at most", ratio: 2 }
    },
    [`${name}/memory`]: {
      ours: "bytes of an idle stream",
      peer: "the limit",
      unit: "B",
      goal: { is: "at most", ratio: 1 }
    },
    [`${name}/calls`]: {
      ours: "p99 from publish to the receiver, beside 10,000 idle streams",
      peer: "p99 without streams",
      unit: "ms",
      goal: { is: "at most", ratio: 2 }
    },
    [`${name}/processes`]: {
      ours: "p99 from publishing to a stream of another process",
      peer: "the limit",
      unit: "ms",
      goal: { is: "at most", ratio: 1 }
    }
  },
  run
}
