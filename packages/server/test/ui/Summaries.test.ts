import { builtInTable, declareTypes } from "@doorhook/core"
import type { ResourceTypeTable } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { formatJson } from "../../src/ui/Payload.ts"
import { summaryOf } from "../../src/ui/Summaries.ts"
import { makeLanguages } from "../../src/ui/Texts.ts"

const languageOf = (lang: string) => makeLanguages({})({ header: () => lang }).inZone("Europe/Berlin")

const types: ResourceTypeTable = Result.getOrThrow(
  declareTypes({
    parcel: { actions: ["arrived", "collected"], title: "Parcel", summary: "{carrier} parcel for {unit.label}" },
    alarm: { summary: (data, action) => `${String(data["kind"])} ${action}` },
    broken: { title: "Broken thing", summary: () => String(Reflect.get(Object(null), "missing").member) },
    lift_fault: { actions: ["begin", "end"] }
  })
)

const doors = new Map([[11, "Front door"]])

const log = {
  logged_at: "2026-03-02T15:32:04Z",
  access_point: 11,
  entry_method: "app",
  release_status: "Unlocked",
  name: "Ann"
}
const call = { notification_type: "visitor", unit: { id: 7, label: "4B" }, panel: { id: 3, name: "Main entrance" } }

describe("the line about an event", () => {
  const failures: Array<unknown> = []
  const summarizer = { types, onFailure: (type: unknown) => failures.push(type) }
  const lineOf = (lang: string, resource_type: string | null, data: unknown, action = "create") =>
    summaryOf(
      languageOf(lang),
      summarizer,
      {
        resource_type,
        action,
        data: typeof data === "string" ? data : JSON.stringify(data),
        created_at: Date.UTC(2026, 2, 2, 6)
      },
      doors
    )

  const cases: ReadonlyArray<readonly [line: string, type: string | null, data: unknown, action?: string]> = [
    ["Front door opened by app, Ann, 16:32", "access_log", log],
    ["Door 12 opened by app, Ann, 16:32", "access_log", { ...log, access_point: 12 }],
    ["Front door: Denied, PIN, Ann, 16:32", "access_log", { ...log, release_status: "Denied", entry_method: "PIN" }],
    ["Front door opened by app, 16:32", "access_log", { ...log, name: "" }],
    ["Visitor at Main entrance rings 4B, 07:00", "call", call],
    ["Visitor rings at Main entrance, 07:00", "call", { ...call, unit: null }],
    ["Visitor rings 4B, 07:00", "call", { ...call, panel: null }],
    ["Visitor rings 7, 07:00", "call", { id: 7 }],
    ["Test: Delivery rings 7, 07:00", "call", { id: 7, notification_type: "delivery", test: true }],
    ["Delivery at Main entrance rings 4B, 07:00", "call", { ...call, notification_type: "delivery" }],
    ["UPS parcel for 4B, 07:00", "parcel", { carrier: "UPS", unit: { label: "4B" } }, "arrived"],
    ["smoke create, 07:00", "alarm", { kind: "smoke" }],
    // Without a summary of its own: title, action and id.
    ["Lift fault end 9, 07:00", "lift_fault", { id: 9 }, "end"],
    ["Unheard of 9, 07:00", "unheard_of", { id: 9 }],
    ["Event 9, 07:00", null, { id: 9 }],
    // Data that is cut off, or not as documented.
    ["Access log, 07:00", "access_log", '{"name":"A'],
    ["Access log, 07:00", "access_log", "7"]
  ]
  for (const [line, type, data, action] of cases)
    it(`is: ${line}`, () => assert.strictEqual(lineOf("en", type, data, action), line))

  it("is in the reader's language", () => {
    assert.strictEqual(lineOf("de", "access_log", log), "Front door mit app geöffnet, Ann, 16:32")
    assert.strictEqual(lineOf("de", "call", call), "Besuch an Main entrance klingelt bei 4B, 07:00")
  })

  it("survives a failing function of the host, and reports it", () => {
    assert.strictEqual(lineOf("en", "broken", { id: 3 }), "Broken thing 3, 07:00")
    assert.deepStrictEqual(failures, ["broken"])
  })

  it("is one line of limited length, whatever the data", () => {
    const line = lineOf("en", "access_log", { ...log, name: `A\n\u001b[31m${"x".repeat(500)}` })
    assert.notMatch(line, /\p{Cc}/u)
    assert.isBelow(line.length, 200)
  })
})

describe("the formatted body", () => {
  const cases: ReadonlyArray<readonly [json: string, formatted: string]> = [
    ["{}", "{}"],
    ["[]", "[]"],
    ['{"a":1}', '{\n  "a": 1\n}'],
    ['{"a":[],"b":{},"c":[1,2]}', '{\n  "a": [],\n  "b": {},\n  "c": [\n    1,\n    2\n  ]\n}'],
    ['{"a":12345678901234567890.10e5}', '{\n  "a": 12345678901234567890.10e5\n}'],
    ['{"a{":"b: [\\"x\\", {}],","n" : null }', '{\n  "a{": "b: [\\"x\\", {}],",\n  "n": null\n}'],
    ['[[{"a":true}]]', '[\n  [\n    {\n      "a": true\n    }\n  ]\n]']
  ]
  for (const [json, formatted] of cases)
    it(`is indented: ${json}`, () => assert.strictEqual(formatJson(json), formatted))
})

it("declared types keep their words, and built-in ones have an example", () => {
  assert.strictEqual(types.get("parcel")?.title, "Parcel")
  assert.isDefined(builtInTable.get("call")?.example)
})
