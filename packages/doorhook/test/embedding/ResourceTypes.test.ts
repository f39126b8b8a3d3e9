/**
 * Resource types that a host declares are bound, published, sent, listed and described like the built-in types.
 */
import { assert, describe } from "@effect/vitest"
import { publishIn } from "doorhook"
import type { Doorhook } from "doorhook"
import { Effect } from "effect"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import pg from "pg"
import { operatorKey } from "@doorhook/testkit/Doorhook"
import { describeOnPostgres, newDatabase } from "@doorhook/testkit/postgres/TestServer"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { startReceiver } from "@doorhook/testkit/Receiver"
import type { Received } from "@doorhook/testkit/Receiver"
import { codeOf, event, live, mount, start, tokenFrom, untilEnded } from "../harness/Embedded.ts"
import { eventually } from "../harness/Eventually.ts"
import { runHere, serveHere } from "../harness/InProcess.ts"
import { callApi, createIntegration, integrationDocument } from "../harness/ThirdParty.ts"

const resourceTypes = {
  door_forced: { actions: ["create"], retry: ["50ms", "100ms"], lifetime: "10m", priority: "high" },
  door_held: { actions: ["create", "end"] }
} as const

const forced = { ...event, resource_type: "door_forced" }

const json = (answer: Promise<Response>): Effect.Effect<unknown> => Effect.promise(async () => (await answer).json())

const typeIn = ({ body }: Received): unknown => {
  const { event }: { readonly event: { readonly resource_type: unknown } } = JSON.parse(body)
  return event.resource_type
}

const hostClient = async (connectionString: string) => {
  const connected = new pg.Client({ connectionString })
  await connected.connect()
  return connected
}

/** Mounts a doorhook with an integration that is bound to the given types. */
const integrated = Effect.fnUntraced(function* (
  receiver: string,
  types: ReadonlyArray<string>,
  options: Parameters<typeof start>[0] = { resourceTypes }
) {
  const doorhook = yield* start(options)
  const { url } = yield* mount(doorhook)
  const token = yield* tokenFrom(url)
  const { id } = yield* Effect.promise(() => createIntegration(url, token, receiver, types))
  return { doorhook, url, token, id }
})

/**
 * Waits until this many attempts of an event's only delivery have failed and a retry is planned. Returns the delivery.
 */
const attempted = (doorhook: Doorhook, event_id: string, attempts: number) =>
  eventually(
    `attempt ${attempts} has failed`,
    Effect.promise(() => doorhook.deliveries.list({ event_id })),
    ({ deliveries: [delivery] }) => delivery?.attempts === attempts && delivery.state === "retrying"
  ).pipe(
    Effect.map(({ deliveries: [delivery] }) => ({
      id: delivery?.id ?? "",
      next_attempt_at: delivery?.next_attempt_at ?? ""
    }))
  )

