/**
 * PostgreSQL fails in several ways under load: it stops, cuts connections, refuses writes, or does not respond. A
 * service and two workers survive all these failures, and nothing is lost.
 */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import pg from "pg"
import { describeOnOwnPostgres, newDatabase } from "@doorhook/testkit/postgres/TestServer"
import type { OwnServer, TestServer } from "@doorhook/testkit/postgres/TestServer"
import { accountFor, assertClearRefusals, readinessOf } from "../harness/Accounting.ts"
import { eventually, within } from "../harness/Eventually.ts"
import { configured, end, startDelivering, startWorker } from "../harness/Delivering.ts"
import { live } from "../harness/Embedded.ts"
import { startLoad } from "../harness/Load.ts"
import { shared } from "../harness/Shared.ts"

/** Lease in milliseconds, longer than the outages, so that no lease ends while its process can't record outcomes. */
const lease = 12_000

/** Starts a service and two workers under load, and waits for the first accepted events. */
const startAll = Effect.fnUntraced(function* (server: OwnServer) {
  const database = yield* newDatabase(server)
  // The poll interval is longer than these tests, so processes depend on wake signals.
  const settings = { lease: `${lease}ms`, pollInterval: "10m" }
  const flags = yield* configured(server.url(database), settings)
  const { receiver, service } = yield* startDelivering(flags)
  const workers = yield* Effect.all([startWorker(flags), startWorker(flags)], { concurrency: "unbounded" })
  const load = yield* startLoad(() => service.url)
  yield* Effect.promise(() => load.more(50))
  return { server, database, load, receiver, service, url: service.url, workers, longest: 0 }
})

type Stage = Effect.Success<ReturnType<typeof startAll>>

const untilNotReady = (url: string, why: string) =>
  eventually("not ready", readinessOf(url), ({ code, status }) => code === 503 && status === why)

const untilReady = (url: string) => eventually("ready", readinessOf(url), ({ code }) => code === 200)

/** Checks that delivery continues without a restart, and that refused callers got a clear response. */
const untilWell = Effect.fnUntraced(function* (stage: Stage, since: number) {
  yield* untilReady(stage.url)
  stage.longest = Math.max(stage.longest, performance.now() - since)
  yield* Effect.promise(() => stage.load.more(20))
  assertClearRefusals(stage.load)
})

/** Returns the number of doorhook's connections that listen for wake signals. */
const listeners = ({ database, server }: Stage) =>
  Effect.promise(async () => {
    const statement = `SELECT 1 FROM pg_stat_activity WHERE datname = '${database}' AND query LIKE 'LISTEN%'`
    return (await server.administer(statement)).length
  })

const cut = ({ database, server }: Stage) =>
  Effect.promise(() =>
    server.administer(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}' AND application_name = 'doorhook'`
    )
  )

/** Locks the tables. Resolves to false if PostgreSQL cancelled the lock to end a deadlock. */
const locked = (client: pg.Client, lock: string): Promise<boolean> =>
  client.query(lock).then(
    () => true,
    (cause: unknown) => {
      if (cause instanceof pg.DatabaseError && cause.code === "40P01") return false
      throw cause
    }
  )

/** Locks all of doorhook's tables until `unlock` runs. */
const lockTables = Effect.fnUntraced(function* (server: TestServer, database: string) {
  const client = yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const connected = new pg.Client({ connectionString: server.url(database) })
      await connected.connect()
      return connected
    }),
    (connected) => Effect.promise(() => connected.end())
  )
  yield* Effect.promise(async () => {
    await client.query("BEGIN")
    const { rows } = await client.query<{ name: string }>(
      "SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname = 'doorhook'"
    )
    const lock = `LOCK TABLE ${rows.map(({ name }) => name).join(", ")} IN ACCESS EXCLUSIVE MODE`
    // Tables are locked one by one. doorhook locks them in another order, which can cause a deadlock. If PostgreSQL
    // then cancels this lock, try again.
    while (!(await locked(client, lock))) await client.query("ROLLBACK; BEGIN")
  })
  return { unlock: Effect.promise(() => client.query("COMMIT")) }
})

