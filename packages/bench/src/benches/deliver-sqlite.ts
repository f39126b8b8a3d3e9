/**
 * Compares the engine on its default storage with a loop that only sends.
 */
import { Effect } from "effect"
import { againstBareLoop } from "../harness/BareLoop.ts"
import type { Benchmark } from "../harness/Benchmark.ts"
import { settings, sqliteEngine } from "../harness/Engine.ts"
import { temporaryDatabase } from "../harness/Workload.ts"

export const benchmark: Benchmark = {
  name: "deliver-sqlite",
  minutes: 1,
  summary:
    "deliveries per second on a SQLite file synced at each commit, from publish to settled, against a bare loop of the same requests",
  compares:
    "Four callers publish 20,000 events in batches of 100. Each event is sent once, and its outcome is recorded. The loop signs the same bodies and sends them with `undici.request`. Both keep 64 requests open, spread over 16 integrations, to a bare receiver in another process. Only doorhook stores events and deliveries before sending, matches events with integrations, leases deliveries, records attempts, and calls two directory functions before each attempt.",
  leavesOut: "Publishing over HTTP, receivers that fail or are slow, other disks, and more than one sender.",
  notes:
    "Three runs: 0.968, 0.816, 0.869; single rounds reached 0.63 to 1.85. A delivery costs the sending thread about 48 µs. Of this, the store takes less than 19 µs if the delivery is passed to the dispatcher in memory, and 32 µs if it is claimed from the database; the rest is mostly the socket, undici, the signature and garbage collection. A new process sends 4,300 deliveries a second during the first 20,000, and 9,400 after 60,000, so the benchmarks warm up with 20,000. Directory functions that return promises take about 20 % more time. Tried without a measurable gain: larger caches, memory-mapped files, 8 KiB pages, other checkpoints, smaller claims. A separate database thread saves the sending thread a third of its time, but takes 40 % more processor time in total.",
  lines: {
    "deliver-sqlite": {
      ours: "deliveries/s, SQLite, each commit synced",
      peer: "requests/s of the bare loop",
      unit: "1/s",
      goal: { is: "at least", ratio: 1.05 }
    }
  },
  run: (options) =>
    againstBareLoop(
      "deliver-sqlite",
      Effect.map(temporaryDatabase, (file) => sqliteEngine(file, settings)),
      options
    )
}
