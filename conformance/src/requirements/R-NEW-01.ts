/**
 * Events that are nearly the same, and are not.
 */
import { exactlyOnce } from "../checks/EachEvent.ts"
import { both } from "../checks/Finding.ts"
import { everyAttemptAcknowledged } from "../checks/Retried.ts"
import { accessLog, call } from "../history/Events.ts"
import type { Case, Lane } from "../history/History.ts"
import { makeCase } from "../history/History.ts"
import type { TwinKind } from "../history/Twins.ts"
import { twinsInWords } from "../history/Twins.ts"
import { define } from "./Requirement.ts"

const kinds: ReadonlyArray<TwinKind> = [
  "everything_else_equal",
  "last_character",
  "first_character",
  "middle_character",
  "letter_case",
  "beyond_double",
  "beyond_32_bits",
  "prefix"
]

/** Such ids take long to find: a receiver that has failed before is spared the search. */
const laterLane: Lane = "disturbed"

const twins = (kind: TwinKind, event = accessLog, lane: Lane = "state"): Case =>
  makeCase(lane, `${event.resource_type} events with ${twinsInWords(kind)}`, { k: "twins", event, kind })

export const requirement = define({
  id: "R-NEW-01",
  level: 2,
  statement: "Events with different ids are different events, even if all else is equal and the ids nearly are.",
  source: "interface document, section 2.3: id identifies the record; RFC 8259, section 6, on long numbers",
  because:
    "Ids that are shortened, folded, rounded or hashed on their way into the memory of duplicates make new events look like old ones. They vanish, and nobody is told.",
  expected: () => "one effect for each of the events",
  needs: ["effects"],
  presupposes: ["R-LOS-01"],
  directed: [
    ...kinds.flatMap((kind) => [twins(kind), twins(kind, call)]),
    twins("other_type"),
    twins("same_hash_32", accessLog, laterLane)
  ],
  directedFor: {
    header: [twins("same_data_id")],
    body: [twins("same_webhook_id")]
  },
  check: (trace, terms) => both(everyAttemptAcknowledged(trace, terms), exactlyOnce(trace, terms))
})
