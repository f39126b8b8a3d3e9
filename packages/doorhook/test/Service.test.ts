/**
 * The complete service: `doorhook serve` as a process, a real OAuth client, and a receiver that verifies signatures.
 */
import { assert, describe } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { existsSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { createServer } from "node:net"
import { join } from "node:path"
import { Webhook } from "standardwebhooks"
import { listening } from "@doorhook/testkit/ListeningServer"
import { configured, integrate } from "./harness/Delivering.ts"
import { live } from "./harness/Embedded.ts"
import { eventually } from "./harness/Eventually.ts"
import { admin, directory, tenant, tokensOf } from "./harness/KnownDirectory.ts"
import type { Receiver } from "@doorhook/testkit/Receiver"
import { startReceiver } from "@doorhook/testkit/Receiver"
import { runHere, serveHere } from "./harness/InProcess.ts"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { operatorKey, startService } from "@doorhook/testkit/Doorhook"
import { callApi, createIntegration } from "./harness/ThirdParty.ts"

const serviceOn = (database: string, ...more: ReadonlyArray<string>) =>
  startService(["--database", database, "--directory", directory, "--allow-target", "127.0.0.0/8", ...more])

const Accepted = Schema.Struct({
  events: Schema.Array(Schema.Struct({ id: Schema.String, deliveries: Schema.Finite }))
})
const Deliveries = Schema.Struct({
  deliveries: Schema.Array(Schema.Struct({ id: Schema.String, state: Schema.String, attempts: Schema.Finite })),
  next: Schema.NullOr(Schema.String)
})

const read = <A>(schema: Schema.Codec<A, unknown>, response: Response) =>
  Effect.promise(async () => Schema.decodeUnknownSync(schema)(await response.json()))

const api = (url: string, token: string, method: string, path: string, body?: unknown) =>
  Effect.promise(() => callApi(url, token, method, path, body))

const operator = (url: string, method: string, path: string, body?: unknown) =>
  api(url, operatorKey, method, `/operator${path}`, body)

const tokensFor = (url: string, person: Parameters<typeof tokensOf>[1] = admin) =>
  Effect.promise(() => tokensOf(url, person))

const event = (resource_type: string, tenant: number, data: object = { id: 1 }) => ({
  resource_type,
  action: "create",
  building_id: 1,
  tenant_ids: [tenant],
  data
})

const gotAll = (receiver: Receiver, count: number) =>
  Effect.promise(() => receiver.until(({ length }) => length >= count))

describe("doorhook serve", { concurrent: true }, () => {
  live("takes a third party from login to signed deliveries of exactly its own events", function* () {
    const { url } = yield* serviceOn("memory")
    const ofAdmin = yield* tokensFor(url)
    const ofTenant = yield* tokensFor(url, tenant)
    assert.strictEqual(ofAdmin.expires_in, 86_400)
    const inBuilding = yield* startReceiver()
    const inFlat = yield* startReceiver()
    const [building, flat] = yield* Effect.promise(() =>
      Promise.all([
        createIntegration(url, ofAdmin.access_token, inBuilding.url),
        createIntegration(url, ofTenant.access_token, inFlat.url, ["call"], "/v4/tenants/101/integrations")
      ])
    )

    const data = { id: 7, logged_at: "2026-03-02T07:00:00Z" }
    const published = yield* operator(url, "POST", "/events", [
      event("call", 101, data),
      event("call", 102, data),
      event("access_log", 101, data),
      { ...event("call", 101, data), building_id: 2, tenant_ids: [] }
    ])
    assert.strictEqual(published.status, 202)
    const { events } = yield* read(Accepted, published)
    assert.deepStrictEqual(
      events.map(({ deliveries }) => deliveries),
      [2, 1, 1, 0]
    )
    yield* gotAll(inBuilding, 3)
    yield* gotAll(inFlat, 1)

    for (const [{ signing_secret }, { received }] of [
      [building, inBuilding],
      [flat, inFlat]
    ] as const) {
      for (const { body, headers } of received) {
        new Webhook(signing_secret).verify(body, {
          "webhook-id": String(headers["webhook-id"]),
          "webhook-timestamp": String(headers["webhook-timestamp"]),
          "webhook-signature": String(headers["webhook-signature"])
        })
        assert.strictEqual(headers["content-type"], "application/json")
        assert.strictEqual(headers["doorhook-attempt"], "1")
      }
    }
    assert.strictEqual(
      inFlat.received[0]?.body,
      `{"event":{"resource_type":"call","action":"create","data":${JSON.stringify(data)}}}`
    )
    assert.strictEqual(inFlat.received[0]?.headers["webhook-id"], events[0]?.id)
    assert.deepStrictEqual(
      new Set(inBuilding.received.map(({ headers }) => headers["webhook-id"])),
      new Set(events.slice(0, 3).map(({ id }) => id))
    )
  })

  live("stops on SIGTERM with exit code 0, after open requests have finished", function* () {
    const database = join(yield* temporaryFolder, "stop.db")
    const held = Promise.withResolvers<number>()
    const receiver = yield* startReceiver(() => held.promise)
    const first = yield* serviceOn(database)
    yield* integrate(first.url, receiver.url)
    yield* operator(first.url, "POST", "/events", event("access_log", 101))
    yield* gotAll(receiver, 1)
    const doctor = yield* runHere(["doctor", "--database", database])
    assert.match(
      doctor.stdout,
      new RegExp(`^warn +database +process ${first.child.pid}, since \\S+Z, delivers from the database file`, "m")
    )
    first.child.kill("SIGTERM")
    held.resolve(200)
    const { code, stdout } = yield* Effect.promise(() => first.finished)
    assert.strictEqual(code, 0)
    assert.match(stdout, /\ndoorhook stopping: finishing work in progress\ndoorhook stopped\n$/)
    const second = yield* serveHere(["--database", database, "--directory", directory])
    const { deliveries } = yield* read(Deliveries, yield* operator(second.url, "GET", "/deliveries"))
    assert.deepStrictEqual(
      deliveries.map(({ attempts, state }) => [state, attempts]),
      [["delivered", 1]]
    )
  })

  live(
    "loses none of 2,000 deliveries in flight to kill -9, and sends them again without waiting for a lease",
    function* () {
      const folder = yield* temporaryFolder
      const flags = yield* configured(join(folder, "kill.db"), { lease: "1d" })
      const killed = Promise.withResolvers<void>()
      // The receiver answers only after the kill, so no request before the kill is acknowledged.
      const receiver = yield* startReceiver(async () => {
        await killed.promise
        return 200
      })
      const first = yield* startService(flags)
      yield* integrate(first.url, receiver.url)
      const ids = new Set<string>()
      for (let batch = 0; batch < 2; batch++) {
        const answer = yield* operator(
          first.url,
          "POST",
          "/events",
          Array.from({ length: 1_000 }, (_, index) => event("access_log", 101, { id: batch * 1_000 + index }))
        )
        for (const { id } of (yield* read(Accepted, answer)).events) ids.add(id)
      }
      assert.strictEqual(ids.size, 2_000)
      yield* gotAll(receiver, 1)
      first.child.kill("SIGKILL")
      yield* Effect.promise(() => first.finished)
      killed.resolve()
      // The killed process no longer locks the file, so another process can start.
      const second = yield* serveHere(flags)
      yield* Effect.promise(() =>
        receiver.until(
          (received) =>
            received.length >= 2_000 && new Set(received.map(({ headers }) => headers["webhook-id"])).size === 2_000
        )
      )
      assert.deepStrictEqual(new Set(receiver.received.map(({ headers }) => String(headers["webhook-id"]))), ids)
      const allDelivered = Effect.gen(function* () {
        let after: string | null = ""
        let delivered = 0
        while (after !== null) {
          const page: typeof Deliveries.Type = yield* read(
            Deliveries,
            yield* operator(second.url, "GET", `/deliveries?state=delivered&limit=1000&after=${after}`)
          )
          delivered += page.deliveries.length
          after = page.next
        }
        return delivered
      })
      yield* eventually("all are delivered", allDelivered, (count) => count === 2_000)
    }
  )

  live("continues when nobody reads its output, and exits normally", function* () {
    const database = join(yield* temporaryFolder, "doorhook.db")
    const { child, finished, url } = yield* startService(["--database", database])
    child.stdout?.destroy()
    child.stderr?.destroy()
    assert.strictEqual((yield* Effect.promise(() => fetch(`${url}/health/ready`))).status, 200)
    child.kill("SIGTERM")
    assert.strictEqual((yield* Effect.promise(() => finished)).code, 0)
  })
})

describe("an invalid command line", () => {
  const refuses = (name: string, args: ReadonlyArray<string>, message: RegExp) =>
    live(name, function* () {
      const { code, stderr, stdout } = yield* runHere(args)
      assert.match(stderr, message)
      assert.strictEqual(stderr.trim().split("\n").length, 1, stderr)
      assert.strictEqual(code, 3)
      assert.strictEqual(stdout, "")
    })

  refuses("an unknown command", ["sevre"], /sevre/)
  refuses("an unknown flag", ["serve", "--prot", "1"], /--prot/)
  refuses(
    "an integration without a change",
    ["integrations", "set", "1", "--operator-key", "k"],
    /Give --status, .*--acknowledge/
  )
  refuses(
    "a missing directory",
    ["serve", "--port", "0", "--database", "memory", "--directory", "missing.json"],
    /missing\.json can't be read: there is no such file/
  )
  refuses("deliveries without a key", ["deliveries", "list"], /DOORHOOK_OPERATOR_KEY/)

  live("a port in use", function* () {
    const { port } = yield* listening(createServer())
    const database = join(yield* temporaryFolder, "new", "doors.db")
    const { code, stderr, stdout } = yield* runHere(["serve", "--database", database, "--port", String(port)])
    // A failing start creates no database and prints only the error.
    assert.deepStrictEqual([code, stdout, existsSync(database)], [1, "", false])
    assert.match(stderr, new RegExp(`Port ${port} on 127\\.0\\.0\\.1 is in use`))
  })

  live("a directory file with errors, all of them named", function* () {
    const file = join(yield* temporaryFolder, "directory.json")
    yield* Effect.promise(() =>
      writeFile(file, '{"clients":[{"id":"c1"}],"users":[{"login":"a"}],"buildings":[],"tenants":[]}')
    )
    const { code, stderr } = yield* runHere(["serve", "--port", "0", "--database", "memory", "--directory", file])
    assert.notStrictEqual(code, 0)
    for (const pointer of ["/clients/0", "/users/0"]) assert.include(stderr, pointer)
  })
})
