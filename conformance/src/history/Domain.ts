/**
 * What doorhook may send: the members of each resource type and their values, and what else may occur in a body. The
 * suite takes its cases from here, draws from here and shortens within it, and `docs/reference/data.md` states it.
 *
 * Every value comes with a note on what is unusual about it. Values marked `should` are at the limits of JSON and
 * doubles: a receiver should accept them.
 */
import { accessLog, bindingOf, call, noted, placeholders, withMember, withoutMember } from "./Events.ts"
import type { EventTemplate } from "./Events.ts"
import { escapedString, object, string } from "./Json.ts"

/** Random numbers from a seed (mulberry32). The same seed gives the same numbers on every machine. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed
  }

  /** A whole number from `least` to `most`. */
  int(least: number, most: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return least + (((mixed ^ (mixed >>> 14)) >>> 0) % (most - least + 1))
  }

  pick<One>(all: readonly [One, ...ReadonlyArray<One>]): One {
    return all[this.int(0, all.length - 1)] ?? all[0]
  }

  /** Calls `make` from `least` to `most` times. */
  list<One>(least: number, most: number, make: () => One): ReadonlyArray<One> {
    return Array.from({ length: this.int(least, most) }, make)
  }
}

/** Makes an element at random. */
export type Draw<One> = (random: Random) => One

/** A value as raw JSON text. */
interface Value {
  readonly json: string
  readonly note: string
  readonly should?: true
}

/** A kind of value. */
interface Kind {
  /** What may be sent, for `docs/reference/data.md`. */
  readonly words: string
  /** The consequence if a receiver can't handle it. */
  readonly because: string
  /** Unusual values, each of which may be sent. */
  readonly values: ReadonlyArray<Value>
  /** Draws a usual value, and an unusual one. */
  readonly usual: Draw<string>
  readonly odd: Draw<Value>
  /** Returns simpler values of the same kind, the simplest first; null if any shorter text is of the same kind. */
  readonly simpler: ((json: string) => ReadonlyArray<string>) | null
}

const value = (json: string, note: string): Value => ({ json, note })
const text = (plain: string, note: string): Value => value(string(plain), note)
const should = (one: Value): Value => ({ ...one, should: true })
const oneOf =
  (first: Value, ...others: ReadonlyArray<Value>): Draw<Value> =>
  (random) =>
    random.pick([first, ...others])

const people =
  "People have names in every script. A receiver that can't handle them refuses such events for days, or stores them incorrectly."

/** Length of the longest name sent for a MUST, in Unicode code points. Such a name fits into an ordinary text column. */
const maxNameLength = 255

/** Characters from every Unicode plane in use, and some characters of several code points. */
export const everyPlane =
  "\u4e2d \u{10348}\u{1f511} \u{20000} \u{30000} \u{e0100} \u{f0000} \u{10fffd} \u{1f469}\u200d\u{1f469}\u200d\u{1f467} \u{1f1fa}\u{1f1f3}"

/**
 * A name with invisible characters that are often pasted by accident: line and paragraph separators (line ends in old
 * JavaScript and YAML), a byte order mark, a no-break space, a zero-width space. Sanitisers remove them.
 */
const unseen = "Dana\u2028Whitfield\u2029Unit\ufeff12\u00a0B\u200bguest"

const rightToLeft = "محمد الأحمد (שרה כהן)"

const scripts = ["a", "Ñ", "ß", "ж", "ם", "ع", "字", "ไ", "ᄒ", "🔑", "e\u0301", " "] as const

/** Draws a text in many scripts. */
const anyText =
  (most: number): Draw<string> =>
  (random) =>
    random.list(0, most, () => random.pick(scripts)).join("")

/** Draws a text, or the same text with every character escaped. */
const asText = (random: Random, plain: string, note: string): Value =>
  random.int(0, 1) === 0 ? text(plain, note) : value(escapedString(plain), `${note}, escaped`)