describe("a declared resource type", () => {
  live("is bound, published, sent on schedule, listed by name, described and tested like a built-in one", function* () {
    const receiver = yield* startReceiver((_, nth) => (nth === 1 ? 500 : 200))
    const { doorhook, id, token, url } = yield* integrated(receiver.url, ["door_forced"])
    const published = yield* Effect.promise(() => doorhook.publish({ ...forced, data: { id: 7, door: "north" } }))
    assert.strictEqual(published.deliveries, 1)
    // The integration has no binding for this event's type.
    assert.strictEqual((yield* Effect.promise(() => doorhook.publish(event))).deliveries, 0)
    yield* Effect.promise(() => receiver.until((received) => received.length === 2))
    const body = '{"event":{"resource_type":"door_forced","action":"create","data":{"id":7,"door":"north"}}}'
    assert.deepStrictEqual(
      receiver.received.map(({ body: sent, headers }) => [headers["doorhook-attempt"], sent]),
      [
        ["1", body],
        ["2", body]
      ]
    )
    const list = JSON.stringify(yield* json(callApi(url, token, "GET", "/v4/buildings/1/door_forced")))
    assert.include(list, '"data":[{"type":"door_forced","id":"7","attributes":{"id":7,"door":"north"},"meta":{')
    assert.include(list, '"total_item_count":1')
    assert.strictEqual((yield* Effect.promise(() => callApi(url, token, "GET", "/v4/tenants/1/door_held"))).status, 404)

    const described = JSON.stringify(yield* json(fetch(`${url}/openapi.json`)))
    for (const part of [
      '"/v4/buildings/{building_id}/door_forced"',
      '"/v4/tenants/{tenant_id}/door_held"',
      '"enum":["call","access_log","door_forced","door_held"]',
      '"enum":["create","end"]'
    ]) {
      assert.include(described, part)
    }

    const tested = yield* Effect.promise(() => doorhook.sendTestEvent(id))
    assert.strictEqual(tested.resource_type, "door_forced")
    yield* Effect.promise(() => receiver.until((received) => received.length === 3))
    assert.match(receiver.received[2]?.body ?? "", /"resource_type":"door_forced".*"test":true/)

    const metrics = yield* Effect.promise(async () => (await fetch(`${url}/metrics`)).text())
    assert.match(metrics, /doorhook_events_accepted_total\S*\{[^}]*resource_type="door_forced"[^}]*\} 1\b/)
  })

  live("that is not declared is refused, with the declared ones", function* () {
    const receiver = yield* startReceiver()
    const { doorhook, id, token, url } = yield* integrated(receiver.url, ["door_held"])
    const listed = "call or access_log or door_forced or door_held; the setting resourceTypes declares others"
    const refused = yield* codeOf(doorhook.publish({ ...event, resource_type: "window" }))
    assert.deepInclude(refused, { code: "invalid_publish", message: `/resource_type: must be ${listed}` })
    const wrongAction = yield* codeOf(doorhook.publish({ ...forced, action: "end" }))
    assert.deepInclude(wrongAction, { code: "invalid_publish", message: "/action: must be create" })
    const overHttp = yield* Effect.promise(() =>
      callApi(url, doorhook.operatorKey, "POST", "/operator/events", { ...event, resource_type: "window" })
    )
    assert.strictEqual(overHttp.status, 422)
    assert.include(yield* Effect.promise(() => overHttp.text()), listed)
    const bound = yield* Effect.promise(() =>
      callApi(url, token, "POST", "/v4/buildings/1/integrations", integrationDocument(receiver.url, ["window"]))
    )
    assert.strictEqual(bound.status, 422)
    assert.include(
      yield* Effect.promise(() => bound.text()),
      "Must be `call` or `access_log` or `door_forced` or `door_held`."
    )
    const overridden = yield* codeOf(doorhook.integrations.set(id, { overrides: { retry: { window: ["1s"] } } }))
    assert.include(overridden.message, "is not a resource type; use call or access_log or door_forced or door_held")
    assert.strictEqual((yield* Effect.promise(() => callApi(url, token, "GET", "/v4/buildings/1/window"))).status, 404)
  })

  live("expires after its lifetime, and follows the schedule of the service or the integration", function* () {
    const receiver = yield* startReceiver(() => 500)
    const options = { resourceTypes, retry: { door_held: ["60ms"] } }
    const { doorhook, id } = yield* integrated(receiver.url, ["door_forced", "door_held"], options)
    const endOf = (type: string) =>
      Effect.gen(function* () {
        const { id: event_id } = yield* Effect.promise(() => doorhook.publish({ ...event, resource_type: type }))
        return (yield* untilEnded(doorhook, event_id)).map(({ attempts, state }) => [state, attempts])
      })
    // After its last retry, a delivery expires if its type has a lifetime; otherwise it is exhausted.
    assert.deepStrictEqual(yield* endOf("door_forced"), [["expired", 3]])
    assert.deepStrictEqual(yield* endOf("door_held"), [["exhausted", 2]])
    yield* Effect.promise(() => doorhook.integrations.set(id, { overrides: { retry: { door_forced: [] } } }))
    assert.deepStrictEqual(yield* endOf("door_forced"), [["expired", 1]])
  })

  live("of high priority overtakes a backlog of normal ones", function* () {
    const held = Promise.withResolvers<number>()
    const receiver = yield* startReceiver((received) => (typeIn(received) === "door_held" ? held.promise : 200))
    const options = { resourceTypes, ackTimeout: "5m" }
    const { doorhook } = yield* integrated(receiver.url, ["door_forced", "door_held"], options)
    const count = 30
    yield* Effect.promise(() =>
      doorhook.publish(Array.from({ length: count }, () => ({ ...event, resource_type: "door_held" })))
    )
    // Ordinary deliveries may use eight of an integration's ten concurrent requests; two are reserved for high
    // priority.
    yield* Effect.promise(() => receiver.until((received) => received.length === 8))
    yield* Effect.promise(() => doorhook.publish(forced))
    yield* Effect.promise(() => receiver.until((received) => received.some((one) => typeIn(one) === "door_forced")))
    assert.lengthOf(receiver.received, 9)
    held.resolve(200)
    yield* Effect.promise(() => receiver.until((received) => received.length === count + 1))
  })

  live("that is no longer declared is still sent and shown, on the schedule of access logs", function* () {
    const database = join(yield* temporaryFolder, "doorhook.db")
    let status = 500
    const receiver = yield* startReceiver(() => status)
    const { id, event_id } = yield* Effect.scoped(
      Effect.gen(function* () {
        const options = { database, resourceTypes: { door_forced: { retry: ["1h", "1h"] } } }
        const { doorhook, id } = yield* integrated(receiver.url, ["door_forced", "call"], options)
        const published = yield* Effect.promise(() => doorhook.publish(forced))
        yield* attempted(doorhook, published.id, 1)
        return { id, event_id: published.id }
      })
    )
    const doorhook = yield* start({ database })
    const { url } = yield* mount(doorhook)
    const token = yield* tokenFrom(url)
    const resend = Effect.gen(function* () {
      const { deliveries } = yield* Effect.promise(() => doorhook.deliveries.list({ event_id }))
      yield* Effect.promise(() => doorhook.deliveries.resend(deliveries[0]?.id ?? ""))
    })
    yield* resend
    const { id: delivery, next_attempt_at } = yield* attempted(doorhook, event_id, 2)
    const { attempts } = yield* Effect.promise(() => doorhook.deliveries.show(delivery))
    const wait = Date.parse(next_attempt_at) - Date.parse(attempts[1]?.started_at ?? "")
    // A type that is no longer declared gets the second retry delay of access logs. The delay of calls would be
    // shorter, and the delay in its former declaration would be longer.
    assert.isAtLeast(wait, 30_000)
    assert.isBelow(wait, 3_600_000)
    status = 200
    yield* resend
    yield* Effect.promise(() => receiver.until((received) => received.length === 3))
    assert.deepStrictEqual(new Set(receiver.received.map(typeIn)), new Set(["door_forced"]))

    const shown = yield* json(callApi(url, token, "GET", `/v4/buildings/1/integrations/${id}`))
    assert.include(JSON.stringify(shown), '{"resource_type":"door_forced","actions":["create"]}')
    const feed = yield* json(callApi(url, token, "GET", `/v4/buildings/1/integrations/${id}/deliveries`))
    assert.include(JSON.stringify(feed), '"resource_type":"door_forced"')
    const change = { data: { type: "integrations", id, attributes: { status: "enabled" } } }
    const path = `/v4/buildings/1/integrations/${id}`
    assert.strictEqual((yield* Effect.promise(() => callApi(url, token, "PATCH", path, change))).status, 200)
    assert.strictEqual((yield* codeOf(doorhook.publish(forced))).code, "invalid_publish")
    assert.strictEqual(
      (yield* Effect.promise(() => doorhook.publish({ ...event, resource_type: "call" }))).deliveries,
      1
    )
  })

  live("is refused with every problem, together with those of other settings", function* () {
    const wrong = {
      database: "memory",
      resourceTypes: { "Door forced": {}, window: { lifetime: "soon", retry: ["later"] }, door_release: {} },
      retry: { window: ["1s"], ring: ["1s"] },
      doorReleaseAlias: true,
      ackTimeout: "soon"
    }
    const { code, message } = yield* codeOf(Effect.runPromise(Effect.scoped(start(wrong))))
    assert.strictEqual(code, "invalid_config")
    for (const part of [
      'resourceTypes: "Door forced" must have 1 to 64 lower-case letters',
      'resourceTypes.window.lifetime: "soon" is not a duration',
      'resourceTypes.window.retry.0: "later" is not a duration',
      'resourceTypes: "door_release" means access_log while doorReleaseAlias is on',
      'retry: "ring" is not a resource type',
      'ackTimeout: "soon" is not a duration'
    ]) {
      assert.include(message, part)
    }
    assert.notInclude(message, '"window" is not a resource type')
    const { message: misread } = yield* codeOf(
      Reflect.apply(start, undefined, [{ resourceTypes: { window: { priority: "urgent", colour: 1 } } }]).pipe(
        Effect.scoped,
        Effect.runPromise
      )
    )
    assert.include(misread, "resourceTypes.window.priority")
    assert.include(misread, "resourceTypes.window.colour")
  })

  live("can be declared in a service's configuration file too", function* () {
    const file = join(yield* temporaryFolder, "settings.json")
    const serve = ["--database", "memory", "--config", file]
    writeFileSync(file, JSON.stringify({ resourceTypes, operatorKey, retry: { door_held: ["1m"] } }))
    const { url } = yield* serveHere(serve)
    const publish = (resource_type: string) =>
      Effect.promise(
        async () => (await callApi(url, operatorKey, "POST", "/operator/events", { ...event, resource_type })).status
      )
    assert.strictEqual(yield* publish("door_held"), 202)
    assert.strictEqual(yield* publish("window"), 422)
    writeFileSync(file, JSON.stringify({ resourceTypes: { call: { priority: "normal" } } }))
    const { code, stderr } = yield* runHere(["serve", ...serve])
    assert.notStrictEqual(code, 0)
    assert.include(stderr, "resourceTypes.call.priority: can't be changed, because the type is built in")
  })
})

