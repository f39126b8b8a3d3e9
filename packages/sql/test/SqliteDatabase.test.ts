/**
 * Opening database files: which files are refused and why, and what is restored when a file is opened again.
 */
import { DeliveryStore, SettingStore } from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { SqliteStore } from "@doorhook/sql"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { SqliteMigrations } from "../src/sqlite/migrations/index.ts"
import * as SqliteDatabase from "../src/sqlite/SqliteDatabase.ts"
import { inspect } from "../src/sqlite/SqliteInspection.ts"
import { integrationOfVersion1, namesTheFirst, onStore, open, refusal, tamper } from "./OpenedStore.ts"
import { temporaryFile } from "./TemporaryFile.ts"

/** The migrations of a made-up next release. */
const nextRelease = {
  ...SqliteMigrations.defaultValue(),
  "8_notes": Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql.unsafe("CREATE TABLE notes (text TEXT NOT NULL) STRICT")
    yield* sql.unsafe("INSERT INTO notes SELECT value FROM settings")
  })
}

describe("a next version of the tables", () => {
  it.effect("is made once, in one transaction, from the data of this version, which then refuses the file", () =>
    Effect.gen(function* () {
      const filename = yield* temporaryFile
      yield* onStore(
        { filename },
        SettingStore.use((store) => store.getOrCreate("key", "kept"))
      )
      const failing = { ...nextRelease, "9_failing": Effect.fail("no") }
      const failed = yield* Effect.provideService(refusal({ filename }), SqliteMigrations, failing)
      assert.include(failed.message, 'Migration "9_failing" failed')
      yield* Effect.replicateEffect(open({ filename }), 2).pipe(Effect.provideService(SqliteMigrations, nextRelease))
      const db = new DatabaseSync(filename, { readOnly: true })
      assert.deepEqual(
        db
          .prepare("SELECT text FROM notes")
          .all()
          .map(({ text }) => text),
        ["kept"]
      )
      db.close()
      const error = yield* refusal({ filename })
      assert.strictEqual(error.why, "newer_version")
      assert.include(error.message, "a newer doorhook made its tables (version 8; this doorhook supports up to 7)")
    })
  )
})

describe("tables of version 1", () => {
  it.effect("keep their integrations, which then can have a name", () =>
    Effect.gen(function* () {
      const filename = yield* temporaryFile
      const { "1_tables": tables } = SqliteMigrations.defaultValue()
      assert.isDefined(tables)
      yield* Effect.scoped(Layer.build(SqliteDatabase.layer({ filename }))).pipe(
        Effect.provideService(SqliteMigrations, { "1_tables": tables })
      )
      yield* tamper(filename, integrationOfVersion1("integrations"))
      assert.deepInclude(yield* inspect(filename), { version: 1, refusal: null, unreadable: [] })
      yield* onStore({ filename }, namesTheFirst)
    })
  )
})

