/**
 * Where a history is executed that no run is around: as fast as it goes, with nothing beside it.
 */
import { Effect } from "effect"
import type { Terms } from "../checks/Terms.ts"
import type { Setting } from "../executor/Setting.ts"
import type { Settled } from "../run/SuiteOptions.ts"

export const settingOf = (options: Settled, terms: Terms): Setting => ({
  url: options.url,
  otherUrls: options.otherUrls,
  secret: options.secret,
  terms,
  hooks: options.hooks,
  typical: () => 0,
  allElseDone: Effect.void,
  pace: 1,
  peakRate: options.peakRate ?? 0,
  fillerTime: options.maxTime / 4
})
