/**
 * doorhook on PostgreSQL: a service with workers, one of which is killed.
 */
import { DeliveryStore } from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { PostgresStore, PostgresWakeSignal } from "@doorhook/sql/postgres"
import { assert, describe } from "@effect/vitest"
import { createDoorhook } from "doorhook"
import { Context, Effect, Layer, Redacted } from "effect"
import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { describeOnPostgres, newDatabase } from "@doorhook/testkit/postgres/TestServer"
import { configured, startWorker } from "./harness/Delivering.ts"
import { eventually } from "./harness/Eventually.ts"
import { live } from "./harness/Embedded.ts"
import { acme, directory, tokensOf } from "./harness/KnownDirectory.ts"
import { startReceiver } from "@doorhook/testkit/Receiver"
import type { Received } from "@doorhook/testkit/Receiver"
import { operatorKey, startDoorhook, startService } from "@doorhook/testkit/Doorhook"
import { runHere, serveHere } from "./harness/InProcess.ts"
import { authorizeUrl } from "./harness/CodeGrant.ts"
import { logIn } from "./harness/LoginForm.ts"
import { callApi, integrationDocument } from "./harness/ThirdParty.ts"

const { createIntegration, enqueue, records } = StoreFixtures

const run = promisify(execFile)

const idsOf = (received: ReadonlyArray<Received>) => new Set(received.map(({ headers }) => headers["webhook-id"]))

/** Services for storing events without delivering them. */
const openStore = (url: string) =>
  Layer.build(
    Layer.fresh(PostgresWakeSignal.layer.pipe(Layer.provideMerge(PostgresStore.layer({ url: Redacted.make(url) }))))
  )

const flagsFor = (database: string) => ["--database", database, "--allow-target", "127.0.0.0/8"]

/**
 * Configures workers that deliver events stored by the test. Without a directory, rights are not checked. The long
 * retention keeps the test's events, which are dated 1970.
 */
const stored1970 = (database: string, settings: object = {}) =>
  Effect.map(configured(database, { directory: undefined, retention: "forever", ...settings }), (flags) => [
    ...flags,
    "--without-rights"
  ])

/** Waits until the numbers of deliveries by state satisfy the condition. */
const untilStates = (services: Context.Context<DeliveryStore>, isSo: (states: Record<string, number>) => boolean) =>
  eventually(
    "the states are so",
    Effect.map(Context.get(services, DeliveryStore).summary(0), ({ states }) => states),
    isSo
  )

/**
 * Sends requests in which every text contains a NUL, which PostgreSQL can't store. Returns the status of each response.
 */
