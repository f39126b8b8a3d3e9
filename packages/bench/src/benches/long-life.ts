/**
 * Measures whether size and latency stay flat while a store runs for hours, with retention on.
 *
 * SQLite and PostgreSQL run side by side. In each round a reader lists deliveries, and once a backup reads everything.
 * PostgreSQL also has a standby.
 */
import { DeliveryStore, Publisher, Retention } from "@doorhook/core"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { startReplicated } from "@doorhook/testkit/postgres/ReplicatedServers"
import { administer } from "@doorhook/testkit/postgres/ServerProcess"
import { Effect, Layer, Schedule } from "effect"
import { statSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Benchmark, Options } from "../harness/Benchmark.ts"
import { roundsOf } from "../harness/Benchmark.ts"
import { createIntegrations, postgresEngine, sqliteEngine } from "../harness/Engine.ts"
import { runProgram, startReceiver } from "../harness/Processes.ts"
import { watch } from "../harness/RequestWatch.ts"
import { quantile, rounded } from "../harness/Statistics.ts"
import { callOf, eventOf, temporaryDatabase } from "../harness/Workload.ts"

const name = "long-life"

/** Events per second and database. */
const usualRate = 1_000

const batchesPerSecond = 10

/** Pause between two calls, whose latency is measured. */
const betweenCalls = "200 millis"

/** Number of the first rounds, in which the store still grows: it fills until `retention`, which is one round long. */
const fillingRounds = 2

const backup = fileURLToPath(new URL("../readWhole.ts", import.meta.url))

/** What one round has measured. */
interface Round {
  /** p99 from publishing a call to sending its request, in milliseconds. */
  readonly latency: number
  /** Size of the database at the end, in megabytes. */
  readonly size: number
  /** Number of dead rows at the end; 0 on SQLite. */
  readonly dead: number
  /** Number of deliveries that still waited at the end. */
  readonly waiting: number
}

interface Plan {
  readonly rounds: number
  /** Length of a round and of `retention`, in milliseconds. */
  readonly length: number
  /** Events per second. */
  readonly rate: number
}

/** A database and how its size is found. */
interface Measured {
  readonly what: "SQLite" | "PostgreSQL"
  /** A file or a URL. */
  readonly address: string
  readonly size: () => Promise<{ readonly size: number; readonly dead: number }>
}

const megabytes = (bytes: number): number => bytes / 1_000_000

const sqlite = Effect.map(temporaryDatabase, (address): Measured => ({
  what: "SQLite",
  address,
  size: () => Promise.resolve({ size: megabytes(statSync(address).size), dead: 0 })
}))

const replicatedSettings = ["shared_buffers=512MB", "max_wal_size=4GB", "wal_level=replica", "wal_keep_size=256MB"]

const postgres = Effect.acquireRelease(
  Effect.promise(() => startReplicated(replicatedSettings)),
  ({ stop }) => Effect.promise(stop)
).pipe(
  Effect.map(({ primary }): Measured => ({
    what: "PostgreSQL",
    address: primary.url,
    size: async () => {
      const statement =
        "SELECT pg_database_size(current_database())::float8 AS size, (SELECT sum(n_dead_tup)::float8 FROM pg_stat_user_tables) AS dead"
      const [row] = await administer(primary.url, statement)
      return { size: megabytes(Number(row?.["size"])), dead: Number(row?.["dead"]) }
    }
  }))
)

