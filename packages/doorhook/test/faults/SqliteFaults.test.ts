/**
 * Under load, another process locks the database file, or the disk is full. The service survives, and nothing is lost.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import type { Scope } from "effect"
import { execFileSync } from "node:child_process"
import { statSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { accountFor, assertClearRefusals, listDeliveries, readinessOf } from "../harness/Accounting.ts"
import { eventually } from "../harness/Eventually.ts"
import { configured, startDelivering } from "../harness/Delivering.ts"
import { live } from "../harness/Embedded.ts"
import { startLoad } from "../harness/Load.ts"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { startService } from "@doorhook/testkit/Doorhook"

/**
 * While the process waits for the lock, up to two seconds at a time, it can't read receivers' answers. `ackTimeout` is
 * longer, so these answers don't count as late.
 */
const patient = { ackTimeout: "6s", lease: "12s" }

/** Whether the fault was short enough that no lease ended while its process could not record outcomes. */
const inTime = (since: number): boolean => performance.now() - since < 10_000

/** Maximum number of concurrent requests to one integration. */
const places = 10

/** Starts a service on a database file, under load, and waits for the first accepted events. */
const startAll = Effect.gen(function* () {
  const file = join(yield* temporaryFolder, "doors.db")
  const { receiver, service } = yield* startDelivering(yield* configured(file, patient))
  const load = yield* startLoad(() => service.url)
  yield* Effect.promise(() => load.more(50))
  return { file, load, receiver, service }
})

const untilReady = (url: string) => eventually("ready", readinessOf(url), ({ code }) => code === 200)

const untilRefusing = (url: string, cause: string) =>
  eventually("not ready", readinessOf(url), ({ code, status }) => code === 503 && status === cause)

/** Sets the maximum size of files that a process can write, to simulate a full disk. Null removes the limit. */
const limitFiles = (pid: number, bytes: number | null): void => {
  const soft = bytes === null ? "unlimited" : String(bytes)
  execFileSync("prlimit", ["--pid", String(pid), `--fsize=${soft}:unlimited`])
}

const canLimitFiles = (): boolean => {
  try {
    limitFiles(process.pid, null)
    return true
  } catch (cause) {
    process.stderr.write(`SKIPPED: a full disk: prlimit of util-linux is needed (${String(cause)})\n`)
    return false
  }
}

const onFullDisk = (name: string, body: Effect.Effect<void, unknown, Scope.Scope>) =>
  it.live.skipIf(!canLimitFiles())(name, () => Effect.scoped(body))

// Concurrent, because these tests mostly wait for periodic checks.
describe("doorhook when its file fails", { concurrent: true }, () => {
  live("another process locks it for some seconds", function* () {
    const { file, load, receiver, service } = yield* startAll
    const other = yield* Effect.acquireRelease(
      Effect.sync(() => new DatabaseSync(file, { timeout: 100 })),
      (database) => Effect.sync(() => database.close())
    )
    const since = performance.now()
    yield* Effect.try(() => other.exec("BEGIN EXCLUSIVE")).pipe(Effect.retry(Schedule.spaced("10 millis")))
    yield* Effect.promise(() => load.moreRefused(1))
    yield* untilRefusing(service.url, "locked")
    other.exec("COMMIT")
    yield* untilReady(service.url)
    const cutOff = inTime(since) ? places : Number.POSITIVE_INFINITY
    yield* Effect.promise(() => load.more(50))
    assertClearRefusals(load)
    yield* accountFor({ url: service.url, load, receiver, cutOff })
  })

  onFullDisk(
    "the disk becomes full while idle, which is noticed before the next event",
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "doors.db")
      const service = yield* startService(yield* configured(file, { pollInterval: "100ms" }))
      yield* untilReady(service.url)
      const pid = service.child.pid ?? 0
      limitFiles(pid, statSync(`${file}-wal`).size)
      yield* untilRefusing(service.url, "io_error")
      limitFiles(pid, null)
      yield* untilReady(service.url)
    })
  )

  onFullDisk(
    "the disk is full for some time",
    Effect.gen(function* () {
      const { file, load, receiver, service } = yield* startAll
      const pid = service.child.pid ?? 0
      const since = performance.now()
      limitFiles(pid, statSync(`${file}-wal`).size + 10_000)
      yield* Effect.promise(() => load.moreRefused(20))
      yield* untilRefusing(service.url, "io_error")
      // Reading still works.
      assert.isAtLeast((yield* listDeliveries(service.url)).length, load.accepted.size)
      limitFiles(pid, null)
      yield* untilReady(service.url)
      const cutOff = inTime(since) ? 0 : Number.POSITIVE_INFINITY
      yield* Effect.promise(() => load.more(50))
      assertClearRefusals(load)
      yield* accountFor({ url: service.url, load, receiver, cutOff })
    })
  )
})
