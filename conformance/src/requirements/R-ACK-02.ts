/**
 * The status alone, so that a 202 or a redirect is called by its name.
 */
import { everyStatusAcknowledges } from "../checks/ExactStatus.ts"
import { statusInWords } from "../checks/Terms.ts"
import { manyEvents, ordinaryCases, ordinarySamples } from "./Ordinary.ts"
import { define } from "./Requirement.ts"

export const requirement = define({
  id: "R-ACK-02",
  level: 1,
  statement: "The status of the answer is exactly 200: 201, 202, 204 and redirects do not acknowledge.",
  source: "interface document, section 6, rule 3",
  because:
    "The interface knows one acknowledgement, 200 OK. Redirects are not followed, because a redirected POST may arrive as a GET, or at somebody else's.",
  expected: (terms) => `every answer has ${statusInWords(terms)}`,
  presumesAcknowledgement: false,
  directed: [...ordinaryCases, manyEvents],
  sampled: ordinarySamples,
  check: everyStatusAcknowledges
})