/** Runs the rounds on one database. */
const live = Effect.fnUntraced(function* (database: Measured, port: number, plan: Plan) {
  const { length, rate, rounds } = plan
  const { address, size, what } = database
  const { left, transport } = watch(({ body }) => body.includes('"call"'))
  const engine = (what === "SQLite" ? sqliteEngine : postgresEngine)(address, { retention: length }, transport)
  const folder = yield* temporaryFolder
  let events = 0
  let calls = 0
  const publishBatch = Effect.gen(function* () {
    const publisher = yield* Publisher
    const batch = Array.from({ length: Math.ceil(rate / batchesPerSecond) }, (_, index) => eventOf(events + index))
    events += batch.length
    yield* publisher.publish(batch)
  })
  const ring = (latencies: Array<number>) =>
    Effect.gen(function* () {
      const publisher = yield* Publisher
      const call = ++calls
      const began = performance.now()
      yield* publisher.publish([callOf(call)])
      while (!left.has(call)) yield* Effect.sleep(1)
      latencies.push((left.get(call) ?? Number.NaN) - began)
    })
  const read = Effect.flatMap(DeliveryStore, (store) => store.list({ order: "newest", limit: 100 }))
  const round = Effect.fnUntraced(function* (
    number: number
  ): Effect.fn.Return<Round, unknown, DeliveryStore | Publisher> {
    const latencies: Array<number> = []
    const copy = runProgram("the backup", backup, [address, join(folder, `${number}.db`)])
    yield* Effect.raceFirst(
      Effect.sleep(length),
      Effect.all(
        [
          Effect.repeat(publishBatch, Schedule.fixed(1_000 / batchesPerSecond)),
          Effect.repeat(ring(latencies), Schedule.spaced(betweenCalls)),
          Effect.repeat(read, Schedule.spaced("1 second")),
          Effect.andThen(copy, Effect.never)
        ],
        { concurrency: "unbounded", discard: true }
      )
    )
    const { states } = yield* Effect.flatMap(DeliveryStore, (store) => store.summary(0))
    const measured = {
      latency: quantile(latencies, 0.99),
      waiting: states.pending,
      ...(yield* Effect.promise(size))
    }
    process.stderr.write(
      `round ${number}: ${what} p99 ${rounded(measured.latency)} ms, ${rounded(measured.size)} MB, ${measured.dead} dead rows, ${measured.waiting} waiting, ${states.delivered} stored\n`
    )
    return measured
  })
  return yield* Effect.andThen(
    createIntegrations(port),
    Effect.forEach(
      Array.from({ length: rounds }, (_, index) => index + 1),
      round
    )
  ).pipe(Effect.provide(Layer.provideMerge(Retention.layer, engine)))
}, Effect.scoped)

/** Compares the last rounds with as many of the first ones after the store has filled. */
const findingsOf = (suffix: string, measured: ReadonlyArray<Round>) => {
  const steady = measured.slice(fillingRounds)
  const half = Math.max(1, Math.floor(steady.length / 2))
  const compare = (figure: (round: Round) => number) => ({
    ours: steady.slice(-half).map(figure),
    peer: steady.slice(0, half).map(figure)
  })
  const dead = compare((round) => round.dead)
  return [
    { line: `${name}${suffix}`, ...compare((round) => round.latency) },
    {
      line: `${name}${suffix}/size`,
      ...compare((round) => round.size),
      more: {
        rounds: measured.length,
        dead_rows_first: Math.max(...dead.peer),
        dead_rows_last: Math.max(...dead.ours),
        waiting_at_most: Math.max(...measured.map(({ waiting }) => waiting))
      }
    }
  ]
}

const run = Effect.fnUntraced(function* (options: Options) {
  const plan: Plan = {
    rounds: fillingRounds + roundsOf(options, 4),
    length: options.quick ? 10_000 : 600_000,
    rate: options.perSecond ?? usualRate
  }
  const port = yield* startReceiver()
  const [file, server] = yield* Effect.all([sqlite, postgres])
  const [onFile, onServer] = yield* Effect.all([live(file, port, plan), live(server, port, plan)], {
    concurrency: "unbounded"
  })
  return [...findingsOf("", onFile), ...findingsOf("/postgres", onServer)]
})

const latencyLine = (database: string) => ({
  ours: `p99 from publish to request in the last rounds, ${database}`,
  peer: "p99 in the first rounds after the store has filled",
  unit: "ms",
  goal: { is: "at most" as const, ratio: 1.5 }
})

const sizeLine = (database: string) => ({
  ours: `MB at the end of the last rounds, ${database}`,
  peer: "MB at the end of the first rounds after the store has filled",
  unit: "MB",
  goal: { is: "at most" as const, ratio: 1.1 }
})

export const benchmark: Benchmark = {
  name,
  minutes: 60,
  summary:
    "latency of calls, size and dead rows over hours with retention on (three hours with `--rounds 16`, other rates with `--per-second N`)",
  compares: `Rounds of ten minutes. Each database gets ${usualRate} access logs per second and five calls per second. Events are kept for ten minutes, so both are full after two rounds. A reader lists the newest deliveries every second, and in each round a backup reads the whole database. PostgreSQL streams to a standby. Both databases run at the same time. The last half of the full rounds is compared with the first half.`,
  leavesOut: "Receivers that fail, higher rates, and retention of months.",
  lines: {
    [name]: latencyLine("SQLite"),
    [`${name}/size`]: sizeLine("SQLite"),
    [`${name}/postgres`]: latencyLine("PostgreSQL"),
    [`${name}/postgres/size`]: sizeLine("PostgreSQL")
  },
  run
}
