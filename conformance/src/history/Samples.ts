/**
 * Random events and cases, drawn from a seed to find faults that the hand-written cases miss. The same seed gives the
 * same cases for any selection of requirements. `run/Shrink.ts` shortens those that fail.
 *
 * Numbers are generated as text. A receiver may have good reasons to refuse control characters and lone surrogates in
 * texts, numbers beyond the range of a double, and members called `__proto__`, so these never occur.
 */
import * as fc from "fast-check"
import { accessLog, call, isKnownKind, noted, withMember, withoutMember, withUnknown } from "./Events.ts"
import type { EventTemplate } from "./Events.ts"
import {
  again,
  cutAgain,
  cutNew,
  inAnswer,
  inBody,
  makeCase,
  newEvent,
  raceAgain,
  raceNew,
  retried
} from "./History.ts"
import type { Case, Lane } from "./History.ts"
import { array, escapedString, object, string } from "./Json.ts"
import type { Member } from "./Json.ts"
import type { Operation } from "./Operations.ts"
import { retry } from "./Variations.ts"
import type { Variation } from "./Variations.ts"

/**
 * Length of the longest name sent for a MUST, in Unicode code points. Such a name fits into an ordinary text column.
 */
export const maxNameLength = 255

/** Characters from every Unicode plane in use, and some characters of several code points. */
export const everyPlane =
  "\u4e2d \u{10348}\u{1f511} \u{20000} \u{30000} \u{e0100} \u{f0000} \u{10fffd} \u{1f469}\u200d\u{1f469}\u200d\u{1f467} \u{1f1fa}\u{1f1f3}"

/**
 * A name with invisible characters that are often pasted by accident: line and paragraph separators (line ends in old
 * JavaScript and YAML), a byte order mark, a no-break space, a zero-width space. Sanitisers remove them.
 */
export const unseen = "Dana\u2028Whitfield\u2029Unit\ufeff12\u00a0B\u200bguest"

export const rightToLeft = "محمد الأحمد (שרה כהן)"

/** Whole numbers of one to `maxLength` digits. */
const digits = (maxLength: number): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.integer({ min: 1, max: 9 }),
      fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: maxLength - 1, size: "max" })
    )
    .map(([first, rest]) => [first, ...rest].join(""))

const ordinaryName = fc.constantFrom(
  "Dana Whitfield",
  "J. O'Neill",
  "Maria-Luisa Ferro",
  "Courier",
  "Tomás Ibáñez",
  "Unit 12 guest"
)

const ordinaryAccessLog = fc
  .record({
    access_point: digits(5),
    entry_method: fc.constantFrom("swipe_to_open", "app", "pin", "qr_code"),
    name: ordinaryName
  })
  .map(({ access_point, entry_method, name }) =>
    withMember(
      withMember(withMember(accessLog, "access_point", access_point), "entry_method", string(entry_method)),
      "name",
      string(name)
    )
  )

const ordinaryCall = fc
  .record({
    kind: fc.constantFrom("visitor", "delivery"),
    unit: digits(4),
    label: fc.stringMatching(/^[1-9][0-9]?[A-F]$/)
  })
  .map(({ kind, unit, label }) =>
    withMember(
      withMember(call, "notification_type", string(kind)),
      "unit",
      object([
        ["id", unit],
        ["label", string(label)]
      ])
    )
  )

/** Ordinary events. */
export const ordinary: fc.Arbitrary<EventTemplate> = fc.oneof(ordinaryAccessLog, ordinaryCall)

const grapheme = (maxLength: number): fc.Arbitrary<string> => fc.string({ unit: "grapheme", maxLength })

/** Names of any length, because names of a fixed length could not be shrunk. */
const longName = fc
  .array(fc.constantFrom("a", "ñ", "ß", "ж", "ם", "字", "🔑"), {
    minLength: 1,
    maxLength: maxNameLength,
    size: "max"
  })
  .map((characters) => ({ text: characters.join(""), length: characters.length }))

/** Unusual texts, each with a note on what is unusual. */
const oddText: fc.Arbitrary<readonly [text: string, what: string]> = fc.oneof(
  fc.constant(["", "empty"] as const),
  grapheme(24).map((text) => [text, "in any script"] as const),
  grapheme(8).map((text) => [`${rightToLeft} ${text}`, "right to left"] as const),
  grapheme(8).map((text) => [`${text} ${everyPlane}`, "of every Unicode plane"] as const),
  grapheme(8).map((text) => [`${unseen} ${text}`, "with invisible separators"] as const),
  longName.map(({ length, text }) => [text, `of ${length} characters`] as const)
)

