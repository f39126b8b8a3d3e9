/**
 * R-DUP: events that are sent again: in every form, at the same time, late, and to another URL. R-NEW: nearly equal
 * events.
 */
import { builtInTypes, RetryPolicy } from "@doorhook/core"
import type { Trace } from "../evidence/Trace.ts"
import { accessLog, call, twins } from "../history/Events.ts"
import type { EventTemplate, TwinKind } from "../history/Events.ts"
import {
  again,
  filler,
  makeCase,
  newCall,
  newEvent,
  newLog,
  operated,
  raceAgain,
  raceNew,
  retried,
  retryAll,
  retryOf,
  state,
  times,
  volleys
} from "../history/History.ts"
import type { Case, Lane } from "../history/History.ts"
import type { Operation } from "../history/Operations.ts"
import { duplicates, randomHistories } from "../history/Samples.ts"
import { retry } from "../history/Variations.ts"
import type { Variation } from "../history/Variations.ts"
import {
  all,
  atMostOnce,
  copiesAnswered,
  endpointsOf,
  everyAttempt,
  everyDuplicate,
  exactlyOnce,
  lastAttempts,
  storedAsSent,
  storiesOf
} from "../judgement/Judge.ts"
import type { Judge } from "../judgement/Judge.ts"
import { inWords, classify } from "../judgement/Criteria.ts"
import type { Criteria } from "../judgement/Criteria.ts"
import { fail, inconclusive, nothing, pass } from "../judgement/Verdict.ts"
import type { Finding } from "../judgement/Verdict.ts"
import { quietCase } from "./Acknowledgement.ts"
import { requirement, symptoms } from "./Requirement.ts"
import type { Requirement } from "./Requirement.ts"

const overNew = retryOf(0, "new_connection")

/** Ways in which duplicates arise. Level 1 judges the receiver's answers to them, level 2 their effects. */
const repeated: ReadonlyArray<Case> = [
  state("two retries", newLog, retryOf(0), retryOf(0)),
  state("a retry over a new connection", newCall, overNew),
  state("retries after other events", newLog, newCall, newLog, retryOf(0), retryOf(1)),
  state("the tenth attempt of an event", newCall, ...times(9, retryOf(0))),
  state("a retry after several first attempts at once", raceNew(accessLog, 3), retryOf(0))
]

const repeatedFurther: ReadonlyArray<Case> = [
  state("the same request twice", newLog, again(0, [])),
  state("a retry with other whitespace", newLog, retryOf(0, "reencoded")),
  state("eight retries, each over a new connection", newLog, ...times(8, overNew)),
  state("a retry of another event between two retries", newLog, newLog, retryOf(0), retryOf(1), retryOf(0)),
  state("several retries at once", newLog, raceAgain(0, 3)),
  quietCase
]

/** The ways in which a retry may differ from the first attempt of its event. The ids never differ. */
const ways: ReadonlyArray<readonly [title: string, how: ReadonlyArray<Variation>]> = [
  ["byte for byte", []],
  ["with another attempt number", ["next_attempt"]],
  ["with another timestamp and signature", ["resigned"]],
  ["with other whitespace", [...retry, "reencoded"]],
  ["with its members in another order", [...retry, "reordered"]],
  ["with its texts escaped", [...retry, "escaped"]],
  ["in chunks", [...retry, "chunked"]],
  ["slowly", [...retry, "slow"]],
  ["over a new connection", [...retry, "new_connection"]],
  ["over a connection of its own", [...retry, "close"]],
  ["with header names in upper case", [...retry, "upper_headers"]],
  ["with header names in title case", [...retry, "title_headers"]],
  ["with a charset", [...retry, "content_type_charset"]],
  ["with another case of the content type", [...retry, "content_type_case"]]
]

const everyWay = (event: EventTemplate): Case =>
  state(
    `${event.resource_type}: sent again in every form, one form after the other`,
    newEvent(event),
    ...ways.map(([, how]) => again(0, how))
  )

/** Requires one effect in total for events that share a `data.id`, if that is the stressed key. */
const onceAcrossTwins = (trace: Trace, criteria: Criteria): Finding => {
  const none = nothing("no events shared a data.id")
  if (criteria.dedupKey !== "body" || !trace.history.ops.some((op) => op.k === "twins" && op.kind === "same_data_id"))
    return none
  const counts = storiesOf(trace, criteria).map(({ last }) => last)
  const read = counts.filter((count) => count !== null)
  if (read.length < counts.length) return none
  // A probe that counts by `data.id` reports the sum for each of these events.
  const total = trace.sight.byDataId ? Math.max(...read) : read.reduce((sum, count) => sum + count, 0)
  return total === 1
    ? pass([], counts.length)
    : fail(null, `effects = ${total} for events with one data.id`, { event: 0 })
}

