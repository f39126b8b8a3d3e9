/**
 * `conformance run`: from flags to verdicts, reports and an exit code.
 */
import { CommandFailure, UrlPolicy } from "@doorhook/core"
import { Console, Effect, Option, Schema } from "effect"
import type { Scope } from "effect"
import * as Target from "../executor/Target.ts"
import { opening, render } from "../report/Console.ts"
import { shortcomingOf } from "../report/Ending.ts"
import { exitCodeOf } from "../report/ExitCode.ts"
import type { Report } from "../report/Report.ts"
import * as Reports from "../report/Reports.ts"
import { find, ids, matches, misnamed } from "../requirements/Selection.ts"
import { requirements } from "../requirements/index.ts"
import { claim } from "../run/Claim.ts"
import { prepareSuite } from "../run/RunSuite.ts"
import type { SuiteOptions } from "../record/SuiteOptions.ts"
import { suite } from "../Suite.ts"
import { stopOnHangup } from "./Hangup.ts"
import { atPort, makeHooks, readProbe, shownProbe } from "./Means.ts"
import { makeProgress } from "./Progress.ts"
import { checkFlags } from "./RunFlags.ts"
import type { Checked, TargetFlags } from "./RunFlags.ts"
import { unusable } from "./Unusable.ts"

/** What the flags of `run` say. */
export interface RunFlags extends TargetFlags {
  readonly only: ReadonlyArray<string>
  readonly skip: ReadonlyArray<string>
  /** Where everything that happens is written, for `check`. */
  readonly trace: Option.Option<string>
  /** The text of a file with the ids of requirements that are known to fail. */
  readonly baseline: Option.Option<string>
}

/** Why a run did not pass, in one line; null when it did. */
export const failureOf = (report: Report): CommandFailure | null => {
  const message = shortcomingOf(report)
  return message === null ? null : new CommandFailure({ message, exitCode: exitCodeOf(report) })
}

/** A baseline as JSON: ids, or the report of an earlier run. */
const JsonBaseline = Schema.fromJsonString(
  Schema.Union([
    Schema.Array(Schema.String),
    Schema.Struct({ requirements: Schema.Array(Schema.Struct({ id: Schema.String, verdict: Schema.String })) })
  ])
)

/** The words of a baseline file: ids as JSON, what failed in a report, or ids on lines; what follows `#` is a comment. */
const wordsOf = (text: string): ReadonlyArray<string> => {
  const json = Option.getOrNull(Schema.decodeOption(JsonBaseline)(text))
  if (json === null) {
    return text.split("\n").flatMap((line) => (line.split("#")[0] ?? "").split(/[\s,]+/))
  }
  return "requirements" in json
    ? json.requirements.flatMap(({ id, verdict }) => (verdict === "FAIL" ? [id] : []))
    : json
}

/** The ids in a baseline file. */
const readBaseline = (text: Option.Option<string>): Effect.Effect<ReadonlyArray<string> | null, CommandFailure> => {
  if (Option.isNone(text)) return Effect.succeed(null)
  const words = wordsOf(text.value).filter((word) => word !== "")
  const known = words.flatMap((word) =>
    word.includes("*") ? requirements.filter(({ id }) => matches(id, word)).map(({ id }) => id) : (find(word)?.id ?? [])
  )
  const unknown = words.find((word) => !word.includes("*") && find(word) === undefined)
  return unknown === undefined
    ? Effect.succeed([...new Set(known)])
    : Effect.fail(
        CommandFailure.usage(
          `--baseline: ${unknown} is no requirement. The file holds ids, on lines or as a JSON list, or is the JSON report of an earlier run; there are ${ids()}`
        )
      )
}

/** The words of the command line that say how to see and operate the receiver: URLs without their queries. */
const repeatFlagsOf = (flags: TargetFlags, { controlUrl, readyUrl }: Checked): ReadonlyArray<string> => {
  const url = (name: string, value: URL | null): ReadonlyArray<string> =>
    value === null ? [] : [name, UrlPolicy.shownUrl(value)]
  const text = (name: string, value: Option.Option<string>): ReadonlyArray<string> =>
    Option.isSome(value) ? [name, value.value] : []
  return [
    ...text("--probe", Option.map(flags.probe, shownProbe)),
    ...text("--restart-cmd", flags.restartCmd),
    ...text("--kill-cmd", flags.killCmd),
    ...url("--ready-url", readyUrl),
    ...text("--pause-cmd", flags.pauseCmd),
    ...text("--resume-cmd", flags.resumeCmd),
    ...text("--advance-cmd", flags.advanceCmd),
    ...url("--control-url", controlUrl),
    ...text("--spawn", flags.spawn),
    ...text("--port-env", flags.portEnv),
    ...text("--peak-rate", flags.peakRate),
    ...(flags.dedupKey === "both" ? [] : ["--dedup-key", flags.dedupKey])
  ]
}

