/**
 * The probe of a store fails when publications would fail, and leaves nothing.
 */
import { SettingStore, StoreHealth } from "@doorhook/core"
import { SqliteStore } from "@doorhook/sql"
import { PostgresStore } from "@doorhook/sql/postgres"
import { describeOnPostgres, newDatabase } from "@doorhook/testkit/postgres/TestServer"
import { canMount, smallDisk } from "@doorhook/testkit/SmallDisk"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { readdirSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { join } from "node:path"
import pg from "pg"

const probe = Effect.flatMap(StoreHealth, (health) => health.probe)

/** Returns the reason for which the probe fails. */
const refusal = Effect.map(Effect.flip(probe), ({ reason }) => reason)

describe("the probe of a SQLite file", () => {
  const full = "detects a full disk while small changes still fit into the log"
  it.live.skipIf(!canMount(full))(full, () =>
    Effect.gen(function* () {
      const disk = yield* smallDisk(8)
      const filename = join(disk.folder, "doors.db")
      yield* Effect.gen(function* () {
        const settings = yield* SettingStore
        yield* probe
        yield* settings.replaceSecret("large", Redacted.make("x".repeat(400_000)))
        const other = new DatabaseSync(filename)
        other.exec("PRAGMA wal_checkpoint")
        other.close()
        yield* disk.fill
        yield* settings.replaceSecret("small", Redacted.make("x"))
        assert.strictEqual(yield* refusal, "disk_full")
        yield* disk.free
        yield* probe
        assert.sameMembers(readdirSync(disk.folder), ["doors.db", "doors.db-shm", "doors.db-wal"])
      }).pipe(Effect.provide(SqliteStore.layer({ filename })))
    }).pipe(Effect.scoped)
  )
})

await describeOnPostgres("the probe of a store", (server) => {
  it.live("fails while its table is locked, and leaves nothing", () =>
    Effect.gen(function* () {
      const name = yield* newDatabase(server)
      yield* Effect.gen(function* () {
        yield* probe
        const other = new pg.Client({ connectionString: server.url(name) })
        yield* Effect.acquireUseRelease(
          Effect.promise(() => other.connect()),
          () =>
            Effect.gen(function* () {
              yield* Effect.promise(() => other.query("BEGIN; LOCK TABLE doorhook.events"))
              assert.strictEqual(yield* refusal, "locked")
              yield* Effect.promise(() => other.query("ROLLBACK"))
            }),
          () => Effect.promise(() => other.end())
        )
        yield* probe
        const left = yield* Effect.promise(() => server.administer("SELECT id FROM doorhook.events", name))
        assert.deepStrictEqual(left, [])
      }).pipe(Effect.provide(Layer.fresh(PostgresStore.layer({ url: Redacted.make(server.url(name)) }))))
    }).pipe(Effect.scoped)
  )
})
