/**
 * Opening a PostgreSQL database migrates it once, even if many processes start at the same time, and explains errors.
 */
import { DeliveryStore, IntegrationId, IntegrationStore, TokenHash, TokenStore } from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { PostgresStore } from "@doorhook/sql/postgres"
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Logger, Option, Queue, Redacted, Result } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import type { Socket } from "node:net"
import { connect, createServer } from "node:net"
import pg from "pg"
import * as Migrations from "../../src/postgres/migrations/index.ts"
import { listen } from "@doorhook/testkit/ListeningServer"
import { describeOnPostgres, newDatabase } from "@doorhook/testkit/postgres/TestServer"
import { nextTurn } from "@doorhook/testkit/Turn"

const { building } = StoreFixtures

/** Reverts the migration that gave access tokens numbers. */
const hashedTokens = `DROP FUNCTION refresh_access;
  DROP INDEX access_tokens_by_grant, access_tokens_without_number;
  ALTER TABLE access_tokens DROP COLUMN seq, DROP COLUMN has_number, DROP COLUMN scope, ADD PRIMARY KEY (hash);
  CREATE INDEX access_tokens_by_expiry ON access_tokens (expires_at);
  CREATE INDEX access_tokens_by_age ON access_tokens (grant_id, created_at);`

/** Also reverts the migration that replaced lease tokens with the worker's name. */
const tokenLeases = `${hashedTokens}
  ALTER TABLE integrations DROP COLUMN failing_attempts, DROP COLUMN failing_retry_after;
  DROP INDEX queue_due, deliveries_leased;
  ALTER TABLE queue DROP COLUMN worker, DROP COLUMN early, ADD COLUMN lease_token text, ADD COLUMN reason text;
  CREATE INDEX queue_due ON queue (lane, integration_id, due_at, id);
  ALTER TABLE deliveries DROP COLUMN worker, DROP COLUMN early, ADD COLUMN lease_token text;
  DROP TABLE members;
  CREATE TABLE workers (name text COLLATE "C" PRIMARY KEY, until bigint NOT NULL);`

const open = (url: string) =>
  DeliveryStore.use((store) => store.summary(0)).pipe(
    Effect.provide(Layer.fresh(PostgresStore.layer({ url: Redacted.make(url), maxConnections: 2 })))
  )

const refusal = (url: string) =>
  Effect.map(Effect.flip(open(url)), (error) =>
    error._tag === "DatabaseUnusable" ? error : assert.fail(String(error))
  )

