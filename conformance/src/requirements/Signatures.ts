/**
 * R-SIG: forged requests are refused and leave no trace; genuine requests are accepted in every form.
 */
import { DurationText } from "@doorhook/core"
import type { Trace } from "../evidence/Trace.ts"
import { accessLog, call, withMember, withUnknown } from "../history/Events.ts"
import type { EventTemplate } from "../history/Events.ts"
import { again, newCall, newEvent, newLog, retryOf, state } from "../history/History.ts"
import type { Case } from "../history/History.ts"
import { string } from "../history/Json.ts"
import type { Operation } from "../history/Operations.ts"
import { everyPlane } from "../history/Domain.ts"
import { carriers, forgeries, forgeryInWords } from "../history/Variations.ts"
import type { Carrier, Forgery, Variation } from "../history/Variations.ts"
import {
  all,
  eachAttempt,
  everyAttempt,
  exactlyOnce,
  leaksNothing,
  noPhantom,
  storedAsSent
} from "../judgement/Judge.ts"
import { exchangeInWords, inWords, classify } from "../judgement/Criteria.ts"
import type { Criteria } from "../judgement/Criteria.ts"
import { fail } from "../judgement/Verdict.ts"
import type { Finding } from "../judgement/Verdict.ts"
import { requirement, symptoms } from "./Requirement.ts"
import type { Requirement } from "./Requirement.ts"

const forged = (event: EventTemplate, kind: Forgery, by: Carrier = "plain"): Operation => ({
  k: "forged",
  event,
  kind,
  by
})
const forgedAgain = (kind: Forgery, by: Carrier = "plain"): Operation => ({ k: "forged_again", ref: 0, kind, by })

/**
 * Makes three cases: a forgery alone, a forgery followed by its genuine request (which must be handled as usual), and a
 * forgery of a known event.
 */
const eachWay = (kind: Forgery): ReadonlyArray<Case> => [
  state(`an event ${forgeryInWords(kind)}`, forged(accessLog, kind), newCall),
  state(`an event ${forgeryInWords(kind)}, then genuine`, forged(call, kind), again(0, [])),
  state(`a known event again, ${forgeryInWords(kind)}`, newLog, forgedAgain(kind), retryOf(0), forgedAgain(kind))
]

const bodies = ["chunked", "large", "kept"] as const satisfies ReadonlyArray<Carrier>
const heads = ["charset", "text", "upper", "put"] as const satisfies ReadonlyArray<Carrier>

const carried = (kind: Forgery, by: Carrier): Case =>
  state(`an event ${forgeryInWords(kind)}${carriers[by].words}`, forged(accessLog, kind, by), newLog)

const harmless =
  "Nobody without the secret can make such a request, so accepting it does no harm. But it shows that the comparison is not exact."

/**
 * Makes the cases of several kinds of forgery. The given cases send all kinds in sequence, and the first kind with each
 * form of body (`bodies`). The further cases send each kind alone. Forgeries whose refusal is only a SHOULD have their
 * own cases, because one such operation makes its whole case a SHOULD.
 */
const forgedCases = (
  topic: string,
  first: Forgery,
  ...others: ReadonlyArray<Forgery>
): Pick<Requirement, "given" | "further"> => {
  const strong = [first, ...others].filter((kind) => forgeries[kind].strength === "MUST")
  const weak = [first, ...others].filter((kind) => forgeries[kind].strength === "SHOULD")
  const kinds = strong.length === 0 ? weak : strong
  return {
    given: [
      state(`new events ${topic}`, ...kinds.map((kind) => forged(accessLog, kind)), newLog),
      state(`a known event again, ${topic}`, newCall, ...kinds.map((kind) => forgedAgain(kind)), retryOf(0)),
      state(`an event ${forgeryInWords(first)}, then genuine`, forged(call, first), again(0, [])),
      ...bodies.map((by) => carried(kinds[0] ?? first, by))
    ],
    further: [
      ...kinds.flatMap(eachWay),
      ...(strong.length === 0 ? [] : weak.flatMap(eachWay)).map((one) => ({ ...one, because: harmless })),
      ...kinds.slice(1).flatMap((kind) => bodies.map((by) => carried(kind, by)))
    ]
  }
}

