/**
 * R-HTTP: requests in every form that HTTP allows, connections, large bodies, and senders that hang up. R-GET: other
 * methods.
 */
import { accessLog, call, placeholders, noted, withMember, withUnknown } from "../history/Events.ts"
import type { EventTemplate } from "../history/Events.ts"
import { again, disturbed, makeCase, malformed, newCall, newEvent, newLog, retryOf, state } from "../history/History.ts"
import type { Case } from "../history/History.ts"
import { array, object, string } from "../history/Json.ts"
import { methods } from "../history/Operations.ts"
import type { Operation } from "../history/Operations.ts"
import type { Variation } from "../history/Variations.ts"
import { all, completeAnswers, everyAttempt, exactlyOnce, noPhantom, storedAsSent } from "../judgement/Judge.ts"
import { inWords } from "../judgement/Criteria.ts"
import { quietCase } from "./Acknowledgement.ts"
import { requirement, symptoms } from "./Requirement.ts"
import type { Requirement } from "./Requirement.ts"

/** Makes a case of one event that is sent with these variations. */
const sent = (title: string, event: EventTemplate, ...how: ReadonlyArray<Variation>): Case =>
  state(`${event.resource_type} ${title}`, newEvent(event, how))

/** Makes a case of an event and its duplicate, both sent with this variation. */
const twice = (title: string, event: EventTemplate, how: Variation): Case =>
  state(`${event.resource_type} ${title}, twice`, newEvent(event, [how]), retryOf(0, how))

/** An event whose name is full of three-byte and four-byte characters, so pieces of the body end inside a character. */
const wide = noted(withMember(accessLog, "name", string("字🔑".repeat(100))), "a name of wide characters")

/**
 * Returns new events of alternating types, sent with variations. `withDuplicates` makes every third operation repeat an
 * event.
 */
const byTurns = (count: number, how: ReadonlyArray<Variation>, withDuplicates = false): ReadonlyArray<Operation> =>
  Array.from({ length: count }, (_, index) =>
    withDuplicates && index % 3 === 2 ? retryOf(index) : newEvent(index % 2 === 0 ? accessLog : call, how)
  )

const longest: Readonly<Record<string, string>> = {
  [placeholders.id]: "2000000000",
  [placeholders.guid]: string("5f0c2a91-77d1-4e0b-a3f2-0c2a9177d1e0"),
  [placeholders.now]: string("2026-03-02T08:00:00.000Z")
}

/** Returns the largest size of an event's data, in bytes. */
const sizeOf = ({ data }: EventTemplate): number =>
  Buffer.byteLength(object(data.map(([name, value]) => [name, longest[value] ?? value])))

/** Adds a text that makes the event's data exactly `kib` KiB long, or a byte shorter if the event's id is short. */
const longText = (kib: number, event: EventTemplate): EventTemplate => {
  const left = kib * 1_024 - sizeOf(withUnknown(event, ["transcript", string("")]))
  return noted(withUnknown(event, ["transcript", string("x".repeat(left))]), `${kib} KiB in one text`)
}

const entry = object([
  ["at", string("2026-03-02T08:00:00Z")],
  ["state", string("open")]
])

/** Adds a list that makes the event's data about `kib` KiB long. One KiB is reserved for the documented members. */
const longList = (kib: number, event: EventTemplate): EventTemplate => {
  const count = Math.floor(((kib - 1) * 1_024) / (entry.length + 1))
  return noted(
    withUnknown(event, ["history", array(Array.from({ length: count }, () => entry))]),
    `${kib} KiB in a list`
  )
}

/** Sizes in KiB, each above a body limit in common use. The last is the largest that doorhook sends. */
const sizes = [11, 17, 33, 65, 101, 129, 200, 256]

const large = (kib: number): Case => state(`${kib} KiB`, newEvent(longText(kib, accessLog)))

const stalled = (count: number, percent: number): Operation => ({ k: "stalled", count, percent })

const storm = (count: number, percent: number): Operation => ({ k: "abort_storm", count, percent })

