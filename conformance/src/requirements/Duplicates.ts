/**
 * R-DUP: events that come again, in every form, at once, late, and at another URL.
 */
import { builtInTypes, RetryPolicy } from "@doorhook/core"
import type { Trace } from "../evidence/Trace.ts"
import { accessLog, call } from "../history/Events.ts"
import { again, makeCase, newEvent, raceAgain, raceNew, retried, volleys } from "../history/History.ts"
import type { Case } from "../history/History.ts"
import type { Operation } from "../history/Operations.ts"
import { duplicates, randomHistories } from "../history/Samples.ts"
import type { EventTemplate } from "../history/Template.ts"
import { retry } from "../history/Variations.ts"
import type { Variation } from "../history/Variations.ts"
import type { Finding } from "../judgement/Finding.ts"
import { fail, nothing, pass } from "../judgement/Finding.ts"
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
import { inWords } from "../judgement/Terms.ts"
import type { Terms } from "../judgement/Terms.ts"
import { quietCase } from "./Acknowledging.ts"
import { requirement } from "./Requirement.ts"
import type { Requirement } from "./Requirement.ts"

const overNew = again(0, [...retry, "new_connection"])

/** The ways duplicates come about: judged by the answers (level 1) and by the effects (level 2). */
const repeated: ReadonlyArray<Case> = [
  makeCase("state", "two retries", newEvent(accessLog), again(0, retry), again(0, retry)),
  makeCase("state", "a retry over a new connection", newEvent(call), overNew),
  makeCase(
    "state",
    "retries after other events",
    newEvent(accessLog),
    newEvent(call),
    newEvent(accessLog),
    again(0, retry),
    again(1, retry)
  ),
  makeCase(
    "state",
    "the tenth attempt of an event",
    newEvent(call),
    ...Array.from({ length: 9 }, (): Operation => again(0, retry))
  ),
  makeCase("state", "a retry after several first attempts at once", raceNew(accessLog, 3), again(0, retry))
]

const repeatedFurther: ReadonlyArray<Case> = [
  makeCase("state", "the same request twice", newEvent(accessLog), again(0, [])),
  makeCase("state", "a retry with other whitespace", newEvent(accessLog), again(0, [...retry, "reencoded"])),
  makeCase(
    "state",
    "eight retries, each over a new connection",
    newEvent(accessLog),
    ...Array.from({ length: 8 }, () => overNew)
  ),
  makeCase(
    "state",
    "a retry between two others",
    newEvent(accessLog),
    newEvent(accessLog),
    again(0, retry),
    again(1, retry),
    again(0, retry)
  ),
  makeCase("state", "several retries at once", newEvent(accessLog), raceAgain(0, 3)),
  quietCase
]

/** All that may differ between attempts of an event but its ids. */
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
  makeCase(
    "state",
    `${event.resource_type}: again in every form, one after the other`,
    newEvent(event),
    ...ways.map(([, how]) => again(0, how))
  )

/** Where `data.id` is the key that is stressed: events that share it have one effect together. */
const onceAcrossTwins = (trace: Trace, terms: Terms): Finding => {
  const none = nothing("no events shared a data.id")
  if (terms.dedupKey !== "body" || !trace.history.ops.some((op) => op.k === "twins" && op.kind === "same_data_id"))
    return none
  const counts = storiesOf(trace, terms).map(({ last }) => last)
  const read = counts.filter((count) => count !== null)
  if (read.length < counts.length) return none
  // A probe that knows them by that one id says of each what they have together.
  const total = trace.sight.byDataId ? Math.max(...read) : read.reduce((sum, count) => sum + count, 0)
  return total === 1
    ? pass([], counts.length)
    : fail(null, `effects = ${total} for events with one data.id`, { event: 0 })
}

const races = (event: EventTemplate, copies: number): Case =>
  makeCase("state", `${copies} copies of a new ${event.resource_type} at once`, raceNew(event, copies), retried(0))

/** What the receiver should outlast; the suite goes as far as its time allows. */
const manyOthers = 10_000

const [first, second] = builtInTypes.access_log.retry.delays

/** From the first attempt of an access log to its second retry at the latest, in milliseconds. */
const secondRetry = Math.ceil((first + second) * (1 + RetryPolicy.maxJitter))

const hour = 3_600_000

/** From the first attempt to the last retry, jitter included, and an hour more. */
const horizon =
  builtInTypes.access_log.retry.delays.reduce((sum, delay) => sum + delay, 0) * (1 + RetryPolicy.maxJitter) + hour

const clockMoved = (ms: number, title: string): Case =>
  makeCase("operated", title, newEvent(accessLog), newEvent(call), { k: "advance", ms }, { k: "again_all", how: retry })