const races = (event: EventTemplate, copies: number): Case =>
  state(`${copies} copies of a new ${event.resource_type} at once`, raceNew(event, copies), retried(0))

/** Number of other events after which the receiver should still recognise an event. A short run sends fewer. */
const manyOthers = 5_500

const [first, second] = builtInTypes.access_log.retry.delays

/** Longest time from the first attempt of an access log to its second retry, in milliseconds. */
const secondRetry = Math.ceil((first + second) * (1 + RetryPolicy.maxJitter))

/** A little more than a minute, the most common lifetime of ids in a cache, in milliseconds. */
const aMinute = 65_000

const aged = (ms: number, title: string): Case =>
  makeCase("aged", `retries after ${title}`, newLog, newCall, newLog, { k: "age", ms }, retryAll)

const hour = 3_600_000

/** Longest time from the first attempt of an access log to its last retry, plus an hour, in milliseconds. */
const horizon =
  builtInTypes.access_log.retry.delays.reduce((sum, delay) => sum + delay, 0) * (1 + RetryPolicy.maxJitter) + hour

const clockMoved = (ms: number, title: string): Case => operated(title, newLog, newCall, { k: "advance", ms }, retryAll)

/** Requires that an event has one effect at each URL that it was sent to. Some probes count all URLs together. */
const oncePerEndpoint = (trace: Trace, criteria: Criteria): Finding => {
  const { blindToUrls } = trace.sight
  let good = 0
  for (const { attempts, event, last, sent, shared, state } of storiesOf(trace, criteria)) {
    const elsewhere = trace.effectsElsewhere[event] ?? null
    if (last === null || elsewhere === null || state !== "acknowledged") continue
    const isBoth = endpointsOf(attempts) > 1
    const isRight = isBoth
      ? last === shared && elsewhere.last === shared
      : last === 1 && elsewhere.last <= (blindToUrls ? 1 : 0)
    if (!isRight) {
      const here = `effects = ${last} at the first URL and ${elsewhere.last} at the other for ${sent.webhookId}`
      const dropped = ", counted together by the probe: one of the two deliveries was dropped"
      const observed = isBoth && blindToUrls && last < shared ? `${here}${dropped}` : here
      return fail(attempts.at(-1)?.[0] ?? null, observed, { event })
    }
    good += 1
  }
  return good === 0 ? nothing("no event's effects were read at both URLs") : pass([], good)
}

const elsewhere: Operation = { k: "elsewhere", ref: 0 }

/**
 * Requires that the first version of an event stays stored. If none of its attempts was acknowledged, the other version
 * may be stored.
 */
export const firstStays: Judge = (trace, criteria) =>
  trace.attempts.some(({ exchange, op }) => op === 0 && classify(exchange, criteria) === "acknowledged")
    ? storedAsSent(trace, criteria)
    : nothing("the first version was not acknowledged")

