/**
 * The directory on a host's own tables. SQLite and PostgreSQL give the same answers, with default and custom names.
 */
import { BuildingId, Directory, TenantId, UserId } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { createDoorhook, DoorhookError, hashPassword, publishIn, sqlDirectory } from "doorhook"
import type { HostDirectory, SqlDirectoryOptions } from "doorhook"
import { directoryOf } from "doorhook/effect"
import { Effect, Redacted } from "effect"
import { scrypt } from "node:crypto"
import { DatabaseSync } from "node:sqlite"
import { promisify } from "node:util"
import type pg from "pg"
import { describeOnPostgres, hostPool, newDatabase } from "@doorhook/testkit/postgres/TestServer"
import { codeOf, directory as known, live, mount, start, tokenFrom } from "../harness/Embedded.ts"
import { callApi } from "../harness/ThirdParty.ts"

const password = await hashPassword("correct horse", { ln: 10 })

/** The default schema, as in the documentation. */
const standard = `
  CREATE TABLE users (id bigint PRIMARY KEY, login text UNIQUE NOT NULL, password_hash text);
  CREATE TABLE buildings (id bigint PRIMARY KEY, name text NOT NULL, time_zone text NOT NULL);
  CREATE TABLE building_administrators (user_id bigint NOT NULL, building_id bigint NOT NULL);
  CREATE TABLE tenants (id bigint PRIMARY KEY, user_id bigint, building_id bigint NOT NULL, unit_id bigint, unit_label text);
  CREATE TABLE access_points (id bigint PRIMARY KEY, building_id bigint NOT NULL, name text NOT NULL);
  INSERT INTO users VALUES (1, 'ada', '${password}'), (2, 'bob', '${password}'), (3, 'eve', NULL);
  INSERT INTO buildings VALUES (1, 'North', 'Europe/Berlin'), (2, 'South', 'UTC');
  INSERT INTO building_administrators VALUES (1, 1);
  INSERT INTO tenants VALUES (101, 2, 1, 7, '4B'), (102, 2, 1, NULL, NULL), (103, NULL, 1, NULL, NULL);
  INSERT INTO access_points VALUES (11, 1, 'Front door'), (12, 2, 'Gate');
`

const answersOf = async (directory: HostDirectory) => ({
  right: await directory.authenticate("ada", "correct horse"),
  wrong: await directory.authenticate("ada", "wrong"),
  unknown: await directory.authenticate("nobody", "correct horse"),
  injected: await directory.authenticate("' OR 1=1 --", "correct horse"),
  noPassword: await directory.authenticate("eve", ""),
  administers: [await directory.administers("1", 1), await directory.administers("1", 2)],
  isTenant: [
    await directory.isTenant("2", 101),
    await directory.isTenant("1", 101),
    await directory.isTenant("2", 103)
  ],
  isActive: [await directory.isActive?.("1"), await directory.isActive?.("9")],
  buildings: await directory.buildings?.("1"),
  tenants: await directory.tenants?.("2"),
  none: [await directory.buildings?.("2"), await directory.tenants?.("1")]
})

const expected = {
  right: { id: "1" },
  wrong: null,
  unknown: null,
  injected: null,
  noPassword: null,
  administers: [true, false],
  isTenant: [true, false, false],
  isActive: [true, false],
  buildings: [{ id: 1, name: "North", time_zone: "Europe/Berlin", access_points: [{ id: 11, name: "Front door" }] }],
  tenants: [
    { id: 101, building_id: 1, unit: { id: 7, label: "4B" } },
    { id: 102, building_id: 1, unit: null }
  ],
  none: [[], []]
}

/** A host with custom names, a column for active users, and its own password hash. */
const own = `
  CREATE TABLE "Konten" (kid text PRIMARY KEY, mail text NOT NULL, geheim text NOT NULL, aktiv boolean NOT NULL);
  CREATE TABLE rights (who text NOT NULL, house bigint NOT NULL);
  INSERT INTO "Konten" VALUES ('k1', 'ada', 'md5:x', TRUE), ('k2', 'old', 'md5:x', FALSE);
  INSERT INTO rights VALUES ('k1', 1);
`

const ownNames = {
  tables: {
    users: { table: "Konten", id: "kid", login: "mail", password: "geheim", active: "aktiv" },
    administrators: { table: "rights", user: "who", building: "house" },
    tenants: null,
    buildings: null
  },
  verifyPassword: (given: string, stored: string) => stored === `md5:${given}`
} satisfies Omit<SqlDirectoryOptions, "database">

const ownAnswersOf = async (directory: HostDirectory) => [
  await directory.authenticate("ada", "x"),
  await directory.authenticate("old", "x"),
  await directory.isActive?.("k2"),
  await directory.administers("k1", 1),
  await directory.isTenant("k1", 101),
  await directory.buildings?.("k1")
]