const encodedText = fc
  .tuple(oddText, fc.boolean())
  .map(([[text, what], escaped]) =>
    escaped ? ([escapedString(text), `${what}, escaped`] as const) : ([string(text), what] as const)
  )

const nullOrAbsent = (event: EventTemplate, name: string): fc.Arbitrary<EventTemplate> =>
  fc.constantFrom(
    event,
    noted(withMember(event, name, "null"), `${name} null`),
    noted(withoutMember(event, name), `without ${name}`)
  )

const oddAccessLog = fc
  .tuple(ordinaryAccessLog, encodedText)
  .map(([event, [text, what]]) => noted(withMember(event, "name", text), `a name ${what}`))
  .chain((event) => nullOrAbsent(event, "image_url"))

const oddCall = fc
  .tuple(ordinaryCall, encodedText)
  .map(([event, [text, what]]) =>
    noted(
      withMember(
        event,
        "panel",
        object([
          ["id", "311"],
          ["name", text]
        ])
      ),
      `a panel's name ${what}`
    )
  )
  .chain((event) => nullOrAbsent(event, "unit"))
  .chain((event) => nullOrAbsent(event, "image_url"))

/** Events with unusual but documented values. */
export const odd: fc.Arbitrary<EventTemplate> = fc.oneof(oddAccessLog, oddCall)

const known: ReadonlySet<string> = new Set(
  [accessLog, call]
    .flatMap((event) => event.data.map(([name]) => name))
    .concat("resource_type", "action", "data", "event", "label", "__proto__", "constructor", "prototype", "type")
)

const unknownName = fc
  .oneof(
    fc.constantFrom("firmware_version", "battery_level", "schema", "meta", "x-trace", "Ünïcode", "with space", "0"),
    grapheme(12).filter((name) => name !== "")
  )
  .filter((name) => !known.has(name))

const unknownLeaf = fc.oneof(
  fc.constantFrom("null", "true", "false", "0", "-0", "1.0", "1e3", "-2.50E-4", "[]", "{}"),
  digits(30),
  fc.tuple(digits(18), digits(18)).map(([whole, fraction]) => `-${whole}.${fraction}`),
  grapheme(16).map(string),
  grapheme(8).map(escapedString)
)

const membersOf = (value: fc.Arbitrary<string>, minLength: number): fc.Arbitrary<ReadonlyArray<Member>> =>
  fc.uniqueArray(fc.tuple(unknownName, value), { minLength, maxLength: 3, selector: ([name]) => name })

/** Any JSON value, up to `depth` levels deep. */
const unknownValue = (depth: number): fc.Arbitrary<string> =>
  depth === 0
    ? unknownLeaf
    : fc.oneof(
        unknownLeaf,
        membersOf(unknownValue(depth - 1), 0).map(object),
        fc.array(unknownValue(depth - 1), { maxLength: 3 }).map(array)
      )

const unknownMembers = membersOf(unknownValue(4), 1)

/** Resource types that do not exist (yet). */
const unknownType = fc.constantFrom("intercom_status", "door_forced", "tenant", "access_log_v2", "Call")
const unknownAction = fc.constantFrom("update", "delete", "archived")

/** Events with unknown members, or of an unknown resource type or action. */
export const unknown: fc.Arbitrary<EventTemplate> = fc.tuple(ordinary, unknownMembers).chain(([event, members]) =>
  fc.oneof(
    fc.constant(noted(withUnknown(event, ...members), "unknown members in data")),
    fc.constant(noted({ ...event, data: [...members, ...event.data] }, "unknown members first in data")),
    fc.constant(noted({ ...event, beside_data: members }, "unknown members beside data")),
    fc.constant(noted({ ...event, beside_event: members }, "unknown members beside event")),
    unknownType.map((type) => noted({ ...event, resource_type: type }, `the unknown resource type ${type}`)),
    unknownAction.map((action) => noted({ ...event, action }, `the unknown action ${action}`))
  )
)

/** A way to draw cases, and how many to draw. */
export interface Samples {
  readonly arbitrary: fc.Arbitrary<Case>
  readonly runs: number
}

export const noSamples: Samples = { arbitrary: fc.constant(makeCase("state", "nothing")), runs: 0 }

/** Draws the cases of a seed. */
export const draw = ({ arbitrary, runs }: Samples, seed: number): ReadonlyArray<Case> =>
  runs === 0 ? [] : fc.sample(arbitrary, { seed, numRuns: runs })

/** Makes cases of one or two of these events, each sent once. */
export const single = (lane: Lane, title: string, events: fc.Arbitrary<EventTemplate>, runs: number): Samples => ({
  arbitrary: fc
    .array(events, { minLength: 1, maxLength: 2 })
    .map((some) => makeCase(lane, title, ...some.map((event) => newEvent(event)))),
  runs
})

