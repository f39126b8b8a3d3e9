/**
 * `conformance run`: tests a receiver, writes reports and sets the exit code. With `--dry-run`, only prints what it
 * would send.
 */
import { CommandFailure, terminalLine, UrlPolicy } from "@doorhook/core"
import { Console, Effect } from "effect"
import type { Case } from "../history/History.ts"
import { inWords } from "../history/Operations.ts"
import { suite } from "../record/Evidence.ts"
import { plansOf } from "../record/Outcome.ts"
import type { Plan } from "../record/Outcome.ts"
import { exitCodeOf, exitCodes, neverBegan, shortcomingOf } from "../report/Explanation.ts"
import type { Report } from "../report/Report.ts"
import * as Reports from "../report/Reports.ts"
import { opening, render } from "../report/Text.ts"
import { selectionFlaw, select, whyNothing } from "../requirements/Catalogue.ts"
import { loadRules } from "../requirements/OwnRules.ts"
import { allNeeds, needs } from "../requirements/Requirement.ts"
import type { Need } from "../requirements/Requirement.ts"
import { prepareSuite } from "../run/RunSuite.ts"
import { readBaseline } from "./Flags.ts"
import type { Checked, RunFlags } from "./Flags.ts"
import { checkTarget, prepare } from "./Prepare.ts"
import type { Prepared } from "./Prepare.ts"

/** Shows the progress on one line of the terminal. Does nothing without a terminal. */
const makeProgress = Effect.map(terminalLine, (line) => ({
  show: (what: string): Effect.Effect<void> => line?.draw(`testing: ${what}`) ?? Effect.void,
  clear: line?.clear ?? Effect.void
}))

/** Fails for a run that did not pass, with its exit code and the reason in one line. */
export const failUnlessPassed = (report: Report): Effect.Effect<void, CommandFailure> => {
  const message = shortcomingOf(report)
  return message === null ? Effect.void : Effect.fail(new CommandFailure({ message, exitCode: exitCodeOf(report) }))
}

/** Runs the suite, prints and writes the reports. Fails if the receiver does not pass. */
export const runAndReport = Effect.fnUntraced(function* (
  { given, means }: Pick<Prepared, "given" | "means">,
  requests: ReadonlyArray<Reports.Request>
) {
  const progress = yield* makeProgress
  const { guard, options, run, soFar } = yield* prepareSuite(given, { ...means, progress: progress.show })
  yield* Console.log(
    opening({
      suite,
      level: options.level,
      seed: options.seed,
      target: UrlPolicy.shownUrl(means.urls[0]),
      ack: options.ack,
      deadlineMs: options.deadline,
      guardMs: guard
    })
  )
  const conclude = Effect.fnUntraced(function* (report: Report) {
    yield* progress.clear
    // If the run never began, the command fails with an error message that says why.
    if (!neverBegan(report)) yield* Console.log(render(report))
    yield* Reports.write(requests, report)
    return report
  })
  const report = yield* run.pipe(
    Effect.onInterrupt(() =>
      Effect.flatMap(soFar, conclude).pipe(Effect.catchTag("CommandFailure", ({ message }) => Console.error(message)))
    ),
    Effect.flatMap(conclude)
  )
  yield* failUnlessPassed(report)
})

/** Checks the selected requirements and the baseline, and that every file can be written. */
export const checkFiles = Effect.fnUntraced(function* ({ baseline, only, report, rules, skip, trace }: RunFlags) {
  yield* loadRules(rules)
  const wrong = selectionFlaw({ only, skip })
  if (wrong !== null) return yield* CommandFailure.usage(wrong)
  const requests = yield* Effect.fromResult(Reports.parse(report))
  yield* Reports.check(requests, trace === null ? [] : [{ said: `--trace ${trace}`, file: trace }])
  return { requests, baseline: yield* readBaseline(baseline) }
})

/** Runs the suite. */
export const runConformance = Effect.fnUntraced(function* (flags: RunFlags) {
  const { baseline, requests } = yield* checkFiles(flags)
  const { given, means } = yield* prepare(flags)
  const { only, skip, strict, trace } = flags
  yield* runAndReport({ given: { ...given, baseline, only, skip, strict, trace }, means }, requests)
}, Effect.scoped)

/**
 * Returns for each need of the requirements whether a run would meet it, or the condition in words if that depends on
 * the receiver.
 */
const sightOf = ({ controlUrl, options, secret, urls }: Checked) => {
  const { advanceCmd, killCmd, level, pauseCmd, peakRate, probe, spawn } = options
  const offered = controlUrl === null ? false : "if the control URL offers it"
  const sight: Readonly<Record<Need, boolean | string>> = {
    effects: level >= 2,
    digest: level >= 2 && /^https?:/.test(probe ?? "") ? "if the probe gives a digest" : false,
    stop: level >= 3,
    kill: level >= 3 && (spawn !== null || killCmd !== null || offered),
    pause: spawn !== null || pauseCmd !== null || offered,
    advance: advanceCmd !== null || offered,
    endpoints: urls.length > 1,
    secret: secret !== null,
    rate: peakRate !== null
  }
  return sight
}

const linesOf = ({ history, title }: Case): ReadonlyArray<string> => [
  `  ${title}`,
  ...inWords(history.ops).map((words) => `    ${words}`)
]

const linesOfPlan = (plan: Plan, sight: ReturnType<typeof sightOf>, isSeeded: boolean): string => {
  const { further, given, missing, requirement, sampled, unsent } = plan
  const conditions = requirement.needs.map((need) => sight[need]).filter((condition) => typeof condition === "string")
  return [
    `${requirement.id}  ${requirement.statement}`,
    ...(missing === null ? [] : [`  nothing: it can't be observed; ${needs[missing].toGive}`]),
    ...(unsent === null ? [] : [`  nothing: a receiver bound to ${unsent.join(" and ")} gets no such events`]),
    ...conditions.map((condition) => `  ${condition}:`),
    ...given.flatMap(linesOf),
    ...(further.length === 0 ? [] : ["  and, as time allows:", ...further.flatMap(linesOf)]),
    ...(isSeeded
      ? sampled.flatMap(linesOf)
      : sampled.length === 0
        ? []
        : [`  and up to ${requirement.sampled.runs} histories drawn from a seed`])
  ].join("\n")
}

/** Prints what a run would send. Checks the flags like a run, as far as possible without starting anything. */
export const dryRun = Effect.fnUntraced(function* (flags: RunFlags) {
  yield* checkFiles(flags)
  const checked = yield* checkTarget(flags)
  const { only, seed, skip } = flags
  const options = { ...checked.options, only, skip, seed: seed ?? 0 }
  if (select(options).selected.length === 0) {
    return yield* new CommandFailure({ message: whyNothing(options), exitCode: exitCodes.inconclusive })
  }
  const sight = sightOf(checked)
  const seen = new Set(allNeeds.filter((need) => sight[need] !== false))
  yield* Console.log(
    [
      `A run of level ${options.level} would send this to ${UrlPolicy.shownUrl(checked.urls[0])}; a case that several requirements share is sent once. Nothing was sent.`,
      ...plansOf(options, seen).map((plan) => linesOfPlan(plan, sight, seed !== null))
    ].join("\n\n")
  )
})