const parcel = {
  title: "Parcel",
  schema: {
    type: "object",
    properties: { id: { type: "integer" }, carrier: { enum: ["DHL", "UPS"] }, weight: { type: "number" } },
    required: ["id", "carrier"],
    additionalProperties: false
  },
  example: { id: 1, carrier: "DHL", guid: "a" }
} as const

const unfit = { ...event, resource_type: "parcel", data: { id: 9_007_199_254_740_993n.toString(), carrier: "Ann" } }

/** A logger that keeps its lines. */
const keeping = () => {
  const lines: Array<string> = []
  const keep = (...said: ReadonlyArray<unknown>) => void lines.push(said.join(" "))
  return { lines, logger: { debug: keep, info: keep, warn: keep, error: keep } }
}

describe("the schema of a resource type", () => {
  live("refuses data that does not fit, on all ways of publishing, and never repeats the data", function* () {
    const { doorhook, token, url } = yield* integrated((yield* startReceiver()).url, ["parcel"], {
      resourceTypes: { parcel },
      check: "refuse"
    })
    const problems = (at: string) => [`${at}/data/id: must be a number`, `${at}/data/carrier: must be "DHL" or "UPS"`]
    const one = yield* codeOf(doorhook.publish(unfit))
    assert.deepStrictEqual([one.code, one.message.split("; ").toSorted()], ["invalid_publish", problems("").toSorted()])
    const list = yield* codeOf(doorhook.publish([{ ...unfit, data: { id: 1, carrier: "UPS" } }, unfit]))
    assert.deepStrictEqual(list.message.split("; ").toSorted(), problems("/1").toSorted())
    const overHttp = yield* Effect.promise(() => callApi(url, doorhook.operatorKey, "POST", "/operator/events", unfit))
    assert.strictEqual(overHttp.status, 422)
    const text = yield* Effect.promise(() => overHttp.text())
    assert.include(text, "/data/carrier")
    assert.notInclude(text, "Ann")
    // A whole number beyond 2^53 is a whole number.
    const large = `{"resource_type":"parcel","action":"create","building_id":1,"data":{"id":9223372036854775807,"carrier":"UPS"}}`
    const accepted = yield* Effect.promise(() =>
      fetch(`${url}/operator/events`, {
        method: "POST",
        headers: { authorization: `Bearer ${doorhook.operatorKey}`, "content-type": "application/json" },
        body: large
      })
    )
    assert.strictEqual(accepted.status, 202)
    // The built-in types have schemas, too.
    const call = yield* codeOf(doorhook.publish({ ...event, resource_type: "call", data: { id: "seven" } }))
    assert.include(call.message, "/data/panel: is missing")
    const listed = yield* json(callApi(url, token, "GET", "/v4/buildings/1/parcel"))
    assert.include(JSON.stringify(listed), '"total_item_count":1')
  })

  live("warns once about each problem, and publishes the data, unless the type says otherwise", function* () {
    const { lines, logger } = keeping()
    const receiver = yield* startReceiver()
    const { doorhook } = yield* integrated(receiver.url, ["parcel", "letter"], {
      resourceTypes: { parcel, letter: { ...parcel, check: "off" } },
      check: "warn",
      logger
    })
    yield* Effect.promise(() => doorhook.publish([unfit, unfit, { ...unfit, resource_type: "letter" }]))
    yield* Effect.promise(() => receiver.until((received) => received.length === 3))
    const warnings = lines.filter((line) => line.includes("does not fit the schema"))
    assert.strictEqual(warnings.length, 1, lines.join("\n"))
    assert.include(warnings[0], "type parcel")
    assert.include(warnings[0], "/data/carrier")
    assert.notInclude(lines.join("\n"), "Ann")
  })

  live("is refused at the start if the check can't apply it, with the reason", function* () {
    const wrong = { a: { schema: { not: { required: ["x"] } } }, b: { schema: { type: "objct" } } }
    const { code, message } = yield* codeOf(
      Effect.runPromise(Effect.scoped(start({ resourceTypes: wrong, check: "warn" })))
    )
    assert.strictEqual(code, "invalid_config")
    assert.include(message, "resourceTypes.a.schema: can't be checked: ")
    assert.include(message, '"not"')
    assert.include(message, 'resourceTypes.b.schema: can\'t be checked: "objct" is not a type')
    // Without a check, the schema is only published.
    yield* start({ resourceTypes: wrong })
  })

  live("comes with an example, which test events use with a new id and time", function* () {
    const receiver = yield* startReceiver()
    const { doorhook, id } = yield* integrated(receiver.url, ["parcel"], { resourceTypes: { parcel }, check: "refuse" })
    yield* Effect.promise(() => doorhook.sendTestEvent(id))
    yield* Effect.promise(() => receiver.until((received) => received.length === 1))
    const { event: sent } = JSON.parse(receiver.received[0]?.body ?? "")
    assert.deepInclude(sent.data, { carrier: "DHL", test: true })
    assert.isAbove(sent.data.id, 1_000_000)
    assert.isAbove(Date.parse(sent.data.logged_at), Date.now() - 3_600_000)
    assert.notStrictEqual(sent.data.guid, "a")
  })
})

