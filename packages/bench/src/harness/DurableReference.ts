/**
 * The least that durable can take: one row written to a SQLite file and synced, by the thread that sends afterwards.
 *
 * Beside it one sees which part of a latency is the disk's.
 */
import { bodyOf } from "@doorhook/core"
import { DatabaseSync } from "node:sqlite"
import { setTimeout as sleep } from "node:timers/promises"
import { eventOf } from "./Workload.ts"

/** Writes so many rows, with a pause before each; answers how long each took, in milliseconds. */
export const durableWrites = async (file: string, count: number, pause: number): Promise<ReadonlyArray<number>> => {
  const db = new DatabaseSync(file)
  db.exec(
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE outbox (id INTEGER PRIMARY KEY, body TEXT)"
  )
  const insert = db.prepare("INSERT INTO outbox (body) VALUES (?)")
  const latencies: Array<number> = []
  for (let n = 0; n < count; n++) {
    await sleep(pause)
    const began = performance.now()
    insert.run(bodyOf(eventOf(n)))
    latencies.push(performance.now() - began)
  }
  db.close()
  return latencies
}
