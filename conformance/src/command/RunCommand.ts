/**
 * `conformance run`: from flags to verdicts, reports and an exit code.
 */
import { CommandFailure, UrlPolicy } from "@doorhook/core"
import { Console, Effect, Option } from "effect"
import type { Scope } from "effect"
import { noMeans } from "../record/Options.ts"
import type { Means } from "../record/Options.ts"
import { opening, render } from "../report/Console.ts"
import { exitCodeOf, neverBegan, shortcomingOf } from "../report/Conclusion.ts"
import type { Report } from "../report/Report.ts"
import * as Reports from "../report/Reports.ts"
import { misnamed } from "../requirements/Selection.ts"
import { claim } from "../run/OneRun.ts"
import { prepareSuite } from "../run/RunSuite.ts"
import type { Given } from "../run/RunSuite.ts"
import * as Target from "../run/Target.ts"
import { suite } from "../Suite.ts"
import { checkFlags, readBaseline } from "./Flags.ts"
import type { RunFlags, TargetFlags } from "./Flags.ts"
import { stopOnHangup } from "./Hangup.ts"
import { makeHooks, readProbe } from "./Means.ts"
import { makeProgress } from "./Progress.ts"
import { unusable } from "./Unusable.ts"

/** Why a run did not pass, in one line; null when it did. */
export const failureOf = (report: Report): CommandFailure | null => {
  const message = shortcomingOf(report)
  return message === null ? null : new CommandFailure({ message, exitCode: exitCodeOf(report) })
}

const authorize = (url: URL, owned: boolean) =>
  Target.authorize(url, owned).pipe(
    Effect.catchTag("TargetUnusable", (error) => Effect.fail(unusable(error))),
    Effect.provide(Target.systemNames)
  )

/** Checks the flags, and that their target may be sent to. Nothing is sent or started. */
export const checkTarget = Effect.fnUntraced(function* (flags: TargetFlags) {
  const checked = yield* checkFlags(flags)
  const startProbe = yield* Effect.fromResult(readProbe(checked.options.probe))
  for (const url of checked.urls) yield* authorize(url, flags.owned)
  return { ...checked, startProbe }
})

/** The settings of a run, and what they stand for. */
export interface Prepared {
  readonly given: Given & Pick<Required<Given>, "maxTime" | "settle" | "level">
  readonly means: Means
}

/** Checks the flags, and makes what they ask for: everything a run is given but what it selects. */
export const prepare = Effect.fnUntraced(function* (
  flags: TargetFlags
): Effect.fn.Return<Prepared, CommandFailure, Scope.Scope> {
  yield* stopOnHangup
  const checked = yield* checkTarget(flags)
  // Port 0 is a receiver of this run's own.
  const shared = checked.urls.filter(({ port }) => port !== "0")
  yield* Effect.mapError(claim(shared, flags.maxTime, Console.log), unusable)
  const { hooks, port, urls } = yield* makeHooks(checked)
  const { level, profile } = checked.options
  if (level === 3 && hooks.restart === null && hooks.kill === null) {
    return yield* CommandFailure.usage(
      "--level 3 needs a way to end the receiver: the control URL offers neither restart nor kill"
    )
  }
  if (profile.includes("clock") && hooks.advance === null) {
    return yield* CommandFailure.usage("--profile clock needs --advance-cmd: the control URL does not offer advance")
  }
  const probe = yield* checked.startProbe(port)
  return {
    given: { ...checked.options, url: urls.map(({ href }) => href) },
    means: { ...noMeans, urls, probe, hooks, secret: checked.secret }
  }
})

/** Runs with settings that are complete, prints and writes the reports. */
export const runAndReport = Effect.fnUntraced(function* (
  { given, means }: { readonly given: Given; readonly means: Means },
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
    // What kept it from beginning is the one line that the command fails with.
    if (!neverBegan(report)) yield* Console.log(render(report))
    yield* Reports.write(requests, report)
    return report
  })
  return yield* run.pipe(
    Effect.onInterrupt(() =>
      Effect.flatMap(soFar, conclude).pipe(Effect.catchTag("CommandFailure", ({ message }) => Console.error(message)))
    ),
    Effect.flatMap(conclude)
  )
})

/** Checks what is selected, the baseline, and whether all that is to be written can be. */
export const checkFiles = Effect.fnUntraced(function* (flags: RunFlags) {
  const wrong = misnamed(flags)
  if (wrong !== null) return yield* CommandFailure.usage(wrong)
  const requests = yield* Effect.fromResult(Reports.parse(flags.report))
  yield* Reports.check(requests, Option.toArray(Option.map(flags.trace, (file) => ({ said: `--trace ${file}`, file }))))
  return { requests, baseline: yield* readBaseline(flags.baseline) }
})

/** Runs the suite. Fails with the exit code and one line when the receiver does not pass. */
export const runConformance = (flags: RunFlags) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { baseline, requests } = yield* checkFiles(flags)
      const { given, means } = yield* prepare(flags)
      const { only, skip } = flags
      const trace = Option.getOrNull(flags.trace)
      const report = yield* runAndReport({ given: { ...given, baseline, only, skip, trace }, means }, requests)
      const failure = failureOf(report)
      if (failure !== null) return yield* failure
    })
  )
