/**
 * Upgrades a store made by an older version and continues to use it. Also tests the documented way to make backups.
 */
import { assert, describe } from "@effect/vitest"
import { createDoorhook } from "doorhook"
import type { Doorhook } from "doorhook"
import { Effect } from "effect"
import { hash } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Webhook } from "standardwebhooks"
import { directory, event, live, mount, start } from "./harness/Embedded.ts"
import { startReceiver } from "@doorhook/testkit/Receiver"
import { startDoorhook } from "@doorhook/testkit/Doorhook"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { runHere } from "./harness/InProcess.ts"
import { callApi } from "./harness/ThirdParty.ts"

/** Ids and secrets in the fixture, which was made by version 0.1.0. */
const left = {
  encryptionKey: "fixture-encryption-key-0123456789abcdef",
  refresh_token: "dh_rt_2BCZkWPT_jHjp1EZ2BuZqm-h7vtX2lokeIeXpZZjzbQ",
  client_secret: "dh_cs_fM5QhbgmGFtqRoJdrzhjn1BLQ_oBfpWXrRQ98oCgJWg",
  tenantSecret: "whsec_yA2qdZmAojwj7d6oG5Pd6hfklJK7TR3R",
  operatorKey: "dhop_XCTZcgrf-CtPkwCwqj6yeZfd2PYMEeAto3gve3Cf0tY",
  deliveries: { delivered: 2, exhausted: 2, skipped: 1 }
}

/** Settings for the fixture's database. Retention deletes none of its rows. */
const settings = {
  encryptionKey: left.encryptionKey,
  retention: "forever",
  directory: {
    ...directory,
    isTenant: () => true
  }
}

const sqlOf = (name: string) => readFileSync(new URL(`fixtures/${name}`, import.meta.url), "utf8")

/** Makes a database file in the older version's format. */
const olderFile = Effect.map(temporaryFolder, (folder) => {
  const path = join(folder, "older.db")
  const database = new DatabaseSync(path)
  database.exec(sqlOf("sqlite-v1.sql"))
  database.close()
  return path
})

const shapeOf = (path: string) => {
  const database = new DatabaseSync(path, { readOnly: true })
  const parts = database
    .prepare(
      `SELECT s.type || ' ' || s.name || ' ' || coalesce(c.name || ' ' || c.type, '') AS part
       FROM sqlite_schema AS s LEFT JOIN pragma_table_info(s.name) AS c WHERE s.name NOT LIKE 'sqlite_%'`
    )
    .all()
    .map(({ part }) => String(part))
    .toSorted()
  database.close()
  return parts
}

const refresh = (url: string) =>
  Effect.promise(async () => {
    const body = new URLSearchParams({
      grant_type: "refresh_token",
      refresh_token: left.refresh_token,
      client_id: "fixture-client",
      client_secret: left.client_secret
    })
    const answer: unknown = await (await fetch(`${url}/oauth/token`, { method: "POST", body })).json()
    return String(Reflect.get(Object(answer), "access_token"))
  })

const countsOf = (doorhook: Doorhook) =>
  Effect.promise(async () => {
    const { deliveries, events } = await doorhook.deliveries.summary()
    const { delivered, exhausted, skipped } = deliveries
    return { events, delivered, exhausted, skipped }
  })

