/**
 * `conformance replay`: does a stored history again, or all of one requirement.
 */
import { CommandFailure, Crypto } from "@doorhook/core"
import { Clock, Console, Effect, Layer } from "effect"
import { basename } from "node:path"
import type { Terms } from "../checks/Terms.ts"
import { measureGuard } from "../executor/Calibration.ts"
import { execute } from "../executor/Execute.ts"
import { checked } from "../executor/Judgement.ts"
import { Minting } from "../executor/Minting.ts"
import { calibrateProbe } from "../executor/ProbeCalibration.ts"
import { settle } from "../executor/Settle.ts"
import * as Target from "../executor/Target.ts"
import { inWords } from "../history/Words.ts"
import type { StoredCase } from "../random/Stored.ts"
import { forget, readCase, storedIn } from "../random/Stored.ts"
import { repeatsFor } from "../random/Refine.ts"
import { exitCodes } from "../report/ExitCode.ts"
import * as Reports from "../report/Reports.ts"
import { find, ids } from "../requirements/Selection.ts"
import { withDefaults } from "../run/SuiteOptions.ts"
import type { Settled } from "../run/SuiteOptions.ts"
import { settingOf } from "./AloneSetting.ts"
import { failureOf, makeOptions, runAndReport } from "./RunCommand.ts"
import type { TargetFlags } from "./RunFlags.ts"
import { unusable } from "./Unusable.ts"

export interface ReplayFlags extends TargetFlags {
  /** A file, the name of a stored history, or the id of a requirement. */
  readonly what: string
  /** Keeps what fails no more. */
  readonly keep: boolean
}

/** Executes a stored history until it fails, or often enough to believe that it does not any more. */
const replayCase = Effect.fnUntraced(function* (stored: StoredCase, options: Settled) {
  const requirement = find(stored.violates)
  if (requirement === undefined) {
    return yield* CommandFailure.usage(`the history is about ${stored.violates}, which this version does not know`)
  }
  const lacks = requirement.needs.includes("effects") && options.probe === null
  if (lacks) {
    return yield* CommandFailure.usage(`${requirement.id} is about effects: give the --probe the run was made with`)
  }
  const { guard } = yield* measureGuard
  const terms: Terms = { deadline: options.deadline, rule: options.ack, guard, dedupKey: options.dedupKey }
  yield* Effect.mapError(Target.reach(options.url, options.deadline), unusable)
  const setting = settingOf(options, terms)
  const calibration =
    options.probe === null
      ? null
      : yield* Effect.mapError(calibrateProbe(options.probe, setting, options.settle), unusable)
  const until = (yield* Clock.currentTimeMillis) + options.maxTime
  const times = repeatsFor(stored.confirm ?? { tried: 0, failed: 0 })
  for (let tries = 0; tries < times && (yield* Clock.currentTimeMillis) < until; tries++) {
    const { broke, trace } = yield* execute({ v: 1, ops: stored.ops }, setting)
    if (broke !== null) return yield* unusable(broke)
    const patience = { settle: options.settle, lag: calibration?.lag ?? 0, bulk: 300 }
    const endpoints = options.otherUrls.length === 0 ? [] : [options.url, ...options.otherUrls].map(({ href }) => href)
    const seen =
      options.probe === null
        ? trace
        : (yield* Effect.mapError(settle([trace], options.probe, terms, patience, endpoints), unusable)).traces[0]
    const finding = checked(requirement, seen ?? trace, terms)
    if (finding.verdict === "FAIL") return finding.observed
  }
  return null
})

const services = Minting.layer.pipe(Layer.provideMerge(Crypto.layerWebCrypto))

const replayFile = Effect.fnUntraced(function* (file: string, flags: ReplayFlags) {
  const stored = yield* readCase(file)
  const options = withDefaults(yield* makeOptions(flags), stored.seed, Effect.void)
  yield* Console.log(
    [`${stored.violates}: ${stored.title}`, ...inWords(stored.ops).map((words, at) => `  ${at + 1}. ${words}`)].join(
      "\n"
    )
  )
  const observed = yield* replayCase(stored, options).pipe(
    Effect.timeoutOption(options.maxTime),
    Effect.provide(services)
  )
  if (observed._tag === "None") {
    return yield* new CommandFailure({
      message: "Inconclusive: there was no time for it (--max-time).",
      exitCode: exitCodes.inconclusive
    })
  }
  if (observed.value !== null) {
    yield* Console.log(`FAILED  ${observed.value}`)
    return yield* new CommandFailure({
      message: `The receiver does not conform: ${stored.violates} still fails.`,
      exitCode: exitCodes.failed
    })
  }
  if (!flags.keep) yield* forget(file)
  yield* Console.log(`FIXED   it fails no more${flags.keep ? "" : `; ${basename(file)} is deleted (--keep keeps it)`}`)
})

/** Replays a file, a stored history by its name, or a requirement. */
export const runReplay = (flags: ReplayFlags) =>
  Effect.scoped(
    Effect.gen(function* () {
      const requests = yield* Effect.fromResult(Reports.parse(flags.report))
      yield* Reports.checkWritable(requests)
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
