/**
 * A request without a signature.
 */
import { forgedCases, refused, refusedWithoutTrace } from "./Forged.ts"
import { define } from "./Requirement.ts"

export const requirement = define({
  id: "R-SIG-01",
  level: 1,
  profile: "signed",
  statement: "A request without a signature, or without what is signed, is refused and has no effect.",
  source: "Standard Webhooks 1.0, verifying; interface document, section 5",
  because:
    "A receiver that checks the signature only when there is one, or only when it has all that was signed, can be talked to by anybody.",
  expected: () => refused,
  needs: ["secret"],
  provenBy: ["effects"],
  directed: forgedCases("missing", "empty", "no_timestamp", "empty_timestamp", "no_id", "empty_id", "bare"),
  check: refusedWithoutTrace
})
