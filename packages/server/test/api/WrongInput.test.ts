import { assert, describe } from "@effect/vitest"
import { call, Controls, document, valueAt, onServer } from "../TestServer.ts"

const path = "/v4/buildings/1/integrations"

const withConfiguration = (configuration: unknown) => document({ configuration })
const withUrl = (url: unknown) => withConfiguration({ url, method: "post" })
const withBindings = (bindings: unknown) => document({ bindings })
const without = (name: string) => {
  const whole = document()
  return { data: { ...whole.data, attributes: { ...whole.data.attributes, [name]: undefined } } }
}

/** A document, with the status, code and pointer of its only problem. */
const wrongDocuments: ReadonlyArray<
  readonly [what: string, body: unknown, status: number, code: string, pointer: string]
> = [
  ["no object", [], 422, "invalid", ""],
  ["null", "null", 422, "invalid", ""],
  ["no data", {}, 422, "blank", ""],
  ["data as a list", { data: [document().data] }, 422, "invalid", "/data"],
  ["no type", { data: { attributes: document().data.attributes } }, 422, "blank", "/data"],
  ["another type", { data: { ...document().data, type: "webhooks" } }, 409, "conflict", "/data/type"],
  ["a number as type", { data: { ...document().data, type: 5 } }, 409, "conflict", "/data/type"],
  ["no attributes", { data: { type: "integrations" } }, 422, "blank", "/data"],
  ["attributes as text", { data: { type: "integrations", attributes: "x" } }, 422, "invalid", "/data/attributes"],
  ["no integrator", without("integrator"), 422, "blank", "/data/attributes"],
  ["another integrator", document({ integrator: "zapier" }), 422, "inclusion", "/data/attributes/integrator"],
  ["no configuration", without("configuration"), 422, "blank", "/data/attributes"],
  ["configuration as null", withConfiguration(null), 422, "invalid", "/data/attributes/configuration"],
  ["no url", withConfiguration({ method: "post" }), 422, "blank", "/data/attributes/configuration"],
  ["url as a number", withUrl(5), 422, "invalid", "/data/attributes/configuration/url"],
  ["url that is none", withUrl("notaurl"), 422, "not_a_url", "/data/attributes/configuration/url"],
  ["empty url", withUrl(""), 422, "not_a_url", "/data/attributes/configuration/url"],
  ["relative url", withUrl("//receiver.example/hook"), 422, "not_a_url", "/data/attributes/configuration/url"],
  ["ftp", withUrl("ftp://receiver.example/"), 422, "scheme", "/data/attributes/configuration/url"],
  ["file", withUrl("file:///etc/passwd"), 422, "scheme", "/data/attributes/configuration/url"],
  ["javascript", withUrl("javascript:alert(1)"), 422, "scheme", "/data/attributes/configuration/url"],
  ["userinfo", withUrl("https://u:p@receiver.example/"), 422, "userinfo", "/data/attributes/configuration/url"],
  ["fragment", withUrl("https://receiver.example/#x"), 422, "fragment", "/data/attributes/configuration/url"],
  [
    "long url",
    withUrl(`https://receiver.example/${"x".repeat(2_048)}`),
    422,
    "too_long",
    "/data/attributes/configuration/url"
  ],
  ["loopback", withUrl("http://127.0.0.1/"), 422, "refused_address", "/data/attributes/configuration/url"],
  ["metadata", withUrl("http://169.254.169.254/"), 422, "refused_address", "/data/attributes/configuration/url"],
  ["loopback in hex", withUrl("http://0x7f000001/"), 422, "refused_address", "/data/attributes/configuration/url"],
  [
    "mapped loopback",
    withUrl("http://[::ffff:127.0.0.1]/"),
    422,
    "refused_address",
    "/data/attributes/configuration/url"
  ],
  [
    "name of a private address",
    withUrl("https://inside.example/"),
    422,
    "refused_address",
    "/data/attributes/configuration/url"
  ],
  ["no method", withConfiguration({ url: "https://receiver.example" }), 422, "blank", "/data/attributes/configuration"],
  [
    "get",
    withConfiguration({ url: "https://receiver.example", method: "get" }),
    422,
    "inclusion",
    "/data/attributes/configuration/method"
  ],
  ["name as a number", document({ name: 5 }), 422, "invalid", "/data/attributes/name"],
  ["long name", document({ name: "\u{1f514}".repeat(81) }), 422, "too_long", "/data/attributes/name"],
  ["name with a line break", document({ name: "a\nb" }), 422, "invalid", "/data/attributes/name"],
  ["name with half a character", document({ name: "a\ud800" }), 422, "invalid", "/data/attributes/name"],
  ["description as a list", document({ description: ["a"] }), 422, "invalid", "/data/attributes/description"],
  ["long description", document({ description: "x".repeat(501) }), 422, "too_long", "/data/attributes/description"],
  ["description with NUL", document({ description: "a\0b" }), 422, "invalid", "/data/attributes/description"],
  ["no bindings", without("bindings"), 422, "blank", "/data/attributes"],
  ["bindings as an object", withBindings({}), 422, "invalid", "/data/attributes/bindings"],
  ["empty bindings", withBindings([]), 422, "blank", "/data/attributes/bindings"],
  ["a binding as text", withBindings(["call"]), 422, "invalid", "/data/attributes/bindings/0"],
  [
    "unknown resource type",
    withBindings([{ resource_type: "door_release", actions: ["create"] }]),
    422,
    "inclusion",
    "/data/attributes/bindings/0/resource_type"
  ],
  [
    "name of an inherited member",
    withBindings([{ resource_type: "constructor", actions: ["create"] }]),
    422,
    "inclusion",
    "/data/attributes/bindings/0/resource_type"
  ],
  ["no actions", withBindings([{ resource_type: "call" }]), 422, "blank", "/data/attributes/bindings/0"],
  [
    "empty actions",
    withBindings([{ resource_type: "call", actions: [] }]),
    422,
    "blank",
    "/data/attributes/bindings/0/actions"
  ],
  [
    "another action",
    withBindings([{ resource_type: "call", actions: ["create", "destroy"] }]),
    422,
    "inclusion",
    "/data/attributes/bindings/0/actions/1"
  ],
  [
    "a filter",
    withBindings([{ resource_type: "call", actions: ["create"], resource_id: "5" }]),
    422,
    "invalid",
    "/data/attributes/bindings/0/resource_id"
  ]
]

