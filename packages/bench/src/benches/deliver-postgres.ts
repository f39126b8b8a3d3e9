/**
 * Compares the engine on PostgreSQL with a loop that only sends.
 */
import { Effect } from "effect"
import { againstBareLoop } from "../harness/BareLoop.ts"
import type { Benchmark } from "../harness/Benchmark.ts"
import { postgresEngine, settings } from "../harness/Engine.ts"
import { startPostgres } from "../harness/PostgresServer.ts"

export const benchmark: Benchmark = {
  name: "deliver-postgres",
  minutes: 1,
  summary:
    "deliveries per second on PostgreSQL with one worker, from publish to settled, against a bare loop of the same requests",
  compares:
    "The work is the same as in `deliver-sqlite`, but stored in PostgreSQL. The database server runs on the same cores and syncs each commit.",
  leavesOut: "A network between engine and database, and more than one worker (see `scale-workers`).",
  notes:
    "Three runs: 0.759, 0.661, 0.694. The goal is met only on a machine that is twice as fast: engine, receiver and database server share two cores.",
  lines: {
    "deliver-postgres": {
      ours: "deliveries/s, PostgreSQL",
      peer: "requests/s of the bare loop",
      unit: "1/s",
      goal: { is: "at least", ratio: 0.9 }
    }
  },
  run: (options) =>
    Effect.flatMap(startPostgres, (server) =>
      againstBareLoop(
        "deliver-postgres",
        Effect.map(server.newDatabase, (url) => postgresEngine(url, settings)),
        options
      )
    )
}
