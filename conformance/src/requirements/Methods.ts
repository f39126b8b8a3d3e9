/**
 * R-GET: questions must not be answered with deeds.
 */
import { accessLog, call } from "../history/Events.ts"
import { again } from "../history/History.ts"
import type { Case } from "../history/History.ts"
import { methods } from "../history/Operations.ts"
import type { Operation } from "../history/Operations.ts"
import type { EventTemplate } from "../history/Events.ts"
import { all, everyAttempt, exactlyOnce, noPhantom } from "../judgement/Judge.ts"
import { inWords } from "../judgement/Terms.ts"
import { disturbed, newCall, retryOf } from "./Cases.ts"
import { requirement, symptoms } from "./Requirement.ts"
import type { Requirement } from "./Requirement.ts"

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

export const otherMethods: ReadonlyArray<Requirement> = [
  requirement("R-GET-01", 1, {
    statement:
      "GET, HEAD and OPTIONS on the URL have no effect, and a POST of the event that they mention is handled as usual.",
    source: "RFC 9110, section 9.2.1",
    because:
      "Browsers, link previews, scanners and monitors request every URL they see. A door must not open for them.",
    becauses: {
      ...symptoms,
      lost: "A request that only mentions an event must not make the event itself a duplicate: it would be acknowledged and dropped."
    },
    expected: (terms) =>
      `such a request has no effect; the POST after it is answered with ${inWords(terms)} and has one`,
    provenBy: ["effects"],
    given: [neverSent("GET"), ...methods.flatMap((method) => [withBody(method), aroundPost(method)])],
    further: [neverSent("HEAD"), neverSent("OPTIONS")],
    judge: all(everyAttempt, noPhantom, exactlyOnce)
  })
]
