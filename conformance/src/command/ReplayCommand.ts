/**
 * `conformance replay`: runs a stored history again, or all cases of one requirement.
 *
 * - FIXED: the history failed before when it ran alone, and now passes often enough. Its file is deleted.
 * - FAILS: the history failed again. The file stays.
 * - OPEN: anything else. The file stays.
 */
import { CommandFailure } from "@doorhook/core"
import { Clock, Console, Effect } from "effect"
import { basename } from "node:path"
import type { Trace } from "../evidence/Trace.ts"
import { keyOf } from "../history/History.ts"
import type { Case } from "../history/History.ts"
import { inWords } from "../history/Operations.ts"
import type { CaseRun } from "../record/Evidence.ts"
import { defaults } from "../record/Options.ts"
import type { Means, Options } from "../record/Options.ts"
import { assess, judge, plansOf, sightOf } from "../record/Outcome.ts"
import type { Plan } from "../record/Outcome.ts"
import { exitCodes } from "../report/Explanation.ts"
import * as Reports from "../report/Reports.ts"
import { find, ids } from "../requirements/Catalogue.ts"
import { needs } from "../requirements/Requirement.ts"
import { givenBy, prepareReceiver, services } from "../run/Setup.ts"
import { forget, readCase, repeatsFor, replayedOf, storedIn } from "../run/StoredCase.ts"
import type { Replayed, StoredCase } from "../run/StoredCase.ts"
import type { TargetFlags } from "./Flags.ts"
import { prepare, unusable } from "./Prepare.ts"
import { runAndReport } from "./RunCommand.ts"

export interface ReplayFlags extends TargetFlags {
  /** A file, the name of a stored history, or the id of a requirement. */
  readonly what: string
  /** Whether to keep the file of a history that no longer fails. */
  readonly keep: boolean
}

interface Answer {
  readonly replayed: Replayed
  readonly observed: string
}

const open = (observed: string): Answer => ({ replayed: "OPEN", observed })

/**
 * Returns the plan of a requirement with the stored history as its only case; null if this version has no such
 * requirement.
 */
const planFor = (one: Case, id: string, options: Options, sight: ReturnType<typeof sightOf>): Plan | null => {
  const profile = find(id)?.profile ?? null
  const asked = {
    ...options,
    level: 3,
    only: [id],
    skip: [],
    profile: profile === null ? options.profile : [profile]
  } as const
  const plan = plansOf(asked, sight).find(({ requirement }) => requirement.id === id)
  if (plan === undefined) return null
  const key = keyOf(one.history)
  const strength = plan.strengths.get(key) ?? plan.requirement.strength
  return { ...plan, given: [one], further: [], sampled: [], strengths: new Map([[key, strength]]), unsent: null }
}

/** Explains why passing now does not prove the history fixed. */
const unproven = ({ reproduced, seed, violates }: StoredCase): string =>
  reproduced === null || reproduced.failed === 0
    ? `it passes, but that proves nothing: it was not seen to fail when it ran alone. Run the whole suite again with --seed ${seed}. If ${violates} passes there, delete the file`
    : "it passes, but not often enough to count as fixed. Replay it again with a longer --max-time"

