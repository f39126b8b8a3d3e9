/**
 * R-ORD: events do not come in the order they happened in.
 */
import { accessLog, call, noted, withMember } from "../history/Events.ts"
import { newEvent } from "../history/History.ts"
import type { Case } from "../history/History.ts"
import { string } from "../history/Json.ts"
import type { EventTemplate } from "../history/Events.ts"
import { all, everyAttempt, exactlyOnce } from "../judgement/Judge.ts"
import { inWords } from "../judgement/Terms.ts"
import { newLog, retryOf, state } from "./Cases.ts"
import { requirement, symptoms } from "./Requirement.ts"
import type { Requirement } from "./Requirement.ts"

const at = (time: string, event: EventTemplate = accessLog): EventTemplate =>
  noted(withMember(event, "logged_at", string(time)), time)

const years = (event: EventTemplate): ReadonlyArray<EventTemplate> => [
  at("2016-02-29T23:59:59.999Z", event),
  at("2019-03-31T01:30:00Z", event),
  at("2020-10-25T00:30:00.5Z", event),
  at("2023-12-31T23:59:59Z", event),
  at("2024-11-03T05:59:59.123456Z", event),
  at("2026-01-01T00:00:00Z", event)
]

const shuffled = (title: string, events: ReadonlyArray<EventTemplate>, order: ReadonlyArray<number>): Case =>
  state(title, { k: "shuffled", events, order })

const alike = Array.from({ length: 6 }, () => accessLog)

export const ordering: ReadonlyArray<Requirement> = [
  requirement("R-ORD-01", 2, {
    statement: "Events are handled in any order, old ones included: the effects are the same.",
    source: "interface document, section 6: order is not promised",
    because:
      "Order is not promised: a retry arrives after newer events, a controller that was offline sends what it has stored, a clock may be ahead. A receiver that accepts only what is newer than the last event refuses or drops the others, and its effects depend on the network.",
    becauses: { duplicate_refused: symptoms.duplicate_refused, doubled: symptoms.doubled },
    expected: (terms) => `${inWords(terms)} and one effect for each event, in every order`,
    needs: ["effects"],
    given: [
      shuffled("made in one order, sent in the opposite", alike, [5, 4, 3, 2, 1, 0]),
      shuffled("access logs of ten years, in any order", years(accessLog), [2, 5, 0, 4, 1, 3]),
      shuffled("calls of ten years, newest first", years(call), [5, 4, 3, 2, 1, 0]),
      state(
        "two events of the same moment",
        newEvent(at("2026-03-01T12:00:00Z")),
        newEvent(at("2026-03-01T12:00:00Z"))
      ),
      state("an event from a clock that is ahead", newEvent(at("2031-01-01T00:00:00Z")), newLog),
      state(
        "a retry of an old event after newer ones",
        newEvent(at("2022-05-01T08:00:00Z")),
        newLog,
        retryOf(0),
        newEvent(at("2022-05-01T07:00:00Z"))
      )
    ],
    further: [
      shuffled("made in one order, sent in another", alike, [3, 0, 5, 1, 4, 2]),
      shuffled("access logs of ten years, newest first", years(accessLog), [5, 4, 3, 2, 1, 0]),
      shuffled("access logs of ten years, oldest first", years(accessLog), [0, 1, 2, 3, 4, 5]),
      state("an event older than the last", newLog, newEvent(at("2021-06-01T12:00:00Z"))),
      state(
        "an event a little older than the last",
        newEvent(at("2026-03-01T12:00:05Z")),
        newEvent(at("2026-03-01T12:00:04Z"))
      )
    ],
    judge: all(everyAttempt, exactlyOnce)
  })
]
