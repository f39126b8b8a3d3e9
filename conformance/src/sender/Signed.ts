/**
 * The requirement on a sender's signatures: core's own rule decides.
 */
import { Signature } from "@doorhook/core"
import type { Crypto } from "@doorhook/core"
import { Effect } from "effect"
import type { Redacted } from "effect"
import type { Observation } from "./Observation.ts"
import { fail } from "./SenderRequirement.ts"
import type { SenderFinding, SenderRequirement } from "./SenderRequirement.ts"

export const signedRequirement: Omit<SenderRequirement, "check"> = {
  id: "S-SIG-01",
  strength: "MUST",
  statement: "Every attempt is signed by Standard Webhooks 1.0 over the bytes that are sent.",
  because: "Receivers that check signatures refuse it otherwise."
}

/** Checks each attempt with the secret; without one there is nothing to see. */
export const checkSignatures = Effect.fnUntraced(function* (
  { events }: Observation,
  secret: Redacted.Redacted<string> | null
): Effect.fn.Return<SenderFinding, never, Crypto> {
  if (secret === null) return { verdict: "NOT_OBSERVABLE", observed: "--secret was not given", event: null }
  let good = 0
  for (const event of events) {
    for (const [index, { body, headers, wallClock }] of event.attempts.entries()) {
      const failure = yield* Signature.verify(secret, headers, body, wallClock)
      if (failure !== null) {
        return fail(`event ${event.number}, attempt ${index + 1}: ${failure.replaceAll("_", " ")}`, event)
      }
      good++
    }
  }
  return good === 0
    ? { verdict: "INCONCLUSIVE", observed: "no event came", event: null }
    : { verdict: "PASS", observed: `${good} attempts`, event: null }
})
