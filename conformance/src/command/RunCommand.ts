/**
 * `conformance run`: from flags to verdicts, reports and an exit code.
 */
import { CommandFailure, Crypto } from "@doorhook/core"
import { Clock, Console, Effect, Layer } from "effect"
import type { Terms } from "../checks/Terms.ts"
import { patienceOf } from "../checks/Terms.ts"
import { measureGuard } from "../executor/Calibration.ts"
import type { Ended } from "../executor/Judgement.ts"
import { Minting } from "../executor/Minting.ts"
import * as Session from "../executor/Session.ts"
import * as Target from "../executor/Target.ts"
import { opening, render } from "../report/Console.ts"
import { exitCodeOf, exitCodes } from "../report/ExitCode.ts"
import * as Report from "../report/Report.ts"
import * as Reports from "../report/Reports.ts"
import { shownUrl } from "../report/Shown.ts"
import { ids, select } from "../requirements/Selection.ts"
import { suite } from "../Suite.ts"
import { makeProgress } from "./Progress.ts"
import { checkFlags } from "./RunFlags.ts"
import type { RunFlags } from "./RunFlags.ts"

/** Why a run did not pass, in one line; null when it did. */
const failureOf = (report: Report.Report, ended: Ended): CommandFailure | null => {
  const exitCode = exitCodeOf(report)
  const failed = report.requirements.filter(({ verdict }) => verdict === "FAIL").map(({ id }) => id)
  const tested = report.requirements.some(({ verdict }) => verdict !== "SKIPPED")
  switch (exitCode) {
    case exitCodes.passed:
      return null
    case exitCodes.failed:
      return new CommandFailure({ message: `The receiver does not conform: ${failed.join(", ")} failed.`, exitCode })
    case exitCodes.unusable:
      return new CommandFailure({ message: ended.message, exitCode })
    default:
      return new CommandFailure({
        message: tested
          ? "Inconclusive: some requirements could not be decided."
          : `Nothing was tested: no requirement is selected. There are ${ids()}.`,
        exitCode
      })
  }
}

/** Runs the suite. Fails with the exit code and one line when the receiver does not pass. */
export const runConformance = Effect.fnUntraced(function* (flags: RunFlags) {
  const startedAt = yield* Clock.currentTimeMillis
  const { invocation, level, requests, secret } = yield* checkFlags(flags)
  const { deadline, rule, seed, url } = invocation
  yield* Target.authorize(url, flags.owned).pipe(
    Effect.catchTag("TargetUnusable", ({ message }) =>
      Effect.fail(new CommandFailure({ message, exitCode: exitCodes.unusable }))
    ),
    Effect.provide(Target.systemNames)
  )
  const { selected, skipped } = select(level, flags.only, flags.skip)
  const terms: Terms = { deadline, rule, guard: yield* measureGuard }
  const progress = yield* makeProgress
  const session = Session.make({
    setting: { url, secret, limit: patienceOf(terms) },
    terms,
    seed,
    maxTime: flags.maxTime - ((yield* Clock.currentTimeMillis) - startedAt),
    requirements: selected,
    preflight: Target.reach(url, deadline),
    progress: progress.show
  })

  const conclude = Effect.fnUntraced(function* (ended: Ended) {
    const report = Report.make({
      invocation,
      level,
      terms,
      skipped,
      ended,
      outcomes: session.outcomes(ended),
      attempts: session.attempts()
    })
    yield* progress.clear
    yield* Console.log(render(report))
    yield* Reports.write(requests, report)
    return failureOf(report, ended)
  })

  yield* Console.log(
    opening({ suite, level, seed, target: shownUrl(url), ack: rule, deadlineMs: deadline, guardMs: terms.guard })
  )
  const nothing: Ended = { how: "complete", message: "" }
  const ended = yield* (selected.length === 0 ? Effect.succeed(nothing) : session.run).pipe(
    Effect.provide(Minting.layer.pipe(Layer.provideMerge(Crypto.layerWebCrypto))),
    Effect.onInterrupt(() =>
      conclude({ how: "interrupted", message: "" }).pipe(
        Effect.catchTag("CommandFailure", ({ message }) => Console.error(message))
      )
    )
  )
  const failure = yield* conclude(ended)
  if (failure !== null) return yield* failure
})