const ownExpected = [{ id: "k1" }, null, false, true, false, []]

describe("the directory over tables", () => {
  it("answers from SQLite", async () => {
    const database = new DatabaseSync(":memory:")
    database.exec(standard)
    assert.deepStrictEqual(await answersOf(sqlDirectory({ database })), expected)
    database.exec(own)
    assert.deepStrictEqual(await ownAnswersOf(sqlDirectory({ database, ...ownNames })), ownExpected)
  })

  it.effect("answers the Effect service, too", () => {
    const database = new DatabaseSync(":memory:")
    database.exec(standard)
    return Effect.gen(function* () {
      const directory = yield* Directory
      const [ada, bob] = [UserId.make("1"), UserId.make("2")]
      const [north, south] = [BuildingId.make(1), BuildingId.make(2)]
      assert.deepStrictEqual(yield* directory.authenticate("ada", Redacted.make("correct horse")), { id: ada })
      assert.isNull(yield* directory.authenticate("ada", Redacted.make("wrong")))
      assert.deepStrictEqual(
        [yield* directory.administers(ada, north), yield* directory.administers(ada, south)],
        [true, false]
      )
      assert.isTrue(yield* directory.isTenant(bob, TenantId.make(101)))
      assert.isFalse(yield* directory.isActive(UserId.make("9")))
      assert.deepStrictEqual<unknown>(yield* directory.buildings(ada), expected.buildings)
      assert.deepStrictEqual<unknown>(yield* directory.tenants(bob), expected.tenants)
    }).pipe(Effect.provide(directoryOf(sqlDirectory({ database, client: known.client }))))
  })

  live("refuses ids that are not numbers when they are first used, and names the value and the rule", function* () {
    const database = new DatabaseSync(":memory:")
    database.exec(`
        CREATE TABLE users (id text PRIMARY KEY, login text, password_hash text);
        CREATE TABLE buildings (id text PRIMARY KEY, name text, time_zone text);
        CREATE TABLE building_administrators (user_id text, building_id text);
        INSERT INTO users VALUES ('u1', 'admin', 'right');
        INSERT INTO buildings VALUES ('b-1', 'North', 'UTC');
        INSERT INTO building_administrators VALUES ('u1', 'b-1');
      `)
    const tables = { tenants: null, accessPoints: null }
    const lines: Array<string> = []
    const keep = (line: string) => void lines.push(line)
    const doorhook = yield* start({
      directory: sqlDirectory({
        database,
        tables,
        client: known.client,
        verifyPassword: (given, kept) => given === kept
      }),
      logger: { info: keep, warn: keep, error: keep }
    })
    const { url } = yield* mount(doorhook)
    const token = yield* tokenFrom(url)
    const answer = yield* Effect.promise(() => callApi(url, token, "GET", "/v4/buildings"))
    assert.strictEqual(answer.status, 503)
    // Retrying would not help, so the response has no `Retry-After`.
    assert.isNull(answer.headers.get("retry-after"))
    assert.match(lines.at(-1) ?? "", /: \/0\/id must be a positive whole number, not "b-1"\. request_id=/)
  })

  const startedOver = Effect.fnUntraced(function* (options: SqlDirectoryOptions) {
    const warnings: Array<string> = []
    const checked = Promise.withResolvers<void>()
    const host = sqlDirectory(options)
    const doorhook = yield* start({
      directory: {
        ...host,
        check: async (warn) => {
          await host.check?.(warn)
          checked.resolve()
        }
      },
      logger: { info: () => {}, warn: (line) => warnings.push(line), error: () => {} }
    })
    yield* Effect.promise(() => checked.promise)
    return { doorhook, warnings: () => warnings.filter((line) => line.includes("sqlDirectory")) }
  })

  live(
    "warns at the start about each table and column that it can't read, with the option that names it",
    function* () {
      const database = new DatabaseSync(":memory:")
      database.exec(standard)
      database.exec("DROP TABLE access_points; ALTER TABLE users RENAME COLUMN login TO email")
      const missing = yield* startedOver({ database })
      const [users = "", points = "", ...others] = missing.warnings()
      assert.match(
        users,
        /can't read tables.users \(table users, columns id, login, password_hash\): no such column: .?login/
      )
      assert.match(
        points,
        /can't read tables.accessPoints \(table access_points, .*\): no such table: access_points.*`tables`/
      )
      assert.lengthOf(others, 0)
      const away = yield* startedOver({ database: () => Promise.reject(new Error("connect ECONNREFUSED")) })
      assert.lengthOf(away.warnings(), 1)
      assert.match(away.warnings()[0] ?? "", /tables.users .*, tables.tenants .*: connect ECONNREFUSED/)
      const right = yield* startedOver({ database, tables: { users: { login: "email" }, accessPoints: null } })
      assert.lengthOf(right.warnings(), 0)
    }
  )

  live("warns once about a stored password that it can't verify, without showing it", function* () {
    const database = new DatabaseSync(":memory:")
    database.exec(standard)
    const directory = sqlDirectory({ database })
    const warnings: Array<string> = []
    yield* start({ directory, logger: { info: () => {}, warn: (line) => warnings.push(line), error: () => {} } })
    database.exec("UPDATE users SET password_hash = '$2b$10$abcdefghijk' WHERE login = 'ada'")
    for (const _ of [1, 2]) {
      assert.isNull(yield* Effect.promise(async () => directory.authenticate("ada", "correct horse")))
    }
    const about = warnings.filter((line) => line.includes("users.password_hash"))
    assert.lengthOf(about, 1)
    assert.match(about[0] ?? "", /not scrypt in PHC form.*`verifyPassword`/)
    assert.notInclude(about[0] ?? "", "2b")
    database.exec("UPDATE users SET password_hash = '$2b$10$abcdefghijk'")
    assert.lengthOf((yield* startedOver({ database })).warnings(), 1)
  })

  it("checks an unknown login like a known one, so that both take the same time, and refuses it", async () => {
    const database = new DatabaseSync(":memory:")
    database.exec(own)
    const checked: Array<string> = []
    const directory = sqlDirectory({
      database,
      ...ownNames,
      verifyPassword: (_, stored) => {
        checked.push(stored)
        return true
      }
    })
    assert.isNull(await directory.authenticate("nobody", "x"))
    assert.deepStrictEqual(checked, ["md5:x"])
    assert.deepStrictEqual(await directory.authenticate("ada", "x"), { id: "k1" })
    database.exec(`UPDATE "Konten" SET geheim = 'md5:y'`)
    await directory.authenticate("ada", "x")
    // Passwords of unknown logins are checked against a current hash, so that timing reveals nothing.
    assert.isNull(await directory.authenticate("nobody", "x"))
    assert.isNull(await directory.authenticate("old", "x"))
    assert.deepStrictEqual(checked, ["md5:x", "md5:x", "md5:y", "md5:y", "md5:y"])
  })

  it("takes as long for an unknown login as for stored hashes, whatever their cost", async () => {
    const database = new DatabaseSync(":memory:")
    database.exec(standard)
    database.prepare("UPDATE users SET password_hash = ?").run(await hashPassword("correct horse", { ln: 4, p: 1 }))
    const directory = sqlDirectory({ database })
    const ask = async () => {
      assert.isNull(await directory.authenticate("nobody", "x"))
      return "unknown"
    }
    const unknown = ask()
    // This hash costs a thousand times more than the stored one, but less than doorhook's default.
    const costly = promisify(scrypt)("x", "some salt", 32).then(() => "costly")
    assert.strictEqual(await Promise.race([unknown, costly]), "unknown")
    await costly
  })

  it("reports every invalid name, and an invalid database", () => {
    const wrong = { users: { tabel: "x" }, tenant: {}, buildings: "houses" }
    assert.throws(
      () => Reflect.apply(sqlDirectory, undefined, [{ database: () => [], tables: wrong }]),
      DoorhookError,
      /tables.users.tabel: no such name; there are table, id, login, password, active; tables.tenant: no such table.*; tables.buildings: must be an object/
    )
    const missing = {
      users: { table: null, active: null },
      administrators: null,
      tenants: { unit: null, label: null, user: null },
      accessPoints: { name: 1 }
    }
    assert.throws(
      () => Reflect.apply(sqlDirectory, undefined, [{ database: () => [], tables: missing }]),
      DoorhookError,
      /^sqlDirectory: tables.users.table: must be a text; tables.tenants.user: must be a text; tables.accessPoints.name: must be a text$/
    )
    assert.throws(
      () =>
        Reflect.apply(sqlDirectory, undefined, [{ database: () => [], tables: { users: null, tenants: { unit: 7 } } }]),
      DoorhookError,
      /tables.users: must be an object of names; tables.tenants.unit: must be a text, or null$/
    )
    assert.throws(() => Reflect.apply(sqlDirectory, undefined, [{ database: {} }]), DoorhookError, /a pool of pg/)
  })
})

