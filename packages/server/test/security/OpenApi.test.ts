/**
 * Checks the OpenAPI description against a running server. The tests provoke each described status of each operation
 * and validate each body against its schema. No other status may occur. They also test a generated client.
 */
import { StoreError, TokenStore } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Logger, Predicate } from "effect"
import { TestClock } from "effect/testing"
import { nextTurn } from "@doorhook/testkit/Turn"
import { OpenAPIClientAxios } from "openapi-client-axios"
import { converse } from "./RawHttp.ts"
import { authorizeC1, exchangeOf, multipart, obtainCode, secretOfC1, startServer } from "../oauth/OAuthServer.ts"
import { address, call, Controls, document, testServer, valueAt, onServer, operatorKey } from "../TestServer.ts"
import { makeValidate } from "./JsonSchema.ts"

type Value = Readonly<Record<string, unknown>>

const membersOf = (value: unknown): Value => (Predicate.isObject(value) && !Array.isArray(value) ? { ...value } : {})

interface Operation {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly responses: Value
  readonly takesBody: boolean
  readonly isOpen: boolean
}

const httpMethods = ["get", "post", "put", "patch", "delete"]

/** The operations of a description. */
const operationsOf = (description: unknown): ReadonlyArray<Operation> =>
  Object.entries(membersOf(valueAt(description, "/paths"))).flatMap(([path, item]) =>
    Object.entries(membersOf(item))
      .filter(([method]) => httpMethods.includes(method))
      .map(([method, operation]) => ({
        id: String(valueAt(operation, "/operationId")),
        method: method.toUpperCase(),
        path,
        responses: membersOf(valueAt(operation, "/responses")),
        takesBody: valueAt(operation, "/requestBody") !== undefined,
        isOpen: Object.keys(membersOf(valueAt(operation, "/security/0"))).length === 0
      }))
  )