/** Executes a stored history until it fails or has passed often enough to count as fixed. */
const replayCase = Effect.fnUntraced(function* (stored: StoredCase, options: Options, means: Means) {
  const { lane, ops, title, violates } = stored
  const one: Case = { title, lane, history: { v: 1, ops } }
  const given = givenBy(options, means)
  const able = planFor(one, violates, options, new Set([...given, "digest" as const]))
  if (able === null) {
    return yield* CommandFailure.usage(`the history is about ${violates}, which is not a requirement of this version`)
  }
  if (able.missing !== null) {
    return yield* CommandFailure.usage(`${violates} can't be replayed with these flags: ${needs[able.missing].toGive}`)
  }
  const { acknowledges, calibration, criteria, tryOut } = yield* Effect.mapError(
    prepareReceiver(options, means),
    unusable
  )
  const plan = planFor(one, violates, options, sightOf({ given, calibration })) ?? able
  const judged = (...runs: ReadonlyArray<CaseRun>) =>
    judge(plan, { runs, criteria, calibration, reproductions: [], repeatable: true }, { how: "complete", message: "" })
  // A requirement that presumes acknowledgement can't be judged if the receiver acknowledges nothing.
  if (plan.requirement.presumesAcknowledgement && !acknowledges) return open(judged().observed)

  const settled = means.probe === null || calibration !== null
  const runOf = (trace: Trace): CaseRun => ({ title, lane, alone: true, trace, whole: true, settled, repeats: [] })
  const trial = Effect.mapError(tryOut(one.history), unusable)
  const tryOnce = Effect.gen(function* () {
    let run = runOf(yield* trial)
    while (assess(plan, run, [run], criteria).suspect) run = { ...run, repeats: [...run.repeats, yield* trial] }
    return judged(run)
  })

  const until = (yield* Clock.currentTimeMillis) + options.maxTime
  const times = stored.reproduced === null ? 1 : repeatsFor(stored.reproduced)
  for (let passed = 0; passed < times; passed++) {
    if ((yield* Clock.currentTimeMillis) >= until) {
      return open(`it must pass ${times} times in a row to count as fixed, and --max-time allowed only ${passed}`)
    }
    const { cutShort, observed, verdict } = yield* tryOnce
    if (verdict === "FAIL" || verdict === "WARN") return { replayed: "FAILS", observed } as const
    if (verdict !== "PASS") return open(observed)
    if (cutShort.length > 0) return open(`it was cut short (--max-time): ${cutShort.join("; ")}`)
  }
  const replayed = replayedOf(stored, times, false)
  return { replayed, observed: replayed === "FIXED" ? "" : unproven(stored) }
})

/** Prints and replays a stored history, then releases the receiver for other runs. */
const replayAlone = Effect.fnUntraced(function* (stored: StoredCase, flags: ReplayFlags) {
  const { given, means } = yield* prepare(flags)
  const options: Options = { ...defaults, ...given, seed: stored.seed }
  yield* Console.log(
    [`${stored.violates}: ${stored.title}`, ...inWords(stored.ops).map((words, at) => `  ${at + 1}. ${words}`)].join(
      "\n"
    )
  )
  return yield* replayCase(stored, options, means).pipe(
    Effect.timeoutOrElse({
      duration: options.maxTime,
      orElse: () => Effect.succeed(open("--max-time was up before the replay was finished"))
    }),
    Effect.provide(services)
  )
}, Effect.scoped)

const replayFile = Effect.fnUntraced(function* (file: string, flags: ReplayFlags) {
  const stored = yield* readCase(file)
  if (flags.report.length > 0) {
    return yield* CommandFailure.usage(
      `--report: replaying a stored history writes no report; leave out --report, or replay ${stored.violates}`
    )
  }
  const { observed, replayed } = yield* replayAlone(stored, flags)
  switch (replayed) {
    case "FIXED": {
      if (!flags.keep) yield* forget(file)
      const kept = flags.keep ? "" : `; ${basename(file)} is deleted (--keep keeps it)`
      return yield* Console.log(`FIXED   it no longer fails${kept}`)
    }
    case "FAILS":
      yield* Console.log(`FAILS   ${observed}`)
      return yield* new CommandFailure({
        message: `The receiver does not conform: ${stored.violates} still fails.`,
        exitCode: exitCodes.failed
      })
    case "OPEN":
      yield* Console.log(`OPEN    ${observed}`)
      return yield* new CommandFailure({
        message: `Inconclusive: nothing shows that ${stored.violates} is fixed; ${basename(file)} is kept.`,
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
          `replay ${flags.what}: no such file, stored history (in ${flags.cases}) or requirement; the ids are ${ids()}`
        )
      }
      const { given, means } = yield* prepare(flags)
      yield* runAndReport({ given: { ...given, only: [requirement.id] }, means }, requests)
    })
  )
