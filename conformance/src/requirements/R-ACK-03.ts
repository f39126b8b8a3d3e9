/**
 * The time alone, judged where nothing else is going on.
 */
import { DurationText } from "@doorhook/core"
import { everyStatusInTime } from "../checks/InTime.ts"
import { ordinaryCases, ordinarySamples, slowerCases } from "./Ordinary.ts"
import { define } from "./Requirement.ts"

export const requirement = define({
  id: "R-ACK-03",
  level: 1,
  statement: "The answer comes within 5 seconds of the start of the request, connecting included.",
  source: "interface document, section 6, rule 3, and section 8",
  because:
    "An answer that comes later counts for nothing: the event is sent again although it was handled. Put the work into a queue and answer at once.",
  expected: ({ deadline }) => `the status of every answer is there within ${DurationText.format(deadline)}`,
  presumesAcknowledgement: false,
  directed: [...ordinaryCases, ...slowerCases],
  sampled: ordinarySamples,
  check: everyStatusInTime
})