await describeOnPostgres("a declared resource type on PostgreSQL", (server) => {
  live("is sent with data that does not fit if a host published it in SQL, and a warning says so", function* () {
    const { lines, logger } = keeping()
    const database = server.url(yield* newDatabase(server))
    const receiver = yield* startReceiver()
    yield* integrated(receiver.url, ["parcel"], { database, resourceTypes: { parcel }, check: "refuse", logger })
    const client = yield* Effect.acquireRelease(
      Effect.promise(() => hostClient(database)),
      (connected) => Effect.promise(() => connected.end())
    )
    yield* Effect.promise(() => client.query("SELECT doorhook.publish($1::text)", [JSON.stringify(unfit)]))
    yield* Effect.promise(() => receiver.until((received) => received.length === 1))
    assert.match(lines.join("\n"), /type parcel does not fit the schema of its type, and is sent nevertheless/)
  })

  live("can be published in the host's own transaction", function* () {
    const database = server.url(yield* newDatabase(server))
    const receiver = yield* startReceiver()
    yield* integrated(receiver.url, ["door_forced"], { database, resourceTypes })
    const client = yield* Effect.acquireRelease(
      Effect.promise(() => hostClient(database)),
      (connected) => Effect.promise(() => connected.end())
    )
    yield* Effect.promise(() => client.query("BEGIN"))
    const refused = yield* codeOf(publishIn(client, { ...event, resource_type: "window" }))
    assert.deepInclude(refused, {
      code: "invalid_publish",
      message:
        "/resource_type: must be call or access_log or door_forced or door_held; the setting resourceTypes declares others"
    })
    const wrongAction = yield* codeOf(publishIn(client, { ...forced, action: "end" }))
    assert.deepInclude(wrongAction, { code: "invalid_publish", message: "/action: must be create" })
    const noName = yield* codeOf(publishIn(client, { ...event, resource_type: "No name" }))
    assert.deepInclude(noName, { code: "invalid_publish", message: "/resource_type: must be a resource type" })
    assert.strictEqual((yield* Effect.promise(() => publishIn(client, forced))).deliveries, 1)
    yield* Effect.promise(() => client.query("COMMIT"))
    yield* Effect.promise(() => receiver.until((received) => received.length === 1))
    assert.deepStrictEqual(receiver.received.map(typeIn), ["door_forced"])
  })
})