/** Requires that forged requests are refused: answered with a status that does not acknowledge. */
const forgeriesRefused = (trace: Trace, criteria: Criteria): Finding =>
  eachAttempt(trace, "nothing forged was sent", (attempt, index) => {
    if (attempt.kind !== "forged") return null
    const answer = classify(attempt.exchange, criteria)
    // A connection closed without an answer also acknowledges nothing.
    if (answer === "refused" || answer === "broken") return "good"
    return fail(index, exchangeInWords(attempt.exchange), { timing: answer === "late" })
  })

/** Requires that forged requests are refused and have no effect, and that genuine requests are handled as usual. */
const refusedWithoutTrace = all(forgeriesRefused, noPhantom, everyAttempt, exactlyOnce, storedAsSent, leaksNothing)

const refused = "a status that does not acknowledge, no effect, and the genuine event handled as usual"

const verifying = "Standard Webhooks 1.0, verifying; interface document, section 5"

const ownNumber =
  "doorhook's own decision (--tolerance); Standard Webhooks 1.0 asks for a tolerance but names no number"

const mustRefuse = {
  profile: "signed",
  source: verifying,
  expected: () => refused,
  needs: ["secret"],
  provenBy: ["effects"],
  becauses: {
    unacknowledged:
      "The refused request is genuine. A receiver that refuses it because a forged one arrived before lets anybody suppress events.",
    duplicate_refused: symptoms.duplicate_refused,
    lost: "A receiver that records an id before it checks the signature takes the genuine event for a duplicate. Anybody can suppress an event by sending its id first.",
    doubled: symptoms.doubled
  },
  judge: refusedWithoutTrace
} as const
const mustAccept = {
  profile: "signed",
  source: verifying,
  expected: (criteria: Criteria) => `it is answered with ${inWords(criteria)}`,
  needs: ["secret"],
  judge: everyAttempt
} as const

const inWay = (event: EventTemplate, title: string, ...how: ReadonlyArray<Variation>): Case =>
  state(`${event.resource_type} ${title}`, newEvent(event, how))

const stamps = [
  ["old_stamp", "in the past"],
  ["early_stamp", "in the future"]
] as const

const wrongSignatures = forgedCases(
  "with a wrong signature",
  "random",
  "other_secret",
  "empty_secret",
  "public_key",
  "truncated",
  "first_byte",
  "last_byte",
  "other_case",
  "two_wrong",
  "lengthened"
)

