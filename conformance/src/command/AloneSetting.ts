/**
 * Where a history is executed that no run is around: as fast as it goes, with nothing beside it.
 */
import { Effect } from "effect"
import type { Terms } from "../checks/Terms.ts"
import { budget } from "../executor/Budget.ts"
import { execute } from "../executor/Execute.ts"
import { makeLedger } from "../executor/Ledger.ts"
import type { Setting } from "../executor/Setting.ts"
import { ordinaryCases } from "../requirements/Ordinary.ts"
import type { Settled } from "../record/SuiteOptions.ts"

export const settingOf = (options: Settled, terms: Terms, typical = 0): Setting => ({
  url: options.url,
  otherUrls: options.otherUrls,
  secret: options.secret,
  terms,
  hooks: options.hooks,
  startedAfter: new Set(),
  clock: { ahead: 0 },
  comeback: options.comeback,
  typical: () => typical,
  allElseDone: Effect.void,
  pace: 1,
  peakRate: options.peakRate ?? 0,
  fillerTime: options.maxTime * budget.fillerAlone
})

/**
 * Sends ordinary events, as a run does before all others: whether the receiver acknowledges any, and how long that takes
 * it. Histories that break in "some way into the wait" need to know.
 */
export const measureUsual = Effect.fnUntraced(function* (options: Settled, terms: Terms) {
  const ledger = makeLedger([], terms)
  for (const [place, one] of ordinaryCases.entries()) {
    const { broke, trace } = yield* execute(one.history, settingOf(options, terms))
    if (broke !== null) return yield* broke
    ledger.add({ case: one, alone: true, trace, whole: true, settled: true, repeats: [] })
    // More may take a deadline each.
    if (place > 0 && !ledger.acknowledges()) break
  }
  return { acknowledges: ledger.acknowledges(), typical: ledger.typical() }
})