export const httpRequirements: ReadonlyArray<Requirement> = [
  requirement("R-HTTP-01", 1, {
    statement: "An event is acknowledged when its body comes in chunks, without a length.",
    source: "RFC 9112, section 7.1",
    because:
      "Proxies re-frame requests. A receiver that insists on content-length (411) gets nothing through them. A receiver that reads a body without a length as empty loses the event.",
    expected: (criteria) => `an event sent in chunks is answered with ${inWords(criteria)}`,
    given: [sent("in chunks", accessLog, "chunked"), sent("in chunks", call, "chunked")],
    judge: everyAttempt
  }),
  requirement("R-HTTP-02", 1, {
    statement: "An event is acknowledged, and stored as sent, when its body comes slowly but within the deadline.",
    source: "RFC 9112, section 9.5",
    because:
      "Between continents, half a second from the first to the last byte is common. A piece may end within a character: a receiver that decodes piece by piece stores another name.",
    expected: (criteria) =>
      `an event that comes in small pieces over half a second is answered with ${inWords(criteria)} of its last byte, and what is stored is what was sent`,
    provenBy: ["digest"],
    presupposes: ["R-FWD-02"],
    given: [
      sent("slowly", accessLog, "slow"),
      state("a name of wide characters slowly", newEvent(wide, ["slow"])),
      state("a name of wide characters in chunks", newEvent(wide, ["chunked"]))
    ],
    further: [sent("slowly", call, "slow")],
    judge: all(everyAttempt, storedAsSent)
  }),
  requirement("R-HTTP-03", 1, {
    statement: "An event is acknowledged even if its sender sends expect: 100-continue before the body.",
    source: "RFC 9110, section 10.1.1",
    because:
      "Clients and proxies send this header before large bodies. A receiver that answers 417, or nothing, never gets these bodies.",
    expected: (criteria) =>
      `an event sent after expect: 100-continue is answered with ${inWords(criteria)} of its last byte`,
    given: [sent("after expect: 100-continue", accessLog, "expect")],
    further: [sent("after expect: 100-continue", call, "expect")],
    judge: everyAttempt
  }),
  requirement("R-HTTP-04", 1, {
    statement: "An event is acknowledged whatever the case of its header names.",
    source: "RFC 9110, section 5.1",
    because:
      "Header names are case-insensitive, and a proxy may change their case. A receiver that looks for only one spelling may find no id.",
    expected: (criteria) => `an event with header names in upper or title case is answered with ${inWords(criteria)}`,
    given: [
      twice("with header names in upper case", accessLog, "upper_headers"),
      twice("with header names in title case", call, "title_headers")
    ],
    further: [
      twice("with header names in upper case", call, "upper_headers"),
      twice("with header names in title case", accessLog, "title_headers")
    ],
    judge: everyAttempt
  }),
  requirement("R-HTTP-05", 1, {
    statement: "An event is acknowledged when its content type has a parameter or is written in another case.",
    source: "RFC 9110, section 8.3.1",
    because: "A receiver that compares the header with one fixed value refuses an equivalent content type (415).",
    expected: (criteria) =>
      `application/json; charset=utf-8 and Application/JSON are answered with ${inWords(criteria)}`,
    given: [
      sent("with a charset", accessLog, "content_type_charset"),
      sent("with another case of the content type", call, "content_type_case")
    ],
    further: [
      sent("with a charset", call, "content_type_charset"),
      sent("with another case of the content type", accessLog, "content_type_case")
    ],
    judge: everyAttempt
  }),
  requirement("R-HTTP-06", 1, {
    statement: "Many events over one connection are all acknowledged; the connection is kept, or closed cleanly.",
    source: "RFC 9112, section 9.3",
    because: "The sender keeps connections open. Bytes left over from one request or answer corrupt the next.",
    presupposes: ["R-ACK-01", "R-ACK-04"],
    expected: (criteria) => `every one of 40 requests over a connection is answered with ${inWords(criteria)}`,
    given: [
      state("40 requests over one connection", ...byTurns(40, [], true)),
      state("12 requests over one connection, a moment apart", ...byTurns(12, ["kept"])),
      quietCase
    ],
    judge: all(everyAttempt, completeAnswers)
  }),
  requirement("R-HTTP-07", 1, {
    statement: "Events over separate connections, with connection: close, are acknowledged.",
    source: "RFC 9112, section 9.6",
    because: "Not every sender or proxy keeps connections open.",
    presupposes: ["R-ACK-01", "R-ACK-04"],
    expected: (criteria) => `each of several requests with connection: close is answered with ${inWords(criteria)}`,
    given: [
      state("eight requests, each over its own connection", ...byTurns(8, ["close"])),
      twice("over connections of its own", accessLog, "close")
    ],
    judge: all(everyAttempt, completeAnswers)
  }),
  requirement("R-HTTP-08", 1, {
    statement: "An event whose data has up to 256 KiB is acknowledged.",
    source: "the largest event data that doorhook publishes: 256 KiB",
    because:
      "Hosts decide what data contains, up to 256 KiB; the body is a little longer. Many frameworks refuse bodies above a default limit such as 64 KiB or 100 kB (413). A large event is then refused at every retry, and lost.",
    expected: (criteria) => `events with data of ${sizes.join(", ")} KiB are answered with ${inWords(criteria)}`,
    given: [
      large(65),
      large(101),
      large(256),
      state("256 KiB in a list, twice", newEvent(longList(256, accessLog)), retryOf(0)),
      state("256 KiB in chunks", newEvent(longText(256, call), ["chunked"]))
    ],
    further: [
      ...[11, 17, 33, 129, 200].map(large),
      state("100 KiB in a list", newEvent(longList(100, call))),
      state("256 KiB, then a small event", newEvent(longText(256, accessLog)), newCall)
    ],
    judge: everyAttempt
  }),
  requirement("R-HTTP-09", 1, {
    statement: "Requests that stop, are broken off or hold no event do not block other requests.",
    source: "RFC 9112, section 8; RFC 8259, section 2",
    because:
      "A handler that waits forever for the rest of a body holds a worker, a lock or a transaction. A handler that throws on an unreadable body may end its process. After enough such requests, the receiver no longer answers.",
    expected: (criteria) => `events after many broken requests are answered with ${inWords(criteria)}`,
    given: [
      disturbed(
        "events after bodies that are not JSON",
        malformed(accessLog, "truncated"),
        malformed(call, "single_quotes"),
        newLog,
        newCall
      ),
      disturbed("events after 30 broken requests", storm(30, 90), newLog, newCall),
      disturbed("events after requests without a body", storm(16, 0), newLog, newCall),
      makeCase("blocking", "events beside four stalled requests", stalled(4, 0), newCall, newLog),
      makeCase("blocking", "events beside a stalled request", stalled(1, 50), newLog, newCall)
    ],
    further: [
      disturbed("events after eight broken requests", storm(8, 50), newLog, newCall),
      disturbed(
        "events between bursts of broken requests",
        storm(8, 10),
        newCall,
        storm(8, 70),
        newLog,
        storm(16, 99),
        newCall
      )
    ],
    judge: everyAttempt
  })
]

