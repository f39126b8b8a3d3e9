/**
 * The whole of an acknowledgement, on events of any day.
 */
import { everyFirstAttemptAcknowledged } from "../checks/FirstAttempts.ts"
import { inWords } from "../checks/Terms.ts"
import { manyEvents, ordinaryCases, ordinarySamples, slowerCases, timeCases } from "./Ordinary.ts"
import { define } from "./Requirement.ts"

export const requirement = define({
  id: "R-ACK-01",
  level: 1,
  statement: "Every valid event is acknowledged at its first attempt.",
  source: "interface document, section 6, rule 3",
  because:
    "An attempt that is not acknowledged is made again: for about three days for an access log, for 45 seconds for a call. Then the event is given up.",
  expected: (terms) => `the first attempt of every ordinary event is answered with ${inWords(terms)}`,
  presumesAcknowledgement: false,
  presupposes: ["R-ACK-02", "R-ACK-03"],
  directed: [...ordinaryCases, ...slowerCases, ...timeCases, manyEvents],
  sampled: ordinarySamples,
  check: everyFirstAttemptAcknowledged
})
