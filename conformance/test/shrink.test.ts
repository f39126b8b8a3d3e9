/**
 * How a failing history is repeated and shortened.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { TargetUnusable } from "../src/execution/Send.ts"
import { domain, everyPlane, odd, ordinary, Random, timed } from "../src/history/Domain.ts"
import { accessLog, bodyOf, call, noted, withMember, withUnknown } from "../src/history/Events.ts"
import type { EventTemplate } from "../src/history/Events.ts"
import { again, newEvent, raceNew } from "../src/history/History.ts"
import type { History } from "../src/history/History.ts"
import { escapedString, string } from "../src/history/Json.ts"
import type { Operation } from "../src/history/Operations.ts"
import { retry } from "../src/history/Variations.ts"
import { services } from "../src/run/Setup.ts"
import { reproduce, shorten, simplerEvent, withConditions } from "../src/run/Shrink.ts"
import { attemptOf, traceOf } from "./support/traces.ts"

const pause: Operation = { k: "idle", ms: 100 }
const within = Infinity

const long: History = {
  v: 1,
  ops: [
    newEvent(call),
    again(0, [...retry, "new_connection"]),
    raceNew(call, 5),
    newEvent(accessLog),
    pause,
    again(1, retry)
  ]
}

const shortened = Effect.fnUntraced(function* (history: History, fails: (history: History) => boolean) {
  let tries = 0
  const stillFails = (one: History) =>
    Effect.sync(() => {
      tries += 1
      return fails(one)
    })
  const result = yield* shorten(history, stillFails, within)
  return { result, tries }
})

describe("a failing history", () => {
  it.effect("keeps only the operations that it needs, each as simple as possible", () =>
    Effect.gen(function* () {
      const fails = ({ ops }: History) => ops.some(({ k }) => k === "race_new") && ops.some(({ k }) => k === "idle")
      const { result } = yield* shortened(long, fails)
      assert.deepStrictEqual(result, { v: 1, ops: [raceNew(call, 2), pause] })
    })
  )

  it.effect("keeps only the variations that it needs", () =>
    Effect.gen(function* () {
      const fails = ({ ops }: History) => ops.some((one) => one.k === "again" && one.how.includes("new_connection"))
      const { result } = yield* shortened(long, fails)
      assert.deepStrictEqual(result.ops, [again(0, ["new_connection"])])
    })
  )

  it.effect("is not tried again once the time is up, however long a text is left in it", () =>
    Effect.gen(function* () {
      let made = 0
      const text = string("x".repeat(1_000) + "ß")
      const event = noted(withMember(accessLog, "name", text), "a name of many letters")
      const counted: EventTemplate = {
        ...event,
        get data() {
          made += 1
          return event.data
        }
      }
      const history: History = { v: 1, ops: [newEvent(counted)] }
      let tries = 0
      const fails = () =>
        Effect.sync(() => {
          tries += 1
          return false
        }).pipe(Effect.tap(TestClock.adjust("1 second")))
      assert.strictEqual(yield* shorten(history, fails, 5_000), history)
      assert.strictEqual(tries, 5)
      assert.isBelow(made, 100)
    })
  )
})

describe("an event that fails", () => {
  const simpler = (event: EventTemplate, fails: (body: string) => boolean) => {
    let tries = 0
    return Effect.map(
      simplerEvent(event, (one) =>
        Effect.sync(() => {
          tries += 1
          return fails(bodyOf(one))
        })
      ),
      (result) => ({ result, tries })
    )
  }
  const nameOf = ({ data }: EventTemplate): string => data.find(([name]) => name === "name")?.[1] ?? ""
  const named = (name: string): EventTemplate => noted(withMember(accessLog, "name", name), "a name of many letters")

  const many = Array.from({ length: 255 }, (_, at) => "añжם字"[at % 5]).join("")
  it.effect.each([`${many.slice(0, 200)}ß${many.slice(200, 254)}`, `${everyPlane} ß`, "ßßß", "Weiß"])(
    "because of one letter of «%s» is reported with that letter",
    (text) =>
      Effect.gen(function* () {
        const { result, tries } = yield* simpler(named(string(text)), (body) => body.includes("ß"))
        assert.strictEqual(nameOf(result), string("ß"))
        assert.strictEqual(result.note, 'name "ß"')
        assert.isBelow(tries, 200)
      })
  )

  it.effect("because of its length is reported with the shortest length that fails", () =>
    Effect.gen(function* () {
      const { result, tries } = yield* simpler(
        named(string(many)),
        (body) => Array.from(/"name":"([^"]*)"/.exec(body)?.[1] ?? "").length > 100
      )
      assert.strictEqual(nameOf(result), string("a".repeat(101)))
      assert.include(result.note, "(101 characters)")
      assert.isBelow(tries, 20)
    })
  )

  it.effect("keeps its escapes if it needs them to fail", () =>
    Effect.gen(function* () {
      const { result } = yield* simpler(named(escapedString("Dana ß")), (body) => body.includes(String.raw`\u00df`))
      assert.strictEqual(nameOf(result), escapedString("ß"))
    })
  )

  it.effect("keeps only the unusual parts that it needs to fail", () =>
    Effect.gen(function* () {
      const event = {
        ...withUnknown(noted(withMember(call, "image_url", "null"), "odd"), ["x", "1"], ["y", '{"deep":["xy","z"]}']),
        beside_event: [["meta", "true"]] satisfies EventTemplate["beside_event"]
      }
      const { result } = yield* simpler(event, (body) => body.includes('"y":'))
      assert.deepStrictEqual(result.data, [...call.data, ["y", '{"deep":["a","z"]}']])
      assert.deepStrictEqual(result.beside_event, [])
      assert.strictEqual(result.note, 'y {"deep":["a","z"]}')
      const { result: without } = yield* simpler(
        { ...call, data: call.data.filter(([name]) => name !== "unit"), note: "without unit" },
        (body) => !body.includes('"unit"')
      )
      assert.strictEqual(without.note, "without unit")
    })
  )

  it.effect("becomes plain if it fails whatever it contains", () =>
    Effect.gen(function* () {
      const random = new Random(1)
      for (const draw of Array.from({ length: 25 }, () => [ordinary, odd, timed]).flat()) {
        const { result } = yield* simpler(draw(random), () => true)
        assert.deepInclude([accessLog, call], result)
      }
    })
  )

  const timeOf = ({ data }: EventTemplate): string => data.find(([name]) => name === "logged_at")?.[1] ?? ""
  const at = (time: string): EventTemplate => noted(withMember(call, "logged_at", string(time)), time)

  it.effect.each([
    [
      "has an offset",
      "2027-08-14T21:17:03.123456+05:45",
      (body: string) => !/Z"|@now/.test(body),
      "2026-03-02T08:00:00+05:45"
    ],
    [
      "has a fraction",
      "2027-08-14T21:17:03.123456789-08:00",
      (body: string) => /\.\d{4}/.test(body),
      "2026-03-02T08:00:00.1234Z"
    ],
    [
      "is on a leap day",
      "2024-02-29T12:00:00.5-03:30",
      (body: string) => body.includes("-02-29T"),
      "2024-02-29T08:00:00Z"
    ]
  ] as const)("because its time %s is reported with such a time", ([, time, fails, shortest]) =>
    Effect.gen(function* () {
      const { result } = yield* simpler(at(time), fails)
      assert.strictEqual(timeOf(result), string(shortest))
    })
  )

  it.effect("because of a value of one kind is never tried with a value of another kind", () =>
    Effect.gen(function* () {
      const time = /^"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})"$|^@now$/
      const random = new Random(2)
      for (const event of Array.from({ length: 40 }, () => timed(random))) {
        yield* simplerEvent(event, (one) =>
          Effect.sync(() => {
            assert.match(timeOf(one), time)
            return random.int(0, 2) === 0
          })
        )
      }
      // A link stays the link that was drawn, or becomes the plain one.
      for (const { members, plain } of domain) {
        const links = members.find(({ name }) => name === "image_url")?.kind.values ?? []
        for (const { json } of links) {
          const { result } = yield* simpler(
            withMember(plain, "image_url", json),
            (body) => !body.includes("/calls/") && !body.includes("/snapshots/")
          )
          assert.deepInclude(result.data, ["image_url", json])
        }
      }
    })
  )
})

describe("a failure that is repeated and shortened", () => {
  const history: History = { v: 1, ops: [newEvent(accessLog), again(0, retry)] }

  /** Reproduces a history whose execution takes a second. `fails` gets its length and the number of earlier executions. */
  const repeated = (
    fails: (length: number, tries: number) => boolean,
    limits = { shrink: Infinity, confirm: Infinity }
  ) => {
    const tries = new Map<number, number>()
    return reproduce(
      {
        requirement: "R-DUP-02",
        trace: traceOf([attemptOf()], { history }),
        bindings: null,
        fails: ({ history: { ops } }) => {
          const before = tries.get(ops.length) ?? 0
          tries.set(ops.length, before + 1)
          return fails(ops.length, before)
        }
      },
      (one) => Effect.as(TestClock.adjust("1 second"), traceOf([attemptOf()], { history: one })),
      limits
    ).pipe(
      Effect.map(({ confirmed, trace }) => ({ confirmed, length: trace?.history.ops.length })),
      Effect.provide(services)
    )
  }

  it.effect("is stored with how often the shortened history failed, not the original one", () =>
    Effect.gen(function* () {
      const always = { tried: 5, failed: 5 }
      assert.deepStrictEqual(yield* repeated(() => true), { confirmed: always, length: 1 })
      const rarely = yield* repeated((length, tries) => (length === 2 ? tries === 0 : tries < 4))
      assert.deepStrictEqual(rarely, { confirmed: { tried: 5, failed: 3 }, length: 1 })
    })
  )

  it.effect("is stored as it was if the shortened history fails less often", () =>
    Effect.gen(function* () {
      const found = yield* repeated((length, tries) => length === 2 || tries % 3 === 0)
      assert.deepStrictEqual(found, { confirmed: { tried: 5, failed: 5 }, length: 2 })
    })
  )

  it.effect("is stored with the repeats for which there was time", () =>
    Effect.gen(function* () {
      const twice = yield* repeated(() => true, { shrink: 6_000, confirm: 8_000 })
      assert.deepStrictEqual(twice, { confirmed: { tried: 2, failed: 2 }, length: 1 })
      yield* TestClock.setTime(0)
      const never = yield* repeated(() => true, { shrink: 6_000, confirm: 6_000 })
      assert.deepStrictEqual(never, { confirmed: { tried: 5, failed: 5 }, length: 2 })
    })
  )
})

