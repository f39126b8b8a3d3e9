/**
 * Random requests to the endpoint: each is answered, and none as if the service were at fault.
 *
 * `DOORHOOK_FUZZ_RUNS` sets the number of requests, and `DOORHOOK_FUZZ_SEED` repeats a run.
 */
import { assert, describe } from "@effect/vitest"
import { Config, Effect, Option } from "effect"
import type { Scope } from "effect"
import * as fc from "fast-check"
import { live } from "../../doorhook/test/harness/Embedded.ts"
import { startEndpoint, tokenFor, Wire } from "./Assistant.ts"

const settings = Effect.runSync(
  Effect.all({
    runs: Config.Int("DOORHOOK_FUZZ_RUNS").pipe(Config.withDefault(800)),
    seed: Config.option(Config.Int("DOORHOOK_FUZZ_SEED"))
  })
)

/** Time limit of the test, in milliseconds. A busy machine needs many times as long as an idle one. */
const patience = Math.max(300_000, settings.runs * 100)

const methods = [
  "initialize",
  "notifications/initialized",
  "notifications/cancelled",
  "ping",
  "tools/list",
  "tools/call",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "prompts/list",
  "prompts/get",
  "completion/complete",
  "logging/setLevel",
  "server/discover",
  "subscriptions/listen",
  "events/list",
  "events/poll",
  "events/stream",
  "events/subscribe",
  "events/unsubscribe"
]

const tools = ["list_places", "list_events", "list_integrations", "explain_event", "resend_delivery", "wait", "nothing"]

const events = ["access_log.create", "call.create"]

/** Stands for a cursor that the service returned. */
const cursor = "CURSOR"

const uris = [
  "doorhook://places",
  "doorhook://buildings/1/events",
  "doorhook://tenants/%00/integrations",
  "file:///etc/passwd"
]

/** Values that go wrong in programs. */
const odd = fc.constantFrom<unknown>(
  0,
  -1,
  1,
  2 ** 60,
  "",
  "1",
  "evt_0mx27qg60netq4qwns0r4ctbgmzyt",
  "dlv_1",
  null,
  true,
  [],
  {},
  "\u0000",
  "\ud800"
)

const versioned = { "mcp-protocol-version": "2026-07-28" }

const ofRequest = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": { elicitation: {} },
  "io.modelcontextprotocol/clientInfo": { name: "fuzz", version: "1" }
}

const secret = `whsec_${"A".repeat(43)}=`

/** Receivers that refuse at once. */
const receivers = ["https://127.0.0.1:1/hook", "https://[::1]:1/", "http://127.0.0.1:1/", "https://", "x"]

const params = fc.record(
  {
    name: fc.constantFrom(...tools, ...events),
    uri: fc.constantFrom(...uris),
    arguments: fc.oneof(
      fc.dictionary(
        fc.constantFrom(
          "building",
          "building_id",
          "tenant",
          "tenant_id",
          "limit",
          "since",
          "event_id",
          "delivery_id",
          "confirm",
          "__proto__",
          "x"
        ),
        odd,
        { maxKeys: 4 }
      ),
      fc.constantFrom({ building: 1 }, { building_id: 1 })
    ),
    delivery: fc.oneof(
      odd,
      fc.record(
        {
          mode: fc.oneof(fc.constant("webhook"), odd),
          url: fc.constantFrom(...receivers),
          secret: fc.constantFrom(secret, "x")
        },
        { requiredKeys: ["url", "secret"] }
      )
    ),
    maxEvents: odd,
    maxAgeMs: odd,
    ttlMs: odd,
    protocolVersion: fc.constantFrom("2025-11-25", "2025-06-18", "2024-11-05", "2026-07-28", "", "x"),
    capabilities: fc.constantFrom({}, { elicitation: {} }, null),
    clientInfo: fc.constantFrom({ name: "fuzz", version: "1" }, null),
    cursor: fc.oneof(odd, fc.constant(cursor)),
    requestId: odd,
    level: odd,
    ref: fc.constantFrom({ type: "ref/prompt", name: "x" }, { type: "ref/resource", uri: "doorhook://places" }, null),
    argument: fc.constantFrom({ name: "id", value: "1" }, null),
    notifications: fc.constantFrom({ toolsListChanged: true }, {}),
    inputResponses: fc.constantFrom({ confirm: { action: "accept" } }, { confirm: {} }, null),
    requestState: odd,
    _meta: fc.constantFrom(ofRequest, { progressToken: 1 }, null)
  },
  { requiredKeys: [] }
)

