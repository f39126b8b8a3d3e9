/**
 * `conformance run`: from flags to verdicts, reports and an exit code.
 */
import { CommandFailure, terminalLine, UrlPolicy } from "@doorhook/core"
import { Console, Effect } from "effect"
import { opening, render } from "../report/Console.ts"
import { exitCodeOf, neverBegan, shortcomingOf } from "../report/Conclusion.ts"
import type { Report } from "../report/Report.ts"
import { misnamed } from "../requirements/Catalogue.ts"
import { prepareSuite } from "../run/RunSuite.ts"
import { suite } from "../Suite.ts"
import { readBaseline } from "./Flags.ts"
import type { RunFlags } from "./Flags.ts"
import { prepare } from "./Prepare.ts"
import type { Prepared } from "./Prepare.ts"
import * as Reports from "../report/Reports.ts"

/** What is being tested, on one line that is written over; nothing where there is no terminal. */
export const makeProgress = Effect.map(terminalLine, (line) => ({
  show: (what: string): Effect.Effect<void> => line?.draw(`testing: ${what}`) ?? Effect.void,
  clear: line?.clear ?? Effect.void
}))

/** Fails with the exit code of a run that did not pass, and why in one line. */
export const failUnlessPassed = (report: Report): Effect.Effect<void, CommandFailure> => {
  const message = shortcomingOf(report)
  return message === null ? Effect.void : Effect.fail(new CommandFailure({ message, exitCode: exitCodeOf(report) }))
}

/** Runs with complete settings, prints and writes the reports. Fails when the receiver does not pass. */
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
    // Why a run never began is the one line that the command fails with.
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

/** Checks the selection, the baseline, and that every file can be written. */
export const checkFiles = Effect.fnUntraced(function* ({ baseline, only, report, skip, trace }: RunFlags) {
  const wrong = misnamed({ only, skip })
  if (wrong !== null) return yield* CommandFailure.usage(wrong)
  const requests = yield* Effect.fromResult(Reports.parse(report))
  yield* Reports.check(requests, trace === null ? [] : [{ said: `--trace ${trace}`, file: trace }])
  return { requests, baseline: yield* readBaseline(baseline) }
})

/** Runs the suite. */
export const runConformance = Effect.fnUntraced(function* (flags: RunFlags) {
  const { baseline, requests } = yield* checkFiles(flags)
  const { given, means } = yield* prepare(flags)
  const { only, skip, trace } = flags
  yield* runAndReport({ given: { ...given, baseline, only, skip, trace }, means }, requests)
}, Effect.scoped)
