/**
 * The suite as a function: from what is to be tested to a report.
 */
import { Crypto, isoOf } from "@doorhook/core"
import { Clock, Effect, Layer, Random } from "effect"
import type { Terms } from "../checks/Terms.ts"
import { measureGuard } from "../executor/Calibration.ts"
import type { Guard } from "../executor/Calibration.ts"
import type { Ended } from "../executor/Judgement.ts"
import { judge } from "../executor/Judgement.ts"
import { Minting } from "../executor/Minting.ts"
import { planOf } from "../executor/Plans.ts"
import * as Session from "../executor/Session.ts"
import * as Target from "../executor/Target.ts"
import { makeReport } from "../report/MakeReport.ts"
import type { Report } from "../report/Report.ts"
import { select, whyNothing } from "../requirements/Selection.ts"
import { makeRefinery } from "../random/Refine.ts"
import { storeCases } from "../random/Stored.ts"
import { sightOf } from "./Seeing.ts"
import { paceOf, withDefaults } from "./SuiteOptions.ts"
import type { Settled, SuiteOptions } from "./SuiteOptions.ts"

export type { SuiteOptions } from "./SuiteOptions.ts"

/** Seeds are what fits in 31 bits. */
export const seedLimit = 2 ** 31

/** What part of a run may be spent on one operation that sends many events. */
const fillerShare = 0.07

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
  const options = withDefaults(given, given.seed ?? (yield* Random.nextIntBetween(0, seedLimit)), Effect.void)
  const { deadline, dedupKey, level, maxTime, probe, seed, url } = options
  const guard = yield* measureGuard
  const terms: Terms = { deadline, rule: options.ack, guard: guard.guard, dedupKey }
  const { selected, skipped } = select(level, options.only, options.skip, options.profiles)
  const refinery = makeRefinery(terms)
  const session = Session.make({
    setting: {
      url,
      otherUrls: options.otherUrls,
      secret: options.secret,
      terms,
      hooks: options.hooks,
      pace: options.pace,
      peakRate: options.peakRate ?? 0,
      fillerTime: (maxTime * fillerShare * options.pace) / paceOf(maxTime)
    },
    terms,
    maxTime: Math.max(1, maxTime - ((yield* Clock.currentTimeMillis) - startedAt)),
    settle: options.settle,
    probe: level >= 2 ? probe : null,
    requirements: selected,
    plans: (digest) =>
      selected.map((requirement) => planOf(requirement, seed, dedupKey, level, sightOf(options, digest))),
    preflight: Target.reach(url, deadline),
    progress: options.progress,
    refine: refinery.refine
  })

  const reportOf = Effect.fnUntraced(function* (ended: Ended) {
    const runs = session.ledger().runs()
    const outcomes = session
      .plans()
      .map((plan) => judge(plan, refinery.refined(plan, runs), terms, ended, refinery.confirmed(plan)))
    const stored = yield* storeCases(options.casesFolder, seed, outcomes)
    return makeReport({
      options,
      terms,
      guard,
      startedAt: isoOf(startedAt),
      durationMs: (yield* Clock.currentTimeMillis) - startedAt,
      calibration: session.calibration(),
      outcomes,
      skipped,
      ended,
      runs,
      attempts: session.ledger().attempts(),
      stored: stored.files,
      problem: stored.problem
    })
  })

  const services = Minting.layer.pipe(Layer.provideMerge(Crypto.layerWebCrypto))
  const why = () => whyNothing(level, options.only, options.skip, options.profiles)
  const prepared: PreparedRun = {
    options,
    guard,
    selected: selected.length,
    run: (selected.length === 0
      ? Effect.sync((): Ended => ({ how: "complete", message: why() }))
      : Effect.provide(session.run, services)
    ).pipe(Effect.flatMap(reportOf)),
    soFar: reportOf({ how: "interrupted", message: "" })
  }
  return prepared
})

/** Runs the suite. A target that can't be tested is a report that says so. */
export const runSuite = (options: SuiteOptions): Effect.Effect<Report> =>
  Effect.flatMap(prepareSuite(options), ({ run }) => run)
