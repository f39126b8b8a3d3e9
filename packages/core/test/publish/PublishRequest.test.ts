import { assert, describe, it } from "@effect/vitest"
import { builtInTable, PublishRequest } from "@doorhook/core"
import { Result } from "effect"
import fc from "fast-check"

const event = { resource_type: "access_log", action: "create", building_id: 1, tenant_ids: [101], data: { id: 1 } }

const { fromText, fromValue } = PublishRequest.readerOf(builtInTable)

const problemsOf = (result: ReturnType<typeof fromText>) =>
  Result.match(result, { onSuccess: () => [], onFailure: ({ problems }) => problems.map(({ pointer }) => pointer) })

const withChange = (change: Record<string, unknown>) => JSON.stringify({ ...event, ...change })

describe("PublishRequest", () => {
  it("reads ids as numbers, BigInts or decimal text, up to 2^53 - 1", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), (id) => {
        for (const given of [id, BigInt(id), String(id)]) {
          const [read] = Result.getOrThrow(fromValue({ ...event, building_id: given, tenant_ids: [given] })).events
          assert.deepStrictEqual<unknown>([read?.building_id, read?.tenant_ids], [id, [id]])
        }
      })
    )
    assert.deepStrictEqual<unknown>(
      Result.getOrThrow(fromText(withChange({ building_id: "12" }))).events[0]?.building_id,
      12
    )
  })

  it.each([
    ["abc", 'must be a positive whole number, not "abc"'],
    ["7f3c1a52-0d3e-4b52", 'must be a positive whole number, not "7f3c1a52-0d3e-4b52"'],
    ["+1", 'must be a positive whole number, not "+1"'],
    ["1.0", 'must be a positive whole number, not "1.0"'],
    [" 1", 'must be a positive whole number, not " 1"'],
    ["", 'must be a positive whole number, not ""'],
    ["9007199254740992", 'must be a positive whole number up to 9007199254740991, not "9007199254740992"'],
    [2 ** 53, "must be a positive whole number up to 9007199254740991, not 9007199254740992"],
    [0, "must be a positive whole number, not 0"],
    [1.5, "must be a positive whole number, not 1.5"],
    [null, "must be a positive whole number, not null"],
    [[1], "must be a positive whole number, not a list"]
  ])("refuses the id %j with the rule and the value", (given, detail) => {
    const problems = Result.match(fromValue({ ...event, building_id: given, tenant_ids: [101, given] }), {
      onSuccess: () => [],
      onFailure: (failure) => failure.problems
    })
    assert.deepStrictEqual(problems, [
      { pointer: "/building_id", detail },
      { pointer: "/tenant_ids/1", detail }
    ])
  })

  it("keeps data as it was written", () => {
    const data = '{ "b":1.0, "a":12345678901234567890, "1":"\u2028 \\u0041", "a":2 }'
    const text = `{"resource_type":"call","data":${data},"action":"create","building_id":7}`
    const { events, isList } = Result.getOrThrow(fromText(text))
    assert.isFalse(isList)
    assert.strictEqual(events.length, 1)
    assert.strictEqual(events[0]?.data, data)
    assert.deepStrictEqual(events[0]?.tenant_ids, [])
  })

  it("reads a list of events, each with its own data", () => {
    const { events, isList } = Result.getOrThrow(fromText(JSON.stringify([event, { ...event, data: { id: 2 } }])))
    assert.isTrue(isList)
    assert.deepStrictEqual(
      events.map(({ data }) => String(data)),
      ['{"id":1}', '{"id":2}']
    )
  })

  it.each([
    ["{", [""]],
    ["null", [""]],
    ["[1]", ["/0"]],
    [withChange({ resource_type: "door" }), ["/resource_type"]],
    [withChange({ action: "delete", building_id: 0 }), ["/action", "/building_id"]],
    [withChange({ building_id: undefined }), [""]],
    [withChange({ building_id: "01" }), ["/building_id"]],
    [withChange({ tenant_ids: [1, -1, "x"] }), ["/tenant_ids/1", "/tenant_ids/2"]],
    [withChange({ tenant_ids: 101 }), ["/tenant_ids"]],
    [withChange({ data: [] }), ["/data"]],
    [withChange({ data: undefined }), [""]],
    [withChange({ data: { text: "x".repeat(256 * 1024) } }), ["/data"]],
    ['{"data":{},"data":{},"resource_type":"call","action":"create","building_id":1}', ["/data"]],
    [JSON.stringify([event, { ...event, action: 1 }, {}]), ["/1/action", "/2", "/2", "/2", "/2"]],
    [JSON.stringify(Array.from({ length: 1_001 }, () => event)), [""]]
  ])("finds every problem of %s", (text, pointers) => {
    assert.deepStrictEqual(problemsOf(fromText(text)), pointers)
  })

  it("reads values of an embedding host, and refuses values that JSON can't represent", () => {
    assert.strictEqual(Result.getOrThrow(fromValue(event)).events[0]?.data, '{"id":1}')
    const cycle: Record<string, unknown> = {}
    cycle["self"] = cycle
    for (const data of [undefined, 1n, { n: 1n }, cycle, () => 1, "text"]) {
      assert.isAbove(problemsOf(fromValue({ ...event, data })).length, 0)
    }
  })

  const cycle: Record<string, unknown> = { id: 1 }
  cycle["rows"] = [{ back: cycle }]
  const failing = {
    toJSON: () => {
      throw new Error("not loaded")
    }
  }
  let deep: object = {}
  for (let depth = 0; depth < 20_000; depth++) deep = { deep }
  it.each([
    [{ a: { b: [0, 1n] } }, "holds a BigInt in a.b.1, which JSON can't represent: give a text or a number"],
    [{ a: [1, NaN] }, "holds NaN in a.1, which JSON writes as null: give a number, or null"],
    [-Infinity, "holds -Infinity, which JSON writes as null: give a number, or null"],
    [1n, "holds a BigInt, which JSON can't represent: give a text or a number"],
    [cycle, "refers to itself in rows.0.back"],
    [{ user: failing }, "can't be read in user: not loaded"],
    [new Map([["id", 1]]), "is a Map, which JSON can't represent: give Object.fromEntries(map)"],
    [{ seen: new Set([1]) }, "holds a Set in seen, which JSON can't represent: give a list, [...set]"],
    [Promise.resolve({ id: 1 }), "is a Promise, which JSON can't represent: await it first"],
    [deep, "can't be written as JSON: it is nested too deeply, or too large"],
    [() => ({ id: 1 }), "must be an object"]
  ])("says why a value is no data", (data, detail) => {
    const problems = Result.match(fromValue([event, { ...event, data }]), {
      onSuccess: () => [],
      onFailure: (failure) => failure.problems
    })
    assert.deepStrictEqual(problems, [{ pointer: "/1/data", detail }])
  })

  it("warns only about members that are probably misspellings of `tenant_ids`", () => {
    const { tenant_ids: _, ...others } = event
    const oversightsIn = (...changes: ReadonlyArray<object>) =>
      Result.getOrThrow(fromValue(changes.map((change) => ({ ...others, ...change })))).oversights
    const oversight = (name: string) => `${name} is not a member of an event and was ignored; did you mean tenant_ids?`
    for (const name of ["tenant_id", "tenantIds", "tenants", "tenat_ids"])
      assert.deepStrictEqual(oversightsIn({ [name]: [101] }), [oversight(name)])
    assert.deepStrictEqual(oversightsIn({ tenants: [1] }, { tenant_id: 1 }, { tenants: [2] }), [
      oversight("tenants"),
      oversight("tenant_id")
    ])
    assert.deepStrictEqual(oversightsIn({}, { tenant_ids: [1], tenants: [1] }, { id: 1, source: "x", tenure: 4 }), [])
    const text = JSON.stringify({ ...others, tenant_id: 101 })
    assert.deepStrictEqual(Result.getOrThrow(fromText(text)).oversights, [oversight("tenant_id")])
  })

  it("accepts values that JSON represents completely: empty objects, dates, values with toJSON, repeated references", () => {
    const same = { id: 1 }
    const list = Object.assign(new Set(["a"]), { toJSON: () => ["a"] })
    const data = { none: {}, text: "{}", at: new Date(0), list, same: [same, same] }
    assert.strictEqual(
      Result.getOrThrow(fromValue({ ...event, data })).events[0]?.data,
      '{"none":{},"text":"{}","at":"1970-01-01T00:00:00.000Z","list":["a"],"same":[{"id":1},{"id":1}]}'
    )
  })

  it("reports holes in a list and members that throw", () => {
    const sparse: Array<unknown> = []
    sparse[1] = event
    assert.deepStrictEqual(problemsOf(fromValue(sparse)), ["/0"])
    const throwing = Object.defineProperty({}, "resource_type", {
      get: () => {
        throw new Error("gone")
      }
    })
    assert.deepStrictEqual(problemsOf(fromValue(throwing)), [""])
  })
})