export const duplicateRequirements: ReadonlyArray<Requirement> = [
  requirement("R-DUP-01", 1, {
    statement: "Every further attempt of an event is acknowledged, whatever happened to the earlier attempts.",
    source: "interface document, section 6, rules 3 and 4",
    because: symptoms.duplicate_refused,
    expected: (criteria) =>
      `every repeated attempt is answered with ${inWords(criteria)}; of several at once some may be refused (R-DUP-04)`,
    given: repeated,
    further: repeatedFurther,
    sampled: duplicates("events that are sent again among other events", 6),
    judge: everyDuplicate
  }),
  requirement("R-DUP-02", 2, {
    statement: "However often an event is sent, it has at most one effect.",
    source: "interface document, section 6, rule 4",
    because: symptoms.doubled,
    becauses: { doubled_at_once: symptoms.doubled_at_once },
    expected: () => "the probe never counts more than one effect for an event, neither during the run nor at the end",
    needs: ["effects"],
    examines: "all",
    given: repeated,
    further: repeatedFurther,
    sampled: randomHistories,
    judge: atMostOnce
  }),
  requirement("R-DUP-03", 2, {
    statement: "A duplicate is recognised by its id, not by its bytes, headers or connection.",
    source: "interface document, section 6, rule 4; Standard Webhooks, webhook-id",
    because:
      "A retry has another attempt number, timestamp and signature, and may use another connection. A proxy may also change the other headers and the form of the body.",
    expected: () => "one effect when the attempts of an event differ in anything but its ids",
    needs: ["effects"],
    given: [
      everyWay(accessLog),
      everyWay(call),
      state("an access log whose first attempt has an older timestamp", newEvent(accessLog, ["aged"]), retryOf(0)),
      state("other whitespace in the first attempt than in the retry", newEvent(accessLog, ["reencoded"]), retryOf(0))
    ],
    further: [
      state("a call whose first attempt has an older timestamp", newEvent(call, ["aged"]), retryOf(0)),
      ...[accessLog, call].flatMap((event) =>
        ways.map(([title, how]) => state(`${event.resource_type}: sent again ${title}`, newEvent(event), again(0, how)))
      )
    ],
    givenIf: (_, dedupKey) =>
      dedupKey === "body"
        ? [state("the same data.id under another webhook-id", { k: "twins", event: accessLog, kind: "same_data_id" })]
        : [],
    judge: all(onceAcrossTwins, exactlyOnce)
  }),
  requirement("R-DUP-04", 1, {
    statement:
      "Copies of an event that arrive at the same time have one effect; each is acknowledged or refused promptly, and a later retry is acknowledged.",
    source: "interface document, section 6, rules 3 and 4",
    because: symptoms.doubled_at_once,
    becauses: {
      duplicate_refused: symptoms.duplicate_refused,
      lost: "Copies that arrive together may all fail. A receiver that answers one of them with 200 loses the event."
    },
    expected: (criteria) =>
      `every copy is answered in time, the retry after them with ${inWords(criteria)}, and the probe counts one effect`,
    provenBy: ["effects"],
    given: [
      races(accessLog, 2),
      races(call, 4),
      races(accessLog, 10),
      state("10 copies of an earlier event at once", newLog, raceAgain(0, 10), retried(0)),
      state("8 copies of an event at once, then 8 more", raceNew(accessLog, 8), raceAgain(0, 8), retried(0)),
      state(
        "copies of two events at once, then more copies of both",
        raceNew(accessLog, 3),
        raceNew(call, 3),
        raceAgain(0, 3),
        raceAgain(1, 3),
        retried(0),
        retried(1)
      )
    ],
    further: [races(call, 2), ...[3, 8].flatMap((copies) => [races(accessLog, copies), races(call, copies)])],
    // Even with the events sent ahead of the copies, these cases stay within doorhook's limit of requests in flight to
    // one integration.
    givenIf: (sight) =>
      sight.has("effects")
        ? [
            makeCase("load", "events in 6 copies each that end at the same moment", volleys(call, 6, 12)),
            makeCase("load", "events in 2 copies each that end at the same moment", volleys(accessLog, 2, 12))
          ]
        : [],
    judge: all(copiesAnswered, lastAttempts, exactlyOnce)
  }),
  requirement("R-DUP-05", 2, {
    statement: "A duplicate is recognised after many other events, and at its later retries.",
    source: "interface document, section 6, rule 4",
    because:
      "A retry may come days after the first attempt. A memory of the last thousand ids, or of the last minute, has lost the id by then.",
    expected: () =>
      `one effect for an event that is sent again after up to ${manyOthers} other events, or ${aMinute / 1_000} seconds later`,
    needs: ["effects"],
    given: [
      state("a retry after 40 other events", newLog, filler(40), retryOf(0)),
      makeCase("last", "retries after thousands of other events", newLog, newCall, newLog, filler(manyOthers), retryAll)
    ],
    // A clock that can be moved makes the longer wait unnecessary.
    givenIf: (sight) =>
      sight.has("advance")
        ? [
            aged(secondRetry, "the delay of the second retry"),
            clockMoved(aMinute, "retries after a minute by the receiver's clock")
          ]
        : [aged(aMinute, "a minute")],
    judge: exactlyOnce
  }),
  requirement("R-DUP-06", 2, {
    profile: "clock",
    listedWithoutProfile: true,
    statement: "A duplicate is recognised for as long as the sender may retry the event.",
    source: "interface document, section 6, rule 4; the retry schedule in docs/decisions.md",
    because:
      "An access log is retried for about three days. A receiver with a shorter memory handles the last retries again; a receiver that refuses old events never acknowledges these retries.",
    expected: (criteria) =>
      `an event that is sent again ${Math.round(horizon / hour)} hours later is answered with ${inWords(criteria)} and has one effect`,
    needs: ["effects", "advance"],
    given: [
      clockMoved(10 * 60_000, "retries after ten minutes"),
      clockMoved(25 * hour, "retries after 25 hours"),
      clockMoved(Math.ceil(horizon), "retries after the delay of the last retry")
    ],
    judge: all(lastAttempts, exactlyOnce)
  }),
  requirement("R-DUP-07", 2, {
    strength: "SHOULD",
    statement: "A duplicate with different content is acknowledged and changes nothing: the first version stays.",
    source: "an interpretation of the interface document, section 6, rule 4",
    because: "In an audit log, a later request must not rewrite an earlier entry.",
    becauses: { duplicate_refused: symptoms.duplicate_refused, doubled: symptoms.doubled },
    expected: (criteria) => `${inWords(criteria)}, one effect, and the data of the first attempt`,
    needs: ["effects"],
    provenBy: ["digest"],
    given: [
      state("an access log, then a retry with another name", newLog, retryOf(0, "changed")),
      state("a call, then a retry with another status", newCall, retryOf(0, "changed"))
    ],
    further: [
      state("a retry with another name, then a retry with the first name", newLog, retryOf(0, "changed"), retryOf(0))
    ],
    judge: all(everyAttempt, atMostOnce, firstStays)
  }),
  requirement("R-DUP-08", 2, {
    profile: "tenant",
    statement:
      "An event that is sent to two of the receiver's URLs has one effect at each: duplicates are dropped per URL.",
    source: "interface document, section 1: building and tenant integrations; the same webhook-id at every integration",
    because:
      "A building and its tenant may use the same receiver. If it treats the second delivery as a duplicate of the first, the building or the tenant never gets the event.",
    expected: () => "one effect at each URL that the event was sent to, none at any other",
    needs: ["effects", "endpoints"],
    given: [
      state("an access log to one URL only", newLog),
      state("an access log to both URLs", newLog, elsewhere),
      state("a call to both URLs, twice each", newCall, elsewhere, retryOf(0), elsewhere)
    ],
    judge: oncePerEndpoint
  })
]

