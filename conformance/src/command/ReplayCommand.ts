/**
 * `conformance replay`: runs stored histories again, or all cases of one requirement.
 *
 * - FIXED: the history failed before when it ran alone, and now passes often enough. Its file is deleted.
 * - STILL FAILS: the history failed again. The file stays.
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
import { assess, judge, plansOf } from "../record/Outcome.ts"
import type { Plan } from "../record/Outcome.ts"
import { exitCodes } from "../report/Explanation.ts"
import * as Reports from "../report/Reports.ts"
import { find, ids } from "../requirements/Catalogue.ts"
import { loadRules } from "../requirements/OwnRules.ts"
import { needs } from "../requirements/Requirement.ts"
import type { Need } from "../requirements/Requirement.ts"
import { Session } from "../run/Session.ts"
import { services } from "../run/Setup.ts"
import { forget, repeatsFor, replayedOf, storedAt, storedIn } from "../run/StoredCase.ts"
import type { Found, Replayed, StoredCase } from "../run/StoredCase.ts"
import { timeShares } from "../run/Schedule.ts"
import type { TargetFlags } from "./Flags.ts"
import { prepare, unusable } from "./Prepare.ts"
import { runAndReport } from "./RunCommand.ts"

export interface ReplayFlags extends TargetFlags {
  /** A file, a folder, a JSON report, the name of a stored history, or the id of a requirement. */
  readonly what: string
  /** Whether to keep the file of a history that no longer fails. */
  readonly keep: boolean
}

interface Answer {
  readonly replayed: Replayed
  readonly observed: string
  /** Whether it only breaks a SHOULD, which does not change the exit code of a run either. */
  readonly isWarn?: boolean
}

const open = (observed: string): Answer => ({ replayed: "OPEN", observed })

/**
 * Returns the plan of a requirement with the stored history as its only case; null if this version has no such
 * requirement.
 */
const planFor = (one: Case, id: string, options: Options, sight: ReadonlySet<Need>): Plan | null => {
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

/** Fails unless the flags allow the history to be judged. */
const planOrRefuse = ({ lane, ops, title, violates }: StoredCase, options: Options, session: Session) => {
  const one: Case = { title, lane, history: { v: 1, ops } }
  const plan = planFor(one, violates, options, new Set([...session.sight, "digest" as const]))
  if (plan === null) {
    return CommandFailure.usage(`the history is about ${violates}, which is not a requirement of this version`)
  }
  return plan.missing === null
    ? Effect.succeed(plan)
    : CommandFailure.usage(`${violates} can't be replayed with these flags: ${needs[plan.missing].toGive}`)
}

/** Executes a stored history until it fails or has passed often enough to count as fixed. */
const replayCase = Effect.fnUntraced(function* (stored: StoredCase, options: Options, means: Means, session: Session) {
  const { lane, ops, title, violates } = stored
  const one: Case = { title, lane, history: { v: 1, ops } }
  const { calibration, criteria } = session
  const plan = planFor(one, violates, options, session.sight) ?? (yield* planOrRefuse(stored, options, session))
  const judged = (...runs: ReadonlyArray<CaseRun>) =>
    judge(plan, { runs, criteria, calibration, reproductions: [], repeatable: true }, { how: "complete", message: "" })
  // A requirement that presumes acknowledgement can't be judged if the receiver acknowledges nothing.
  if (plan.requirement.presumesAcknowledgement && !session.acknowledges) return open(judged().observed)

  const settled = means.probe === null || calibration !== null
  const runOf = (trace: Trace): CaseRun => ({ title, lane, alone: true, trace, whole: true, settled, repeats: [] })
  const fillerTime = options.maxTime * timeShares.fillerInReplay
  const context = { title, allElseDone: Effect.void, fillerTime }
  const trial = Effect.mapError(session.tryOut(one.history, context, options.settle), unusable)
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
    if (verdict === "FAIL" || verdict === "WARN")
      return { replayed: "STILL FAILS", observed, isWarn: verdict === "WARN" } as const
    if (verdict !== "PASS") return open(observed)
    if (cutShort.length > 0) return open(`it was cut short (--max-time): ${cutShort.join("; ")}`)
  }
  const replayed = replayedOf(stored, times, false)
  return { replayed, observed: replayed === "FIXED" ? "it no longer fails" : unproven(stored) }
})