await describeOnOwnPostgres("doorhook when PostgreSQL fails", (server) => {
  // All outages share one service, and the test accounts for all events at the end. Deliveries that wait for a lease to
  // expire may still be waiting during the next outage.
  const stage = shared(startAll(server))

  const livesThrough = (name: string, outage: (stage: Stage) => Effect.Effect<void>) =>
    live(name, function* () {
      yield* Effect.suspend(() => outage(stage()))
    })

  livesThrough(
    "the server is stopped, and killed, for some seconds",
    Effect.fnUntraced(function* (all) {
      for (const signal of ["SIGINT", "SIGKILL"] as const) {
        const since = performance.now()
        yield* Effect.promise(() => server.halt(signal))
        const { detail, oldest_due_age_ms } = yield* untilNotReady(all.url, "store_unreachable")
        assert.match(String(detail), /^The database does not answer/)
        assert.isNull(oldest_due_age_ms)
        yield* Effect.promise(() => all.load.moreRefused(50))
        yield* Effect.promise(() => server.resume())
        yield* untilWell(all, since)
      }
    })
  )

  livesThrough(
    "the server cuts all connections, repeatedly",
    Effect.fnUntraced(function* (all) {
      for (let cuts = 0; cuts < 10; cuts++) {
        const since = performance.now()
        yield* cut(all)
        yield* untilWell(all, since)
      }
    })
  )

  livesThrough(
    "the server refuses writes for some seconds",
    Effect.fnUntraced(function* (all) {
      const readOnly = (on: boolean) =>
        Effect.promise(() =>
          server.administer(`ALTER DATABASE ${all.database} SET default_transaction_read_only = ${on}`)
        )
      const since = performance.now()
      yield* readOnly(true)
      // The setting affects only new connections, so this cuts the existing ones.
      yield* cut(all)
      yield* Effect.promise(() => all.load.moreRefused(20))
      const { detail, oldest_due_age_ms } = yield* untilNotReady(all.url, "read_only")
      assert.match(String(detail), /read-only/)
      assert.isNotNull(oldest_due_age_ms)
      yield* Effect.promise(() => all.service.complained(/read-only transaction/))
      // Nobody cuts the read-only sessions.
      yield* readOnly(false)
      yield* untilWell(all, since)
    })
  )

  livesThrough("a lock blocks every statement for some seconds, and nothing hangs", (all) =>
    Effect.gen(function* () {
      const since = performance.now()
      const { unlock } = yield* lockTables(server, all.database)
      yield* untilNotReady(all.url, "locked")
      yield* Effect.promise(() => all.load.moreRefused(1))
      yield* unlock
      yield* untilWell(all, since)
    }).pipe(Effect.scoped)
  )

  livesThrough(
    "all accepted events arrive, and are recorded as often as they were sent",
    Effect.fnUntraced(function* (all) {
      const cutOff = all.longest < lease - 1_000 ? 0 : Number.POSITIVE_INFINITY
      yield* accountFor({ ...all, cutOff })
    })
  )

  livesThrough(
    "all get wake signals again: workers deliver events that the database function publishes",
    Effect.fnUntraced(function* (all) {
      yield* eventually("all hear wake signals again", listeners(all), (count) => count === 3)
      assert.strictEqual((yield* end(all.service, "SIGTERM")).code, 0)
      const before = all.receiver.received.length
      const event = `{"resource_type":"access_log","action":"create","building_id":1,"data":{"id":0}}`
      const said = () => all.workers.map(({ stderr }) => stderr()).join("\n")
      const publish = Effect.promise(() => server.administer(`SELECT doorhook.publish('${event}')`, all.database))
      yield* within("SQL publishes", publish, said)
      const arrived = Effect.promise(() => all.receiver.until(({ length }) => length > before))
      yield* within("a worker sends what SQL published", arrived, said)
      for (const worker of all.workers) assert.strictEqual((yield* end(worker, "SIGTERM")).code, 0)
    })
  )
})
