/**
 * R-NEW: events that are nearly the same, and are not.
 */
import type { Trace } from "../evidence/Trace.ts"
import { accessLog, call } from "../history/Events.ts"
import { makeCase } from "../history/History.ts"
import type { Case, Lane } from "../history/History.ts"
import type { EventTemplate } from "../history/Events.ts"
import { twins } from "../history/Twins.ts"
import type { TwinKind } from "../history/Twins.ts"
import type { Finding } from "../judgement/Finding.ts"
import { inconclusive, nothing } from "../judgement/Finding.ts"
import { all, everyAttempt, exactlyOnce } from "../judgement/Judge.ts"
import { inWords } from "../judgement/Terms.ts"
import { requirement, symptoms } from "./Requirement.ts"
import type { Requirement } from "./Requirement.ts"

const alike = (kind: TwinKind, event: EventTemplate = accessLog, lane: Lane = "state"): Case =>
  makeCase(lane, `${event.resource_type} events with ${twins[kind].words}`, { k: "twins", event, kind })

/** A probe that takes ids in another case for the same counts two events as one: nothing is seen of either. */
const caseTold = ({ history, sight }: Trace): Finding =>
  sight.foldsCase && history.ops.some((op) => op.k === "twins" && op.kind === "letter_case")
    ? inconclusive(
        null,
        "undecided: the probe also answers to an id in another case, so it can't show whether the receiver distinguishes such ids; let the probe compare ids exactly (a binary collation)"
      )
    : nothing("the probe distinguishes ids by their case")

export const identity: ReadonlyArray<Requirement> = [
  requirement("R-NEW-01", 2, {
    statement:
      "Events with different ids are different events, even if everything else is equal and the ids are similar.",
    source: "interface document, section 2.3: id identifies the record; RFC 8259, section 6, on long numbers",
    because:
      "Ids that are shortened, case-folded, rounded or hashed before they are compared make new events look like duplicates. Those events are lost without a trace.",
    becauses: { unacknowledged: symptoms.unacknowledged, doubled: symptoms.doubled },
    expected: (terms) => `${inWords(terms)} and one effect for each of them`,
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
      // Such ids take long to find: a receiver that has failed before is spared the search.
      alike("same_hash_32", accessLog, "disturbed")
    ],
    givenFor: {
      header: [alike("same_data_id")],
      body: [alike("same_webhook_id")]
    },
    judge: all(caseTold, everyAttempt, exactlyOnce)
  })
]
