/**
 * Runs the suite with a test's own URLs, probe and hooks.
 */
import type { Effect, Redacted } from "effect"
import type { Hooks } from "../../src/hooks/Hooks.ts"
import type { Probe } from "../../src/probes/Probe.ts"
import { noMeans } from "../../src/record/Options.ts"
import type { Means, Options } from "../../src/record/Options.ts"
import type { Report } from "../../src/report/Report.ts"
import { runSuite } from "../../src/run/RunSuite.ts"
import type { Given } from "../../src/run/RunSuite.ts"

/** Settings and means in one object. Missing members have their defaults, except that histories are not stored. */
export interface Tested extends Partial<Omit<Options, "url" | "probe">> {
  readonly url: URL
  readonly otherUrls?: ReadonlyArray<URL>
  readonly probe?: Probe | null
  readonly hooks?: Hooks
  readonly secret?: Redacted.Redacted<string> | null
  readonly pace?: number
  readonly comeback?: number
  readonly repeatable?: boolean
  readonly progress?: Means["progress"]
}

const partsOf = (tested: Tested): readonly [Given, Means] => {
  const { comeback, hooks, otherUrls = [], pace, probe = null, progress, repeatable, secret, url, ...options } = tested
  const urls = [url, ...otherUrls] as const
  return [
    {
      cases: null,
      signed: secret !== undefined && secret !== null,
      ...options,
      url: urls.map(({ href }) => href),
      probe: probe === null ? null : `${probe.kind}:${probe.name}`
    },
    {
      ...noMeans,
      urls,
      probe,
      repeatable: repeatable ?? true,
      pace: pace ?? null,
      ...(hooks === undefined ? {} : { hooks }),
      ...(secret === undefined ? {} : { secret }),
      ...(comeback === undefined ? {} : { comeback }),
      ...(progress === undefined ? {} : { progress })
    }
  ]
}

export const run = (tested: Tested): Effect.Effect<Report> => runSuite(...partsOf(tested))
