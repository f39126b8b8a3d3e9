/**
 * Histories and payloads are valid, unusual where intended, and the same for the same seed.
 */
import { AccessLogData, bodyOf as coreBodyOf, CallData, Crypto, JsonText } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option, Schema } from "effect"
import * as fc from "fast-check"
import { hash } from "node:crypto"
import { odd, ordinary, Random, timed } from "../src/history/Domain.ts"
import type { Draw } from "../src/history/Domain.ts"
import { accessLog, bodyOf, call, EventFactory, plainEvents } from "../src/history/Events.ts"
import type { EventTemplate } from "../src/history/Events.ts"
import { again, forBindings, makeCase, newEvent, raceAgain, raceNew } from "../src/history/History.ts"
import { array, canonical, escapedString, object, reencode, string } from "../src/history/Json.ts"
import { inWords, strengthOf } from "../src/history/Operations.ts"
import type { Operation } from "../src/history/Operations.ts"
import { draw, randomHistories, randomRestarts, unknown } from "../src/history/Samples.ts"
import { retry } from "../src/history/Variations.ts"
import { requirements } from "../src/requirements/Catalogue.ts"

const factory = EventFactory.layer.pipe(Layer.provideMerge(Crypto.layerWebCrypto))
const create = (template: EventTemplate) => Effect.flatMap(EventFactory, ({ create }) => create(template))

/** Returns the body of a template, with fixed values in place of the created ones. */
const bodyWithIds = (template: EventTemplate): string =>
  bodyOf({
    ...template,
    data: template.data.map(([name, value]) => [name, value.startsWith("@") ? (value === "@id" ? "1" : '"x"') : value])
  })

/** Draws many elements from a seed. */
const drawn = <One>(draw: Draw<One>): ReadonlyArray<One> => {
  const random = new Random(1)
  return Array.from({ length: 400 }, () => draw(random))
}

const DataOf = { access_log: AccessLogData, call: CallData } as const
const Body = Schema.Union([
  Schema.Struct({
    event: Schema.Struct({
      resource_type: Schema.Literal("access_log"),
      action: Schema.Literal("create"),
      data: DataOf.access_log
    })
  }),
  Schema.Struct({
    event: Schema.Struct({ resource_type: Schema.Literal("call"), action: Schema.Literal("create"), data: DataOf.call })
  })
])
const AnyBody = Schema.Struct({
  event: Schema.Struct({
    resource_type: Schema.String,
    action: Schema.String,
    data: Schema.Record(Schema.String, Schema.Unknown)
  })
})

const isDocumented = Schema.is(Body)
const isEvent = Schema.is(AnyBody)

describe("payloads", () => {
  it("ordinary events match doorhook's own schemas", () => {
    for (const template of drawn(ordinary)) {
      assert.isTrue(isDocumented(JSON.parse(bodyWithIds(template))))
      assert.strictEqual(template.note, "")
    }
  })

  it("events with unknown content are still events, and say what is unknown", () => {
    for (const template of drawn(unknown)) {
      const body = bodyWithIds(template)
      assert.isTrue(isEvent(JSON.parse(body)))
      const known = { access_log: accessLog, call }[template.resource_type]
      const added =
        template.beside_data.length + template.beside_event.length > 0 ||
        template.action !== "create" ||
        known === undefined ||
        template.data.length > known.data.length
      assert.isTrue(added, template.note)
      assert.isNotEmpty(template.note)
    }
  })

  it("every kind of unknown and of odd content occurs", () => {
    const notes = (events: Draw<EventTemplate>) =>
      drawn(events)
        .map(({ note }) => note)
        .join("\n")
    for (const kind of ["in data", "first in data", "beside data", "beside event", "resource type", "action"]) {
      assert.include(notes(unknown), kind)
    }
    for (const kind of [
      "null",
      "without",
      "empty",
      "right to left",
      "every Unicode plane",
      "invisible",
      "characters",
      "escaped"
    ]) {
      assert.include(notes(odd), kind)
    }
  })

  it("times have every form that may be sent, and are times", () => {
    const all = drawn(timed).map(({ data }) =>
      String(JSON.parse(data.find(([name]) => name === "logged_at")?.[1] ?? ""))
    )
    for (const time of all) assert.isFalse(Number.isNaN(Date.parse(time)), time)
    for (let digits = 0; digits <= 9; digits++) {
      const form = new RegExp(`:\\d{2}${digits === 0 ? "" : `\\.\\d{${digits}}`}(?:Z|[+-])`)
      assert.isTrue(
        all.some((time) => form.test(time)),
        `${digits} digits`
      )
    }
    for (const offset of ["Z", "+05:45", "-08:00", "+14:00", "-12:00"]) {
      assert.isTrue(
        all.some((time) => time.endsWith(offset)),
        offset
      )
    }
  })

  it("numbers keep every digit", () => {
    const long = "123456789012345678901234567890"
    const body = bodyWithIds({ ...accessLog, data: [...accessLog.data, ["serial", long]] })
    assert.include(body, `"serial":${long}}`)
    const seen = drawn(unknown).map(bodyOf)
    assert.isTrue(
      seen.some((text) => /:\d{17,}/.test(text)),
      "numbers longer than a double occur"
    )
  })
})