const ways: ReadonlyArray<ReadonlyArray<Variation>> = [
  [],
  retry,
  [...retry, "new_connection"],
  [...retry, "reencoded"],
  [...retry, "chunked"],
  [...retry, "close"],
  ["resigned"],
  ["next_attempt"]
]
const way = fc.constantFrom(...ways)
const ref = fc.nat(15)
const fresh = (events: fc.Arbitrary<EventTemplate>): fc.Arbitrary<Operation> => events.map((event) => newEvent(event))
const repeated: fc.Arbitrary<Operation> = fc.tuple(ref, way).map(([to, how]) => again(to, how))

/** Makes cases in which events are sent again, in any order and among other events. */
export const duplicates = (title: string, runs: number): Samples => ({
  arbitrary: fc
    .tuple(
      fresh(ordinary),
      fc.array(fc.oneof({ weight: 2, arbitrary: fresh(ordinary) }, { weight: 3, arbitrary: repeated }), {
        minLength: 1,
        maxLength: 7,
        size: "max"
      })
    )
    .map(([first, rest]) => makeCase("state", title, first, ...rest)),
  runs
})

/**
 * Events of kinds that a binding can select. An event of any other kind would reduce the strength of the whole history
 * to SHOULD.
 */
const events = fc.oneof(
  { weight: 4, arbitrary: ordinary },
  { weight: 1, arbitrary: odd },
  { weight: 1, arbitrary: unknown.filter(isKnownKind) }
)

const percent = fc.constantFrom(0, 10, 50, 90, 99)
const share = fc.constantFrom(0, 0.25, 0.5, 0.75, 1, 1.2)
const copies = fc.integer({ min: 2, max: 8 })

const givenUp: fc.Arbitrary<Operation> = fc.tuple(ordinary, share).map(([event, at]) => cutNew(event, inAnswer(at)))

const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 6, arbitrary: fresh(events) },
  { weight: 6, arbitrary: repeated },
  { weight: 2, arbitrary: fc.tuple(ordinary, copies).map(([event, count]) => raceNew(event, count)) },
  { weight: 2, arbitrary: fc.tuple(ref, copies).map(([to, count]) => raceAgain(to, count)) },
  { weight: 2, arbitrary: givenUp },
  { weight: 2, arbitrary: fc.tuple(ordinary, percent).map(([event, at]) => cutNew(event, inBody(at))) },
  { weight: 1, arbitrary: fc.tuple(ref, share).map(([to, at]) => cutAgain(to, inAnswer(at))) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 12 }).map((count): Operation => ({ k: "filler", count })) },
  {
    weight: 1,
    arbitrary: fc.integer({ min: 1, max: 8 }).map((count): Operation => ({ k: "abort_storm", count, percent: 50 }))
  },
  { weight: 1, arbitrary: fc.constantFrom(20, 100).map((ms): Operation => ({ k: "idle", ms })) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(ordinary, fc.constantFrom("truncated" as const, "unclosed" as const))
      .map(([event, kind]): Operation => ({ k: "malformed", event, kind }))
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(ordinary, fc.constantFrom("everything_else_equal" as const, "last_character" as const))
      .map(([event, kind]): Operation => ({ k: "twins", event, kind }))
  },
  { weight: 2, arbitrary: ref.map(retried) }
)

/** Histories of up to 14 operations in any order, all with strength MUST. */
export const randomHistories: Samples = {
  arbitrary: fc
    .tuple(fresh(events), fc.array(operation, { minLength: 2, maxLength: 13, size: "max" }))
    .map(([first, rest]) => makeCase("disturbed", "a random history", first, ...rest)),
  runs: 40
}

const around: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 4, arbitrary: fresh(ordinary) },
  { weight: 3, arbitrary: repeated },
  { weight: 1, arbitrary: givenUp }
)

const stop: fc.Arbitrary<Operation> = fc.oneof(
  fc.constant<Operation>({ k: "restart" }),
  fc
    .tuple(ordinary, fc.integer({ min: 1, max: 8 }), fc.integer({ min: 0, max: 100 }))
    .map(([event, workers, after]): Operation => ({ k: "kill_amid", event, workers, after }))
)

/** Histories with a restart or a kill somewhere in them. */
export const randomRestarts: Samples = {
  arbitrary: fc
    .tuple(fc.array(around, { minLength: 1, maxLength: 6 }), stop, fc.array(around, { maxLength: 4 }))
    .map(([before, end, after]) =>
      makeCase(
        "operated",
        "a random history with a restart or a kill",
        ...before,
        end,
        ...after,
        { k: "retry_open" },
        { k: "again_all", how: retry }
      )
    ),
  runs: 2
}
