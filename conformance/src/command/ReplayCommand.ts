/**
 * `conformance replay`: does a stored history again, or all of one requirement.
 */
import { CommandFailure, Crypto } from "@doorhook/core"
import { Clock, Console, Effect, Layer } from "effect"
import { basename } from "node:path"
import type { Verdict } from "../checks/Finding.ts"
import type { Terms } from "../checks/Terms.ts"
import { measureGuard } from "../executor/Calibration.ts"
import { execute } from "../executor/Execute.ts"
import type { CaseRun, Plan } from "../executor/Judgement.ts"
import { assess, judge, keyOf } from "../executor/Judgement.ts"
import { Minting } from "../executor/Minting.ts"
import { planOf } from "../executor/Plans.ts"
import { calibrateProbe } from "../executor/ProbeCalibration.ts"
import { settle } from "../executor/Settle.ts"
import * as Target from "../executor/Target.ts"
import type { Case } from "../history/History.ts"
import { inWords } from "../history/Words.ts"
import type { StoredCase } from "../executor/Stored.ts"
import { forget, readCase, storedIn } from "../executor/Stored.ts"
import { repeatsFor } from "../executor/Refine.ts"
import { exitCodes } from "../report/ExitCode.ts"
import * as Reports from "../report/Reports.ts"
import { howToGive } from "../requirements/Profile.ts"
import type { Requirement } from "../requirements/Requirement.ts"
import { find, ids } from "../requirements/Selection.ts"
import { factsOf } from "../record/Facts.ts"
import { sightOf } from "../record/Seeing.ts"
import { withDefaults } from "../record/SuiteOptions.ts"
import type { Settled } from "../record/SuiteOptions.ts"
import { measureUsual, settingOf } from "./AloneSetting.ts"
import { failureOf, makeOptions, runAndReport } from "./RunCommand.ts"
import type { TargetFlags } from "./RunFlags.ts"
import { unusable } from "./Unusable.ts"

export interface ReplayFlags extends TargetFlags {
  /** A file, the name of a stored history, or the id of a requirement. */
  readonly what: string
  /** Keeps what fails no more. */
  readonly keep: boolean
}

/** What came of a replay, as a run would say it: PASS is the only proof that it fails no more. */
interface Replayed {
  readonly verdict: Verdict
  readonly observed: string
}

const open = (observed: string): Replayed => ({ verdict: "INCONCLUSIVE", observed })

/** The stored history as the one case of its requirement, with what is there to see it. */
const planFor = (requirement: Requirement, one: Case, options: Settled, digest: boolean): Plan => {
  const sight = sightOf(factsOf(options), digest)
  const plan = planOf(requirement, options.seed, options.dedupKey, options.level, sight)
  return { ...plan, directed: [one], sampled: [], keys: new Set([keyOf(one)]) }
}

/** Executes a stored history until it fails, or often enough to believe that it does not any more. */
const replayCase = Effect.fnUntraced(function* (stored: StoredCase, options: Settled) {
  const requirement = find(stored.violates)
  if (requirement === undefined) {
    return yield* CommandFailure.usage(`the history is about ${stored.violates}, which this version does not know`)
  }
  const one: Case = { title: stored.title, lane: stored.lane, history: { v: 1, ops: stored.ops } }
  const { missing } = planFor(requirement, one, options, true)
  if (missing !== null) {
    return yield* CommandFailure.usage(
      `${requirement.id} can't be replayed with less than the run had: ${howToGive[missing]}`
    )
  }
  const { guard } = yield* measureGuard
  const terms: Terms = { deadline: options.deadline, rule: options.ack, guard, dedupKey: options.dedupKey }
  yield* Effect.mapError(Target.reach(options.url, options.deadline), unusable)
  const { acknowledges, typical } = yield* Effect.mapError(measureUsual(options, terms), unusable)
  const setting = settingOf(options, terms, typical)
  const { probe } = options
  const calibration =
    probe === null ? null : yield* Effect.mapError(calibrateProbe(probe, setting, options.settle), unusable)
  const plan = planFor(requirement, one, options, calibration?.digest ?? false)
  const judged = (...runs: ReadonlyArray<CaseRun>) => judge(plan, runs, terms, { how: "complete", message: "" })
  // What acknowledges nothing has not been mended: nothing is known of it.
  if (requirement.presumesAcknowledgement && !acknowledges) return judged()

  const endpoints = options.otherUrls.length === 0 ? [] : [options.url, ...options.otherUrls].map(({ href }) => href)
  const observed = Effect.gen(function* () {
    const { broke, trace } = yield* execute(one.history, setting)
    if (broke !== null && broke.stayedDown !== true) return yield* unusable(broke)
    // What did not start again shows no effects, and that is seen already.
    if (broke !== null) return trace
    if (probe === null || calibration === null) return trace
    const patience = { settle: options.settle, lag: calibration.lag, bulk: 300 }
    const { traces } = yield* Effect.mapError(settle([trace], probe, terms, patience, endpoints), unusable)
    return traces[0] ?? trace
  })
  const settled = probe === null || calibration !== null
  const tryOnce = Effect.gen(function* () {
    let run: CaseRun = { case: one, alone: true, trace: yield* observed, whole: true, settled, repeats: [] }
    while (assess(requirement, run, terms).suspect) run = { ...run, repeats: [...run.repeats, yield* observed] }
    return judged(run)
  })

  const until = (yield* Clock.currentTimeMillis) + options.maxTime
  const times = repeatsFor(stored.confirm ?? { tried: 0, failed: 0 })
  let last = open("it was not tried")
  for (let tries = 0; tries < times; tries++) {
    if ((yield* Clock.currentTimeMillis) >= until) {
      return open(`it fails now and then, and there was time for ${tries} of ${times} tries (--max-time)`)
    }
    const { cutShort, observed, verdict } = yield* tryOnce
    if (verdict !== "PASS") return { verdict, observed }
    if (cutShort.length > 0) return open(`it was cut short (--max-time): ${cutShort.join("; ")}`)
    last = { verdict, observed }
  }
  return last
})