type Method = (typeof methods)[number]

const about = (method: Method, event: EventTemplate, with_body: boolean): Operation => ({
  k: "method_new",
  event,
  method,
  with_body
})

const neverSent = (method: Method): Case =>
  disturbed(`${method} about an event that is never sent`, about(method, accessLog, false))

const withBody = (method: Method): Case =>
  disturbed(`${method} with an event's body`, about(method, accessLog, true), newCall)

const aroundPost = (method: Method): Case =>
  disturbed(
    `${method} before and after an event is sent`,
    about(method, call, true),
    again(0, []),
    { k: "method_again", ref: 0, method, with_body: true },
    retryOf(0)
  )

export const methodRequirements: ReadonlyArray<Requirement> = [
  requirement("R-GET-01", 1, {
    statement:
      "GET, HEAD and OPTIONS on the URL have no effect, and a POST of the event that they mention is handled as usual.",
    source: "RFC 9110, section 9.2.1",
    because: "Browsers, link previews, scanners and monitors request every URL they see. They must not cause effects.",
    becauses: {
      ...symptoms,
      lost: "A request that only mentions an event must not make the event a duplicate: it would be acknowledged and dropped."
    },
    expected: (criteria) =>
      `such a request has no effect; the POST after it is answered with ${inWords(criteria)} and has one effect`,
    provenBy: ["effects"],
    given: [neverSent("GET"), ...methods.flatMap((method) => [withBody(method), aroundPost(method)])],
    further: [neverSent("HEAD"), neverSent("OPTIONS")],
    judge: all(everyAttempt, noPhantom, exactlyOnce)
  })
]
