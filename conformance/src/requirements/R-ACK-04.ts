/**
 * The end of the answer: the one point in which the suite is stricter than doorhook's sender.
 */
import { DurationText } from "@doorhook/core"
import { everyAnswerComplete } from "../checks/CompleteAnswer.ts"
import { ordinaryCases, ordinarySamples, slowerCases } from "./Ordinary.ts"
import { define } from "./Requirement.ts"

export const requirement = define({
  id: "R-ACK-04",
  level: 1,
  statement: "The answer is complete: its body ends within the deadline and is as long as it says.",
  source: "interface document, section 6, rule 3; RFC 9112, sections 6.3 and 8",
  because:
    "An answer without an end holds a connection of the sender open, and one whose length is wrong spoils the next request on it.",
  expected: ({ deadline }) =>
    `every answer ends within ${DurationText.format(deadline)}, with as many bytes as announced`,
  presumesAcknowledgement: false,
  directed: [...ordinaryCases, ...slowerCases],
  sampled: ordinarySamples,
  check: everyAnswerComplete
})
