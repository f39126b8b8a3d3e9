/**
 * Measures how long a worker takes to deliver everything that became due while none was running.
 */
import { Effect } from "effect"
import type { Benchmark, Options } from "../harness/Benchmark.ts"
import { roundsOf } from "../harness/Benchmark.ts"
import {
  createIntegrations,
  delivered,
  postgresEngine,
  postgresPublisher,
  publishAll,
  settings,
  sqliteEngine,
  sqlitePublisher
} from "../harness/Engine.ts"
import { startPostgres } from "../harness/PostgresServer.ts"
import { startReceiver } from "../harness/Processes.ts"
import { rounded } from "../harness/Statistics.ts"
import { temporaryDatabase } from "../harness/Workload.ts"

const name = "drain-due"

/** Allowed time for a million deliveries, in seconds. */
const allowed = 180

const usualRows = 1_000_000

const storages = {
  sqlite: { engine: sqliteEngine, publisher: sqlitePublisher },
  postgres: { engine: postgresEngine, publisher: postgresPublisher }
}

/** Returns the seconds from the start of the worker until all deliveries are acknowledged. */
const drainOnce = Effect.fnUntraced(function* (
  storage: keyof typeof storages,
  address: string,
  port: number,
  rows: number
) {
  const { engine, publisher } = storages[storage]
  yield* Effect.andThen(createIntegrations(port), publishAll(rows)).pipe(Effect.provide(publisher(address)))
  const began = performance.now()
  yield* Effect.provide(delivered(rows), engine(address, settings))
  const seconds = (performance.now() - began) / 1_000
  process.stderr.write(`${storage}: ${rows} deliveries in ${rounded(seconds)} s\n`)
  return seconds
})

const run = Effect.fnUntraced(function* (options: Options) {
  const rows = options.rows ?? (options.quick ? 10_000 : usualRows)
  const server = yield* startPostgres
  const port = yield* startReceiver()
  const seconds = { sqlite: Array.of<number>(), postgres: Array.of<number>() }
  for (let round = 0; round < roundsOf(options, 1); round++) {
    seconds.sqlite.push(
      yield* Effect.scoped(Effect.flatMap(temporaryDatabase, (file) => drainOnce("sqlite", file, port, rows)))
    )
    seconds.postgres.push(
      yield* Effect.scoped(Effect.flatMap(server.newDatabase, (url) => drainOnce("postgres", url, port, rows)))
    )
  }
  const share = (allowed * rows) / usualRows
  const findingOf = (line: string, ours: ReadonlyArray<number>) => ({ line, ours, peer: ours.map(() => share) })
  return [findingOf(name, seconds.sqlite), findingOf(`${name}/postgres`, seconds.postgres)]
})

const lineOf = (database: string) => ({
  ours: `seconds until all are acknowledged, ${database}`,
  peer: `the allowed ${allowed} s per million`,
  unit: "s",
  goal: { is: "at most" as const, ratio: 1 }
})

export const benchmark: Benchmark = {
  name,
  minutes: 10,
  summary: "time in which a worker delivers a million due deliveries (other numbers with --rows N)",
  compares:
    "A million events are published for 16 integrations while no worker runs. Then one starts, with a receiver that responds at once. The time until all are acknowledged is compared with the allowed time, three minutes for a million.",
  leavesOut: "Several workers, receivers that are slow or fail, and the time of publishing.",
  lines: { [name]: lineOf("SQLite"), [`${name}/postgres`]: lineOf("PostgreSQL") },
  run
}