const alike = (kind: TwinKind, event: EventTemplate = accessLog, lane: Lane = "state"): Case =>
  makeCase(lane, `${event.resource_type} events with ${twins[kind].words}`, { k: "twins", event, kind })

/**
 * Returns an undecided finding if the probe ignores the case of ids. Such a probe counts two events as one, and hides
 * the effects of each.
 */
const caseDistinguished = ({ history, sight }: Trace): Finding =>
  sight.foldsCase && history.ops.some((op) => op.k === "twins" && op.kind === "letter_case")
    ? inconclusive(
        null,
        "undecided: the probe ignores the case of ids, so it can't show whether the receiver distinguishes them; let the probe compare ids exactly (a binary collation)"
      )
    : nothing("the probe distinguishes ids by their case")

export const identityRequirements: ReadonlyArray<Requirement> = [
  requirement("R-NEW-01", 2, {
    statement:
      "Events with different ids are different events, even if everything else is equal and the ids are similar.",
    source: "interface document, section 2.3: id identifies the record; RFC 8259, section 6, on long numbers",
    because:
      "If ids are shortened, case-folded, rounded or hashed before they are compared, new events look like duplicates and are lost without a trace.",
    becauses: { unacknowledged: symptoms.unacknowledged, doubled: symptoms.doubled },
    expected: (criteria) => `${inWords(criteria)} and one effect for each of them`,
    needs: ["effects"],
    given: [
      alike("everything_else_equal"),
      alike("everything_else_equal", call),
      alike("last_character"),
      alike("letter_case"),
      alike("beyond_double", call),
      alike("beyond_32_bits"),
      alike("prefix"),
      alike("punctuation"),
      alike("leading_zero"),
      alike("other_type")
    ],
    further: [
      alike("last_character", call),
      alike("first_character"),
      alike("first_character", call),
      alike("middle_character"),
      alike("middle_character", call),
      alike("letter_case", call),
      alike("beyond_double"),
      alike("beyond_32_bits", call),
      alike("prefix", call),
      alike("punctuation", call),
      alike("leading_zero", call),
      // This case is last, because finding ids with equal hashes takes long and another case may fail first.
      alike("same_hash_32", accessLog, "disturbed")
    ],
    givenIf: (_, dedupKey) =>
      dedupKey === "both" ? [] : [alike(dedupKey === "header" ? "same_data_id" : "same_webhook_id")],
    judge: all(caseDistinguished, everyAttempt, exactlyOnce)
  })
]