export const signatureRequirements: ReadonlyArray<Requirement> = [
  requirement("R-SIG-01", 1, {
    ...mustRefuse,
    statement: "A request without a signature, or without what is signed, is refused and has no effect.",
    because:
      "A receiver that skips the check when a signature header is missing or empty, or when the body is chunked or large, accepts requests from anybody.",
    ...forgedCases(
      "without a signature, timestamp or id",
      "missing",
      "empty",
      "no_timestamp",
      "empty_timestamp",
      "no_id",
      "empty_id",
      "bare"
    )
  }),
  requirement("R-SIG-02", 1, {
    ...mustRefuse,
    presupposes: ["R-SIG-01"],
    statement: "A request with a wrong signature is refused and has no effect.",
    because:
      "A receiver that compares only a part, the length or the presence of a signature accepts what anybody can make up. So does a receiver whose second secret is unset and is used as an empty key.",
    ...wrongSignatures,
    given: [...wrongSignatures.given, ...heads.map((by) => carried("random", by))]
  }),
  requirement("R-SIG-03", 1, {
    ...mustRefuse,
    presupposes: ["R-SIG-01"],
    statement: "A signature with another version, or with none, is refused, even if its bytes are right.",
    because: "A receiver that accepts any version can be moved to a weaker scheme.",
    ...forgedCases("with another version", "version_0", "version_other", "version_none", "version_word")
  }),
  requirement("R-SIG-04", 1, {
    ...mustRefuse,
    presupposes: ["R-SIG-01"],
    statement: "A request whose id, timestamp or body is not what was signed is refused and has no effect.",
    because: "A forger can record a request and send it again under a new id, or with another body.",
    ...forgedCases(
      "with a signature that does not match the request",
      "changed_body",
      "other_id",
      "other_timestamp",
      "other_body",
      "added_space"
    )
  }),
  requirement("R-SIG-05", 1, {
    ...mustAccept,
    statement: "One good signature among several is enough, at any position.",
    because:
      "While a secret is rotated, each request carries two signatures: one made with the old secret and one made with the new secret. A receiver that reads only the first signature then refuses genuine requests.",
    given: [
      inWay(accessLog, "with the good signature last", "signature_last"),
      inWay(call, "with the good signature first", "signature_first"),
      inWay(accessLog, "with the good signature among unknown versions", "signature_among_unknown")
    ],
    further: [
      inWay(call, "with the good signature last", "signature_last"),
      inWay(accessLog, "with the good signature first", "signature_first"),
      inWay(call, "with the good signature among unknown versions", "signature_among_unknown")
    ]
  }),
  requirement("R-SIG-06", 1, {
    ...mustAccept,
    statement: "A genuine request is accepted whatever its whitespace, escapes, numbers and order of members.",
    because:
      "A receiver that parses the body and verifies its own serialisation refuses genuine requests because of a space, a 1.0 or an escaped letter.",
    given: [
      inWay(accessLog, "with other whitespace", "reencoded"),
      inWay(call, "with members in another order", "reordered"),
      inWay(accessLog, "with escaped texts", "escaped"),
      state(
        "numbers in other forms",
        newEvent(
          withUnknown(
            accessLog,
            ["reading", "1.0"],
            ["level", "1e2"],
            ["zero", "-0"],
            ["serial", "12345678901234567890"]
          )
        )
      ),
      state("a text in many scripts", newEvent(withMember(accessLog, "name", string(everyPlane)))),
      state(
        "characters that some serializers escape",
        newEvent(withMember(accessLog, "name", string("<a/> & \u2028 'b'")))
      )
    ],
    further: [
      inWay(call, "with other whitespace", "reencoded"),
      inWay(accessLog, "with members in another order", "reordered"),
      inWay(call, "with escaped texts", "escaped")
    ]
  }),
  requirement("R-SIG-07", 1, {
    ...mustAccept,
    statement: "A retry with a new timestamp and signature is acknowledged.",
    because:
      "Each attempt has its own timestamp. A receiver that expects the signature of the first attempt refuses retries.",
    given: [accessLog, call].flatMap((event) => [
      state(`a retry of ${event.resource_type}`, newEvent(event), retryOf(0), retryOf(0)),
      state(
        `a retry of ${event.resource_type}, some time after the first attempt`,
        newEvent(event, ["aged"]),
        retryOf(0)
      )
    ])
  }),
  requirement("R-SIG-08", 1, {
    ...mustAccept,
    strength: "SHOULD",
    source: ownNumber,
    statement: "A request whose timestamp is off by less than the tolerance is accepted.",
    because:
      "Clocks are not exact, and requests wait in queues. A receiver that tolerates only a few seconds refuses genuine requests, especially when the sender is busy.",
    expected: (criteria) =>
      `a timestamp within the tolerance of ${DurationText.format(criteria.tolerance)} is answered with ${inWords(criteria)}`,
    given: stamps.map(([stamp, when]) => inWay(accessLog, `stamped ${when}, within the tolerance`, stamp)),
    further: stamps.flatMap(([stamp, when]) => [
      inWay(call, `stamped ${when}, within the tolerance`, stamp),
      ...[accessLog, call].map((event) =>
        state(
          `a retry of ${event.resource_type} stamped ${when}, within the tolerance`,
          newEvent(event),
          again(0, ["next_attempt", stamp])
        )
      )
    ])
  }),
  requirement("R-SIG-09", 1, {
    ...mustRefuse,
    presupposes: ["R-SIG-01"],
    source: `a timestamp that is no number: ${verifying}; the tolerance: ${ownNumber}`,
    statement:
      "A request whose timestamp is no number is refused, and so should be one that is off by more than the tolerance.",
    because: "Anybody who has recorded a request could replay it forever.",
    expected: ({ tolerance }) => `${refused}; the tolerance is ${DurationText.format(tolerance)}`,
    given: [
      ...eachWay("no_number"),
      ...(["past", "future"] as const).map((kind) =>
        state(`an access log ${forgeryInWords(kind)}`, forged(accessLog, kind), newLog)
      )
    ],
    further: [
      ...bodies.map((by) => carried("no_number", by)),
      ...(["past", "future", "past_soon", "future_soon"] as const).flatMap(eachWay)
    ]
  })
]
