/**
 * Measures whether old deliveries slow down new ones.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import type { Benchmark, Options } from "../harness/Benchmark.ts"
import { createIntegrations, drain, postgresEngine, settings, sqliteEngine } from "../harness/Engine.ts"
import { roundsOf } from "../harness/Benchmark.ts"
import type { PostgresServer } from "../harness/PostgresServer.ts"
import { startPostgres } from "../harness/PostgresServer.ts"
import { startReceiver } from "../harness/Processes.ts"
import { fillWithSettled } from "../harness/SettledRows.ts"
import { temporaryDatabase } from "../harness/Workload.ts"

const name = "growth"

const defaultRows = 10_000_000

/** Number of deliveries that are really made. All other settled deliveries are copies of these. */
const templates = 1_000

type Storage = "sqlite" | "postgres"

const engines = { sqlite: sqliteEngine, postgres: postgresEngine }

const newStorage = (storage: Storage, server: PostgresServer): Effect.Effect<string, never, Scope.Scope> =>
  storage === "sqlite" ? temporaryDatabase : server.newDatabase

const compare = Effect.fnUntraced(function* (storage: Storage, server: PostgresServer, port: number, options: Options) {
  const { quick, rows } = options
  const count = quick ? 1_000 : 10_000
  const rounds = roundsOf(options, 5)
  const settled = rows ?? (quick ? 20_000 : defaultRows)
  const drained = (address: string, size: number) =>
    Effect.map(Effect.provide(drain(size), engines[storage](address, settings)), ({ rate }) => rate)
  const prepared = Effect.gen(function* () {
    const address = yield* newStorage(storage, server)
    yield* Effect.provide(createIntegrations(port), engines[storage](address, settings))
    yield* drained(address, templates)
    return address
  })
  const small = yield* prepared
  const large = yield* prepared
  const began = performance.now()
  yield* fillWithSettled(storage, large, settled)
  process.stderr.write(
    `${storage}: ${settled} settled rows made in ${Math.round((performance.now() - began) / 1_000)} s\n`
  )
  const ours: Array<number> = []
  const peer: Array<number> = []
  yield* drained(small, count)
  yield* drained(large, count)
  for (let round = 0; round < rounds; round++) {
    peer.push(yield* drained(small, count))
    ours.push(yield* drained(large, count))
    process.stderr.write(
      `round ${round + 1}: ${storage} ${Math.round(ours.at(-1) ?? 0)}/s with ${settled} rows, ${Math.round(peer.at(-1) ?? 0)}/s without\n`
    )
  }
  return { ours, peer, more: { rows: settled } }
}, Effect.scoped)

const run = Effect.fnUntraced(function* (options: Options) {
  const server = yield* startPostgres
  const port = yield* startReceiver()
  return [
    { line: name, ...(yield* compare("sqlite", server, port, options)) },
    { line: `${name}/postgres`, ...(yield* compare("postgres", server, port, options)) }
  ]
})

export const benchmark: Benchmark = {
  name,
  minutes: 8,
  summary:
    "deliveries per second, from publish to settled, with 10 million settled deliveries in the store (fewer with --rows N), against an empty store",
  compares:
    "10,000 events are published, sent and settled, as in `deliver-sqlite`. One store has 10 million settled deliveries with their events and attempts, the other only those of earlier rounds. The 10 million are copies of real deliveries, made with SQL.",
  leavesOut: "Stores larger than the file cache, reading old deliveries, and purging them.",
  lines: {
    [name]: {
      ours: "deliveries/s with settled deliveries in the store, SQLite",
      peer: "deliveries/s on an empty store",
      unit: "1/s",
      goal: { is: "at least", ratio: 0.9 }
    },
    [`${name}/postgres`]: {
      ours: "deliveries/s with settled deliveries in the store, PostgreSQL",
      peer: "deliveries/s on an empty store",
      unit: "1/s",
      goal: { is: "at least", ratio: 0.9 }
    }
  },
  run
}