const message = fc.record(
  {
    jsonrpc: fc.constantFrom("2.0", "1.0", null),
    id: fc.constantFrom<unknown>(1, "a", null, 1.5, {}, "__proto__"),
    method: fc.oneof(fc.constantFrom(...methods), fc.string()),
    params: fc.oneof({ weight: 5, arbitrary: params }, odd),
    result: fc.constantFrom({ action: "accept" }, {}),
    error: fc.constantFrom({ code: 1, message: "x" }, {})
  },
  { requiredKeys: [] }
)

/** Messages with a sound envelope, which get further. */
const sound = fc
  .record({ method: fc.constantFrom("tools/call", ...methods), params })
  .map((one) => ({ jsonrpc: "2.0", id: 1, ...one }))

const body = fc.oneof(
  { weight: 5, arbitrary: message.map((one) => JSON.stringify(one)) },
  { weight: 10, arbitrary: sound.map((one) => JSON.stringify(one)) },
  { weight: 1, arbitrary: fc.array(message, { maxLength: 3 }).map((all) => JSON.stringify(all)) },
  { weight: 1, arbitrary: fc.json() },
  { weight: 1, arbitrary: fc.string() }
)

const headers = fc.record(
  {
    accept: fc.constantFrom("application/json, text/event-stream", "*/*", "text/event-stream", ""),
    "content-type": fc.constantFrom("application/json", "application/json; charset=utf-8", "text/plain"),
    "mcp-protocol-version": fc.constantFrom("2025-11-25", "2025-06-18", "2026-07-28", "x"),
    "mcp-method": fc.constantFrom(...methods),
    "mcp-name": fc.constantFrom(...tools, ...events, "=?base64?eA==?=", "=?base64?%?="),
    "mcp-session-id": fc.constantFrom("mine", "nobody's"),
    authorization: fc.constantFrom("Bearer nonsense", "Basic eDp5", "")
  },
  { requiredKeys: [] }
)

const request = fc.oneof(
  fc.record({
    body,
    // Requests that pass as far as possible, among those that don't.
    headers: fc.oneof({ weight: 1, arbitrary: headers }, { weight: 2, arbitrary: fc.constant({}) }),
    method: fc.constantFrom("POST", "POST", "POST", "POST", "DELETE", "PUT", "GET"),
    inSession: fc.boolean()
  }),
  // Requests of the revision without sessions, whose headers repeat what is in the body.
  sound.map(({ params: given, ...one }) => {
    const params = { ...given, _meta: ofRequest }
    const named = {
      ...versioned,
      "mcp-method": one.method,
      "mcp-name": String(one.method === "resources/read" ? params.uri : params.name)
    }
    return { body: JSON.stringify({ ...one, params }), headers: named, method: "POST", inSession: false }
  })
)

/** Reads an answer. A stream of events is closed once it has begun. */
const textOf = async (answer: Response): Promise<string> => {
  let text = ""
  for await (const part of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += part
    if (text.includes("notifications/events/active")) break
  }
  return text
}

describe("random requests", () => {
  const answersAll = function* (): Effect.fn.Return<void, unknown, Scope.Scope> {
    const { url } = yield* startEndpoint(
      { requestsPerMinute: "unlimited" },
      { tools: { wait: { description: "Asks first.", confirm: () => "Wait?", run: () => ({}) } } }
    )
    const wire = new Wire(url, yield* tokenFor(url, "ada"))
    yield* Effect.promise(() => wire.initialize())
    let session = wire.session ?? assert.fail()
    const poll = { name: events[0], arguments: { building: 1 } }
    const polled = yield* Effect.promise(() => wire.send({ id: 1, method: "events/poll", params: poll }))
    const known = Object(polled.messages[0]?.["result"]).cursor ?? assert.fail()
    let reached = 0
    yield* Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(request, async (one) => {
          const given: Readonly<Record<string, string>> = one.headers
          wire.session = one.inSession || given["mcp-session-id"] === "mine" ? session : null
          const sent = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== "mine"))
          const body = one.body.replaceAll(cursor, known)
          const answer = await wire.request(one.method === "GET" ? null : body, sent, one.method)
          const text = await textOf(answer)
          assert.isBelow(answer.status, 500, text)
          if (text.includes('"result"')) reached++
          // The session was ended, or further ones have taken its place.
          const isOver = wire.session !== null && (answer.status === 204 || answer.status === 404)
          if (!isOver) return
          wire.session = null
          await wire.initialize()
          session = wire.session ?? assert.fail()
        }),
        {
          numRuns: settings.runs,
          endOnFailure: true,
          ...(Option.isSome(settings.seed) && { seed: settings.seed.value })
        }
      )
    )
    assert.isAbove(reached, 0)
    // The service still works.
    wire.session = null
    yield* Effect.promise(() => wire.initialize())
    assert.strictEqual((yield* Effect.promise(() => wire.call("list_places"))).status, 200)
  }
  live("are all answered, and never with a status of 500 and above", answersAll, patience)
})