await describeOnPostgres("opening a database", (server) => {
  it.live("several processes may migrate a new database at once", () =>
    Effect.gen(function* () {
      const url = server.url(yield* newDatabase(server))
      const opened = yield* Effect.forEach(Array(6).fill(url), open, { concurrency: "unbounded" })
      assert.deepEqual(
        opened.map(({ events }) => events),
        [0, 0, 0, 0, 0, 0]
      )
    })
  )

  it.live(
    "functions of an earlier version are replaced: they accept ids as text and make event ids in the usual form",
    () =>
      Effect.gen(function* () {
        const name = yield* newDatabase(server)
        yield* open(server.url(name))
        yield* Effect.promise(() =>
          server.administer(
            `SET search_path = doorhook;
          CREATE OR REPLACE FUNCTION is_id(value json) RETURNS boolean LANGUAGE sql
            AS $$ SELECT json_typeof(value) = 'number' $$;
          CREATE OR REPLACE FUNCTION make_event_id(now bigint) RETURNS text LANGUAGE sql
            AS $$ SELECT 'evt_' || now || replace(gen_random_uuid()::text, '-', '') $$;
          ${tokenLeases}
          DROP TABLE resource_types;
          DELETE FROM migrations WHERE migration_id > 7`,
            name
          )
        )
        yield* open(server.url(name))
        const event = `{"resource_type":"call","action":"create","building_id":"1","tenant_ids":["2"],"data":{}}`
        const [published] = yield* Effect.promise(() =>
          server.administer(`SELECT id FROM doorhook.publish('${event}'::text)`, name)
        )
        assert.match(String(published?.["id"]), /^evt_[0-9a-z]{29}$/)
      })
  )

  it.live("doorhook's tables are in a schema of their own", () =>
    Effect.gen(function* () {
      const name = yield* newDatabase(server)
      yield* open(server.url(name))
      const schemas = yield* Effect.promise(() =>
        server.administer(
          `SELECT DISTINCT schemaname FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
          name
        )
      )
      assert.deepEqual(schemas, [{ schemaname: "doorhook" }])
    })
  )

  for (const [given, used] of [
    ["off", "on"],
    ["local", "local"],
    ["remote_apply", "remote_apply"]
  ] as const) {
    it.live(`with synchronous_commit ${given} in the database, commits use ${used}`, () =>
      Effect.gen(function* () {
        const name = yield* newDatabase(server)
        yield* Effect.promise(() => server.administer(`ALTER DATABASE ${name} SET synchronous_commit = ${given}`))
        const shown = yield* SqlClient.SqlClient.use((sql) => sql`SHOW synchronous_commit`).pipe(
          Effect.provide(Layer.fresh(PostgresStore.layer({ url: Redacted.make(server.url(name)), maxConnections: 2 })))
        )
        assert.deepEqual(shown, [{ synchronous_commit: used }])
      })
    )
  }

  it.live("the server ends idle transactions after 5 s, and notices within 5 s that this machine has vanished", () =>
    Effect.gen(function* () {
      const name = yield* newDatabase(server)
      const shown = yield* SqlClient.SqlClient.use((sql) =>
        sql.unsafe(`SELECT current_setting('idle_in_transaction_session_timeout') AS idle,
          current_setting('tcp_user_timeout') AS unanswered, current_setting('tcp_keepalives_idle')::integer
            + current_setting('tcp_keepalives_interval')::integer * current_setting('tcp_keepalives_count')::integer AS silent`)
      ).pipe(
        Effect.provide(Layer.fresh(PostgresStore.layer({ url: Redacted.make(server.url(name)), maxConnections: 2 })))
      )
      assert.deepEqual(shown, [{ idle: "5s", unanswered: "5000", silent: 5 }])
    })
  )

  it.live("an unreachable server is named, without the password", () =>
    Effect.gen(function* () {
      const { message, why } = yield* refusal("postgres://somebody:hidden@127.0.0.1:1/doors")
      assert.strictEqual(why, "unreachable")
      assert.match(message, /^Can't use postgres:\/\/127\.0\.0\.1:1\/doors: can't connect/)
      assert.notMatch(message, /hidden|somebody/)
    })
  )

  it.effect(
    "a start that waits for a read-only server also waits while it can't be reached, and names the last cause",
    () =>
      Effect.gen(function* () {
        const name = yield* newDatabase(server)
        const setReadOnly = (value: string) =>
          Effect.promise(() => server.administer(`ALTER DATABASE ${name} SET default_transaction_read_only = ${value}`))
        yield* setReadOnly("on")
        const url = new URL(server.url(name))
        const target = { host: url.hostname, port: Number(url.port) }
        const forward = (socket: Socket) => {
          const onward = connect(target)
          socket.on("error", () => undefined).pipe(onward)
          onward.on("error", () => undefined).pipe(socket)
        }
        const link = yield* Effect.promise(() => listen(createServer(forward)))
        url.hostname = "127.0.0.1"
        url.port = String(link.port)
        const lines = yield* Queue.unbounded<string>()
        const logger = Logger.layer([Logger.make(({ message }) => void Queue.offerUnsafe(lines, String(message)))])
        /** Lets the time pass until a matching line is logged. */
        const logged = (line: RegExp) =>
          Queue.take(lines).pipe(
            Effect.repeat({ until: (found) => line.test(found) }),
            Effect.raceFirst(Effect.forever(Effect.andThen(TestClock.adjust("1 second"), nextTurn)))
          )
        const start = Effect.forkChild(Effect.result(Effect.provide(open(url.href), logger)))

        const first = yield* start
        yield* Queue.take(lines)
        yield* Effect.promise(link.close)
        yield* logged(/^Still waiting\. .*ECONNREFUSED/)
        yield* setReadOnly("off")
        const again = yield* Effect.acquireRelease(
          Effect.promise(() => listen(createServer(forward), link.port)),
          ({ close }) => Effect.promise(close)
        )
        yield* TestClock.adjust("1 second")
        assert.isTrue(Result.isSuccess(yield* Fiber.join(first)))

        yield* setReadOnly("on")
        const second = yield* start
        yield* Queue.take(lines)
        yield* Effect.promise(again.close)
        yield* logged(/^Still waiting\. .*ECONNREFUSED/)
        yield* TestClock.adjust("1 minute")
        const failed = Result.getFailure(yield* Fiber.join(second))
        assert.match(String(Option.getOrUndefined(failed)), /can't connect: nothing listens .*ECONNREFUSED/)
      })
  )

  it.live("a wrong password, a missing database and an invalid URL each have their own message", () =>
    Effect.gen(function* () {
      const wrong = new URL(server.url("postgres"))
      wrong.password = "wrong"
      const password = yield* refusal(wrong.href)
      assert.strictEqual(password.why, "refused")
      assert.match(password.message, /refuses this user or password/)
      const missing = yield* refusal(server.url("no_such_database"))
      assert.strictEqual(missing.why, "unreachable")
      assert.match(missing.message, /no such database/)
      const noUrl = yield* refusal("postgres://[")
      assert.match(noUrl.message, /^Can't use the database: /)
    })
  )

  it.live(
    "a user without the right to create the schema gets an explanation, and needs no right if the schema exists",
    () =>
      Effect.gen(function* () {
        const name = yield* newDatabase(server)
        const role = `${name}_user`
        yield* Effect.acquireRelease(
          Effect.promise(() => server.administer(`CREATE ROLE ${role} LOGIN PASSWORD 'secret'`)),
          () => Effect.promise(() => server.administer(`DROP OWNED BY ${role}; DROP ROLE ${role}`, name))
        )
        const url = new URL(server.url(name))
        url.username = role
        url.password = "secret"
        const { message, why } = yield* refusal(url.href)
        assert.strictEqual(why, "refused")
        assert.match(message, /permission denied.*Allow it to create the schema doorhook/)
        yield* Effect.promise(() => server.administer(`CREATE SCHEMA doorhook AUTHORIZATION ${role}`, name))
        assert.strictEqual((yield* open(url.href)).events, 0)
      })
  )

  it.live("tables of the first version are migrated, with rotated secrets and events in order of time", () =>
    Effect.gen(function* () {
      const name = yield* newDatabase(server)
      yield* open(server.url(name))
      yield* Effect.promise(() =>
        server.administer(
          `SET search_path = doorhook;
          ${tokenLeases}
          ALTER TABLE integrations DROP COLUMN previous_secrets;
          ALTER TABLE integrations ADD COLUMN previous_secret text, ADD COLUMN previous_secret_until bigint;
          DROP TABLE endings;
          DROP INDEX grants_by_user, refresh_tokens_by_rotation, grants_by_revocation, access_tokens_by_age;
          CREATE INDEX access_tokens_by_grant ON access_tokens (grant_id);
          ALTER TABLE events_of DROP COLUMN created_at;
          ALTER TABLE events_of ADD PRIMARY KEY (scope_id, scope_type, resource_type, event_seq);
          INSERT INTO events (seq, id, building_id, created_at, resource_type, action, tenant_ids, data)
            SELECT seq, 'evt_' || lpad(seq::text, 9, '0') || '0000000000000000', 1, 100 - seq, 'call', 'create', '[]', '{}'
            FROM generate_series(1, 3) AS s (seq);
          INSERT INTO events_of (scope_id, event_seq, scope_type, resource_type)
            SELECT 1, seq, 'building', 'call' FROM events;
          DROP TABLE resource_types;
          DELETE FROM migrations WHERE migration_id > 1;
          INSERT INTO integrations (scope_type, scope_id, integrator, url, method, bindings, status, created_by_user,
              created_by_client, signing_secret, previous_secret, previous_secret_until, overrides, failing_noticed, version,
              created_at, updated_at)
            VALUES ('building', 1, 'webhook', 'https://receiver.example/', 'post', '[]', 'enabled', 'u', 'c', 'whsec_bmV3',
              'whsec_b2xk', 123, '{}', 0, 1, 0, 0)`,
          name
        )
      )
      const { events, found } = yield* Effect.gen(function* () {
        const list = { scope: building(1), resource_type: "call", offset: 0, limit: 10, countUpTo: 10 } as const
        const { items } = yield* (yield* DeliveryStore).events(list)
        return { events: items, found: yield* (yield* IntegrationStore).find(IntegrationId.make(1)) }
      }).pipe(
        Effect.provide(Layer.fresh(PostgresStore.layer({ url: Redacted.make(server.url(name)), maxConnections: 2 })))
      )
      assert.deepStrictEqual(
        events.map(({ created_at }) => created_at),
        [99, 98, 97]
      )
      // Writes like a process of the previous version, because such a process may still be running.
      const dated = yield* Effect.promise(() =>
        server.administer(
          `INSERT INTO doorhook.events_of (event_seq, scope_type, scope_id, resource_type)
              VALUES (4, 'building', 1, 'call') RETURNING abs(created_at - extract(epoch FROM now()) * 1000) < 3600000 AS now`,
          name
        )
      )
      assert.deepStrictEqual(dated, [{ now: true }])
      const secrets = found?.previous_secrets.map(({ secret, until }) => [Redacted.value(secret), until])
      assert.deepStrictEqual(secrets, [["whsec_b2xk", 123]])
    })
  )

  it.live("list entries written by a process of an older version are purged with their events", () =>
    Effect.gen(function* () {
      const name = yield* newDatabase(server)
      yield* Effect.gen(function* () {
        const store = yield* DeliveryStore
        // Writes like a process that knows only migrations 1 to 5. Its list entries get the time of the database server.
        yield* Effect.promise(() =>
          server.administer(
            `SET search_path = doorhook;
            INSERT INTO events (seq, id, building_id, created_at, resource_type, action, tenant_ids, data)
              SELECT seq, 'evt_' || lpad(seq::text, 9, '0') || '0000000000000000', 1,
                floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint + (seq - 2) * 20000, 'call', 'create', '[7,8]', '{}'
              FROM generate_series(1, 3) AS s (seq);
            INSERT INTO events_of (event_seq, scope_type, scope_id, resource_type)
              SELECT seq, 'building', 1, 'call' FROM events UNION ALL
              SELECT seq, 'tenant', t.id, 'call' FROM events CROSS JOIN (VALUES (7), (8)) AS t (id);
            -- Event 4 is written like current versions do, and event 5 is too new to be purged.
            INSERT INTO events (seq, id, building_id, created_at, resource_type, action, tenant_ids, data)
              SELECT 4, 'evt_0000000040000000000000000', 1, created_at, 'call', 'create', '[7]', '{}' FROM events WHERE seq = 2;
            INSERT INTO events_of (event_seq, created_at, scope_type, scope_id, resource_type)
              SELECT 4, created_at, 'building', 1, 'call' FROM events WHERE seq = 4 UNION ALL
              SELECT 4, created_at, 'tenant', 7, 'call' FROM events WHERE seq = 4;
            INSERT INTO events (seq, id, building_id, created_at, resource_type, action, tenant_ids, data)
              SELECT 5, 'evt_0000000050000000000000000', 1, created_at + 3600000, 'call', 'create', '[]', '{}'
              FROM events WHERE seq = 2;
            INSERT INTO events_of (event_seq, scope_type, scope_id, resource_type) VALUES (5, 'building', 1, 'call')`,
            name
          )
        )
        const purged = yield* store.purge({
          before: Date.now() + 600_000,
          now: Date.now() + 600_000,
          after: 0,
          limit: 100
        })
        assert.strictEqual(purged.events, 4)
      }).pipe(
        Effect.provide(Layer.fresh(PostgresStore.layer({ url: Redacted.make(server.url(name)), maxConnections: 2 })))
      )
      const left = yield* Effect.promise(() =>
        server.administer("SELECT event_seq::integer AS event_seq FROM doorhook.events_of", name)
      )
      assert.deepStrictEqual(left, [{ event_seq: 5 }])
    })
  )

  it.live("a process of an older version may redeem a code while the token tables are migrated", () =>
    Effect.gen(function* () {
      const name = yield* newDatabase(server)
      const url = server.url(name)
      yield* open(url)
      yield* Effect.promise(() =>
        server.administer(
          `SET search_path = doorhook;
          ${tokenLeases}
          DROP INDEX refresh_tokens_by_rotation, grants_by_revocation, access_tokens_by_age;
          CREATE INDEX access_tokens_by_grant ON access_tokens (grant_id);
          INSERT INTO grants (id, user_id, client_id, scope, created_at) VALUES ('g', 'u', 'c', '', 0);
          DROP TABLE resource_types;
          DELETE FROM migrations WHERE migration_id > 6`,
          name
        )
      )
      const old = yield* Effect.acquireRelease(
        Effect.promise(async () => {
          const client = new pg.Client({ connectionString: url })
          await client.connect()
          return client
        }),
        (client) => Effect.promise(() => client.end())
      )
      const query = (text: string) => Effect.promise(() => old.query(text))
      yield* query("BEGIN")
      yield* query(
        `INSERT INTO doorhook.access_tokens (hash, grant_id, created_at, expires_at) VALUES ('a', 'g', 0, 0)`
      )
      const opening = yield* Effect.forkChild(open(url), { startImmediately: true })
      const waiting = Effect.promise(() =>
        server.administer(
          "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'doorhook.access_tokens'::regclass",
          name
        )
      )
      while ((yield* waiting).length === 0) assert.isUndefined(opening.pollUnsafe())
      yield* query(`INSERT INTO doorhook.refresh_tokens (hash, grant_id, created_at) VALUES ('r', 'g', 0)`)
      yield* query("COMMIT")
      assert.strictEqual((yield* Fiber.join(opening)).events, 0)
    })
  )

  it.live("access tokens without numbers stay valid, even if an older process issues them later", () =>
    Effect.gen(function* () {
      const name = yield* newDatabase(server)
      const url = server.url(name)
      yield* open(url)
      const issue = (
        hash: string
      ) => `INSERT INTO doorhook.access_tokens (hash, grant_id, created_at, expires_at, retires)
        VALUES ('${hash}', 'g', 1, 2, 'r')`
      yield* Effect.promise(() =>
        server.administer(
          `SET search_path = doorhook;
          ${hashedTokens}
          INSERT INTO grants (id, user_id, client_id, scope, created_at) VALUES ('g', 'u', 'c', 'public', 0);
          ${issue("before")};
          DELETE FROM migrations WHERE migration_id > 10`,
          name
        )
      )
      yield* open(url)
      yield* Effect.promise(() => server.administer(issue("later"), name))
      yield* Effect.gen(function* () {
        const store = yield* TokenStore
        for (const text of ["before", "later"]) {
          const presented = { seq: null, hash: TokenHash.make(text) }
          const found = yield* store.findAccessToken(presented)
          const { expires_at, hash, retires, scope } = found?.token ?? {}
          assert.deepStrictEqual([hash, expires_at, scope, retires], [text, 2, null, "r"])
          assert.strictEqual(found?.grant.id, "g")
          yield* store.revokeAccessToken(presented)
          assert.isNull(yield* store.findAccessToken(presented))
        }
      }).pipe(Effect.provide(Layer.fresh(PostgresStore.layer({ url: Redacted.make(url), maxConnections: 2 }))))
    })
  )

  it.live("leases by token become due, and a process that still writes them fails", () =>
    Effect.gen(function* () {
      const name = yield* newDatabase(server)
      const url = server.url(name)
      yield* open(url)
      // Five deliveries: never leased, in the first attempt, in the second attempt, resent during the third attempt,
      // and cancelled during an attempt.
      const queueOne = `INSERT INTO queue
        (id, event_id, integration_id, created_at, state, attempts, lane, due_at, lease_token, resend) VALUES`
      yield* Effect.promise(() =>
        server.administer(
          `SET search_path = doorhook;
          ${tokenLeases}
          INSERT INTO events (seq, id, building_id, created_at, resource_type, action, tenant_ids, data, first_delivery,
              last_delivery)
            VALUES (1, '${StoreFixtures.eventId(1)}', 1, 5, 'access_log', 'create', '[]', '{}', 1, 5);
          INSERT INTO integrations (scope_type, scope_id, integrator, url, method, bindings, status, created_by_user,
              created_by_client, signing_secret, overrides, failing_since, failing_noticed, version, created_at, updated_at)
            VALUES ('building', 1, 'webhook', 'https://receiver.example/', 'post', '[]', 'enabled', 'u', 'c', 'whsec_bmV3',
              '{}', 3, 0, 1, 0, 0);
          SELECT setval('delivery_ids', 5);
          ${queueOne}
            (1, '${StoreFixtures.eventId(1)}', 1, 5, 'pending', 0, 2, 5, NULL, 0),
            (2, '${StoreFixtures.eventId(1)}', 1, 5, 'delivering', 0, 2, 9000000000000, 'w.1', 0),
            (3, '${StoreFixtures.eventId(1)}', 1, 5, 'delivering', 1, 3, 9000000000000, 'w.1', 0),
            (4, '${StoreFixtures.eventId(1)}', 1, 5, 'delivering', 2, 3, 9000000000000, 'w.1', 2);
          INSERT INTO deliveries (id, event_id, integration_id, created_at, state, reason, attempts, lane, lease_token)
            VALUES (5, '${StoreFixtures.eventId(1)}', 1, 5, 'cancelled', 'integration_disabled', 0, 2, 'w.1');
          INSERT INTO tallies VALUES (1, 1, 3, 0, 0, 0, 0, 1, 0);
          DELETE FROM migrations WHERE migration_id > 9`,
          name
        )
      )
      yield* Effect.gen(function* () {
        const store = yield* DeliveryStore
        const now = Date.now() + 60_000
        const { states } = yield* store.summary(now)
        assert.deepEqual([states.pending, states.delivering, states.retrying, states.cancelled], [3, 0, 1, 1])
        const claimed = yield* StoreFixtures.claim(now)
        assert.deepEqual(
          claimed.map(({ attempts, early, id, resend }) => [id, attempts, early, resend]),
          [
            [1, 0, 0, false],
            [2, 0, 0, false],
            [3, 1, 0, false],
            [4, 2, 0, true]
          ]
        )
        const surveyed = yield* (yield* IntegrationStore).findWithHealth(IntegrationId.make(1))
        assert.deepEqual(surveyed?.failing, { since: 3, warnings: 0, attempts: 0, retry_after: null })
      }).pipe(Effect.provide(Layer.fresh(PostgresStore.layer({ url: Redacted.make(url), maxConnections: 2 }))))
      const refused = yield* Effect.flip(
        Effect.tryPromise(() =>
          server.administer(
            `SET search_path = doorhook; ${queueOne} (9, 'evt_9', 1, 5, 'delivering', 0, 2, 5, 'w.2', 0)`,
            name
          )
        )
      )
      assert.match(String(refused.cause), /lease_token/)
    })
  )

  it.live("tables of a newer doorhook are left unchanged", () =>
    Effect.gen(function* () {
      const name = yield* newDatabase(server)
      yield* open(server.url(name))
      yield* Effect.promise(() =>
        server.administer(`INSERT INTO doorhook.migrations (migration_id, name) VALUES (99, 'later')`, name)
      )
      const { message, why } = yield* refusal(server.url(name))
      assert.strictEqual(why, "newer_version")
      assert.match(message, new RegExp(`version 99; this doorhook supports up to ${Migrations.newest}`))
    })
  )
})