/** Each event has one effect at each URL it came to. A probe that does not distinguish URLs counts all of them together. */
const oncePerEndpoint = (trace: Trace, terms: Terms): Finding => {
  const { blindToUrls } = trace.sight
  let good = 0
  for (const { attempts, event, last, sent, shared, state } of storiesOf(trace, terms)) {
    const elsewhere = trace.effectsElsewhere[event] ?? null
    if (last === null || elsewhere === null || state !== "acknowledged") continue
    const isBoth = endpointsOf(attempts) > 1
    const isRight = isBoth
      ? last === shared && elsewhere.last === shared
      : last === 1 && elsewhere.last <= (blindToUrls ? 1 : 0)
    if (!isRight) {
      const here = `effects = ${last} at the first URL and ${elsewhere.last} at the other for ${sent.webhookId}`
      const dropped = ", and the probe does not tell the URLs apart: one of the two deliveries was dropped"
      const observed = isBoth && blindToUrls && last < shared ? `${here}${dropped}` : here
      return fail(attempts.at(-1)?.[0] ?? null, observed, { event })
    }
    good += 1
  }
  return good === 0 ? nothing("no event's effects were read at both URLs") : pass([], good)
}

const elsewhere: Operation = { k: "elsewhere", ref: 0 }

const basics: ReadonlyArray<Requirement["id"]> = ["R-DUP-01", "R-DUP-02", "R-LOS-01"]