const names: Kind = {
  words: `text in any script, also empty, up to ${maxNameLength} characters; every character that JSON allows, escaped or not`,
  because: people,
  values: [
    text(rightToLeft, "right to left"),
    text(everyPlane, "with characters of every Unicode plane"),
    value(escapedString(everyPlane), "with characters of every Unicode plane, each escaped"),
    text("Zoe\u0308 Garci\u0301a", "with combining accents"),
    text("Zo\u00eb Garc\u00eda", "with composed accents"),
    text("นภา สุขใจ, 王小明, Łukasz Żółć", "in several scripts"),
    text(unseen, "with U+2028, U+2029, U+FEFF, U+00A0 and U+200B inside"),
    text('O\'Neill "Bob"; DROP TABLE doors; -- %s {{7*7}} <b>&amp;</b> C:\\temp', "full of quotes and markup"),
    text("line one\nline two\r\nline three\ttab", "with line breaks and a tab"),
    text("", "empty"),
    text("007", "of digits with leading zeros"),
    text("1e5", "that reads like a number"),
    text("1234567890123456789012345", "of 25 digits"),
    text("null", "that reads null"),
    text("true", "that reads true"),
    text("  Dana   Whitfield ", "with leading, inner and trailing spaces"),
    text("n".repeat(maxNameLength), `of ${maxNameLength} characters`),
    text("\u{1f511}".repeat(maxNameLength), `of ${maxNameLength} characters of four bytes`),
    should(text("n".repeat(1_000), "of 1,000 characters")),
    should(value('"Dana\\u0000Whitfield"', "with U+0000, escaped"))
  ],
  usual: (random) =>
    string(
      random.pick(["Dana Whitfield", "J. O'Neill", "Maria-Luisa Ferro", "Courier", "Tomás Ibáñez", "Unit 12 guest"])
    ),
  odd: (random) => {
    const some = anyText(8)(random)
    switch (random.int(0, 4)) {
      case 0:
        return asText(random, anyText(24)(random), "in any script")
      case 1:
        return asText(random, `${rightToLeft} ${some}`, "right to left")
      case 2:
        return asText(random, `${some} ${everyPlane}`, "of every Unicode plane")
      case 3:
        return asText(random, `${unseen} ${some}`, "with invisible separators")
      default: {
        const long = random.list(1, maxNameLength, () => random.pick(["a", "ñ", "ß", "ж", "ם", "字", "🔑"]))
        return asText(random, long.join(""), `of ${long.length} characters`)
      }
    }
  },
  simpler: null
}

/** Parts of a time: date, time of day, fraction and offset. */
const timeParts = /^"(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})(\.\d+)?(Z|[+-]\d{2}:\d{2})"$/

const two = (number: number): string => String(number).padStart(2, "0")

const times: Kind = {
  words:
    "ISO 8601 as in RFC 3339: date, `T`, time with seconds and 0 to 9 digits of a fraction, then `Z` or an offset from `-12:00` to `+14:00`; also years from now",
  because:
    "Hosts and controllers write times in their own zone. A receiver that reads only one form refuses or drops the events of such a host.",
  values: [
    text("2026-03-02T08:00:00Z", "timed to the second"),
    text("2026-03-02T08:00:00.5Z", "timed to a tenth of a second"),
    text("2026-03-02T08:00:00.123456Z", "timed to the microsecond"),
    text("2026-03-02T08:00:00.123456789Z", "timed to the nanosecond"),
    text("2026-03-02T08:00:00+00:00", "with UTC written as +00:00"),
    text("2026-03-02T13:45:00.250+05:45", "at offset +05:45"),
    text("2026-03-02T00:00:00-08:00", "at offset -08:00"),
    text("2026-03-02T22:00:00+14:00", "at offset +14:00"),
    text("2026-10-25T02:30:00+02:00", "in the hour that a change of clocks repeats, for the first time"),
    text("2026-10-25T02:30:00+01:00", "in the hour that a change of clocks repeats, for the second time"),
    text("2024-02-29T12:00:00-03:30", "on a leap day"),
    text("2016-02-29T23:59:59.999Z", "from ten years ago"),
    text("2031-01-01T00:00:00Z", "from years in the future")
  ],
  usual: () => placeholders.now,
  odd: (random) => {
    const day = `${random.int(2016, 2031)}-${two(random.int(1, 12))}-${two(random.int(1, 28))}`
    const time = `${two(random.int(0, 23))}:${two(random.int(0, 59))}:${two(random.int(0, 59))}`
    const digits = random.int(0, 9)
    const fraction = digits === 0 ? "" : `.${Array.from({ length: digits }, () => random.int(0, 9)).join("")}`
    const offset = random.pick(["Z", "Z", "+00:00", "+01:00", "+05:45", "-08:00", "-03:30", "+14:00", "-12:00"])
    const drawn = `${day}T${time}${fraction}${offset}`
    return text(drawn, `timed ${drawn}`)
  },
  simpler: (json) => {
    const [, day = "", time = "", fraction = "", offset = ""] = timeParts.exec(json) ?? []
    const less = fraction.length > 2 ? fraction.slice(0, -1) : ""
    const all = [
      [day, time, fraction, "Z"],
      [day, time, "", offset],
      [day, time, less, offset],
      [day, "08:00:00", fraction, offset],
      ["2026-03-02", time, fraction, offset]
    ]
    return day === "" ? [] : all.map(([date, clock, part, zone]) => string(`${date}T${clock}${part}${zone}`))
  }
}