const services = Minting.layer.pipe(Layer.provideMerge(Crypto.layerWebCrypto))

/** Tells a stored history and does it; the receiver is free for another run afterwards. */
const replayAlone = Effect.fnUntraced(function* (stored: StoredCase, flags: ReplayFlags) {
  const options = withDefaults(yield* makeOptions(flags), stored.seed)
  yield* Console.log(
    [`${stored.violates}: ${stored.title}`, ...inWords(stored.ops).map((words, at) => `  ${at + 1}. ${words}`)].join(
      "\n"
    )
  )
  return yield* replayCase(stored, options).pipe(
    Effect.timeoutOrElse({
      duration: options.maxTime,
      orElse: () => Effect.succeed(open("there was no time for it (--max-time)"))
    }),
    Effect.provide(services)
  )
}, Effect.scoped)

const replayFile = Effect.fnUntraced(function* (file: string, flags: ReplayFlags) {
  const stored = yield* readCase(file)
  const { observed, verdict } = yield* replayAlone(stored, flags)
  switch (verdict) {
    case "PASS": {
      // What was not repeated alone may have needed what came before it and beside it.
      if (stored.confirm === null) {
        yield* Console.log(`PASSED  alone; now among all histories of ${stored.violates}, as in its run`)
        const among = { ...(yield* makeOptions(flags)), seed: stored.seed, only: [stored.violates] }
        const failure = failureOf(yield* runAndReport(among, []))
        if (failure !== null) return yield* failure
      }
      if (!flags.keep) yield* forget(file)
      const kept = flags.keep ? "" : `; ${basename(file)} is deleted (--keep keeps it)`
      return yield* Console.log(`FIXED   it fails no more${kept}`)
    }
    case "FAIL":
    case "WARN":
      yield* Console.log(`FAILED  ${observed}`)
      return yield* new CommandFailure({
        message: `The receiver does not conform: ${stored.violates} still fails.`,
        exitCode: exitCodes.failed
      })
    default:
      yield* Console.log(`OPEN    ${observed}`)
      return yield* new CommandFailure({
        message: `Inconclusive: nothing shows that ${stored.violates} is mended; ${basename(file)} is kept.`,
        exitCode: exitCodes.inconclusive
      })
  }
})

/** Replays a file, a stored history by its name, or a requirement. */
export const runReplay = (flags: ReplayFlags) =>
  Effect.scoped(
    Effect.gen(function* () {
      const requests = yield* Effect.fromResult(Reports.parse(flags.report))
      yield* Reports.check(requests)
      const known = yield* storedIn(flags.cases)
      const file = flags.what.endsWith(".json")
        ? flags.what
        : known.find((path) => basename(path, ".json").toLowerCase() === flags.what.toLowerCase())
      if (file !== undefined) return yield* replayFile(file, flags)
      const requirement = find(flags.what)
      if (requirement === undefined) {
        return yield* CommandFailure.usage(
          `replay ${flags.what}: it is no file, no history stored in ${flags.cases} and no requirement; there are ${ids()}`
        )
      }
      const report = yield* runAndReport({ ...(yield* makeOptions(flags)), only: [requirement.id] }, requests)
      const failure = failureOf(report)
      if (failure !== null) return yield* failure
    })
  )