describe("opening a file", () => {
  it.effect("creates a file that only its owner can read", () =>
    Effect.gen(function* () {
      const filename = yield* temporaryFile
      yield* open({ filename })
      assert.strictEqual(statSync(filename).mode & 0o777, 0o600)
    })
  )

  it.effect("finds everything again, and runs no migration twice", () =>
    Effect.gen(function* () {
      const filename = yield* temporaryFile
      const before = yield* onStore(
        { filename },
        Effect.gen(function* () {
          const integration = yield* StoreFixtures.createIntegration()
          yield* StoreFixtures.enqueue(...StoreFixtures.records(1, 3, integration))
          const leased = yield* StoreFixtures.claimOne(StoreFixtures.start)
          yield* StoreFixtures.settle(StoreFixtures.start, StoreFixtures.settlement(leased))
          yield* (yield* SettingStore).getOrCreate("key", "first")
          return yield* (yield* DeliveryStore).summary(StoreFixtures.start)
        })
      )
      yield* onStore(
        { filename },
        Effect.gen(function* () {
          assert.deepEqual(yield* (yield* DeliveryStore).summary(StoreFixtures.start), before)
          assert.strictEqual((yield* StoreFixtures.claim(StoreFixtures.start)).length, 2)
          const setting = yield* (yield* SettingStore).getOrCreate("key", "second")
          assert.deepEqual(setting, { value: "first", created: false })
        })
      )
    })
  )

  it.effect("makes deliveries of a dead process due immediately, and keeps all counts", () =>
    Effect.gen(function* () {
      const { heartbeat, claim, createIntegration, newEvent, pending, records, settle, settlement, start } =
        StoreFixtures
      const filename = yield* temporaryFile
      const copy = `${filename}.killed`
      const before = yield* onStore(
        { filename },
        Effect.gen(function* () {
          const store = yield* DeliveryStore
          const integration = yield* createIntegration()
          yield* heartbeat(start)
          yield* StoreFixtures.enqueue(...records(1, 3, integration))
          const handedOver = { state: "delivering", worker: StoreFixtures.worker } as const
          for (const n of [4, 5]) {
            const event = newEvent(n, { created_at: start + n })
            yield* store.enqueue([{ event, deliveries: [{ ...pending(integration, event), initial: handedOver }] }])
          }
          const [first] = yield* claim(start, { limit: 2 })
          if (first === undefined) return assert.fail("nothing claimed")
          yield* settle(start, settlement(first))
          for (const suffix of ["", "-wal"]) writeFileSync(copy + suffix, readFileSync(filename + suffix))
          return yield* store.summary(start)
        })
      )
      assert.deepInclude(before.states, { pending: 1, delivering: 3, delivered: 1 })
      yield* onStore(
        { filename: copy },
        Effect.gen(function* () {
          const store = yield* DeliveryStore
          const after = yield* store.summary(start)
          assert.deepEqual(after.states, { ...before.states, pending: 4, delivering: 0 })
          assert.strictEqual(after.events, 5)
          const listed = yield* store.list({ states: ["pending"], limit: 9 })
          assert.deepEqual(
            listed.map(({ next_attempt_at }) => next_attempt_at),
            [start, start, start + 4, start + 5]
          )
          assert.deepInclude(yield* heartbeat(start, "another"), { workers: 1, continued: false })
          assert.lengthOf(yield* claim(start + 5), 4)
        })
      )
    })
  )

  it.effect("treats a log as empty if its header was never synced, but not if something follows the header", () =>
    Effect.gen(function* () {
      const filename = yield* temporaryFile
      yield* open({ filename })
      writeFileSync(`${filename}-wal`, new Uint8Array(32))
      yield* open({ filename })
      writeFileSync(`${filename}-wal`, new Uint8Array(33))
      assert.include((yield* refusal({ filename })).message, "is damaged")
    })
  )

  it.effect("shares the file and its leases with another store of the same process", () =>
    Effect.gen(function* () {
      const filename = yield* temporaryFile
      const { start } = StoreFixtures
      const here = yield* Layer.build(Layer.fresh(SqliteStore.layer({ filename })))
      const there = yield* Layer.build(Layer.fresh(SqliteStore.layer({ filename })))
      const integration = yield* Effect.provideContext(StoreFixtures.createIntegration(), here)
      const records = StoreFixtures.records(1, 10, integration)
      const ids = yield* Effect.provideContext(StoreFixtures.enqueue(...records), there)
      const claimed: Array<number> = []
      for (const store of [here, there, here, there, here, there]) {
        const taken = yield* Effect.provideContext(StoreFixtures.claim(start, { limit: 2 }), store)
        claimed.push(...StoreFixtures.idsOf(taken))
      }
      assert.deepEqual(claimed, [...ids])
      const counted = yield* Effect.provideContext(
        DeliveryStore.use((store) => store.summary(start)),
        here
      )
      assert.deepInclude(counted, { events: 10 })
      assert.deepInclude(counted.states, { delivering: 10, pending: 0 })
    })
  )

  it.effect("leaves no partial change when the process ends without closing the file", () =>
    Effect.gen(function* () {
      const filename = yield* temporaryFile
      const scope = yield* Scope.make()
      const services = yield* Layer.buildWithScope(Layer.fresh(SqliteStore.layer({ filename })), scope)
      const work = Effect.gen(function* () {
        const integration = yield* StoreFixtures.createIntegration()
        yield* StoreFixtures.enqueue(...StoreFixtures.records(1, 100, integration))
      })
      yield* Effect.provideContext(work, services)
      // The state after a crash: the file and its write-ahead log.
      const copy = `${filename}.crashed`
      for (const suffix of ["", "-wal"]) writeFileSync(copy + suffix, readFileSync(filename + suffix))
      yield* Scope.close(scope, Exit.void)
      const claimed = yield* onStore({ filename: copy }, StoreFixtures.claim(StoreFixtures.start))
      assert.strictEqual(claimed.length, 100)
    })
  )
})

