/**
 * What a run can see and do, by what it was given.
 */
import type { Sight } from "../executor/Plans.ts"
import type { Observation } from "../report/Report.ts"
import type { Need } from "../requirements/Profile.ts"
import { howToGive, needs } from "../requirements/Profile.ts"
import type { Settled } from "./SuiteOptions.ts"

const givenBy = (
  { hooks, level, otherUrls, peakRate, probe, secret }: Settled,
  digest: boolean
): ReadonlyArray<Need> => {
  const given: Readonly<Record<Need, boolean>> = {
    effects: probe !== null && level >= 2,
    digest: probe !== null && level >= 2 && digest,
    stop: level >= 3 && (hooks.restart !== null || hooks.kill !== null),
    kill: level >= 3 && hooks.kill !== null,
    pause: hooks.pause !== null && hooks.resume !== null,
    advance: hooks.advance !== null,
    endpoints: otherUrls.length > 0,
    secret: secret !== null,
    rate: peakRate !== null
  }
  return needs.filter((need) => given[need])
}

/** What is there, whether the probe gives a digest being known. */
export const sightOf = (options: Settled, digest: boolean): Sight => new Set(givenBy(options, digest))

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

/** The observability matrix of a run. */
export const observabilityOf = (options: Settled, digest: boolean): ReadonlyArray<Observation> => {
  const sight = sightOf(options, digest)
  const { names } = options.hooks
  const how: Readonly<Record<Need, string>> = {
    effects: `the ${options.probe?.kind ?? ""} probe ${options.probe?.name ?? ""}`,
    digest: "the probe's digest",
    stop: names["restart"] ?? names["kill"] ?? "a hook",
    kill: names["kill"] ?? "a hook",
    pause: names["pause"] ?? "a hook",
    advance: names["advance"] ?? "a hook",
    endpoints: options.otherUrls.map(({ origin, pathname }) => origin + pathname).join(", "),
    secret: "a secret",
    rate: `${options.peakRate ?? 0} events a second`
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
      available: options.hooks.double !== null,
      how:
        options.hooks.double === null
          ? "--control-url lets the suite make the receiver record one more effect"
          : (names["double"] ?? "a hook")
    }
  ]
}