describe("a store of version 0.1.0", () => {
  live(
    "is upgraded: its contents are complete, tokens and secrets stay valid, deliveries continue",
    Effect.gen(function* () {
      const database = yield* olderFile
      const doorhook = yield* start({ database, ...settings })
      const { url } = yield* mount(doorhook)
      assert.deepStrictEqual(yield* countsOf(doorhook), { events: 3, ...left.deliveries })
      assert.strictEqual(doorhook.operatorKey, left.operatorKey)
      const token = yield* refresh(url)
      const receiver = yield* startReceiver()
      const change = {
        data: { type: "integrations", id: "2", attributes: { status: "enabled", configuration: { url: receiver.url } } }
      }
      const changed = yield* Effect.promise(() =>
        callApi(url, token, "PATCH", "/v4/tenants/101/integrations/2", change)
      )
      assert.strictEqual(changed.status, 200, yield* Effect.promise(() => changed.text()))
      // Recovered deliveries and a new one are signed with the secret that the older version encrypted.
      yield* Effect.promise(() => doorhook.deliveries.recover("2", "2020-01-01T00:00:00Z"))
      yield* Effect.promise(() => doorhook.publish({ ...event, building_id: 2, tenant_ids: [101] }))
      yield* Effect.promise(() => receiver.until(({ length }) => length >= 2))
      for (const { body, headers } of receiver.received) {
        const signed = Object.fromEntries(
          ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) => [name, String(headers[name])])
        )
        new Webhook(left.tenantSecret).verify(body, signed)
      }
      const { overrides } = yield* Effect.promise(() => doorhook.integrations.show("2"))
      assert.deepInclude(overrides, { acknowledge: "2xx" })
      const { notifications } = yield* Effect.promise(() => doorhook.notifications.list())
      assert.isAtLeast(notifications.length, 2)
    })
  )

  live(
    "then has the same tables as a new one",
    Effect.gen(function* () {
      const older = yield* olderFile
      const fresh = join(yield* temporaryFolder, "fresh.db")
      const migrated = yield* runHere(["migrate", "--database", older], { DOORHOOK_ENCRYPTION_KEY: left.encryptionKey })
      assert.match(migrated.stdout, /^the tables now have version \d+; they had version 1\n$/)
      assert.match((yield* runHere(["migrate", "--database", fresh])).stdout, /there were none/)
      assert.deepStrictEqual(shapeOf(older), shapeOf(fresh))
    })
  )

  live(
    "is not upgraded by migrate while a process delivers from it",
    Effect.gen(function* () {
      const database = join(yield* temporaryFolder, "doors.db")
      const service = yield* startDoorhook(["serve", "--port", "0", "--database", database])
      yield* Effect.promise(() => service.printed(/listening/))
      // The service counts as older if the newest change of the tables is missing.
      const tables = new DatabaseSync(database, { timeout: 10_000 })
      tables.exec(
        "DELETE FROM doorhook_migrations WHERE migration_id = (SELECT max(migration_id) FROM doorhook_migrations)"
      )
      tables.close()
      const refused = yield* runHere(["migrate", "--database", database])
      assert.match(refused.stderr, new RegExp(`process ${service.child.pid}, since .*, delivers from it`))
      assert.deepStrictEqual([refused.code, refused.stdout], [1, ""])
    })
  )
})

describe("an access token issued by version 0.1.0", () => {
  live(
    "is valid until it expires, and can be revoked",
    Effect.gen(function* () {
      const database = yield* olderFile
      const [valid, revoked, expired] = ["v", "r", "e"].map((letter) => `dh_at_${letter.repeat(43)}`)
      const before = new DatabaseSync(database)
      const insert = before.prepare(
        `INSERT INTO access_tokens (hash, grant_id, created_at, expires_at) SELECT ?, id, ?, ? FROM grants LIMIT 1`
      )
      const now = Date.now()
      for (const [token, expires_at] of [
        [valid, now + 3_600_000],
        [revoked, now + 3_600_000],
        [expired, now]
      ] as const)
        insert.run(hash("sha256", String(token), "base64url"), now - 60_000, expires_at)
      before.close()
      const { url } = yield* mount(yield* start({ database, ...settings }))
      const statusOf = (token: string | undefined) =>
        Effect.promise(async () => (await callApi(url, String(token), "GET", "/v4/tenants/101/integrations")).status)
      assert.deepStrictEqual(yield* Effect.forEach([valid, revoked, expired], statusOf), [200, 200, 401])
      const body = new URLSearchParams({
        token: String(revoked),
        client_id: "fixture-client",
        client_secret: left.client_secret
      })
      yield* Effect.promise(() => fetch(`${url}/oauth/revoke`, { method: "POST", body }))
      assert.deepStrictEqual(yield* Effect.forEach([valid, revoked], statusOf), [200, 401])
      // Only tokens issued by this version contain a number.
      assert.match(yield* refresh(url), /^dh_at_[1-9][0-9]*\.[A-Za-z0-9_-]{43}$/)
    })
  )
})

describe("data for a tenant in a store of version 0.1.0", () => {
  live(
    "is listed after an upgrade, even if that version had not prepared it for lists",
    Effect.gen(function* () {
      const database = yield* olderFile
      const before = new DatabaseSync(database)
      const ids = before
        .prepare("SELECT id FROM events WHERE tenant_ids = '[101]' ORDER BY seq DESC")
        .all()
        .map(({ id }) => id)
      before.exec(`INSERT INTO events_of (scope_type, scope_id, resource_type, event_seq)
        SELECT 'tenant', 101, resource_type, seq FROM events WHERE seq = 1; UPDATE numbers SET indexed = 1`)
      before.close()
      const { url } = yield* mount(yield* start({ database, ...settings }))
      const token = yield* refresh(url)
      const listed = yield* Effect.promise(async () => {
        const answer = await callApi(url, token, "GET", "/v4/tenants/101/access_logs")
        return (await answer.text()).match(/evt_\w+/g)
      })
      assert.lengthOf(ids, 2)
      assert.deepStrictEqual(listed, ids)
    })
  )
})

describe("a backup", () => {
  live(
    "is refused at the start without its encryption key, with an explanation",
    Effect.gen(function* () {
      const database = yield* olderFile
      const error: unknown = yield* Effect.promise(() =>
        createDoorhook({ database, directory }).then(
          (doorhook) => doorhook.close(),
          (thrown: unknown) => thrown
        )
      )
      assert.match(String(error), /encrypt/)
    })
  )
})
