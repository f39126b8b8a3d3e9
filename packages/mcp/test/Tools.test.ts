/**
 * What tools answer: to wrong arguments, to users who are asked first, and from the host's own functions.
 */
import { assert, describe, it } from "@effect/vitest"
import { createDoorhook, DoorhookError } from "doorhook"
import { Effect } from "effect"
import { live } from "../../doorhook/test/harness/Embedded.ts"
import { eventually } from "../../doorhook/test/harness/Eventually.ts"
import { startReceiver } from "@doorhook/testkit/Receiver"
import type { HostTool, McpOptions } from "../src/index.ts"
import { mcp, ToolError } from "../src/index.ts"
import type { Answered } from "./Assistant.ts"
import { codeOf, connect, directory, resultOf, startEndpoint, tokenFor, Wire } from "./Assistant.ts"

const scopes = { "doors:open": "Open your doors" }

/** A host's tool that opens doors 1 to 5, and notes who opened which. */
const doorTools = () => {
  const opened: Array<string> = []
  const tools: { readonly open_door: HostTool } = {
    open_door: {
      title: "Open a door",
      description: "Opens a door.",
      scope: "doors:open",
      input: {
        type: "object",
        properties: { door_id: { type: "integer", minimum: 1 } },
        required: ["door_id"],
        additionalProperties: false
      },
      confirm: ({ door_id }) => `Open door ${String(door_id)}?`,
      run: async ({ door_id }, { user_id }) => {
        if (door_id === 6) throw new Error("the password is swordfish")
        if (Number(door_id) > 5)
          throw new ToolError("no_such_door", `There is no door ${String(door_id)}. Doors are 1 to 5.`)
        opened.push(`${user_id} ${String(door_id)}`)
        return { opened: true }
      }
    }
  }
  return { opened, tools }
}

const canAsk = { elicitation: {} }

const accepted = (requestState: unknown) => ({
  inputResponses: { confirm: { action: "accept", content: {} } },
  requestState
})

/** A receiver, and an integration and an event of `ada`, which the receiver has got. */
const delivered = Effect.fnUntraced(function* (
  own: McpOptions = {},
  options: Parameters<typeof startEndpoint>[0] = {}
) {
  const endpoint = yield* startEndpoint({ scopes, ...options }, own)
  const { doorhook, url } = endpoint
  const receiver = yield* startReceiver()
  const event = yield* Effect.promise(async () => {
    const bindings = [{ resource_type: "call", actions: ["create"] }]
    await doorhook.integrations.create({ user: "ada", building: 1, url: receiver.url, bindings, name: "Bell" })
    return doorhook.publish({ resource_type: "call", action: "create", building_id: 1, data: { id: 1, name: "Bo" } })
  })
  const list = Effect.promise(async () => (await doorhook.deliveries.list({ event_id: event.id })).deliveries)
  const [delivery] = yield* eventually("delivery", list, ([one]) => one?.state === "delivered")
  const attempts = Effect.promise(async () => (await doorhook.deliveries.show(delivery?.id ?? "")).attempts.length)
  const wire = new Wire(url, yield* tokenFor(url, "ada", { scope: "public doors:open" }))
  return { ...endpoint, attempts, delivery: delivery?.id ?? "", event: event.id, wire }
})