/**
 * Replays one stored history and prints the result. Deletes the file of one that no longer fails. Returns null if it is
 * still a WARN.
 */
const replayOne = Effect.fnUntraced(function* (
  { file, stored }: Found,
  { keep }: ReplayFlags,
  options: Options,
  means: Means,
  session: Session
) {
  yield* Console.log(
    [`${stored.violates}: ${stored.title}`, ...inWords(stored.ops).map((words, at) => `  ${at + 1}. ${words}`)].join(
      "\n"
    )
  )
  const {
    isWarn = false,
    observed,
    replayed
  } = yield* replayCase(stored, options, means, session).pipe(
    Effect.timeoutOrElse({
      duration: options.maxTime,
      orElse: () => Effect.succeed(open("--max-time was up before the replay was finished"))
    })
  )
  const isDeleted = replayed === "FIXED" && !keep && file !== null
  if (isDeleted) yield* forget(file)
  const fate = isDeleted ? `; ${basename(file)} is deleted (--keep keeps it)` : isWarn ? " (only WARN)" : ""
  yield* Console.log(`${replayed.padEnd(13)}${observed}${fate}`)
  return isWarn ? null : replayed
})

/** Replays stored histories one after another. Fails unless all of them are fixed. */
const replayAll = Effect.fnUntraced(function* (all: ReadonlyArray<Found>, flags: ReplayFlags) {
  if (flags.report.length > 0) {
    return yield* CommandFailure.usage(
      `--report: replaying a stored history writes no report; leave out --report, or replay ${all[0]?.stored.violates ?? "a requirement"}`
    )
  }
  if (all.length === 0) return yield* Console.log(`${flags.what} has no failures to replay.`)
  const { given, means } = yield* prepare(flags)
  const options: Options = { ...defaults, ...given, seed: all[0]?.stored.seed ?? 0 }
  const session = yield* Session.make(options, means)
  for (const { stored } of all) yield* planOrRefuse(stored, options, session)
  const results = yield* Effect.mapError(session.prepare, unusable).pipe(
    Effect.andThen(Effect.forEach(all, (found) => replayOne(found, flags, options, means, session))),
    Effect.provide(services)
  )
  const idsOf = (replayed: Replayed): string =>
    [...new Set(all.flatMap(({ stored }, place) => (results[place] === replayed ? [stored.violates] : [])))].join(", ")
  const [failing, undecided] = [idsOf("STILL FAILS"), idsOf("OPEN")]
  if (failing !== "") {
    const message = `The receiver does not conform: ${failing} still ${failing.includes(",") ? "fail" : "fails"}.`
    return yield* new CommandFailure({ message, exitCode: exitCodes.failed })
  }
  if (undecided !== "") {
    const kept = all.flatMap(({ file }, place) => (results[place] === "OPEN" && file !== null ? [basename(file)] : []))
    const fate = kept.length === 0 ? "" : `; ${kept.join(", ")} ${kept.length === 1 ? "is" : "are"} kept`
    const message = `Inconclusive: nothing shows that ${undecided} ${undecided.includes(",") ? "are" : "is"} fixed${fate}.`
    return yield* new CommandFailure({ message, exitCode: exitCodes.inconclusive })
  }
}, Effect.scoped)

/** Replays a file, the files of a folder, the failures of a report, a stored history by its name, or a requirement. */
export const runReplay = Effect.fnUntraced(function* (flags: ReplayFlags) {
  const { cases, rules, what } = flags
  yield* loadRules(rules)
  const requests = yield* Effect.fromResult(Reports.parse(flags.report))
  yield* Reports.check(requests)
  const named = (yield* storedIn(cases)).find((path) => basename(path, ".json").toLowerCase() === what.toLowerCase())
  const found = yield* storedAt(named ?? what)
  if (found !== null) return yield* replayAll(found, flags)
  const requirement = find(what)
  if (requirement === undefined) {
    return yield* CommandFailure.usage(
      `replay ${what}: no such file, folder, stored history (in ${cases}) or requirement; the ids are ${ids()}`
    )
  }
  const { given, means } = yield* prepare(flags)
  yield* runAndReport({ given: { ...given, only: [requirement.id] }, means }, requests)
}, Effect.scoped)