interface Answered {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** Makes a function that returns the differences between an answer and the description. */
const makeJudge = (description: unknown) => {
  const validate = makeValidate(membersOf(valueAt(description, "/components/schemas")))
  return ({ responses }: Operation, { headers, status, text }: Answered): ReadonlyArray<string> => {
    // A redirect has no body to check.
    if (status === 303 && text === "") return []
    const promised = responses[String(status)]
    if (promised === undefined) return [`status ${status} is not described: ${text.slice(0, 200)}`]
    const contents = membersOf(valueAt(promised, "/content"))
    if (Object.keys(contents).length === 0) return text === "" ? [] : ["a body that is not described"]
    const type = (headers.get("content-type") ?? "").split(";")[0] ?? ""
    const content = contents[type]
    if (content === undefined) return [`media type ${type} is not described`]
    const value: unknown = type.endsWith("json") ? JSON.parse(text) : text
    return validate(valueAt(content, "/schema"), value)
  }
}

/** Whether the tests can't provoke a status of an operation. */
const unprovoked = ({ id }: Operation, status: string): boolean => {
  // A 500 needs a defect, and no request causes one in these operations.
  if (status === "500") return !/ integrations\.(?!list)/.test(id)
  // These operations fail with 503 only if the directory fails, which it does not in these tests.
  return status === "503" && /^(?:buildings|tenants)\./.test(id)
}

/** Whether other tests cover this status of an operation of the authorization server. */
const isElsewhere = (id: string, status: string): boolean =>
  // Covered by the test of unfinished bodies, and by `AuthorizeEndpoint.test.ts` for failing stores.
  status === "408" || (id === "oauth.authorize" && (status === "500" || status === "503"))

const first = (items: ReadonlyArray<string>): string => items[0] ?? ""

/** Fills in the parameters of a path. `id` is the id of an integration. */
const fill = (path: string, owner: string, id: string): string =>
  path.replace(/\{(?:building|tenant)_id\}/, owner).replace("{id}", id)

const attributesOf = ({ method }: Operation) =>
  method === "PATCH" ? { status: "disabled" } : document().data.attributes
const right = (operation: Operation) => ({ data: { type: "integrations", attributes: attributesOf(operation) } })

type Init = NonNullable<Parameters<typeof call>[2]>

/** Wrong requests by expected status. */
const mistakes = (
  operation: Operation
): ReadonlyArray<readonly [status: number, init: Init & { readonly query?: string }]> => [
  [400, { query: "?unknown=1" }],
  [406, { headers: { accept: "text/html" } }],
  [412, { headers: { "if-match": '"0"' }, ...(operation.takesBody && { body: right(operation) }) }],
  ...(operation.takesBody
    ? ([
        [400, { body: "{" }],
        ...(operation.method === "POST"
          ? ([[403, { body: { data: { ...right(operation).data, id: "1" } } }]] as const)
          : []),
        [409, { body: { data: { ...right(operation).data, type: "webhooks" } } }],
        [413, { body: " ".repeat(65_537) }],
        [415, { body: "x", headers: { "content-type": "text/plain" } }],
        [422, { body: { data: { type: "integrations", attributes: { bindings: 7 } } } }]
      ] as const)
    : ([[422, { query: /(deliveries|events)$/.test(operation.path) ? "?resource_type=x" : "?page=1000000" }]] as const))
]

const silent = Logger.layer([])

describe("the OpenAPI description", () => {
  it.live("of /v4 has exactly the statuses that occur", () =>
    Effect.gen(function* () {
      const controls = yield* Controls
      const description = (yield* call("GET", "/openapi.json")).json
      const judge = makeJudge(description)
      const operations = operationsOf(description).filter(({ path }) => path.startsWith("/v4/"))
      const feeds = operations.filter(({ method, path }) => method === "GET" && /\/(events|deliveries)$/.test(path))
      assert.isAbove(feeds.length, 3)
      for (const { responses } of feeds)
        assert.hasAllKeys(valueAt(responses, "/200/content"), ["application/vnd.api+json", "text/event-stream"])
      const seen = new Set<string>()
      const published = { resource_type: "call", action: "create", building_id: 1, tenant_ids: [101], data: { id: 1 } }
      const event = (yield* call("POST", "/operator/events", { as: operatorKey, body: published })).textAt(
        "/events/0/id"
      )

      for (const operation of operations) {
        const { id, isOpen, method, path, responses, takesBody } = operation
        const isTenant = path.startsWith("/v4/tenants")
        const as = isTenant ? "tenant" : "admin"
        const owner = isTenant ? "101" : "1"
        const collection = `/v4/${isTenant ? "tenants" : "buildings"}/${owner}/integrations`
        const created = yield* call("POST", collection, { as, body: document() })
        const target = fill(path, owner, path.endsWith("/events/{id}") ? event : created.textAt("/data/id"))
        const body = takesBody ? { body: right(operation) } : {}
        const ask = Effect.fnUntraced(function* (verb: string, where: string, init: Init) {
          const reply = yield* call(verb, where, init)
          assert.deepStrictEqual(
            judge(operation, reply),
            [],
            `${id}: ${verb} ${where} -> ${reply.status} ${reply.text}`
          )
          seen.add(`${id} ${reply.status}`)
          return reply.status
        })

        for (const [status, { query = "", ...init }] of mistakes(operation)) {
          if (responses[String(status)] === undefined) continue
          assert.strictEqual(yield* ask(method, target + query, { as, ...body, ...init }), status, `${id} ${status}`)
        }
        if (!isOpen) {
          assert.strictEqual(yield* ask(method, target, body), 401)
          assert.strictEqual(yield* ask(method, target, { as: "narrow", ...body }), 403)
          if (path.includes("{")) {
            assert.strictEqual(yield* ask(method, fill(path, "999", "999"), { as, ...body }), 404)
          }
        }
        const verbs = new Set(operations.filter((each) => each.path === path).map((each) => each.method))
        const other = first(["DELETE", "PUT", "GET", "POST"].filter((verb) => !verbs.has(verb)))
        assert.strictEqual(yield* ask(other, target, { as }), 405)
        if (responses["503"] !== undefined && !unprovoked(operation, "503")) {
          controls.fault = "directory"
          assert.strictEqual(yield* ask(method, target, { as, ...body }), 503, `${id} 503`)
        }
        if (!unprovoked(operation, "500") && path.includes("/integrations/")) {
          controls.fault = "defect"
          assert.strictEqual(yield* ask(method, target, { as, ...body }), 500, `${id} 500`)
        }
        controls.fault = "none"
        if (method === "POST" && takesBody) {
          controls.lookup = Effect.die(new Error("a resolver that breaks"))
          assert.strictEqual(yield* ask(method, target, { as, ...body }), 500, `${id} 500`)
          controls.lookup = Effect.void
        }
        // The next test covers 408.
        if (responses["408"] !== undefined) seen.add(`${id} 408`)
        const status = yield* ask(method, target, { as, ...body })
        assert.isBelow(status, 300, id)
      }

      const limited = testServer({ api: { requestsPerMinute: 0 } })
      for (const operation of operations.filter(({ responses }) => responses["429"] !== undefined)) {
        const as = operation.path.startsWith("/v4/tenants") ? "tenant" : "admin"
        const reply = yield* call(operation.method, fill(operation.path, "1", "1"), { as }).pipe(
          Effect.provide(limited)
        )
        assert.deepStrictEqual([reply.status, judge(operation, reply)], [429, []], operation.id)
        seen.add(`${operation.id} 429`)
      }

      const promised = operations.flatMap((operation) =>
        Object.keys(operation.responses).flatMap((status) =>
          unprovoked(operation, status) ? [] : [`${operation.id} ${status}`]
        )
      )
      assert.deepStrictEqual(
        promised.filter((each) => !seen.has(each)),
        []
      )
    }).pipe(Effect.provide(Layer.provideMerge(testServer(), silent)))
  )

  onServer("has the status for a body that never ends", function* () {
    const description = (yield* call("GET", "/openapi.json")).json
    const judge = makeJudge(description)
    const base = yield* address
    const operations = operationsOf(description).filter(({ responses }) => responses["408"] !== undefined)
    assert.isAtLeast(operations.length, 6)
    for (const operation of operations) {
      const isTenant = operation.path.startsWith("/v4/tenants")
      const target = fill(operation.path, isTenant ? "101" : "1", "1")
      const head = [
        `${operation.method} ${target} HTTP/1.1`,
        "Host: a",
        `Authorization: Bearer ${isTenant ? "tenant" : "admin"}`,
        "Content-Type: application/json",
        "Content-Length: 100"
      ].join("\r\n")
      const answering = yield* Effect.forkChild(Effect.promise(() => converse(base, [`${head}\r\n\r\n{`])))
      // The deadline starts only when the server has read the head, so one step of the test clock may not be enough.
      while (answering.pollUnsafe() === undefined) {
        yield* TestClock.adjust("1 minute")
        yield* nextTurn
      }
      const { text } = yield* Fiber.join(answering)
      const [lines = "", body = ""] = text.split("\r\n\r\n")
      const type = /^content-type: (.*)$/im.exec(lines)?.[1] ?? ""
      const answered = { status: 408, headers: new Headers({ "content-type": type }), text: body }
      assert.match(lines, /^HTTP\/1\.1 408 /, operation.id)
      assert.deepStrictEqual(judge(operation, answered), [], `${operation.id}: ${text}`)
    }
  })

  it("of the authorization server has exactly the statuses that occur", async () => {
    const server = await startServer()
    assert.isString(server.url)
    const description: unknown = await (await fetch(`${server.url}/openapi.json`)).json()
    const judge = makeJudge(description)
    const operations = operationsOf(description).filter(({ path }) => !path.startsWith("/v4/"))
    const seen = new Set<string>()
    const ask = async (base: string, id: string, init: RequestInit, query = "") => {
      const operation = operations.find((each) => each.id === id) ?? assert.fail(`there is no ${id}`)
      const response = await fetch(`${base}${operation.path}${query}`, {
        method: operation.method,
        redirect: "manual",
        ...init
      })
      const answered = { status: response.status, headers: response.headers, text: await response.text() }
      assert.deepStrictEqual(judge(operation, answered), [], `${id} -> ${answered.status} ${answered.text}`)
      seen.add(`${id} ${response.status}`)
      return answered
    }
    const client = { client_id: "c1", client_secret: secretOfC1 }
    const tokens = await ask(server.url, "oauth.token", {
      body: multipart(exchangeOf(await obtainCode(server.url)))
    })
    const access: unknown = JSON.parse(tokens.text)
    const token = String(valueAt(access, "/access_token"))
    await ask(server.url, "oauth.introspect", { body: new URLSearchParams({ ...client, token }) })
    await ask(server.url, "oauth.introspect", { body: new URLSearchParams({ ...client, token: "x" }) })
    await ask(server.url, "oauth.revoke", { body: new URLSearchParams({ ...client, token }) })
    await ask(server.url, "oauth.metadata", {})
    await ask(server.url, "oauth.resourceMetadata", {})
    const query = (fields: Readonly<Record<string, string>>) => `?${new URLSearchParams(fields).toString()}`
    await ask(server.url, "oauth.authorize", {}, query(authorizeC1))
    await ask(server.url, "oauth.authorize", {}, query({ ...authorizeC1, scope: "admin" }))
    await ask(server.url, "oauth.authorize", {}, query({ ...authorizeC1, client_id: "nobody" }))
    await ask(server.url, "oauth.authorize", {}, query({ ...authorizeC1, client_secret: "wrong" }))
    for (const { id, path, method } of operations) {
      const other = method === "GET" ? "DELETE" : "GET"
      const answer = await fetch(server.url + path, { method: other })
      const answered = { status: answer.status, headers: answer.headers, text: await answer.text() }
      const operation = operations.find((each) => each.id === id) ?? assert.fail(id)
      if (operation.responses["405"] === undefined) continue
      assert.deepStrictEqual([answered.status, judge(operation, answered)], [405, []], id)
      seen.add(`${id} 405`)
    }
    const brokenStore = (cause: Effect.Effect<never, StoreError>) =>
      startServer({
        around: silent,
        store: Layer.mock(TokenStore, {
          findCode: () => cause,
          findAccessToken: () => cause,
          findRefreshToken: () => cause
        })
      })
    const away = await brokenStore(Effect.fail(new StoreError({ operation: "find", cause: null })))
    const broken = await brokenStore(Effect.die(new Error("inside")))
    for (const id of ["oauth.token", "oauth.revoke", "oauth.introspect"]) {
      const whole = { ...exchangeOf("x"), token: `dh_at_1.${"x".repeat(43)}` }
      await ask(server.url, id, { body: new URLSearchParams(client) })
      await ask(server.url, id, { body: new URLSearchParams({ ...whole, client_secret: "wrong" }) })
      await ask(server.url, id, { body: new URLSearchParams({ x: "x".repeat(70_000) }) })
      await ask(server.url, id, { body: "x", headers: { "content-type": "text/plain" } })
      await ask(away.url, id, { body: new URLSearchParams(whole) })
      await ask(broken.url, id, { body: new URLSearchParams(whole) })
    }
    // These requests come last, because too many guesses lock the client out.
    for (const { id, method, responses } of operations.filter((each) => each.responses["429"] !== undefined)) {
      const wrong = { ...authorizeC1, client_secret: "wrong", token: "x", grant_type: "refresh_token" }
      const guess = () =>
        method === "GET"
          ? ask(server.url, id, {}, query(wrong))
          : ask(server.url, id, { body: new URLSearchParams(wrong) })
      let guesses = 0
      while ((await guess()).status !== 429) assert.isBelow(++guesses, 200, `${id}: any secret may be tried`)
      assert.property(responses, "429")
    }
    const promised = operations.flatMap(({ id, responses }) =>
      Object.keys(responses).flatMap((status) => (isElsewhere(id, status) ? [] : [`${id} ${status}`]))
    )
    assert.deepStrictEqual(
      promised.filter((each) => !seen.has(each)),
      []
    )
  })
})

describe("a client that is generated from /openapi.json", () => {
  it.live("creates, lists, changes and deletes, and gets typed errors", () =>
    Effect.gen(function* () {
      const base = yield* address
      yield* Effect.promise(async () => {
        const api = new OpenAPIClientAxios({
          definition: `${base}/openapi.json`,
          axiosConfigDefaults: { headers: { authorization: "Bearer admin" }, validateStatus: () => true }
        })
        const client = await api.init()
        const operation = (name: string) => {
          const found: unknown = client[`building integrations.${name}`]
          return Predicate.isFunction(found) ? found : assert.fail(`there is no ${name}`)
        }
        const run = async (name: string, ...given: ReadonlyArray<unknown>) => {
          const answer: unknown = await operation(name)(...given)
          return { status: valueAt(answer, "/status"), at: (pointer: string) => valueAt(answer, `/data${pointer}`) }
        }
        const created = await run("create", { building_id: 1 }, document())
        assert.strictEqual(created.status, 201)
        assert.match(String(created.at("/meta/signing_secret")), /^whsec_/)
        const one = { building_id: 1, id: created.at("/data/id") }
        assert.strictEqual((await run("list", { building_id: 1, per: 1 })).at("/meta/page_info/total_item_count"), 1)
        const bindings = [{ resource_type: "call", actions: ["create"] }]
        const replaced = await run("replace", one, document({ bindings }))
        assert.deepStrictEqual(replaced.at("/data/attributes/bindings"), bindings)
        const patch = { data: { type: "integrations", attributes: { status: "disabled" } } }
        assert.strictEqual((await run("patch", one, patch)).at("/data/attributes/status"), "disabled")
        const wrong = await run("create", { building_id: 1 }, document({ integrator: "other" }))
        assert.strictEqual(wrong.status, 422)
        assert.strictEqual(wrong.at("/errors/0/source/pointer"), "/data/attributes/integrator")
        assert.strictEqual((await run("remove", one)).status, 204)
        const gone = await run("get", one)
        assert.deepStrictEqual([gone.status, gone.at("/errors/0/code")], [404, "not_found"])
        const foreign = await run("list", { building_id: 2 })
        assert.deepStrictEqual([foreign.status, foreign.at("/errors/0/status")], [404, "404"])
      })
    }).pipe(Effect.provide(testServer()))
  )
})
