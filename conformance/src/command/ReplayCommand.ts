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
import { patienceFor, settle } from "../executor/Settle.ts"
import { urlsOf } from "../executor/Setting.ts"
import * as Target from "../executor/Target.ts"
import type { Case } from "../history/History.ts"
import { inWords } from "../history/Words.ts"
import type { StoredCase } from "../executor/Stored.ts"
import type { Trace } from "../observed/Trace.ts"
import { forget, readCase, storedIn } from "../executor/Stored.ts"
import { confirmations, repeatsFor } from "../executor/Refine.ts"
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

/** Whether its failure came again when nothing but itself was done. */
const failsByItself = ({ confirm }: StoredCase): boolean => confirm !== null && confirm.failed > 0

const open = (observed: string): Replayed => ({ verdict: "INCONCLUSIVE", observed })

const broken = (observed: string): Replayed => ({ verdict: "FAIL", observed })

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

  const endpoints = urlsOf(options)
  const observedAtOnce = Effect.fnUntraced(function* (copies: number) {
    const executed = yield* Effect.forEach(Array.from({ length: copies }), () => execute(one.history, setting), {
      concurrency: copies
    })
    const traces = executed.map(({ trace }) => trace)
    for (const { broke } of executed) {
      // What did not start again shows no effects, and that is seen already.
      if (broke?.stayedDown === true) return traces
      if (broke !== null) return yield* unusable(broke)
    }
    if (probe === null || calibration === null) return traces
    const patience = patienceFor(probe, calibration, options.settle)
    return (yield* Effect.mapError(settle(traces, probe, terms, patience, endpoints), unusable)).traces
  })
  const settled = probe === null || calibration !== null
  const runOf = (trace: Trace, alone: boolean): CaseRun => ({
    case: one,
    alone,
    trace,
    whole: true,
    settled,
    repeats: []
  })
  const tryOnce = Effect.gen(function* () {
    const [first] = yield* observedAtOnce(1)
    if (first === undefined) return judged()
    let run = runOf(first, true)
    while (assess(requirement, run, terms).suspect) {
      run = { ...run, repeats: [...run.repeats, ...(yield* observedAtOnce(1))] }
    }
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
  if (!failsByItself(stored)) return last
  // Its failure was confirmed by several at once, and may need that.
  for (let tries = 0; tries < times; tries += confirmations) {
    if ((yield* Clock.currentTimeMillis) >= until) {
      return open("it passes alone, and there was no time to do it several times at once, as in its run (--max-time)")
    }
    for (const trace of yield* observedAtOnce(confirmations)) {
      const { finding, suspect } = assess(requirement, runOf(trace, false), terms)
      // Times mean nothing here.
      if (finding.verdict === "FAIL" && !suspect) {
        return broken(`${finding.observed}; ${confirmations} of it at once`)
      }
    }
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
  if (flags.report.length > 0) {
    return yield* CommandFailure.usage(
      `--report: a stored history is done again without one; leave --report out, or replay ${stored.violates}`
    )
  }
  const { observed, verdict } = yield* replayAlone(stored, flags)
  switch (verdict) {
    case "PASS": {
      // What did not fail by itself may have needed what came before it and beside it.
      if (!failsByItself(stored)) {
        yield* Console.log(`PASSED  alone; now among all histories of ${stored.violates}, as in its run`)
        const among = { ...(yield* makeOptions(flags)), seed: stored.seed, only: [stored.violates] }
        const failure = failureOf(yield* runAndReport(among, []))
        if (failure !== null) return yield* failure
        if (stored.beside ?? true) {
          yield* Console.log(`OPEN    it passes alone; it failed beside histories of other requirements`)
          return yield* new CommandFailure({
            message: `Inconclusive: ${stored.violates} passes alone. Run the suite again to see whether it does beside other requirements; ${basename(file)} is kept until you delete it.`,
            exitCode: exitCodes.inconclusive
          })
        }
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
      const file = flags.what.endsWith(".json")
        ? flags.what
        : (yield* storedIn(flags.cases)).find(
            (path) => basename(path, ".json").toLowerCase() === flags.what.toLowerCase()
          )
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