const answersToNul = async (url: string): Promise<Readonly<Record<string, number>>> => {
  const nul = "a\u0000b"
  const { access_token } = await tokensOf(url)
  const post = (path: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
    fetch(`${url}${path}`, { method: "POST", headers, body: new URLSearchParams(fields) })
  const operate = (method: string, path: string, body?: unknown) => callApi(url, operatorKey, method, path, body)
  const call = (method: string, path: string, body?: unknown) => callApi(url, access_token, method, path, body)
  const basic = { authorization: `Basic ${btoa("a%00b:s")}` }
  const code = { grant_type: "authorization_code", code: nul, ...acme }
  const refresh = { grant_type: "refresh_token", client_id: acme.client_id, refresh_token: nul }
  const client = { name: "App", redirect_uris: [acme.redirect_uri] }
  const event = { resource_type: "access_log", action: "create", building_id: 1, data: { id: nul, [nul]: nul } }
  const asked: Readonly<Record<string, Promise<Response>>> = {
    "client_id to authorize": fetch(authorizeUrl(url, { ...acme, client_id: nul })),
    "redirect_uri to authorize": fetch(authorizeUrl(url, { ...acme, redirect_uri: nul })),
    "client_secret to authorize": fetch(authorizeUrl(url, { ...acme, client_secret: nul }, { client_secret: nul })),
    code_challenge: fetch(authorizeUrl(url, acme, { code_challenge: nul }), { redirect: "manual" }),
    login: logIn(authorizeUrl(url, acme), nul, nul),
    "client_id to token": post("/oauth/token", { ...code, client_id: nul }),
    "client_id to revoke": post("/oauth/revoke", { ...acme, client_id: nul, token: "x" }),
    "client_id to introspect": post("/oauth/introspect", { ...acme, client_id: nul, token: "x" }),
    Basic: post("/oauth/token", { grant_type: "refresh_token", refresh_token: "x" }, basic),
    client_secret: post("/oauth/token", { ...code, client_secret: nul }),
    code: post("/oauth/token", code),
    refresh_token: post("/oauth/token", refresh),
    token: post("/oauth/introspect", { ...acme, token: nul }),
    "client to delete": operate("DELETE", "/operator/clients/%00"),
    "client to rotate": operate("POST", "/operator/clients/x%00y/rotate"),
    "client's id": operate("POST", "/operator/clients", { ...client, id: nul }),
    "client's name": operate("POST", "/operator/clients", { ...client, name: nul }),
    "client's redirect URI": operate("POST", "/operator/clients", { ...client, redirect_uris: [nul] }),
    events: operate("POST", "/operator/events", event),
    "events' type": operate("POST", "/operator/events", { ...event, resource_type: nul }),
    "deliveries by state": operate("GET", "/operator/deliveries?state=%00"),
    "deliveries by event": operate("GET", "/operator/deliveries?event_id=evt_00000000000000000000%00"),
    "deliveries after": operate("GET", "/operator/deliveries?after=dlv_1%00"),
    delivery: operate("GET", "/operator/deliveries/%00"),
    "notifications after": operate("GET", "/operator/notifications?after=%00"),
    "integration's url": call("POST", "/v4/buildings/1/integrations", integrationDocument(`https://a.example/${nul}`)),
    integration: call("GET", "/v4/buildings/1/integrations/%00"),
    building: call("GET", "/v4/buildings/%00"),
    "portal link": fetch(`${url}/portal/open/%00`)
  }
  const statuses = await Promise.all(
    Object.entries(asked).map(async ([what, answer]) => [what, (await answer).status] as const)
  )
  return Object.fromEntries(statuses)
}

await describeOnPostgres("doorhook on PostgreSQL", (server) => {
  // Concurrent, because these tests mostly wait for processes to start and for leases to expire.
  describe("processes", { concurrent: true }, () => {
    live("a service refuses texts that PostgreSQL can't store like a service in memory", function* () {
      const serve = (database: string) => serveHere(["--database", database, "--directory", directory])
      const [inMemory, here] = [yield* serve("memory"), yield* serve(server.url(yield* newDatabase(server)))]
      const expected = yield* Effect.promise(() => answersToNul(inMemory.url))
      assert.deepStrictEqual(yield* Effect.promise(() => answersToNul(here.url)), expected)
      for (const [what, status] of Object.entries(expected)) assert.isBelow(status, 500, what)
    })

    live("a service starts workers, and stops them when it ends", function* () {
      const database = server.url(yield* newDatabase(server))
      const args = ["--port", "0", "--database", database, "--directory", directory, "--workers", "1"]
      const { child, finished, printed } = yield* startDoorhook(["--log-level", "warn", "serve", ...args])
      const [, pid] = yield* Effect.promise(() => printed(/worker process (\d+)[^]*doorhook worker ready/))
      const { stdout: shown } = yield* Effect.promise(() => run("ps", ["-o", "args=", "-p", String(pid)]))
      assert.include(shown, " worker --log-level warn ")
      child.kill("SIGTERM")
      assert.strictEqual((yield* Effect.promise(() => finished)).code, 0)
      assert.throws(() => process.kill(Number(pid), 0), /ESRCH/)
    })

    live("workers reload the directory when the service does", function* () {
      const database = server.url(yield* newDatabase(server))
      const { child, printed, stdout } = yield* startService(yield* configured(database, { workers: 1 }))
      yield* Effect.promise(() => printed(/doorhook worker ready/))
      child.kill("SIGHUP")
      yield* Effect.promise(() => printed(/directory \S+ reloaded[^]*directory \S+ reloaded/))
      assert.lengthOf(stdout().match(/worker process/g) ?? [], 1)
    })

    live("a service without a directory starts no workers, because they could not check rights", function* () {
      const database = server.url(yield* newDatabase(server))
      const { stdout } = yield* startService(["--database", database, "--workers", "2"])
      assert.match(stdout(), /^no --directory: .*; no workers are started$/m)
      assert.notInclude(stdout(), "worker process")
    })

    live("an embedded doorhook wakes a worker for deliveries that exceed its own capacity", function* () {
      const database = server.url(yield* newDatabase(server))
      const receiver = yield* startReceiver()
      const stored = yield* openStore(database)
      yield* createIntegration({ configuration: { url: receiver.url, method: "post" } }).pipe(
        Effect.provideContext(stored)
      )
      const doorhook = yield* Effect.acquireRelease(
        Effect.promise(() =>
          createDoorhook({
            database,
            directory: {
              client: () => null,
              authenticate: () => null,
              administers: () => true,
              isTenant: () => false
            },
            allowTargets: ["127.0.0.0/8"]
          })
        ),
        (running) => Effect.promise(() => running.close())
      )
      yield* startWorker([...flagsFor(database), "--without-rights"])
      const event = { resource_type: "access_log", action: "create", building_id: 1 } as const
      const published = yield* Effect.promise(() =>
        doorhook.publish(Array.from({ length: 1_000 }, (_, id) => ({ ...event, data: { id } })))
      )
      yield* Effect.promise(() => receiver.until((received) => idsOf(received).size === 1_000))
      assert.deepEqual(idsOf(receiver.received), new Set(published.map(({ id }) => id)))
      yield* untilStates(stored, ({ delivered }) => delivered === 1_000)
    })

    live("a stopping worker finishes open requests, releases the rest, and exits with 0", function* () {
      const database = server.url(yield* newDatabase(server))
      let answer = (): void => undefined
      const answered = new Promise<number>((resolve) => (answer = () => resolve(200)))
      const receiver = yield* startReceiver(() => answered)
      const stored = yield* openStore(database)
      const integration = yield* createIntegration({ configuration: { url: receiver.url, method: "post" } }).pipe(
        Effect.provideContext(stored)
      )
      yield* enqueue(...records(1, 50, integration)).pipe(Effect.provideContext(stored))
      // The receiver answers only when the test calls `answer`, so the deadline must be long.
      const worker = yield* startWorker(yield* stored1970(database, { ackTimeout: "1m", lease: "70s" }))
      yield* Effect.promise(() => receiver.until(({ length }) => length >= 5))
      worker.child.kill("SIGTERM")
      // The worker releases deliveries that it has not started, and waits for the others.
      yield* untilStates(stored, ({ pending }) => (pending ?? 0) > 0)
      answer()
      assert.strictEqual((yield* Effect.promise(() => worker.finished)).code, 0)
      const { delivered, delivering, pending } = (yield* Context.get(stored, DeliveryStore).summary(0)).states
      const open = receiver.received.length
      assert.isBelow(open, 50)
      assert.deepEqual([delivered, delivering, pending], [open, 0, 50 - open])
    })

    live("a worker says in one line what is wrong with its database", function* () {
      for (const [flags, what] of [
        [["--database", "memory"], "a database in memory"],
        [["--database", "doors.db"], "the SQLite file doors\\.db"],
        [[], "the SQLite file doorhook\\.db"]
      ] as const) {
        const { code, stderr } = yield* runHere(["worker", ...flags])
        assert.strictEqual(code, 3)
        assert.match(
          stderr,
          new RegExp(`^doorhook: worker: only one process can use ${what},.*--database postgres://.*\n$`)
        )
      }
      const nobody = yield* runHere(["worker"], { DOORHOOK_DATABASE: "postgres://u:hidden@127.0.0.1:1/doors" })
      assert.strictEqual(nobody.code, 1)
      assert.match(nobody.stderr, /^doorhook: Can't use postgres:\/\/127.0.0.1:1\/doors: can't connect.*\n$/)
      assert.notInclude(nobody.stderr, "hidden")
    })
  })
})
