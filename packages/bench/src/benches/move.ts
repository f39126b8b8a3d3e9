/**
 * Measures how long `doorhook move` takes from a SQLite file to PostgreSQL.
 */
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import type { Benchmark, Options } from "../harness/Benchmark.ts"
import { roundsOf } from "../harness/Benchmark.ts"
import { createIntegrations, drain, settings, sqliteEngine } from "../harness/Engine.ts"
import { startPostgres } from "../harness/PostgresServer.ts"
import { startReceiver } from "../harness/Processes.ts"
import { builtCommand } from "../harness/ServerProcess.ts"
import { fillWithSettled } from "../harness/SettledRows.ts"
import { rounded } from "../harness/Statistics.ts"
import { temporaryDatabase } from "../harness/Workload.ts"

const name = "move"

/** Allowed time for ten million deliveries, in seconds. */
const allowed = 600

const usualRows = 1_000_000

/** Number of deliveries that are really made. All others are copies of these. */
const templates = 1_000

/** Moves a file to a database. Returns the seconds that the command takes. */
const moveOnce = Effect.fnUntraced(function* (from: string, to: string) {
  const command = yield* builtCommand
  return yield* Effect.promise(async () => {
    const began = performance.now()
    const child = spawn(process.execPath, [...command, "move", "--from", from, "--to", to], {
      stdio: ["ignore", "ignore", "inherit"]
    })
    const [code] = await once(child, "close")
    if (code !== 0) throw new Error(`doorhook move ended with exit code ${code}`)
    return (performance.now() - began) / 1_000
  })
})

const run = Effect.fnUntraced(function* (options: Options) {
  const rows = options.rows ?? (options.quick ? 10_000 : usualRows)
  const server = yield* startPostgres
  const port = yield* startReceiver()
  const file = yield* temporaryDatabase
  yield* Effect.andThen(createIntegrations(port), drain(templates)).pipe(Effect.provide(sqliteEngine(file, settings)))
  yield* fillWithSettled("sqlite", file, rows)
  const seconds: Array<number> = []
  for (let round = 0; round < roundsOf(options, 1); round++) {
    seconds.push(yield* Effect.scoped(Effect.flatMap(server.newDatabase, (url) => moveOnce(file, url))))
    process.stderr.write(`${rows} deliveries in ${rounded(seconds.at(-1) ?? 0)} s\n`)
  }
  return [{ line: name, ours: seconds, peer: seconds.map(() => (allowed * rows) / 10_000_000), more: { rows } }]
})

export const benchmark: Benchmark = {
  name,
  minutes: 3,
  summary:
    "time in which doorhook move takes a million deliveries from SQLite to PostgreSQL (other numbers with --rows N)",
  compares:
    "A SQLite file has a million acknowledged deliveries with their events and attempts. The built `doorhook move` copies them to an empty database, compares counts and digests, and ends the file. The time of the command is compared with the allowed time, ten minutes for ten million.",
  leavesOut: "A service that runs during the move, and a network between command and database.",
  lines: {
    [name]: {
      ours: "seconds of the command",
      peer: `the allowed ${allowed} s per ten million`,
      unit: "s",
      goal: { is: "at most", ratio: 1 }
    }
  },
  run
}
