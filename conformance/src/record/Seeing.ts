/**
 * What a run can see and do, by what it was given.
 */
import type { Sight } from "../executor/Plans.ts"
import type { Need } from "../requirements/Profile.ts"
import { howToGive, needs } from "../requirements/Profile.ts"
import type { Facts } from "./Facts.ts"

/** What is there, whether the probe gives a digest being known. */
export const sightOf = ({ given }: Facts, digest: boolean): Sight =>
  new Set(given.filter((need) => need !== "digest" || digest))

const seenBy: Readonly<Record<Need, string>> = {
  effects: "effects of events",
  digest: "what was stored",
  stop: "ending and starting the receiver",
  kill: "killing the receiver at once",
  pause: "holding the receiver still",
  advance: "moving the receiver's clock",
  endpoints: "a second URL",
  secret: "signing",
  rate: "the load the receiver is made for"
}

/** Whether a run could see or do something, and by what; or what would give it that. */
interface Observation {
  readonly what: string
  readonly available: boolean
  readonly how: string
}

/** The observability matrix of a run. */
export const observabilityOf = (facts: Facts, digest: boolean): ReadonlyArray<Observation> => {
  const { doubles, hooks, otherUrls, peakRate, probe } = facts
  const sight = sightOf(facts, digest)
  const how: Readonly<Record<Need, string>> = {
    effects: `the ${probe?.kind ?? ""} probe ${probe?.name ?? ""}`,
    digest: "the probe's digest",
    stop: hooks["restart"] ?? hooks["kill"] ?? "a hook",
    kill: hooks["kill"] ?? "a hook",
    pause: hooks["pause"] ?? "a hook",
    advance: hooks["advance"] ?? "a hook",
    endpoints: otherUrls.join(", "),
    secret: "a secret",
    rate: `${peakRate ?? 0} events a second`
  }
  return [
    { what: "answers", available: true, how: "the URL" },
    ...needs.map((need) => ({
      what: seenBy[need],
      available: sight.has(need),
      how: sight.has(need) ? how[need] : howToGive[need]
    })),
    {
      what: "whether the probe counts past one",
      available: doubles,
      how: doubles
        ? (hooks["double"] ?? "a hook")
        : "--control-url lets the suite make the receiver record one more effect"
    }
  ]
}
