/**
 * A body that comes slowly, as over a bad mobile link.
 */
import { storedAsSent } from "../checks/EachEvent.ts"
import { both } from "../checks/Finding.ts"
import { everyAttemptAcknowledged } from "../checks/Retried.ts"
import { inWords } from "../checks/Terms.ts"
import { accessLog, call, noted, withMember } from "../history/Events.ts"
import { makeCase, newEvent } from "../history/History.ts"
import { string } from "../history/RawJson.ts"
import { define } from "./Requirement.ts"

/** Characters of three and of four bytes, so many that pieces end in the middle of some. */
const wide = noted(withMember(accessLog, "name", string("字🔑".repeat(100))), "a name of wide characters")

export const requirement = define({
  id: "R-HTTP-02",
  level: 1,
  statement: "An event is acknowledged, and stored as sent, when its body comes slowly but within the deadline.",
  source: "RFC 9112, section 9.5",
  because:
    "Half a second between first and last byte is nothing unusual between continents. A piece may end within a character: who decodes piece by piece stores another name.",
  expected: (terms) =>
    `an event that comes in small pieces over half a second is answered with ${inWords(terms)} of its last byte, and what is stored is what was sent`,
  provenBy: ["digest"],
  directed: [
    makeCase("state", "an access log slowly", newEvent(accessLog, ["slow"])),
    makeCase("state", "a call slowly", newEvent(call, ["slow"])),
    makeCase("state", "a name of wide characters slowly", newEvent(wide, ["slow"])),
    makeCase("state", "a name of wide characters in chunks", newEvent(wide, ["chunked"]))
  ],
  check: (trace, terms) => {
    const answers = everyAttemptAcknowledged(trace, terms)
    return trace.effects.length === 0 ? answers : both(answers, storedAsSent(trace, terms))
  }
})