describe("a tool", () => {
  live("answers wrong arguments with all problems and what is accepted, as a result", function* () {
    const { wire } = yield* delivered(doorTools())
    yield* Effect.promise(() => wire.initialize())
    const problemsOf = (name: string, args: object) =>
      Effect.promise(async () => {
        const answer = await wire.call(name, args)
        assert.strictEqual(answer.status, 200)
        assert.isTrue(Object(answer.messages[0]?.["result"]).isError)
        return String(Object(Object(resultOf(answer)).error).message)
      })
    const all = yield* problemsOf("list_events", { resource_type: "rain", limit: 500, colour: 1 })
    for (const part of [/\/resource_type must be "call" or/, /\/limit must be .* 1 and 100/, /\/colour is not known/])
      assert.match(all, part)
    assert.match(yield* problemsOf("list_events", {}), /building_id or tenant_id/)
    assert.match(yield* problemsOf("list_events", { building_id: 1, tenant_id: 2 }), /only one/)
    assert.match(yield* problemsOf("list_events", { building_id: 1, since: "yesterday" }), /2026-03-02T00:00:00Z/)
    assert.match(yield* problemsOf("list_places", { a: 1 }), /no arguments/)
    assert.match(yield* problemsOf("explain_event", { event_id: 7 }), /\/event_id/)
    assert.match(yield* problemsOf("resend_delivery", { delivery_id: "7" }), /like dlv_42/)
    assert.match(yield* problemsOf("open_door", { door_id: 0.5, confirm: true }), /\/door_id/)
    assert.match(yield* problemsOf("open_door", { door: 1 }), /\/door_id is missing/)
  })

  live("shows events exactly as they were published, latest first, and narrows them", function* () {
    const { doorhook, event, wire } = yield* delivered()
    const later = yield* Effect.promise(() =>
      doorhook.publish({ resource_type: "access_log", action: "create", building_id: 1, data: { id: 2, name: "Bo" } })
    )
    yield* Effect.promise(() => wire.initialize())
    const listed = (args: object) =>
      Effect.promise(async () =>
        Object(resultOf(await wire.call("list_events", { building_id: 1, ...args }))).events.map(
          ({ event_id }: { readonly event_id: string }) => event_id
        )
      )
    assert.deepStrictEqual(yield* listed({}), [later.id, event])
    assert.deepStrictEqual(yield* listed({ limit: 1 }), [later.id])
    assert.deepStrictEqual(yield* listed({ resource_type: "call" }), [event])
    assert.deepStrictEqual(yield* listed({ until: "2026-01-01" }), [])
    // Numbers that JavaScript can't represent keep their digits.
    const long = '{"resource_type":"access_log","action":"create","building_id":1,"data":{"id":12345678901234567890}}'
    yield* Effect.promise(() =>
      doorhook.fetch(
        new Request("http://localhost/operator/events", {
          method: "POST",
          headers: { authorization: `Bearer ${doorhook.operatorKey}`, "content-type": "application/json" },
          body: long
        })
      )
    )
    const { messages } = yield* Effect.promise(() => wire.call("list_events", { building_id: 1, limit: 1 }))
    assert.include(JSON.stringify(messages), "12345678901234567890")
    const uri = "doorhook://buildings/1/events"
    const read = yield* Effect.promise(() => wire.send({ id: 2, method: "resources/read", params: { uri } }))
    assert.include(JSON.stringify(read.messages), "12345678901234567890")
  })

  live("shows only ids where the client gets no more, and no link that its token does not open", function* () {
    const { wire } = yield* delivered({}, { maxDetail: () => "thin" })
    const answer = yield* Effect.promise(() => wire.callAlone("list_events", { building_id: 1 }))
    const [event] = Object(resultOf(answer)).events
    assert.deepStrictEqual(event.data, { id: 1 })
    assert.notInclude(JSON.stringify(answer.messages), "/v4/")
  })

  live(
    "of the host gets checked arguments and the user, and its errors reach the assistant only as it wants",
    function* () {
      const { opened, tools } = doorTools()
      const { wire } = yield* delivered({ tools })
      yield* Effect.promise(() => wire.initialize())
      const open = (door_id: number) => Effect.promise(() => wire.call("open_door", { door_id, confirm: true }))
      assert.deepStrictEqual(resultOf(yield* open(3)), { opened: true })
      assert.strictEqual(codeOf(yield* open(7)), "no_such_door")
      const broken = yield* open(6)
      assert.strictEqual(codeOf(broken), "internal_error")
      assert.notInclude(JSON.stringify(broken.messages), "swordfish")
      assert.deepStrictEqual(opened, ["ada 3"])
    }
  )

  live("whose scope the token lacks is listed, refused with the scope, and opens after a login for it", function* () {
    const { opened, tools } = doorTools()
    const endpoint = yield* startEndpoint({ scopes }, { tools })
    const { client } = yield* connect(endpoint)
    const { tools: listed } = yield* Effect.promise(() => client.listTools())
    const one = listed.find(({ name }) => name === "open_door")
    assert.deepStrictEqual(one?._meta, { "doorhook/scope": "doors:open" })
    const wire = new Wire(endpoint.url, yield* tokenFor(endpoint.url, "ada"))
    const refused = yield* Effect.promise(() => wire.callAlone("open_door", { door_id: 1, confirm: true }))
    assert.strictEqual(refused.status, 403)
    const challenge = refused.headers.get("www-authenticate") ?? ""
    assert.include(challenge, 'error="insufficient_scope"')
    assert.include(challenge, 'scope="public doors:open"')
    assert.include(challenge, "resource_metadata=")
    wire.token = yield* tokenFor(endpoint.url, "ada", { scope: "public doors:open" })
    const open = yield* Effect.promise(() => wire.callAlone("open_door", { door_id: 1, confirm: true }))
    assert.deepStrictEqual(resultOf(open), { opened: true })
    assert.deepStrictEqual(opened, ["ada 1"])
  })
})

