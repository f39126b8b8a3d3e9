/**
 * Database files that are removed, replaced, linked or damaged. doorhook accepts no event that would be lost, and no
 * second process uses the files.
 */
import { startService } from "@doorhook/testkit/Doorhook"
import { temporaryFolder } from "@doorhook/testkit/Process"
import type { Running } from "@doorhook/testkit/Process"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import {
  copyFileSync,
  existsSync,
  linkSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  unlinkSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import { accountFor, listDeliveries } from "../harness/Accounting.ts"
import { configured, end, startDelivering } from "../harness/Delivering.ts"
import { codeOf, event, live, mount, start } from "../harness/Embedded.ts"
import { eventually, within } from "../harness/Eventually.ts"
import { runHere, serveHere } from "../harness/InProcess.ts"
import { startLoad } from "../harness/Load.ts"

const parts = ["", "-wal", "-shm"]

/** Starts a service that has accepted some events and is under load. Also returns the service's flags. */
const startAll = Effect.gen(function* () {
  const file = join(yield* temporaryFolder, "doors.db")
  const flags = yield* configured(file)
  const { receiver, service } = yield* startDelivering(flags)
  const load = yield* startLoad(() => service.url)
  yield* Effect.promise(() => load.more(20))
  return { file, flags, load, receiver, service }
})

/** Waits for a process to exit, and returns its exit code and output. */
const ended = ({ finished, stderr, stdout }: Running) =>
  within(
    "the process ends",
    Effect.promise(() => finished),
    () => `${stdout()}\n${stderr()}`
  )

/** Starts a service that must fail, and returns its error output. */
const refused = (flags: ReadonlyArray<string>) =>
  Effect.map(
    within("the start is refused", runHere(["serve", "--port", "0", ...flags]), () => "it serves"),
    ({ code, stderr }) => {
      assert.strictEqual(code, 1, stderr)
      return stderr
    }
  )

describe("doorhook when the files of its database are changed", { concurrent: true }, () => {
  live(
    "one that is deleted while open ends the process, and the next start does not begin with an empty one",
    function* () {
      const { file, flags, load, service } = yield* startAll
      const kept = `${file}-kept`
      renameSync(file, kept)
      const { code, stderr } = yield* ended(service)
      yield* Effect.promise(load.stop)
      assert.strictEqual(code, 1)
      assert.match(stderr, /doorhook: .*doors\.db or its log was deleted, moved or replaced while it was open/)

      assert.match(
        yield* refused(flags),
        /doors\.db: the log beside it is there, but the database file is missing.* Put back the database file/
      )
      renameSync(kept, file)
      const again = yield* serveHere(flags)
      const stored = new Set((yield* listDeliveries(again.url)).map(({ event_id }) => event_id))
      const all = [...load.accepted]
      // The process notices the move within a second. Until then it stored accepted events in the moved file, which is
      // back now.
      assert.deepStrictEqual(
        all.filter((id) => !stored.has(id)),
        []
      )
    }
  )

  live("one whose log is deleted while open ends the process", function* () {
    const { file, load, service } = yield* startAll
    unlinkSync(`${file}-wal`)
    const { code, stderr } = yield* ended(service)
    yield* Effect.promise(load.stop)
    assert.strictEqual(code, 1)
    assert.match(stderr, /doors\.db or its log was deleted/)
  })

  live("one that is replaced while open ends the process, and its replacement is left unchanged", function* () {
    const { file, flags, load, receiver, service } = yield* startAll
    yield* Effect.promise(load.stop)
    yield* eventually("delivered", listDeliveries(service.url), (all) =>
      all.every(({ state }) => state === "delivered")
    )
    const copy = `${file}-copy`
    for (const part of parts) copyFileSync(`${file}${part}`, `${copy}${part}`)
    const before = parts.slice(0, 2).map((part) => readFileSync(`${copy}${part}`))
    for (const part of parts) renameSync(`${copy}${part}`, `${file}${part}`)
    const { code, stderr } = yield* ended(service)
    assert.strictEqual(code, 1)
    assert.match(stderr, /doors\.db or its log was deleted, moved or replaced/)
    assert.deepStrictEqual(
      parts.slice(0, 2).map((part) => readFileSync(`${file}${part}`)),
      before
    )
    const again = yield* serveHere(flags)
    yield* accountFor({ url: again.url, load, receiver, cutOff: 0 })
  })

  live("one with a second name is refused, by either name", function* () {
    const { file, flags, load, receiver, service } = yield* startAll
    const second = `${file}-second`
    linkSync(file, second)
    const otherFlags = yield* configured(second)
    assert.match(yield* refused(otherFlags), /doors\.db-second: the file has 2 names \(hard links\)/)
    yield* Effect.promise(() => load.more(20))
    yield* accountFor({ url: service.url, load, receiver, cutOff: 0 })
    yield* end(service, "SIGTERM")
    assert.match(yield* refused(flags), /doors\.db: the file has 2 names/)
    unlinkSync(second)
    yield* serveHere(flags)
  })

  live("one whose lock file is removed keeps its owner, and excludes other processes", function* () {
    const { file, flags, load, receiver, service } = yield* startAll
    unlinkSync(`${file}-lock`)
    assert.match(yield* refused(flags), new RegExp(`process ${service.child.pid}, since .*, delivers from it`))
    assert.isTrue(existsSync(`${file}-lock`))
    yield* Effect.promise(() => load.more(20))
    yield* accountFor({ url: service.url, load, receiver, cutOff: 0 })
  })

  live("one with a damaged log is refused with instructions, but a torn end is accepted", function* () {
    const { file, flags, load, receiver, service } = yield* startAll
    yield* Effect.promise(load.stop)
    yield* eventually("delivered", listDeliveries(service.url), (all) =>
      all.every(({ state }) => state === "delivered")
    )
    yield* end(service, "SIGKILL")
    const log = `${file}-wal`
    const whole = readFileSync(log)
    for (const damaged of [Buffer.alloc(whole.length, "x"), Buffer.concat([Buffer.alloc(1), whole.subarray(1)])]) {
      writeFileSync(log, damaged)
      assert.match(
        yield* refused(flags),
        /doors\.db: the log beside it .* is damaged.* Restore .* move .*doors\.db-wal away/
      )
      const { code, stdout } = yield* runHere(["doctor", ...flags])
      assert.strictEqual(code, 1)
      assert.match(stdout, /is damaged/)
      assert.deepStrictEqual(readFileSync(log), damaged)
    }
    writeFileSync(log, Buffer.concat([whole, Buffer.alloc(5_000, "x")]))
    const again = yield* startService(flags)
    yield* accountFor({ url: again.url, load, receiver, cutOff: 0 })
    yield* end(again, "SIGKILL")
    truncateSync(log, 20)
    yield* serveHere(flags)
  })

  live(
    "one whose log is damaged in its middle is refused by each command, and starts when the lost frames are accepted",
    function* () {
      const { file, flags, load, service } = yield* startAll
      yield* Effect.promise(load.stop)
      yield* end(service, "SIGKILL")
      const log = `${file}-wal`
      const whole = readFileSync(log)
      // After the tables and the integration, before the last events.
      const damaged = whole.fill("x", whole.length - 60_000, whole.length - 59_000)
      writeFileSync(log, damaged)
      const found = /the log beside it .* is damaged: its last (\d+) frames can't be read.*--accept-lost-frames \1 /
      const lost = found.exec(yield* refused(flags))?.[1] ?? ""
      const doctor = yield* runHere(["doctor", ...flags])
      assert.match(doctor.stdout, new RegExp(`^FAIL +log +${found.source}`, "m"))
      const backup = yield* runHere(["backup", "--database", file, `${file}-copy`])
      assert.match(backup.stderr, new RegExp(`can't be copied: ${found.source}`))
      assert.deepStrictEqual([doctor.code, backup.code, existsSync(`${file}-copy`)], [1, 1, false])
      const accepted = ["--accept-lost-frames", lost]
      assert.match(yield* refused([...flags, "--accept-lost-frames", "1"]), /acceptLostFrames, not 1\)/)
      assert.notMatch((yield* runHere(["doctor", ...flags, ...accepted])).stdout, /FAIL/)
      assert.deepStrictEqual(readFileSync(log), damaged)
      const again = yield* serveHere([...flags, ...accepted])
      assert.deepStrictEqual(readFileSync(`${log}.damaged`), damaged)
      const later = yield* startLoad(() => again.url)
      yield* Effect.promise(() => later.more(20))
      yield* Effect.promise(later.stop)
      const stored = new Set((yield* listDeliveries(again.url)).map(({ event_id }) => event_id))
      assert.deepStrictEqual(
        [...later.accepted].filter((id) => !stored.has(id)),
        []
      )
    }
  )

  live("an embedded one reports the loss to its host, whose process continues", function* () {
    const file = join(yield* temporaryFolder, "doors.db")
    const errors: Array<string> = []
    const logger = {
      debug: () => {},
      info: () => {},
      warn: () => {},
      error: (line: unknown) => void errors.push(String(line))
    }
    const doorhook = yield* start({ database: file, logger })
    const { url } = yield* mount(doorhook)
    yield* Effect.promise(() => doorhook.publish(event))
    for (const part of parts) rmSync(`${file}${part}`)
    const refusal = yield* eventually(
      "noticed",
      Effect.promise(() => fetch(`${url}/health/ready`)),
      ({ status }) => status === 503
    )
    assert.match(yield* Effect.promise(() => refusal.text()), /doors\.db or its log was deleted/)
    const { code, message, status } = yield* codeOf(doorhook.publish(event))
    assert.deepStrictEqual([code, status], ["store_lost", 503])
    assert.match(message, /doors\.db or its log was deleted, moved or replaced.*start this process again/)
    assert.isTrue(
      errors.some((line) => line.includes("doors.db or its log was deleted")),
      errors.join("\n")
    )
    yield* Effect.promise(() => doorhook.close())
    // Another doorhook can be created in the same process.
    const next = yield* start({ database: file })
    yield* Effect.promise(() => next.publish(event))
  })
})