describe("refuses a file", () => {
  it.effect("that is not a database", () =>
    Effect.gen(function* () {
      const filename = yield* temporaryFile
      writeFileSync(filename, "These are the minutes of the meeting. ".repeat(100))
      const error = yield* refusal({ filename })
      assert.strictEqual(error.why, "not_a_database")
      assert.include(error.message, `Can't use ${filename}: it is not a SQLite database`)
    })
  )

  it.effect("that belongs to another application, and leaves it unchanged", () =>
    Effect.gen(function* () {
      const filename = yield* temporaryFile
      yield* tamper(filename, "CREATE TABLE people (name TEXT)")
      const error = yield* refusal({ filename })
      assert.strictEqual(error.why, "other_application")
      yield* tamper(filename, "PRAGMA application_id = 7; DROP TABLE people")
      assert.strictEqual((yield* refusal({ filename })).why, "other_application")
      const db = new DatabaseSync(filename)
      assert.deepEqual(db.prepare("SELECT * FROM sqlite_schema").all(), [])
      db.close()
    })
  )

  it.effect("that an unreleased build made", () =>
    Effect.gen(function* () {
      const filename = yield* temporaryFile
      yield* open({ filename })
      yield* tamper(filename, "UPDATE doorhook_migrations SET name = 'initial'")
      const error = yield* refusal({ filename })
      assert.strictEqual(error.why, "unreleased_version")
      assert.include(error.message, "Move the file away; the next start creates a new one.")
    })
  )

  it.effect("in a missing folder", () =>
    Effect.gen(function* () {
      const filename = `${yield* temporaryFile}/missing/doorhook.db`
      const error = yield* refusal({ filename })
      assert.strictEqual(error.why, "cannot_open")
      assert.include(error.message, "Check that its folder exists")
      assert.isFalse(existsSync(dirname(filename)))
    })
  )

  it.effect("that another process has locked", () =>
    Effect.gen(function* () {
      const filename = yield* temporaryFile
      yield* open({ filename })
      const other = new DatabaseSync(filename)
      other.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE")
      const error = yield* refusal({ filename, busyTimeout: 10 })
      other.close()
      assert.strictEqual(error.why, "locked")
      assert.include(error.message, "another process has it locked")
      yield* open({ filename })
    })
  )

  it.effect("that is new and locked by another process", () =>
    Effect.gen(function* () {
      const filename = yield* temporaryFile
      const other = new DatabaseSync(filename)
      other.exec("BEGIN EXCLUSIVE")
      const error = yield* refusal({ filename, busyTimeout: 10 })
      other.close()
      assert.strictEqual(error.why, "locked")
    })
  )
})

describe("a call that fails", () => {
  it.effect("names its operation and changes nothing", () =>
    Effect.gen(function* () {
      const filename = yield* temporaryFile
      yield* onStore(
        { filename },
        Effect.gen(function* () {
          const store = yield* DeliveryStore
          yield* StoreFixtures.enqueue(...StoreFixtures.records(1, 3, yield* StoreFixtures.createIntegration()))
          const [first, second] = yield* StoreFixtures.claim(StoreFixtures.start)
          if (first === undefined || second === undefined) return assert.fail("nothing claimed")
          // This trigger makes recording the second settlement fail.
          yield* tamper(
            filename,
            `CREATE TRIGGER broken BEFORE UPDATE ON deliveries WHEN old.id = ${second.id}
              BEGIN SELECT raise(ABORT, 'broken'); END`
          )
          const settlements = [first, second].map((delivery) => StoreFixtures.settlement(delivery))
          const outcomes = { worker: StoreFixtures.worker, settlements, releases: [] }
          const error = yield* Effect.flip(store.settle(outcomes, StoreFixtures.start, StoreFixtures.disableAfter))
          assert.strictEqual(error.operation, "DeliveryStore.settle")
          assert.include(error.message, "broken")
          const found = yield* store.find(first.id)
          assert.deepInclude(found, { attempts: [] })
          assert.strictEqual(found?.delivery.state, "delivering")
          assert.strictEqual((yield* store.summary(StoreFixtures.start)).states.delivering, 3)
          // When the settlements are separate calls that share a transaction, only the second call fails.
          const one = (at: number) =>
            store.settle({ ...outcomes, settlements: settlements.slice(at, at + 1) }, StoreFixtures.start, 1)
          const [good, bad] = yield* Effect.all([Effect.exit(one(0)), Effect.exit(one(1))], {
            concurrency: "unbounded"
          })
          assert.deepEqual([Exit.isSuccess(good), Exit.isSuccess(bad)], [true, false])
          const { states } = yield* store.summary(StoreFixtures.start)
          assert.deepInclude(states, { delivered: 1, delivering: 2 })
        })
      )
    })
  )
})