describe("a failure whose receiver can't be used any more", () => {
  it.effect("is not counted as passed", () =>
    Effect.gen(function* () {
      const trace = traceOf([attemptOf()], { ops: [newEvent(accessLog)] })
      let tries = 0
      const { confirmed, trace: seen } = yield* reproduce(
        { requirement: "R-DUP-02", trace, bindings: null, fails: () => true },
        (history) =>
          Effect.suspend(() =>
            tries++ < 2
              ? Effect.succeed(traceOf([attemptOf()], { history }))
              : Effect.fail(new TargetUnusable({ message: "gone" }))
          ),
        { shrink: Infinity, confirm: Infinity }
      ).pipe(Effect.provide(services))
      assert.deepStrictEqual(confirmed, { tried: 2, failed: 2 })
      assert.isNotNull(seen)
    })
  )
})

describe("a failure that needs the actions of other cases", () => {
  it.effect("is repeated only with events that the receiver is bound to", () =>
    Effect.gen(function* () {
      const killed = { op: null, what: "killed", by: "another case", from: 4_000, until: 5_000 } as const
      const bound = traceOf([attemptOf()], { ops: [newEvent(call), again(0, retry)], interventions: [killed] })
      const tried: Array<Operation> = []
      const { trace } = yield* reproduce(
        {
          requirement: "R-DUP-02",
          trace: bound,
          bindings: ["call:create"],
          fails: ({ history: { ops } }) => ops.some(({ k }) => k === "kill_amid")
        },
        (history) =>
          Effect.sync(() => {
            tried.push(...history.ops)
            return traceOf([attemptOf()], { history })
          }),
        { shrink: Infinity, confirm: Infinity }
      ).pipe(Effect.provide(services))
      const types = tried.flatMap((op) => ("event" in op ? [op.event.resource_type] : []))
      assert.deepStrictEqual([...new Set(types)], ["call"])
      assert.deepStrictEqual(trace?.history.ops, [{ k: "kill_amid", event: call, workers: 2, after: 20 }])
    })
  )
})

