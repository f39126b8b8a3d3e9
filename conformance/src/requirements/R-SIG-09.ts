/**
 * A genuine request that comes far too late, or too early.
 */
import { forgedCases, refused, refusedWithoutTrace } from "./Forged.ts"
import { define } from "./Requirement.ts"

export const requirement = define({
  id: "R-SIG-09",
  level: 1,
  profile: "signed",
  statement: "A request whose timestamp is more than five minutes off, in the past or the future, is refused.",
  source: "Standard Webhooks 1.0, verifying; interface document, section 5",
  because: "Whoever has overheard a request could replay it for ever.",
  expected: () => refused,
  needs: ["secret"],
  provenBy: ["effects"],
  directed: forgedCases("past", "future", "past_soon", "future_soon", "no_number"),
  check: refusedWithoutTrace
})