export const duplicating: ReadonlyArray<Requirement> = [
  requirement({
    id: "R-DUP-01",
    level: 1,
    statement: "Every further attempt of an event is acknowledged like the first, whatever became of those before it.",
    source: "interface document, section 6, rules 3 and 4",
    because:
      "A duplicate comes when an acknowledgement was lost. A receiver that refuses it (409 is a favourite) gets it again until the event counts as failed, although it was handled.",
    expected: (terms) =>
      `every repeated attempt is answered with ${inWords(terms)}; of several at once some may be refused (R-DUP-04)`,
    given: repeated,
    further: repeatedFurther,
    sampled: duplicates("events that come again among others", 6),
    judge: everyDuplicate
  }),
  requirement({
    id: "R-DUP-02",
    level: 2,
    statement: "However often an event comes, its effect happens once at most.",
    source: "interface document, section 6, rule 4",
    because:
      "Duplicates come by design: after every lost acknowledgement. A receiver that acts on each rings twice, bills twice, opens twice.",
    expected: () =>
      "the probe never counts more than one effect for an event, whatever was sent, neither at once nor at the end of the run",
    needs: ["effects"],
    examines: "all",
    given: repeated,
    further: repeatedFurther,
    sampled: randomHistories,
    judge: atMostOnce
  }),
  requirement({
    id: "R-DUP-03",
    level: 2,
    statement: "An event is known again however it is encoded: by its id, not by its bytes, headers or connection.",
    source: "interface document, section 6, rule 4; Standard Webhooks, webhook-id",
    because:
      "A retry carries another attempt number, timestamp and signature, and comes over another connection; a proxy may change the rest.",
    expected: () => "one effect, whatever differs between the attempts of an event but its ids",
    needs: ["effects"],
    presupposes: basics,
    given: [
      everyWay(accessLog),
      everyWay(call),
      makeCase(
        "state",
        "the first attempt stamped a minute before the retry",
        newEvent(accessLog, ["aged"]),
        again(0, retry)
      ),
      makeCase("state", "other whitespace first, then plain", newEvent(accessLog, ["reencoded"]), again(0, retry))
    ],
    further: [
      makeCase(
        "state",
        "a call whose first attempt was stamped a minute before",
        newEvent(call, ["aged"]),
        again(0, retry)
      ),
      ...[accessLog, call].flatMap((event) =>
        ways.map(([title, how]) =>
          makeCase("state", `${event.resource_type}: again ${title}`, newEvent(event), again(0, how))
        )
      )
    ],
    givenFor: {
      body: [
        makeCase("state", "the same data.id under another webhook-id", {
          k: "twins",
          event: accessLog,
          kind: "same_data_id"
        })
      ]
    },
    judge: all(onceAcrossTwins, exactlyOnce)
  }),
  requirement({
    id: "R-DUP-04",
    level: 1,
    statement:
      "Copies of an event that come at once have one effect; each is acknowledged or refused at once, and a later retry is acknowledged.",
    source: "interface document, section 6, rules 3 and 4",
    because:
      "A sender that lost the answer tries again while the first attempt may still run, perhaps on another process of the receiver. Looking first and noting later lets both through.",
    expected: (terms) =>
      `every copy is answered in time, the retry after them with ${inWords(terms)}, and the probe counts one effect`,
    provenBy: ["effects"],
    presupposes: basics,
    given: [
      races(accessLog, 2),
      races(call, 4),
      races(accessLog, 10),
      makeCase("state", "10 copies of a known event at once", newEvent(accessLog), raceAgain(0, 10), retried(0)),
      makeCase("state", "two races for one event", raceNew(accessLog, 8), raceAgain(0, 8), retried(0)),
      makeCase(
        "state",
        "races for two events, crosswise",
        raceNew(accessLog, 3),
        raceNew(call, 3),
        raceAgain(0, 3),
        raceAgain(1, 3),
        retried(0),
        retried(1)
      )
    ],
    further: [races(call, 2), ...[3, 8].flatMap((copies) => [races(accessLog, copies), races(call, copies)])],
    // Together with the events ahead of them, no more than doorhook sends to one integration at once.
    givenWithEffects: [
      makeCase("load", "races to the last byte, 6 copies each", volleys(call, 6, 12)),
      makeCase("load", "races to the last byte, 2 copies each", volleys(accessLog, 2, 12))
    ],
    judge: all(copiesAnswered, lastAttempts, exactlyOnce)
  }),
  requirement({
    id: "R-DUP-05",
    level: 2,
    statement: "An event is known again after many others, and at its later retries.",
    source: "interface document, section 6, rule 4",
    because:
      "A retry may come days after the first attempt. A memory of the last thousand ids, or of the last minute, has forgotten it by then.",
    expected: () =>
      `one effect for an event that comes again after up to ${manyOthers} others, or ${secondRetry / 1_000} seconds later`,
    needs: ["effects"],
    presupposes: basics,
    given: [
      makeCase("state", "again after 40 others", newEvent(accessLog), { k: "filler", count: 40 }, again(0, retry)),
      makeCase(
        "last",
        "again after thousands of others",
        newEvent(accessLog),
        newEvent(call),
        newEvent(accessLog),
        { k: "filler", count: manyOthers },
        { k: "again_all", how: retry }
      ),
      makeCase(
        "aged",
        "again at the second retry",
        newEvent(accessLog),
        newEvent(call),
        newEvent(accessLog),
        { k: "age", ms: secondRetry },
        { k: "again_all", how: retry }
      )
    ],
    judge: exactlyOnce
  }),
  requirement({
    id: "R-DUP-06",
    level: 2,
    profile: "clock",
    listedWithoutProfile: true,
    statement: "An event is known again for as long as the sender may retry it.",
    source: "interface document, section 6, rule 4; the retry schedule in docs/decisions.md",
    because:
      "An access log is retried for about three days. A memory that is shorter lets the last retries through, and a receiver that refuses what is old never gets them acknowledged.",
    expected: (terms) =>
      `an event that comes again ${Math.round(horizon / hour)} hours later is answered with ${inWords(terms)}, and there is one effect`,
    needs: ["effects", "advance"],
    given: [
      clockMoved(10 * 60_000, "again after ten minutes"),
      clockMoved(25 * hour, "again after a day"),
      clockMoved(Math.ceil(horizon), "again at the last retry")
    ],
    judge: all(lastAttempts, exactlyOnce)
  }),
  requirement({
    id: "R-DUP-07",
    level: 2,
    strength: "SHOULD",
    statement: "A duplicate with another content is acknowledged and changes nothing: what came first stays.",
    source: "a reading of the interface document, section 6, rule 4",
    because: "An audit log in which a later request rewrites an earlier entry is none.",
    expected: (terms) => `${inWords(terms)}, one effect, and the data of the first attempt`,
    needs: ["effects"],
    provenBy: ["digest"],
    presupposes: ["R-DUP-01", "R-DUP-02"],
    given: [
      makeCase("state", "an access log again with another name", newEvent(accessLog), again(0, [...retry, "changed"])),
      makeCase("state", "a call again with another status", newEvent(call), again(0, [...retry, "changed"]))
    ],
    further: [
      makeCase(
        "state",
        "another name, then the first again",
        newEvent(accessLog),
        again(0, [...retry, "changed"]),
        again(0, retry)
      )
    ],
    judge: all(everyAttempt, atMostOnce, storedAsSent)
  }),
  requirement({
    id: "R-DUP-08",
    level: 2,
    profile: "tenant",
    statement:
      "An event that comes to two of the receiver's URLs has one effect at each: duplicates are dropped per URL.",
    source: "interface document, section 1: building and tenant integrations; the same webhook-id at every integration",
    because:
      "A building and its tenant may use the same receiver. If the first delivery makes the second a duplicate, one of them never hears of the event.",
    expected: () => "one effect at each URL the event came to, none at one it did not come to",
    needs: ["effects", "endpoints"],
    given: [
      makeCase("state", "an access log to one URL only", newEvent(accessLog)),
      makeCase("state", "an access log to both URLs", newEvent(accessLog), elsewhere),
      makeCase("state", "a call to both URLs, twice each", newEvent(call), elsewhere, again(0, retry), elsewhere)
    ],
    judge: oncePerEndpoint
  })
]