const unlisted =
  "The interface lists only examples of these values, and hosts have others. A receiver that refuses such an event gets it again for days."

/** Makes a kind of word from an open list. */
const word = (usual: readonly [string, ...ReadonlyArray<string>], other: string): Kind => ({
  words: `${usual.map((one) => `\`${one}\``).join(", ")}, or another text`,
  because: unlisted,
  values: [text(other, "that the interface does not list")],
  usual: (random) => string(random.pick(usual)),
  odd: oneOf(text(other, "that the interface does not list")),
  simpler: () => []
})

/** Draws a number of up to this many digits. */
export const digits = (random: Random, most: number): string =>
  [random.int(1, 9), ...random.list(0, most - 1, () => random.int(0, 9))].join("")

const largeIds =
  "Some day, new ids no longer fit into 32 bits. From then on, a receiver with 32-bit ids refuses every event, or stores it under another id."

const ids: Kind = {
  words: "a whole number of up to 64 bits",
  because: largeIds,
  values: [value(placeholders.longId, "beyond 32 bits")],
  usual: () => placeholders.id,
  odd: oneOf(value(placeholders.longId, "beyond 32 bits")),
  simpler: () => []
}

const numbers: Kind = {
  words: "a whole number, 0 or more, up to 2^53 - 1; larger ones are rounded by many parsers",
  because: largeIds,
  values: [
    value("0", "0"),
    value("4294967301", "beyond 32 bits"),
    value("9007199254740991", "2^53 - 1"),
    should(value("9007199254740993", "2^53 + 1")),
    should(value("9223372036854775807", "2^63 - 1"))
  ],
  usual: (random) => digits(random, 5),
  odd: oneOf(value("0", "0"), value("4294967301", "beyond 32 bits")),
  simpler: () => []
}

const image = "https://images.example.com/"

const links: Kind = {
  words: "a URL of up to 2,000 characters, or an empty text",
  because:
    "Names and image URLs can be too long for a database column that fits usual texts. A receiver with such a column refuses the event for days, or cuts its texts.",
  values: [text("", "empty"), text(`${image}${"s".repeat(1_900)}`, "of 1,927 characters")],
  usual: () => string(`${image}snapshots/5f0c2a91.jpg`),
  odd: oneOf(text("", "empty"), text(`${image}${"s".repeat(1_900)}`, "of 1,927 characters")),
  simpler: () => []
}

const guids: Kind = {
  words: "a text, a second id of the call",
  because: "",
  values: [],
  usual: () => placeholders.guid,
  odd: () => value(placeholders.guid, ""),
  simpler: () => []
}

/** Makes a kind of object with an id and a text. */
const labelled = (textName: "label" | "name", usual: Draw<string>): Kind => {
  const of = (id: string, json: string): string =>
    object([
      ["id", id],
      [textName, json]
    ])
  const long = "Gärtnerhaus, 2. Stock links, Tür 字"
  return {
    words: `an object with \`id\` (a whole number) and \`${textName}\` (text in any script)`,
    because: people,
    values: [
      value(of("4294967301", string("4B")), "with an id beyond 32 bits"),
      value(of("7", string(long)), `with a ${textName} that is long and in any script`),
      value(of("7", string(everyPlane)), `with a ${textName} of every Unicode plane`)
    ],
    usual: (random) => of(digits(random, 4), string(usual(random))),
    odd: (random) => {
      const { json, note } = names.odd(random)
      return value(of("311", json), `with a ${textName} ${note}`)
    },
    simpler: null
  }
}

