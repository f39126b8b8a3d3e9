/**
 * The suite as a function: from what is to be tested to a report.
 */
import { Crypto, isoOf } from "@doorhook/core"
import { Clock, Effect, Layer, Random } from "effect"
import type { Terms } from "../checks/Terms.ts"
import { budget } from "../executor/Budget.ts"
import { measureGuard } from "../executor/Calibration.ts"
import type { Guard } from "../executor/Calibration.ts"
import type { Ended } from "../executor/Judgement.ts"
import { Minting } from "../executor/Minting.ts"
import * as Session from "../executor/Session.ts"
import * as Target from "../executor/Target.ts"
import { makeReport } from "../report/MakeReport.ts"
import type { Report } from "../report/Report.ts"
import { select, whyNothing } from "../requirements/Selection.ts"
import { makeRefinery } from "../executor/Refine.ts"
import { storeCases } from "../executor/Stored.ts"
import { suite } from "../Suite.ts"
import { writeTrace } from "../trace/WriteTrace.ts"
import { factsOf } from "../record/Facts.ts"
import type { Record } from "../record/Record.ts"
import { outcomesOf, plansOf } from "../record/Record.ts"
import { paceOf, withDefaults } from "../record/SuiteOptions.ts"
import type { Settled, SuiteOptions } from "../record/SuiteOptions.ts"

export type { SuiteOptions } from "../record/SuiteOptions.ts"

/** Seeds are what fits in 31 bits. */
export const seedLimit = 2 ** 31

/** A run that has been prepared: whoever starts it may be interrupted, and wants the report of what was done. */
interface PreparedRun {
  readonly options: Settled
  readonly guard: Guard
  readonly selected: number
  readonly run: Effect.Effect<Report>
  /** The report of what was done so far. */
  readonly soFar: Effect.Effect<Report>
}

/** Prepares a run: measures how exactly this machine can time, and sends nothing yet. */
export const prepareSuite = Effect.fnUntraced(function* (given: SuiteOptions) {
  const startedAt = yield* Clock.currentTimeMillis
  const options = withDefaults(given, given.seed ?? (yield* Random.nextIntBetween(0, seedLimit)))
  const { deadline, dedupKey, level, maxTime, probe, url } = options
  const facts = factsOf(options)
  const guard = yield* measureGuard
  const terms: Terms = { deadline, rule: options.ack, guard: guard.guard, dedupKey }
  const { selected } = select(facts)
  const refinery = makeRefinery(terms)
  const session = Session.make({
    setting: {
      url,
      otherUrls: options.otherUrls,
      secret: options.secret,
      terms,
      hooks: options.hooks,
      comeback: options.comeback,
      pace: options.pace,
      peakRate: options.peakRate ?? 0,
      fillerTime: (maxTime * budget.filler * options.pace) / paceOf(maxTime)
    },
    terms,
    maxTime: Math.max(1, maxTime - ((yield* Clock.currentTimeMillis) - startedAt)),
    settle: options.settle,
    probe: level >= 2 ? probe : null,
    plans: (digest) => plansOf(facts, digest),
    preflight: Target.reach(url, deadline),
    progress: options.progress,
    refine: refinery.refine
  })

  const reportOf = Effect.fnUntraced(function* (ended: Ended) {
    const record: Record = {
      suite,
      facts,
      terms,
      echo: guard.echo,
      startedAt: isoOf(startedAt),
      durationMs: (yield* Clock.currentTimeMillis) - startedAt,
      calibration: session.calibration(),
      ended,
      runs: session.ledger().runs(),
      refinements: refinery.refinements(),
      strangers: session.strangers()
    }
    const outcomes = outcomesOf(record)
    const stored = yield* storeCases(options.casesFolder, facts.seed, outcomes)
    if (options.trace === null) return makeReport({ record, outcomes, ...stored })
    const unwritten = yield* writeTrace(options.trace, record, stored).pipe(
      Effect.as(null),
      Effect.catchTag("TraceUnwritable", ({ message }) => Effect.succeed(message))
    )
    return makeReport({ record, outcomes, ...stored, problem: stored.problem ?? unwritten })
  })

  const services = Minting.layer.pipe(Layer.provideMerge(Crypto.layerWebCrypto))
  const prepared: PreparedRun = {
    options,
    guard,
    selected: selected.length,
    run: (selected.length === 0
      ? Effect.sync((): Ended => ({ how: "complete", message: whyNothing(facts) }))
      : Effect.provide(session.run, services)
    ).pipe(Effect.flatMap(reportOf)),
    soFar: reportOf({ how: "interrupted", message: "" })
  }
  return prepared
})

/** Runs the suite. A target that can't be tested is a report that says so. */
export const runSuite = (options: SuiteOptions): Effect.Effect<Report> =>
  Effect.flatMap(prepareSuite(options), ({ run }) => run)
