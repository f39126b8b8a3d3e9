/**
 * The right signature under a version it was not made for.
 */
import { forgedCases, refused, refusedWithoutTrace } from "./Forged.ts"
import { define } from "./Requirement.ts"

export const requirement = define({
  id: "R-SIG-03",
  level: 1,
  profile: "signed",
  statement: "A signature of another version, or of none, is refused, even if its bytes are right.",
  source: "Standard Webhooks 1.0, verifying; interface document, section 5",
  because: "A receiver that takes whatever label comes can be moved to a weaker one.",
  expected: () => refused,
  needs: ["secret"],
  provenBy: ["effects"],
  directed: forgedCases("version_0", "version_1a", "version_none", "version_word"),
  check: refusedWithoutTrace
})
