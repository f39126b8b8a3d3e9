/**
 * The disk of the database is full. The health status says so, with publications and without, and nothing is lost.
 */
import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Scope } from "effect"
import { describeOnOwnPostgres, newDatabase } from "@doorhook/testkit/postgres/TestServer"
import { startService } from "@doorhook/testkit/Doorhook"
import type { SmallDisk } from "@doorhook/testkit/SmallDisk"
import { canMount, smallDisk } from "@doorhook/testkit/SmallDisk"
import { serverUser } from "@doorhook/testkit/postgres/ServerProcess"
import { chownSync } from "node:fs"
import { join } from "node:path"
import { accountFor, assertClearRefusals, readinessOf } from "../harness/Accounting.ts"
import { configured, startDelivering } from "../harness/Delivering.ts"
import { eventually } from "../harness/Eventually.ts"
import { startLoad } from "../harness/Load.ts"

const settings = { ackTimeout: "6s", lease: "12s" }

const untilReady = (url: string) => eventually("ready", readinessOf(url), ({ code }) => code === 200)

const untilFull = (url: string) =>
  eventually("the full disk is named", readinessOf(url), ({ code, status }) => code === 503 && status === "disk_full")

/** Fills the disk of an idle service. */
const idle = Effect.fnUntraced(function* (database: string, disk: SmallDisk) {
  const service = yield* startService(yield* configured(database, settings))
  yield* untilReady(service.url)
  yield* disk.fill
  yield* untilFull(service.url)
  yield* disk.free
  yield* untilReady(service.url)
})

/** Fills the disk under load. */
const busy = Effect.fnUntraced(function* (database: string, disk: SmallDisk) {
  const { receiver, service } = yield* startDelivering(yield* configured(database, settings))
  const load = yield* startLoad(() => service.url)
  yield* Effect.promise(() => load.more(50))
  yield* disk.fill
  yield* Effect.promise(() => load.moreRefused(20))
  yield* untilFull(service.url)
  yield* disk.free
  yield* untilReady(service.url)
  yield* Effect.promise(() => load.more(50))
  assertClearRefusals(load)
  yield* accountFor({ url: service.url, load, receiver, cutOff: Number.POSITIVE_INFINITY })
})

const onSmallDisk = (
  name: string,
  megabytes: number,
  body: (disk: SmallDisk) => Effect.Effect<void, unknown, Scope.Scope>
) => it.live.skipIf(!canMount(name))(name, () => Effect.scoped(Effect.flatMap(smallDisk(megabytes), body)))

describe("a full disk of a SQLite file", () => {
  onSmallDisk("is named while nothing is published", 8, (disk) => idle(join(disk.folder, "doors.db"), disk))
  onSmallDisk("is named while publications are refused, and nothing is lost", 8, (disk) =>
    busy(join(disk.folder, "doors.db"), disk)
  )
})

await describeOnOwnPostgres("a full disk of PostgreSQL", (server) => {
  /** Creates a database whose files are on the disk. */
  const database = Effect.fnUntraced(function* (disk: SmallDisk) {
    const name = yield* newDatabase(server)
    const { gid, uid } = serverUser()
    if (uid !== undefined && gid !== undefined) chownSync(disk.folder, uid, gid)
    yield* Effect.promise(async () => {
      await server.administer(`CREATE TABLESPACE ${name} LOCATION '${disk.folder}'`)
      await server.administer(`ALTER DATABASE ${name} SET TABLESPACE ${name}`)
    })
    return server.url(name)
  })

  onSmallDisk("is named while nothing is published", 40, (disk) =>
    Effect.flatMap(database(disk), (url) => idle(url, disk))
  )
  onSmallDisk("is named while publications are refused, and nothing is lost", 40, (disk) =>
    Effect.flatMap(database(disk), (url) => busy(url, disk))
  )
})
