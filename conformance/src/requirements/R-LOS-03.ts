/**
 * Nothing comes of nothing. Judged on everything that is sent.
 */
import { noPhantom } from "../checks/EachEvent.ts"
import { accessLog, call } from "../history/Events.ts"
import { malformationInWords, malformationKinds } from "../history/Invalid.ts"
import { cutNew, inBody, makeCase } from "../history/History.ts"
import { define } from "./Requirement.ts"

export const requirement = define({
  id: "R-LOS-03",
  level: 2,
  statement: "What was never sent, was broken off in the middle or is no event has no effect.",
  source: "interface document, section 2.3; RFC 8259, section 2",
  because: "A receiver that acts on half a request opens doors for events that did not happen.",
  expected: () => "no effect",
  needs: ["effects"],
  examines: "all",
  directed: [
    // What no reader of JSON takes for JSON: whether other texts hold an event is for the receiver to say.
    ...malformationKinds.map((kind) =>
      makeCase("disturbed", `an event ${malformationInWords(kind)}`, { k: "malformed", event: accessLog, kind })
    ),
    ...[30, 60, 95, 99.9].map((percent) =>
      makeCase(
        "disturbed",
        `an event broken off after ${percent} % and never sent again`,
        cutNew(call, inBody(percent))
      )
    )
  ],
  check: noPhantom
})