/** A member of a resource type's data. */
interface DomainMember {
  readonly name: string
  readonly kind: Kind
  /** Whether the member may be null or missing. */
  readonly optional: boolean
}

const member = (name: string, kind: Kind, optional = false): DomainMember => ({ name, kind, optional })

/** The members of a resource type, with the plain event that has the usual value of each. */
interface ResourceDomain {
  readonly plain: EventTemplate
  readonly members: ReadonlyArray<DomainMember>
}

const accessLogs: ResourceDomain = {
  plain: accessLog,
  members: [
    member("id", ids),
    member("logged_at", times),
    member("access_point", numbers),
    member("entry_method", word(["swipe_to_open", "app", "pin", "qr_code"], "face_recognition_v2")),
    member("release_status", word(["Unlocked"], "Denied: anti-passback")),
    member("name", names),
    member("image_url", links, true)
  ]
}

const calls: ResourceDomain = {
  plain: call,
  members: [
    member("id", ids),
    member("guid", guids),
    member("logged_at", times),
    member("status", word(["initializing"], "forwarded_to_concierge")),
    member("notification_type", word(["visitor", "delivery"], "maintenance_request")),
    member(
      "unit",
      labelled("label", (random) => `${random.int(1, 99)}${random.pick(["A", "B", "C", "D", "E", "F"])}`),
      true
    ),
    member(
      "panel",
      labelled("name", (random) => random.pick(["Main entrance", "Garage", "Loading dock"]))
    ),
    member("image_url", links, true)
  ]
}

/** What may be sent, by resource type. */
export const domain = [accessLogs, calls] as const

/** Returns the kind of a member; undefined for an unknown member, which may have any value. */
export const kindOf = (event: EventTemplate, name: string): Kind | undefined =>
  domain.find(({ plain }) => bindingOf(plain) === bindingOf(event))?.members.find((one) => one.name === name)?.kind

/** Returns an event with this value of a member, and a note if the value is unusual. */
const withValue = (event: EventTemplate, name: string, { json, note }: Value): EventTemplate => {
  const changed = withMember(event, name, json)
  return note === "" ? changed : noted(changed, `${name} ${note}`)
}

/** Events of one resource type that have unusual values of one member. */
export interface Unusual {
  readonly plain: EventTemplate
  readonly member: string
  readonly kind: Kind
  readonly events: ReadonlyArray<EventTemplate>
}

/** Returns the events with one unusual value each, by resource type and member. With `limits`, only values at the limits. */
export const unusualEvents = (limits: boolean): ReadonlyArray<Unusual> =>
  domain.flatMap(({ members, plain }) =>
    members.map(({ kind, name, optional }) => ({
      plain,
      member: name,
      kind,
      events: [
        ...(optional && !limits ? withoutValue(plain, name) : []),
        ...kind.values.filter((one) => (one.should === true) === limits).map((one) => withValue(plain, name, one))
      ]
    }))
  )

/** Returns the event with the member null, and without it. */
const withoutValue = (event: EventTemplate, name: string): readonly [EventTemplate, EventTemplate] => [
  noted(withMember(event, name, "null"), `${name} null`),
  noted(withoutMember(event, name), `without ${name}`)
]

/** Draws an event with usual values. */
export const ordinary: Draw<EventTemplate> = (random) => {
  const { members, plain } = random.pick(domain)
  return members.reduce((event, { kind, name }) => withMember(event, name, kind.usual(random)), plain)
}

/** Draws an ordinary event with an unusual time. */
export const timed: Draw<EventTemplate> = (random) => withValue(ordinary(random), "logged_at", times.odd(random))

/** Draws an event with some unusual values, apart from the time. */
export const odd: Draw<EventTemplate> = (random) => {
  const { members, plain } = random.pick(domain)
  const others = members.filter(({ kind }) => kind !== times)
  const chosen = random.int(0, others.length - 1)
  return others.reduce((event, { kind, name, optional }, place) => {
    if (optional && random.int(0, 3) === 0) return random.pick(withoutValue(event, name))
    return place === chosen || random.int(0, 3) === 0
      ? withValue(event, name, kind.odd(random))
      : withMember(event, name, kind.usual(random))
  }, plain)
}