describe("a tool that does something", () => {
  live("asks the user through the SDK's client, and does nothing without consent", function* () {
    const { attempts, delivery, ...endpoint } = yield* delivered()
    const asked: Array<string> = []
    let action: "accept" | "decline" | "cancel" = "decline"
    const { client } = yield* connect(endpoint, "ada", (message) => {
      asked.push(message)
      return action
    })
    // Where the client can ask, an argument does not replace the user.
    const resend = () =>
      Effect.promise(() =>
        client.callTool({ name: "resend_delivery", arguments: { delivery_id: delivery, confirm: true } })
      )
    for (action of ["decline", "cancel"] as const) {
      const refused = yield* resend()
      assert.deepStrictEqual(Object(Object(refused.structuredContent).error).code, "declined")
    }
    assert.strictEqual(yield* attempts, 1)
    action = "accept"
    assert.strictEqual(Object((yield* resend()).structuredContent).delivery_id, delivery)
    yield* eventually("second attempt", attempts, (count) => count === 2)
    assert.strictEqual(asked.length, 3)
    assert.match(asked[0] ?? "", /This sends call evt_\w+ of .* again to Bell \(http/)
  })

  live("needs an argument from clients that can't ask, after it said what will happen", function* () {
    const { attempts, delivery, wire } = yield* delivered()
    yield* Effect.promise(() => wire.initialize())
    const first = yield* Effect.promise(() => wire.call("resend_delivery", { delivery_id: delivery }))
    assert.strictEqual(codeOf(first), "confirmation_required")
    assert.match(JSON.stringify(resultOf(first)), /again to Bell.*confirm/)
    assert.strictEqual(yield* attempts, 1)
    const second = yield* Effect.promise(() => wire.call("resend_delivery", { delivery_id: delivery, confirm: true }))
    assert.strictEqual(Object(resultOf(second)).delivery_id, delivery)
    yield* eventually("second attempt", attempts, (count) => count === 2)
  })

  live("asks by its result in the revision without sessions, and takes an answer only to its own call", function* () {
    const { opened, tools } = doorTools()
    const { open_door } = tools
    // The question is the same for all doors.
    const vague = { ...open_door, confirm: () => "Open it?" }
    const { url, wire } = yield* delivered({ tools: { open_door: vague, open_gate: vague } })
    const open = (door_id: number, more: object = {}, tool = "open_door", by = wire) =>
      Effect.promise(() => by.callAlone(tool, { door_id, confirm: true }, more, canAsk))
    const typeOf = (answer: Answered) => Object(answer.messages[0]?.["result"]).resultType
    const first = yield* open(1)
    const { inputRequests, requestState } = Object(first.messages[0]?.["result"])
    assert.strictEqual(typeOf(first), "input_required")
    assert.strictEqual(inputRequests.confirm.params.message, "Open it?")
    // The user agreed to another door, with another tool, or is another one.
    const ben = new Wire(url, yield* tokenFor(url, "ben", { scope: "public doors:open" }))
    assert.strictEqual(typeOf(yield* open(2, accepted(requestState))), "input_required")
    assert.strictEqual(typeOf(yield* open(1, accepted(requestState), "open_gate")), "input_required")
    assert.strictEqual(typeOf(yield* open(1, accepted(requestState), "open_door", ben)), "input_required")
    assert.strictEqual(typeOf(yield* open(1, accepted("Open it?"))), "input_required")
    const declined = { ...accepted(requestState), inputResponses: { confirm: { action: "decline" } } }
    assert.strictEqual(codeOf(yield* open(1, declined)), "declined")
    assert.deepStrictEqual(opened, [])
    assert.deepStrictEqual(resultOf(yield* open(1, accepted(requestState))), { opened: true })
    assert.deepStrictEqual(opened, ["ada 1"])
  })

  live("does nothing if the token ended while the user thought", function* () {
    const { attempts, delivery, ...endpoint } = yield* delivered()
    const { authProvider } = yield* connect(endpoint)
    const first = authProvider.tokens()
    const post = (path: string, fields: Readonly<Record<string, string>>) =>
      fetch(endpoint.url + path, { method: "POST", body: new URLSearchParams({ client_id: endpoint.id, ...fields }) })
    const wire = new Wire(endpoint.url, first?.access_token ?? "")
    const answered = yield* Effect.promise(async () => {
      await wire.initialize(canAsk)
      const asked = await wire.request(
        JSON.stringify({
          jsonrpc: "2.0",
          id: 1,
          method: "tools/call",
          params: { name: "resend_delivery", arguments: { delivery_id: delivery } }
        })
      )
      const reader = (asked.body ?? assert.fail()).pipeThrough(new TextDecoderStream()).getReader()
      const { value: question = "" } = await reader.read()
      const { id } = Object(JSON.parse(question.slice(question.indexOf("{"))))
      // The answer comes with the next token of the same grant.
      const refreshed = await post("/oauth/token", {
        grant_type: "refresh_token",
        refresh_token: first?.refresh_token ?? ""
      })
      await post("/oauth/revoke", { token: wire.token })
      wire.token = Object(await refreshed.json()).access_token
      const { status } = await wire.send({ id, result: { action: "accept", content: {} } })
      assert.strictEqual(status, 202)
      return (await reader.read()).value
    })
    assert.include(answered, "invalid_token")
    assert.strictEqual(yield* attempts, 1)
  })

  live("ends with the service while the user thinks", function* () {
    const { delivery, doorhook, ...endpoint } = yield* delivered()
    const { promise: isAsked, resolve } = Promise.withResolvers<void>()
    const { client } = yield* connect(endpoint, "ada", () => {
      resolve()
      return new Promise<never>(() => undefined)
    })
    // The client itself waits longer than the service does.
    const call = { name: "resend_delivery", arguments: { delivery_id: delivery } }
    const ended = client.callTool(call, undefined, { timeout: 600_000 }).catch((error: unknown) => error)
    yield* Effect.promise(() => isAsked)
    // Closing waits for open requests, but not as long as a user may think.
    yield* Effect.promise(() => doorhook.close())
    yield* Effect.promise(() => client.close())
    assert.instanceOf(yield* Effect.promise(() => ended), Error)
  })
})

describe("mcp", () => {
  it("refuses wrong tools with all problems", () => {
    const wrong: unknown = {
      list_places: { description: "Mine", run: () => null },
      "a b": { description: " ", run: 1, confirm: "yes", scope: "" },
      typed: { description: "Typed", run: () => null, input: { type: "strin" } },
      confirmed: { description: "C", run: () => null, input: { type: "object", properties: { confirm: {} } } }
    }
    const options = { tools: wrong } as const
    try {
      Reflect.apply(mcp, null, [options])
      assert.fail("accepted")
    } catch (error) {
      assert.instanceOf(error, TypeError)
      const { message } = Object(error)
      for (const part of [
        "tools.list_places: needs a free name",
        "tools.a b: needs",
        "tools.a b.description",
        "tools.a b.run",
        "tools.a b.confirm",
        "tools.a b.scope",
        "tools.typed.input",
        "tools.confirmed.input"
      ])
        assert.include(message, part)
    }
  })

  live("needs the scopes of its tools to be declared, and is nothing but the endpoint", function* () {
    const starting = (options: object) =>
      Effect.promise(() =>
        Reflect.apply(createDoorhook, null, [{ database: "memory", directory, ...options }]).then(
          () => assert.fail("started"),
          (error: unknown) => error
        )
      )
    const undeclared = yield* starting({ mcp: mcp(doorTools()) })
    assert.instanceOf(undeclared, DoorhookError)
    assert.match(undeclared.message, /mcp: tools need the scope doors:open; declare it in scopes/)
    assert.strictEqual(undeclared.code, "invalid_config")
    assert.match(Object(yield* starting({ mcp: {} })).message, /mcp: must be made by mcp\(\) of @doorhook\/mcp/)
  })

  live("is not there without the option: neither its path nor its resource", function* () {
    const endpoint = yield* startEndpoint({ mcp: undefined })
    const { doorhook, url } = endpoint
    assert.isFalse(doorhook.handles(new Request(`${url}/mcp`)))
    const statusOf = (path: string) => Effect.promise(async () => (await fetch(url + path, { method: "POST" })).status)
    assert.strictEqual(yield* statusOf("/mcp"), 404)
    const metadata = yield* Effect.promise(() => fetch(`${url}/.well-known/oauth-protected-resource/mcp`))
    assert.strictEqual(metadata.status, 404)
    assert.strictEqual(yield* tokenFor(url, "ada"), "undefined")
  })
})