const authorize = (url: URL, owned: boolean) =>
  Target.authorize(url, owned).pipe(
    Effect.catchTag("TargetUnusable", (error) => Effect.fail(unusable(error))),
    Effect.provide(Target.systemNames)
  )

/** What the flags say of a run by themselves, before anything is started. */
export const plainOptionsOf = (flags: TargetFlags, checked: Checked): SuiteOptions => ({
  url: checked.url,
  otherUrls: checked.otherUrls,
  level: checked.level,
  profiles: checked.profiles,
  secret: checked.secret,
  ack: flags.ack,
  deadline: flags.deadline,
  settle: flags.settle,
  maxTime: flags.maxTime,
  dedupKey: flags.dedupKey,
  peakRate: checked.peakRate,
  casesFolder: flags.cases,
  owned: flags.owned,
  repeatFlags: repeatFlagsOf(flags, checked),
  ...(Option.isSome(flags.seed) ? { seed: flags.seed.value } : {})
})

/** Checks the flags, and that their target may be sent to. Nothing is sent or started. */
export const checkTarget = Effect.fnUntraced(function* (flags: TargetFlags) {
  const checked = yield* checkFlags(flags)
  const startProbe = yield* Effect.fromResult(readProbe(flags.probe))
  for (const url of [checked.url, ...checked.otherUrls]) yield* authorize(url, flags.owned)
  return { ...checked, startProbe }
})

/** Checks the flags, and makes what they ask for: everything a run is given but what it selects. */
export const makeOptions = Effect.fnUntraced(function* (
  flags: TargetFlags
): Effect.fn.Return<SuiteOptions, CommandFailure, Scope.Scope> {
  yield* stopOnHangup
  const checked = yield* checkTarget(flags)
  // Port 0 is a receiver of this run's own.
  const shared = [checked.url, ...checked.otherUrls].filter(({ port }) => port !== "0")
  yield* Effect.mapError(claim(shared, flags.maxTime, Console.log), unusable)
  const { hooks, port, url } = yield* makeHooks(flags, checked.url, checked.readyUrl, checked.controlUrl)
  if (checked.level === 3 && hooks.restart === null && hooks.kill === null) {
    return yield* CommandFailure.usage(
      "--level 3 needs a way to end the receiver: the control URL offers neither restart nor kill"
    )
  }
  if (checked.profiles.includes("clock") && hooks.advance === null) {
    return yield* CommandFailure.usage("--profile clock needs --advance-cmd: the control URL does not offer advance")
  }
  const probe = yield* checked.startProbe(port)
  const otherUrls = checked.otherUrls.map((other) => atPort(other, port))
  return { ...plainOptionsOf(flags, checked), url, otherUrls, probe, hooks }
})

/** Runs with options that are complete, prints and writes the reports. */
export const runAndReport = Effect.fnUntraced(function* (
  given: SuiteOptions,
  requests: ReadonlyArray<Reports.Request>
) {
  const progress = yield* makeProgress
  const prepared = yield* prepareSuite({ ...given, progress: progress.show })
  const { options } = prepared
  yield* Console.log(
    opening({
      suite,
      level: options.level,
      seed: options.seed,
      target: UrlPolicy.shownUrl(options.url),
      ack: options.ack,
      deadlineMs: options.deadline,
      guardMs: prepared.guard.guard
    })
  )
  const conclude = Effect.fnUntraced(function* (report: Report) {
    yield* progress.clear
    yield* Console.log(render(report))
    yield* Reports.write(requests, report)
    return report
  })
  return yield* prepared.run.pipe(
    Effect.onInterrupt(() =>
      Effect.flatMap(prepared.soFar, conclude).pipe(
        Effect.catchTag("CommandFailure", ({ message }) => Console.error(message))
      )
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
      const options = yield* makeOptions(flags)
      const trace = Option.getOrNull(flags.trace)
      const report = yield* runAndReport({ ...options, baseline, only: flags.only, skip: flags.skip, trace }, requests)
      const failure = failureOf(report)
      if (failure !== null) return yield* failure
    })
  )
