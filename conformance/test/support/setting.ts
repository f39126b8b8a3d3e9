/**
 * What a history is executed with.
 */
import { Effect } from "effect"
import { defaultTerms } from "../../src/checks/Terms.ts"
import type { Setting } from "../../src/executor/Setting.ts"
import { noHooks } from "../../src/hooks/Hooks.ts"

/** Against a receiver, with nothing besides but what is said. Each has a clock of its own, which moves. */
export const settingOf = (url: URL, others: Partial<Omit<Setting, "url">>): Setting => ({
  url,
  otherUrls: [],
  secret: null,
  terms: defaultTerms,
  hooks: noHooks,
  startedAfter: new Set(),
  clock: { ahead: 0 },
  comeback: 30_000,
  typical: () => 0,
  allElseDone: Effect.void,
  pace: 1,
  peakRate: 0,
  fillerTime: 0,
  ...others
})
