/**
 * A genuine signature on something else.
 */
import { forgedCases, refused, refusedWithoutTrace } from "./Forged.ts"
import { define } from "./Requirement.ts"

export const requirement = define({
  id: "R-SIG-04",
  level: 1,
  profile: "signed",
  statement: "A request whose id, timestamp or body is not what was signed is refused and has no effect.",
  source: "Standard Webhooks 1.0, verifying; interface document, section 5",
  because: "An old request under a new id, or with another body, is how a forger uses what he has overheard.",
  expected: () => refused,
  needs: ["secret"],
  provenBy: ["effects"],
  directed: forgedCases("other_id", "other_timestamp", "other_body", "changed_body", "added_space"),
  check: refusedWithoutTrace
})
