/**
 * What receivers get of an event's data, over the wire: `detail` of an integration, and the host's `maxDetail`.
 */
import { createHmac } from "node:crypto"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { plainHeaders, startReceiver } from "@doorhook/testkit/Receiver"
import type { Received } from "@doorhook/testkit/Receiver"
import { assert, describe } from "@effect/vitest"
import type { DoorhookOptions } from "doorhook"
import { Effect } from "effect"
import { operatorKey } from "@doorhook/testkit/Doorhook"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { describeOnPostgres, newDatabase } from "@doorhook/testkit/postgres/TestServer"
import { serveHere, startHere } from "../harness/InProcess.ts"
import { admin, directory } from "../harness/KnownDirectory.ts"
import { codeOf, event, live, mount, start, tokenFrom, untilEnded } from "../harness/Embedded.ts"
import { callApi } from "../harness/ThirdParty.ts"

const data = { id: 7, name: "Ann", image_url: "https://images.example/1", access_point: 11 }

const bindings = [{ resource_type: "access_log", actions: ["create"] }] as const

/** Verifies a request as a receiver does. */
const isGenuine = (secret: string, received: Received): boolean => {
  const key = Buffer.from(secret.replace("whsec_", ""), "base64")
  const { body } = received
  const headers = plainHeaders(received)
  const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`
  return headers["webhook-signature"] === `v1,${createHmac("sha256", key).update(signed).digest("base64")}`
}

const started = Effect.fnUntraced(function* (options: Partial<DoorhookOptions> = {}) {
  const doorhook = yield* start({ retry: { access_log: ["10ms", "10ms"] }, ...options })
  const { url } = yield* mount(doorhook)
  return { doorhook, url }
})

describe("detail", () => {
  live("decides what is sent, what is signed, and what a link leads to", function* () {
    const { doorhook, url } = yield* started()
    const token = yield* tokenFrom(url)
    const receivers = yield* Effect.forEach(["full", "redacted", "thin"] as const, (detail) =>
      Effect.gen(function* () {
        const receiver = yield* startReceiver()
        const { signing_secret } = yield* Effect.promise(() =>
          doorhook.integrations.create({ user: "admin", building: 1, url: receiver.url, bindings, detail })
        )
        return { receiver, signing_secret }
      })
    )
    const { id } = yield* Effect.promise(() => doorhook.publish({ ...event, data }))
    yield* untilEnded(doorhook)
    const start = '{"event":{"resource_type":"access_log","action":"create","data":'
    const link = `${url}/v4/buildings/1/events/${id}`
    const expected = [
      `${start}${JSON.stringify(data)}}}`,
      `${start}{"id":7,"name":null,"image_url":null,"access_point":11}}}`,
      `${start}{"id":7}},"links":{"self":"${link}"}}`
    ]
    for (const [at, { receiver, signing_secret }] of receivers.entries()) {
      const [received] = receiver.received
      assert.strictEqual(received?.body, expected[at])
      assert.isTrue(received !== undefined && isGenuine(signing_secret, received))
    }
    const opened: unknown = yield* Effect.promise(async () =>
      (await fetch(link, { headers: { authorization: `Bearer ${token}` } })).json()
    )
    assert.nestedPropertyVal(opened, "data.attributes.event.data.name", "Ann")
  })

  live("of later attempts follows a change", function* () {
    const { doorhook, url } = yield* started({ retry: { access_log: ["1h"] } })
    const token = yield* tokenFrom(url)
    const receiver = yield* startReceiver((_, nth) => (nth === 1 ? 500 : 200))
    const { id } = yield* Effect.promise(() =>
      doorhook.integrations.create({ user: "admin", building: 1, url: receiver.url, bindings })
    )
    yield* Effect.promise(() => doorhook.publish({ ...event, data }))
    yield* Effect.promise(() => receiver.until((received) => received.length === 1))
    yield* Effect.promise(() => doorhook.idle())
    const changed = yield* Effect.promise(() =>
      callApi(url, token, "PATCH", `/v4/buildings/1/integrations/${id}`, {
        data: { type: "integrations", attributes: { detail: "redacted" } }
      })
    )
    assert.strictEqual(changed.status, 200)
    const { deliveries } = yield* Effect.promise(() => doorhook.deliveries.list())
    yield* Effect.promise(() => doorhook.deliveries.resend(deliveries[0]?.id ?? ""))
    yield* Effect.promise(() => receiver.until((received) => received.length === 2))
    assert.deepStrictEqual(
      receiver.received.map(({ body }) => body.includes("Ann")),
      [true, false]
    )
  })
})

describe("maxDetail", () => {
  live("limits what is sent to integrations that were created before it was lowered", function* () {
    let most = "full"
    const { doorhook } = yield* started({ maxDetail: () => (most === "full" ? "full" : "redacted") })
    const receiver = yield* startReceiver()
    yield* Effect.promise(() =>
      doorhook.integrations.create({ user: "admin", building: 1, url: receiver.url, bindings, detail: "full" })
    )
    yield* Effect.promise(() => doorhook.publish({ ...event, data }))
    yield* Effect.promise(() => receiver.until((received) => received.length === 1))
    most = "redacted"
    yield* Effect.promise(() => doorhook.publish({ ...event, data }))
    yield* Effect.promise(() => receiver.until((received) => received.length === 2))
    assert.deepStrictEqual(
      receiver.received.map(({ body }) => body.includes("Ann")),
      [true, false]
    )
    const refused = yield* codeOf(
      doorhook.integrations.create({ user: "admin", building: 1, url: receiver.url, bindings, detail: "full" })
    )
    assert.strictEqual(refused.code, "inclusion")
    assert.include(refused.message, "no more than `redacted`")
  })

  live("gives ids and links only while it does not work, and a warning says why", function* () {
    for (const [maxDetail, why] of [
      [() => JSON.parse("{}"), "must return full or redacted or thin, not an object"],
      [
        () => {
          throw new Error("no plan")
        },
        "threw no plan"
      ]
    ] as const) {
      const lines: Array<string> = []
      const keep = (...said: ReadonlyArray<unknown>) => void lines.push(said.join(" "))
      const options = { maxDetail, logger: { debug: keep, info: keep, warn: keep, error: keep } }
      const { doorhook } = yield* started(options)
      const receiver = yield* startReceiver()
      const created = yield* Effect.promise(() =>
        doorhook.integrations.create({ user: "admin", building: 1, url: receiver.url, bindings })
      )
      assert.strictEqual(created.detail, "thin")
      yield* Effect.promise(() => doorhook.publish({ ...event, data }))
      yield* Effect.promise(() => receiver.until((received) => received.length === 1))
      assert.notInclude(receiver.received[0]?.body, "Ann")
      assert.strictEqual(lines.filter((line) => line.includes(`maxDetail: ${why}`)).length, 1, lines.join("\n"))
    }
  })

  live("is a value for all, or limits by client and by type, of which the least counts", function* () {
    const limited = Effect.fnUntraced(function* (maxDetail: DoorhookOptions["maxDetail"], client?: string) {
      const { doorhook } = yield* started({ maxDetail })
      const { detail } = yield* Effect.promise(() =>
        doorhook.integrations.create({
          user: "admin",
          building: 1,
          url: "http://127.0.0.1:9/hook",
          bindings,
          ...(client !== undefined && { client })
        })
      )
      return detail
    })
    assert.strictEqual(yield* limited("redacted"), "redacted")
    assert.strictEqual(yield* limited({ types: { access_log: "thin" } }), "thin")
    assert.strictEqual(yield* limited({ types: { call: "thin" } }), "full")
    assert.strictEqual(yield* limited({ default: "thin", clients: { c1: "redacted" } }), "thin")
    assert.strictEqual(yield* limited({ default: "thin", clients: { c1: "redacted" } }, "c1"), "redacted")
    assert.strictEqual(yield* limited({ clients: { c1: "redacted" }, types: { access_log: "thin" } }, "c1"), "thin")
  })

  live("says what is wrong with it", function* () {
    const refused = (maxDetail: unknown) =>
      Effect.map(
        codeOf(Effect.runPromise(Effect.scoped(Reflect.apply(start, undefined, [{ maxDetail }])))),
        ({ message }) => message
      )
    assert.include(yield* refused("small"), "maxDetail: must be full or redacted or thin")
    assert.include(yield* refused(["thin"]), 'maxDetail: must be "full" or "redacted" or "thin" or an object')
    assert.include(yield* refused({ client: {} }), "maxDetail.client: is not known here")
    assert.include(yield* refused({ types: "thin" }), "maxDetail.types: must be an object, not a text")
    assert.include(
      yield* refused({ clients: { c1: "tiny" } }),
      "maxDetail.clients.c1: must be full or redacted or thin"
    )
  })

  live("holds for doorhook serve, from a settings file", function* () {
    const file = join(yield* temporaryFolder, "doorhook.json")
    const maxDetail = { clients: { c1: "thin" }, types: { access_log: "redacted" } }
    yield* Effect.promise(() => writeFile(file, JSON.stringify({ maxDetail })))
    const { url } = yield* serveHere([
      "--database",
      "memory",
      "--config",
      file,
      "--directory",
      directory,
      "--allow-target",
      "127.0.0.0/8"
    ])
    const receiver = yield* startReceiver()
    const integration = { user: admin.login, building: 1, url: receiver.url, bindings }
    const operate = (path: string, body: unknown) =>
      Effect.promise(() => callApi(url, operatorKey, "POST", `/operator/${path}`, body))
    assert.strictEqual((yield* operate("integrations", { ...integration, detail: "full" })).status, 422)
    assert.strictEqual((yield* operate("integrations", integration)).status, 201)
    yield* operate("events", { ...event, data })
    yield* Effect.promise(() => receiver.until((received) => received.length === 1))
    assert.notInclude(receiver.received[0]?.body, "Ann")
    assert.include(receiver.received[0]?.body, '"name":null')
  })
})

await describeOnPostgres("a worker without HTTP", (server) => {
  live("links to the service's address, which the service has stored", function* () {
    const database = server.url(yield* newDatabase(server))
    const shared = ["--database", database, "--directory", directory, "--allow-target", "127.0.0.0/8"]
    const { url } = yield* serveHere([...shared, "--public-url", "https://doors.example/base/"], {
      DOORHOOK_DELIVER: "no"
    })
    const receiver = yield* startReceiver()
    const integration = { user: admin.login, building: 1, url: receiver.url, bindings, detail: "thin" }
    const created = yield* Effect.promise(() =>
      callApi(url, operatorKey, "POST", "/operator/integrations", integration)
    )
    assert.strictEqual(created.status, 201)
    yield* Effect.promise(() => callApi(url, operatorKey, "POST", "/operator/events", { ...event, data }))
    yield* startHere(["worker", ...shared], /doorhook worker ready/)
    yield* Effect.promise(() => receiver.until((received) => received.length === 1))
    assert.include(receiver.received[0]?.body, '"links":{"self":"https://doors.example/base/v4/buildings/1/events/evt_')
  })
})