await describeOnPostgres("the directory over tables", (server) => {
  const withPool = <A>(use: (pool: pg.Pool, url: string) => Promise<A>) =>
    Effect.gen(function* () {
      const url = server.url(yield* newDatabase(server))
      const pool = yield* hostPool(url)
      return yield* Effect.promise(() => use(pool, url))
    })

  live("says what is missing if doorhook is not installed, or not accessible to the host's user", function* () {
    yield* withPool(async (pool, url) => {
      const event = { resource_type: "access_log", action: "create", building_id: 1, data: { id: 1 } } as const
      const refusedIn = async (...before: ReadonlyArray<string>) => {
        const client = await pool.connect()
        try {
          await client.query("BEGIN")
          for (const statement of before) await client.query(statement)
          const refused = await Effect.runPromise(codeOf(publishIn(client, event)))
          assert.lengthOf((await client.query("SELECT 1")).rows, 1, "the transaction can go on")
          return refused
        } finally {
          await client.query("ROLLBACK")
          client.release()
        }
      }
      const absent = await refusedIn()
      assert.strictEqual(absent.code, "database_unusable")
      assert.match(absent.message, /Start doorhook on this database once/)
      await (await createDoorhook({ database: url, directory: sqlDirectory({ database: pool }) })).close()
      const asOther = [`CREATE ROLE "nobody here"`, `SET LOCAL ROLE "nobody here"`]
      const barred = await refusedIn(...asOther)
      assert.strictEqual(barred.code, "database_unusable")
      const [, grants = ""] =
        /^The database user "nobody here" may not publish\. .* tables: (GRANT .*)$/.exec(barred.message) ?? []
      const client = await pool.connect()
      try {
        await client.query("BEGIN")
        for (const statement of [...asOther, "RESET ROLE", grants, ...asOther.slice(1)]) await client.query(statement)
        assert.match((await publishIn(client, event)).id, /^evt_/)
        for (const type of ["text", "json", "jsonb"]) {
          const text = JSON.stringify(event)
          const { rows } = await client.query(`SELECT id FROM doorhook.publish($1::${type})`, [text])
          assert.lengthOf(rows, 1)
        }
      } finally {
        await client.query("ROLLBACK")
        client.release()
      }
    })
  })

  live("has no building or tenant with an id that is too large for its column", function* () {
    yield* withPool(async (pool) => {
      await pool.query(standard.replaceAll("bigint", "integer"))
      const directory = sqlDirectory({ database: pool })
      assert.isTrue(await directory.administers("1", 1))
      assert.isFalse(await directory.administers("1", 3_000_000_000))
      assert.isFalse(await directory.isTenant("2", Number.MAX_SAFE_INTEGER))
    })
  })

  live("answers from PostgreSQL, and its host publishes in its own transactions", function* () {
    yield* withPool(async (pool, url) => {
      await pool.query(standard + own)
      assert.deepStrictEqual(await answersOf(sqlDirectory({ database: pool })), expected)
      const byFunction = sqlDirectory({ database: async (text, values) => (await pool.query(text, values)).rows })
      assert.deepStrictEqual(await answersOf(byFunction), expected)
      assert.deepStrictEqual(await ownAnswersOf(sqlDirectory({ database: pool, ...ownNames })), ownExpected)

      await using doorhook = await createDoorhook({ database: url, directory: sqlDirectory({ database: pool }) })
      const event = { resource_type: "access_log", action: "create", building_id: 1, data: { id: 1 } } as const
      const client = await pool.connect()
      try {
        await client.query("BEGIN")
        assert.lengthOf(await publishIn(client, [event, event]), 2)
        assert.match((await publishIn(client, event)).id, /^evt_/)
        await client.query("ROLLBACK")
        assert.strictEqual((await doorhook.deliveries.summary()).events, 0)
        await client.query("BEGIN")
        await client.query("INSERT INTO access_points VALUES (13, 1, 'Back door')")
        const [published] = await publishIn(client, [event])
        await client.query("COMMIT")
        assert.match(published?.id ?? "", /^evt_/)
        assert.strictEqual((await doorhook.deliveries.summary()).events, 1)
        const warnings: Array<Error> = []
        const warn = (warning: Error) => void warnings.push(warning)
        process.on("warning", warn)
        const misspelled = { ...event, tenant_id: [101] }
        await client.query("BEGIN")
        for (const _ of [1, 2]) await publishIn(client, misspelled)
        await client.query("ROLLBACK")
        process.off("warning", warn)
        assert.deepStrictEqual(
          warnings.map(({ message, name }) => `${name}: ${message}`),
          [
            "DoorhookWarning: publishIn: tenant_id is not a member of an event and was ignored; did you mean tenant_ids? This is logged once."
          ]
        )
        const wrong = await Effect.runPromise(codeOf(publishIn(client, [{ ...event, building_id: 0 }])))
        assert.strictEqual(wrong.code, "invalid_publish")
        for (const outside of [client, pool]) {
          const refused = await Effect.runPromise(codeOf(publishIn(outside, [event])))
          assert.strictEqual(refused.code, "bad_request")
          assert.match(refused.message, /not in a transaction.* send BEGIN first/)
        }
        assert.strictEqual((await doorhook.deliveries.summary()).events, 1)
      } finally {
        client.release()
      }
    })
  })
})