describe("the stored history of a failure", () => {
  const ops: ReadonlyArray<Operation> = [newEvent(accessLog), { k: "age", ms: 9_000 }, again(0, retry)]
  const attempts = [attemptOf(), attemptOf({ op: 2, started: 10_000 })]
  const killed = { op: null, what: "killed", by: "another case", from: 4_000, until: 5_000 } as const
  const conditions = (over: Parameters<typeof traceOf>[1]) =>
    withConditions(traceOf(attempts, { ops, ...over }), null).ops

  it("is the history itself if other cases did nothing", () => {
    const { history } = traceOf(attempts, { ops })
    assert.strictEqual(withConditions(traceOf(attempts, { history }), null), history)
  })

  it("contains actions of other cases in their places, after filler for their events, and no wait", () => {
    const restarted = { ...killed, what: "restarted", from: 6_000 } as const
    assert.deepStrictEqual(conditions({ interventions: [killed, restarted], otherEvents: 30 }), [
      newEvent(accessLog),
      { k: "filler", count: 30 },
      { k: "kill_amid", event: accessLog, workers: 2, after: 20 },
      { k: "restart" },
      again(0, retry)
    ])
  })

  it("contains later actions at its end, and filler for other events before the second request", () => {
    assert.deepStrictEqual(conditions({ interventions: [{ ...killed, what: "restarted", from: 11_000 }] }), [
      newEvent(accessLog),
      again(0, retry),
      { k: "restart" }
    ])
    assert.deepStrictEqual(conditions({ otherEvents: 5_000 }), [
      newEvent(accessLog),
      { k: "filler", count: 2_000 },
      again(0, retry)
    ])
  })

  it("leaves out its own actions, actions that do not end the receiver, and all but three that do", () => {
    const own = { ...killed, op: 1 }
    const paused = { ...killed, what: "paused" } as const
    assert.deepStrictEqual(conditions({ interventions: [own, paused] }), ops)
    const many = Array.from({ length: 5 }, () => ({ ...killed, what: "restarted" }) as const)
    assert.strictEqual(conditions({ interventions: many }).filter(({ k }) => k === "restart").length, 3)
  })
})