describe("wrong input", () => {
  onServer("is reported by status, code and a pointer into the request, and changes nothing", function* () {
    const { names, forgotten } = yield* Controls
    names.set("inside.example", ["203.0.114.1", "10.0.0.5"])
    const created = yield* call("POST", path, { as: "admin", body: document() })
    const one = `${path}/${created.textAt("/data/id")}`
    for (const [what, body, status, code, pointer] of wrongDocuments) {
      for (const [method, target] of [
        ["POST", path],
        ["PUT", one]
      ] as const) {
        const reply = yield* call(method, target, { as: "admin", body })
        const about = `${method} with ${what}: ${reply.text}`
        assert.strictEqual(reply.status, status, about)
        assert.lengthOf(Object.values(reply.at("/errors") ?? {}), 1, about)
        assert.strictEqual(reply.at("/errors/0/status"), String(status), about)
        assert.strictEqual(reply.at("/errors/0/code"), code, about)
        assert.strictEqual(reply.at("/errors/0/source/pointer"), pointer, about)
        assert.isNotEmpty(reply.textAt("/errors/0/title"), about)
        assert.isNotEmpty(reply.textAt("/errors/0/detail"), about)
        assert.strictEqual(reply.at("/errors/0/id"), reply.headers.get("x-request-id"), about)
        assert.isDefined(valueAt(typeof body === "string" ? JSON.parse(body) : body, pointer), about)
      }
    }
    assert.deepStrictEqual((yield* call("GET", one, { as: "admin" })).at("/data"), created.at("/data"))
    assert.strictEqual((yield* call("GET", path, { as: "admin" })).at("/meta/page_info/total_item_count"), 1)
    assert.deepStrictEqual(forgotten, [])
  })

  onServer("is reported with all its problems in one answer", function* () {
    const body = document({
      integrator: "zapier",
      configuration: { url: "http://10.0.0.1/", method: "get" },
      bindings: [{ resource_type: "x", actions: ["create", "y"] }, 5]
    })
    const reply = yield* call("POST", path, { as: "admin", body })
    assert.strictEqual(reply.status, 422)
    const pointers = [0, 1, 2, 3, 4, 5, 6].map((n) => reply.at(`/errors/${n}/source/pointer`))
    assert.deepStrictEqual(pointers, [
      "/data/attributes/integrator",
      "/data/attributes/configuration/url",
      "/data/attributes/configuration/method",
      "/data/attributes/bindings/0/resource_type",
      "/data/attributes/bindings/0/actions/1",
      "/data/attributes/bindings/1",
      undefined
    ])
  })

  onServer("in a PATCH prevents all of its changes", function* () {
    const created = yield* call("POST", path, { as: "admin", body: document() })
    const one = `${path}/${created.textAt("/data/id")}`
    const attributes = { status: "off", configuration: { url: "https://elsewhere.example/", method: 5 } }
    const reply = yield* call("PATCH", one, { as: "admin", body: { data: { type: "integrations", attributes } } })
    assert.strictEqual(reply.status, 422)
    assert.strictEqual(reply.at("/errors/0/source/pointer"), "/data/attributes/configuration/method")
    assert.strictEqual(reply.at("/errors/1/source/pointer"), "/data/attributes/status")
    assert.deepStrictEqual((yield* call("GET", one, { as: "admin" })).at("/data"), created.at("/data"))
  })

  onServer("with an id in the document is refused, unless it is the id in the path", function* () {
    const withId = (id: unknown) => ({ data: { ...document().data, id } })
    const forbidden = yield* call("POST", path, { as: "admin", body: withId("7") })
    assert.strictEqual(forbidden.status, 403)
    assert.strictEqual(forbidden.at("/errors/0/source/pointer"), "/data/id")
    const created = yield* call("POST", path, { as: "admin", body: document() })
    const id = created.textAt("/data/id")
    for (const method of ["PUT", "PATCH"]) {
      const reply = yield* call(method, `${path}/${id}`, { as: "admin", body: withId("999") })
      assert.strictEqual(reply.status, 409)
      assert.strictEqual(reply.at("/errors/0/source/pointer"), "/data/id")
      for (const right of [id, Number(id), undefined]) {
        assert.strictEqual((yield* call(method, `${path}/${id}`, { as: "admin", body: withId(right) })).status, 200)
      }
    }
  })

  onServer("in a path gets 404", function* () {
    const ids = ["abc", "0", "-1", "01", "1.0", `1${"0".repeat(30)}`, "9".repeat(200), "%00", "%F0%28", "2", "999"]
    for (const id of ids) {
      for (const [method, target, body] of [
        ["GET", `/v4/buildings/${id}/integrations`],
        ["POST", `/v4/buildings/${id}/integrations`, document()],
        ["GET", `/v4/tenants/${id}/integrations`],
        ["GET", `${path}/${id}`],
        ["PUT", `${path}/${id}`, document()],
        ["PATCH", `${path}/${id}`, document()],
        ["DELETE", `${path}/${id}`]
      ] as const) {
        const reply = yield* call(method, target, { as: "admin", body })
        assert.strictEqual(reply.status, 404, `${method} ${target}`)
        assert.strictEqual(reply.at("/errors/0/code"), "not_found", `${method} ${target}`)
        assert.strictEqual(reply.headers.get("content-type"), "application/vnd.api+json")
      }
    }
  })

  onServer("in a query is refused with the parameter's name", function* () {
    const cases = [
      ["foo=1", "foo"],
      ["sort=id", "sort"],
      ["page=1&access_token=x", "access_token"],
      ["page=-1", "page"],
      ["page=x", "page"],
      ["page=1e3", "page"],
      ["page=", "page"],
      [`page=1${"0".repeat(30)}`, "page"],
      ["per=0", "per"],
      ["per=101", "per"],
      ["page%5Bsize%5D=0", "page[size]"],
      ["page[number]=x", "page[number]"],
      ["page[offset]=1", "page[offset]"],
      ["page=1&page=2", "page"],
      ["page=1&page[number]=1", "page[number]"],
      ["per=1&page[size]=1", "page[size]"]
    ] as const
    for (const [query, parameter] of cases) {
      const reply = yield* call("GET", `${path}?${query}`, { as: "admin" })
      assert.strictEqual(reply.status, 400, query)
      assert.deepStrictEqual(reply.at("/errors/0/source"), { parameter }, query)
    }
    const all = [
      [`${path}?foo=1&bar=2&foo=3&page=1&page=2`, ["foo", "bar", "page"]],
      [`${path}?per=0&page=x`, ["page", "per"]],
      [`${path}/1/deliveries?per=0&after=x`, ["per", "after"]]
    ] as const
    yield* call("POST", path, { as: "admin", body: document() })
    for (const [target, parameters] of all) {
      const reply = yield* call("GET", target, { as: "admin" })
      const sources = parameters.map((parameter, at) => [reply.at(`/errors/${at}/source`), { parameter }])
      for (const [source, expected] of sources) assert.deepStrictEqual(source, expected, target)
      assert.isUndefined(reply.at(`/errors/${parameters.length}`), target)
    }
    const create = yield* call("POST", `${path}?page=1`, { as: "admin", body: document() })
    assert.strictEqual(create.status, 400)
    assert.strictEqual((yield* call("GET", path, { as: "admin" })).at("/meta/page_info/total_item_count"), 1)
  })

  onServer("as a method gets 405 with the allowed methods", function* () {
    const cases = [
      ["PUT", path, "GET, HEAD, POST"],
      ["DELETE", path, "GET, HEAD, POST"],
      ["OPTIONS", path, "GET, HEAD, POST"],
      ["POST", `${path}/1`, "GET, HEAD, PUT, PATCH, DELETE"],
      ["PROPFIND", `${path}/1`, "GET, HEAD, PUT, PATCH, DELETE"]
    ] as const
    for (const [method, target, allow] of cases) {
      const reply = yield* call(method, target, { as: "admin" })
      assert.strictEqual(reply.status, 405, `${method} ${target}`)
      assert.strictEqual(reply.headers.get("allow"), allow)
      assert.strictEqual(reply.at("/errors/0/code"), "method_not_allowed")
    }
    const head = yield* call("HEAD", path, { as: "admin" })
    assert.strictEqual(head.status, 200)
    assert.strictEqual(head.text, "")
  })
})