describe("raw JSON", () => {
  it("is written as doorhook writes it", () => {
    const data = object([
      ["id", "7"],
      ["name", string("Ann")]
    ])
    const ours = bodyOf({
      ...accessLog,
      data: [
        ["id", "7"],
        ["name", string("Ann")]
      ]
    })
    assert.strictEqual(
      ours,
      coreBodyOf({
        resource_type: "access_log",
        action: "create",
        data: Option.getOrThrow(JsonText.fromObjectText(data))
      })
    )
  })

  it("escapes to the same text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        assert.strictEqual(JSON.parse(escapedString(text)), text)
        assert.match(escapedString(text), /^"(\\u[0-9a-f]{4})*"$/)
      })
    )
  })

  it("re-encodes to the same value in other bytes, and does not change when re-encoded again", () => {
    for (const template of [ordinary, unknown, odd].flatMap(drawn)) {
      const body = bodyWithIds(template)
      const spaced = reencode(body)
      assert.notStrictEqual(spaced, body)
      assert.deepStrictEqual(JSON.parse(spaced), JSON.parse(body))
      assert.strictEqual(reencode(spaced), spaced)
    }
  })

  it("leaves texts alone when it re-encodes", () => {
    const text = 'say "x: {y,  z" now \\'
    assert.strictEqual(reencode(object([["x", string(text)]])), `{\n "x": ${string(text)}}\n`)
  })

  it("combines raw values without changing them", () => {
    assert.strictEqual(object([["a", array(["1.0", "null"])]]), '{"a":[1.0,null]}')
  })
})

describe("the canonical form of JSON", () => {
  it("sorts members by UTF-16 code units at every depth, and nothing else (RFC 8785 section 3.2.3)", () => {
    const names = ["\u20ac", "\r", "\ufb33", "1", "\ud83d\ude00", "\u0080"]
    const value = Object.fromEntries(names.map((name, index) => [name, [index, { b: 0, a: "x" }]]))
    // The emoji begins with a code unit below U+FB33, though its code point is above.
    const sorted = ["\r", "1", "\u0080", "\u20ac", "\ud83d\ude00", "\ufb33"]
    assert.strictEqual(
      canonical(value),
      `{${sorted.map((name) => `${JSON.stringify(name)}:[${names.indexOf(name)},{"a":"x","b":0}]`).join(",")}}`
    )
  })
})

describe("samples", () => {
  it("are the same for the same seed, and differ for another", () => {
    fc.assert(
      fc.property(
        fc.nat(),
        fc.constantFrom(...requirements.filter(({ sampled }) => sampled.runs > 0)),
        (seed, { sampled }) => {
          assert.deepStrictEqual(draw(sampled, seed), draw(sampled, seed))
          assert.notDeepEqual(draw(sampled, seed), draw(sampled, seed + 1))
          assert.strictEqual(draw(sampled, seed).length, sampled.runs)
        }
      ),
      { numRuns: 12 }
    )
  })
})

