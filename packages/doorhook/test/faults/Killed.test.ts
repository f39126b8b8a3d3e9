/**
 * Processes are killed under load: others take over, and nothing is lost.
 */
import { assert, describe } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { copyFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { setTimeout as pause } from "node:timers/promises"
import { describeOnPostgres, newDatabase } from "@doorhook/testkit/postgres/TestServer"
import type { TestServer } from "@doorhook/testkit/postgres/TestServer"
import { accountFor, assertClearRefusals } from "../harness/Accounting.ts"
import { eventually } from "../harness/Eventually.ts"
import { configured, end, startDelivering } from "../harness/Delivering.ts"
import { live } from "../harness/Embedded.ts"
import { killService, leased } from "../harness/Kills.ts"
import { startLoad } from "../harness/Load.ts"
import { startService } from "@doorhook/testkit/Doorhook"
import { temporaryFolder } from "@doorhook/testkit/Process"
import type { Receiver } from "@doorhook/testkit/Receiver"

/**
 * Publishes 300 events directly in the database. A single process claims fewer at a time, so all processes wake up and
 * claim a share.
 */
const publishInDatabase = (server: TestServer, database: string) =>
  Effect.promise(async () => {
    const event = `json_build_object('resource_type', 'access_log', 'action', 'create', 'building_id', 1, 'data', json_build_object('id', n))`
    const rows = await server.administer(
      `SELECT p.id FROM generate_series(1, 300) AS n CROSS JOIN LATERAL doorhook.publish(${event}::text) AS p`,
      database
    )
    return rows.map(({ id }) => String(id))
  })

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/**
 * Returns the number of pending and retrying deliveries in a file, which include the leased ones. Reads a copy, because
 * opening the file would recover its log.
 */
const leasedIn = (file: string): number => {
  const copy = `${file}-copy`
  for (const part of ["", "-wal"]) copyFileSync(`${file}${part}`, `${copy}${part}`)
  const database = new DatabaseSync(copy)
  const held = database.prepare("SELECT id FROM deliveries WHERE state IN (0, 2)").all().length
  database.close()
  return held
}

const Body = Schema.Struct({ event: Schema.Struct({ data: Schema.Struct({ id: Schema.Finite }) }) })
const decodeBody = Schema.decodeUnknownSync(Schema.fromJsonString(Body))

/** Groups the received events by `data.id`. */
const eventsById = (receiver: Receiver): ReadonlyMap<number, ReadonlySet<string>> => {
  const all = new Map<number, Set<string>>()
  for (const { body, headers } of receiver.received) {
    const { id } = decodeBody(body).event.data
    all.set(id, (all.get(id) ?? new Set()).add(String(headers["webhook-id"])))
  }
  return all
}

describe("doorhook on a file when it is killed", () => {
  live(
    "repeatedly while publishing: every accepted event is stored and arrives, and no key publishes twice",
    function* () {
      const file = join(yield* temporaryFolder, "killed.db")
      const flags = yield* configured(file)
      const { receiver, service } = yield* startDelivering(flags)
      let running = service
      const load = yield* startLoad(() => running.url, { keys: true, rest: 0 })
      let cutOff = 0
      for (let kills = 1; kills <= 3; kills++) {
        yield* Effect.promise(() => load.more(100))
        const before = load.brokenOff()
        yield* end(running, "SIGKILL")
        yield* eventually("calls broke off", Effect.sync(load.brokenOff), (count) => count > before)
        cutOff += leasedIn(file)
        running = yield* startService(flags)
      }
      yield* Effect.promise(() => load.more(100))
      assertClearRefusals(load)
      yield* accountFor({ url: running.url, load, receiver, cutOff })
      const received = eventsById(receiver)
      assert.isAbove(load.keyed.size, 0)
      for (const [id, event] of load.keyed) assert.deepStrictEqual([...(received.get(id) ?? [])], [event])
    }
  )
})

await describeOnPostgres("doorhook when processes are killed", (server) => {
  // Concurrent, because these tests mostly wait for leases of dead processes to expire.
  describe("under load", { concurrent: true }, () => {
    live("the service, while it accepts and delivers events", function* () {
      yield* killService(server)
    })

    live("workers, repeatedly: each is replaced with a log line, and they end with a killed service", function* () {
      const database = yield* newDatabase(server)
      const flags = yield* configured(server.url(database))
      const slowly = () => pause(20, 200)
      const { receiver, service } = yield* startDelivering([...flags, "--workers", "2"], slowly)
      const pids = () => Array.from(service.stdout().matchAll(/worker process (\d+)/g), ([, pid]) => Number(pid))
      const ready = () => service.stdout().match(/doorhook worker ready/g)?.length ?? 0
      const untilReady = (count: number) => eventually("workers", Effect.sync(ready), (so) => so === count)
      yield* untilReady(2)
      const load = yield* startLoad(() => service.url)
      let cutOff = 0
      for (const pid of pids()) {
        yield* Effect.promise(() => load.more(50))
        for (const id of yield* publishInDatabase(server, database)) load.accepted.add(id)
        const sent = receiver.received.length
        yield* Effect.promise(() => receiver.until(({ length }) => length > sent + 50))
        process.kill(pid, "SIGKILL")
        cutOff += yield* leased(server, database)
        const told = new RegExp(`worker process ${pid} ended \\(SIGKILL\\); restarting in \\d+ ms`)
        yield* Effect.promise(() => service.complained(told))
      }
      assert.deepStrictEqual(load.refused, [])
      yield* Effect.promise(load.stop)
      yield* untilReady(4)
      yield* accountFor({ url: service.url, load, receiver, cutOff })

      const alive = pids().filter(isRunning)
      assert.strictEqual(alive.length, 2)
      yield* end(service, "SIGKILL")
      yield* eventually(
        "the workers are gone",
        Effect.sync(() => alive.filter(isRunning)),
        (left) => left.length === 0
      )
    })
  })
})
