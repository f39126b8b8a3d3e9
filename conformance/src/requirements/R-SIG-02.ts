/**
 * A signature that is not the right one.
 */
import { forgedCases, refused, refusedWithoutTrace } from "./Forged.ts"
import { define } from "./Requirement.ts"

export const requirement = define({
  id: "R-SIG-02",
  level: 1,
  profile: "signed",
  statement: "A request with a wrong signature is refused and has no effect.",
  source: "Standard Webhooks 1.0, verifying; interface document, section 5",
  because:
    "A comparison of a part, of the length or of the presence accepts what anybody can make up; so does a second secret that is not set and reads as an empty key.",
  expected: () => refused,
  needs: ["secret"],
  provenBy: ["effects"],
  directed: forgedCases(
    "random",
    "other_secret",
    "empty_secret",
    "truncated",
    "lengthened",
    "first_byte",
    "last_byte",
    "other_case",
    "two_wrong"
  ),
  check: refusedWithoutTrace
})