describe("random histories", () => {
  it("contain no operation of strength SHOULD", () => {
    for (const samples of [randomHistories, randomRestarts]) {
      for (const { history } of draw({ ...samples, runs: 200 }, 3)) assert.strictEqual(strengthOf(history.ops), "MUST")
    }
  })
})

describe("a receiver's bindings", () => {
  const bound = ["call:create"]
  const fitted = (...ops: ReadonlyArray<Operation>) => forBindings(makeCase("state", "", ...ops), bound)?.history.ops
  it("limit the events that are sent to it", () => {
    assert.deepStrictEqual(fitted(newEvent(accessLog)), [newEvent(call)])
    assert.isUndefined(fitted(newEvent({ ...accessLog, note: "odd" })))
    assert.isUndefined(fitted({ k: "twins", event: call, kind: "other_type" }))
    assert.deepStrictEqual(plainEvents(bound), [call])
    assert.include(plainEvents(null), accessLog)
  })
})

describe("the event factory", () => {
  it.effect("gives a digest with every digit only for numbers that a double can't hold", () =>
    Effect.gen(function* () {
      const of = (value: string) =>
        create({
          ...accessLog,
          data: [
            ["id", "7"],
            ["value", value]
          ]
        })
      const sha256 = (text: string): string => `sha256:${hash("sha256", text, "hex")}`
      for (const [value, exact] of [
        ["9007199254740993", "9007199254740993"],
        ["-12345678901234567890", "-12345678901234567890"],
        ["0.12345678901234567890123", "0.12345678901234567890123"],
        ["1.00000000000000000001", "1.00000000000000000001"],
        ["12345678901234567890e2", "1234567890123456789000"]
      ] as const) {
        const { digest, exactDigest } = yield* of(value)
        assert.strictEqual(exactDigest, sha256(`{"id":7,"value":${exact}}`))
        assert.strictEqual(digest, sha256(`{"id":7,"value":${JSON.stringify(Number(value))}}`))
      }
      for (const value of ["0", "-0", "1.0", "1e300", "0.1", "-2.50E-4", "9007199254740992", '"9007199254740993"']) {
        assert.isNull((yield* of(value)).exactDigest, value)
      }
    }).pipe(Effect.provide(factory))
  )

  it.effect("gives every event new ids", () =>
    Effect.gen(function* () {
      const some = yield* Effect.all(Array.from({ length: 50 }, () => create(call)))
      assert.strictEqual(new Set(some.map(({ webhook_id }) => webhook_id)).size, 50)
      assert.strictEqual(new Set(some.map(({ body }) => /"id":\d+/.exec(body)?.[0])).size, 50)
      assert.strictEqual(new Set(some.map(({ body }) => /"guid":"[^"]+"/.exec(body)?.[0])).size, 50)
      for (const { body, webhook_id } of some) {
        assert.isTrue(isDocumented(JSON.parse(body)))
        assert.match(webhook_id, /^evt_[0-9a-z]{29}$/)
        assert.match(body, /"guid":"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"/)
        assert.match(body, /"logged_at":"1970-01-01T00:00:00.000Z"/)
        const id = Number(/"id":(\d+)/.exec(body)?.[1])
        assert.isTrue(id > 100_000_000 && id < 2 ** 31, "fits into a column of 32 bits")
      }
    }).pipe(Effect.provide(factory))
  )
})

describe("words", () => {
  it("describe a history", () => {
    const { history } = makeCase("state", "", newEvent(accessLog), again(0, []), again(3, retry), raceAgain(0, 3))
    assert.deepStrictEqual(inWords(history.ops), [
      "a new access_log event",
      "the same event again, byte for byte",
      "the same event again, with the next attempt number, with a new timestamp and signature",
      "the same event again, 3 times at once"
    ])
    const several = makeCase("state", "", raceNew(accessLog, 2), newEvent({ ...call, note: "odd" }), again(3, []))
    assert.deepStrictEqual(inWords(several.history.ops), [
      "a new access_log event (event 1), 2 times at once",
      "a new call event (odd) (event 2)",
      "event 2 again, byte for byte"
    ])
  })
})
