/** `simulate validate`: checks whether the traffic of a scenario or of a recorded log is realistic. */
import { CommandFailure } from "@doorhook/core"
import { Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { grouped } from "../results/Format.ts"
import { buildingUses } from "../world/Building.ts"
import type { LogOptions } from "../plan/AccessLog.ts"
import { isCsv } from "../plan/AccessLog.ts"
import { linesOf, readCsv } from "../run/RecordedLoad.ts"
import type { Check } from "../validate/Realism.ts"
import { table } from "../validate/Realism.ts"
import { readUse } from "../validate/Realism.ts"
import type { Judgement } from "../validate/Validate.ts"
import { judgeLines, judgeLog, judgePlan } from "../validate/Validate.ts"
import type { LogTexts, PlanTexts } from "./Flags.ts"
import {
  checkSource,
  givenOf,
  logFlags,
  planFlags,
  positiveNumber,
  readLogFlags,
  readOr,
  readPlan,
  readRateScale,
  readScenarioFlags,
  usualFlags
} from "./Flags.ts"

const report = Effect.fnUntraced(function* (subject: string, checks: ReadonlyArray<Check>) {
  const failed = checks.filter(({ verdict }) => verdict === "FAIL")
  const passed = checks.filter(({ verdict }) => verdict === "PASS")
  const left = checks.length - failed.length - passed.length
  yield* Console.log(`${subject}\n\n${table(checks)}\n`)
  yield* Console.log(`${passed.length} passed, ${failed.length} failed, ${left} skipped`)
  if (failed.length === 0) {
    if (passed.length > 0) return
    return yield* new CommandFailure({ message: "Nothing could be checked: there are too few events", exitCode: 1 })
  }
  const message = `${failed.length} of ${checks.length} checks failed: ${failed.map(({ name }) => name).join(", ")}`
  return yield* new CommandFailure({ message, exitCode: 1 })
})

/** Default length of a plan. */
const usualDuration = "28d"
const usualTexts = { ...usualFlags, duration: usualDuration }

interface Texts extends PlanTexts, LogTexts {
  readonly use: Option.Option<string>
  readonly size: Option.Option<string>
}

const ofLines = Effect.fnUntraced(function* (path: string, judgement: Judgement) {
  return yield* judgeLines(linesOf(path), judgement).pipe(
    Effect.catchTag("InvalidLine", ({ message }) => Effect.fail(CommandFailure.usage(`${path}, ${message}`)))
  )
})

const ofCsv = Effect.fnUntraced(function* (path: string, judgement: Judgement, options: LogOptions) {
  const log = yield* readCsv(path, options)
  for (const line of log.counts.lines()) yield* Console.log(line)
  yield* Console.log("")
  return yield* Effect.mapError(judgeLog(log, judgement), ({ message }) => CommandFailure.usage(`${path}: ${message}`))
})

const ofFile = Effect.fnUntraced(function* (path: string, texts: Texts) {
  const isGiven = Option.isSome(texts.preset) || Option.isSome(texts.scenario)
  const ofPlans = ["seed", "start", "duration", ...(isGiven ? [] : (["rateScale", "buildings"] as const))] as const
  yield* checkSource(texts, path, ofPlans, usualTexts, ["columns", "values", "dates"])
  const rateScale = yield* readRateScale(texts.rateScale)
  const scenario = isGiven ? yield* readScenarioFlags(texts) : null
  const use = Option.isNone(texts.use)
    ? null
    : yield* readOr(
        Option.fromNullOr(readUse(texts.use.value)),
        "use",
        texts.use.value,
        `one of ${buildingUses.join(", ")}`
      )
  const log = yield* readLogFlags(texts, scenario?.sites[0]?.time_zone)
  const size = Option.isNone(texts.size)
    ? null
    : yield* readOr(positiveNumber(texts.size.value), "size", texts.size.value, "a number above 0")
  const judgement: Judgement = { scenario, use, zone: log.zone, rateScale, size, isPlan: !isCsv(path) }
  const { checks, count } = yield* isCsv(path) ? ofCsv(path, judgement, log) : ofLines(path, judgement)
  if (count === 0) return yield* CommandFailure.usage(`${path}: expected events, one per line; the file has none`)
  const against = scenario === null ? "" : ` against ${scenario.name}`
  const by = scenario === null && use === null ? "; only checked for impossible traffic: --use adds checks" : ""
  yield* report(`${path}: ${grouped(count)} events${against}${by}`, checks)
})

export const validateCommand = Command.make(
  "validate",
  {
    ...planFlags,
    ...logFlags,
    duration: Flag.String("duration").pipe(
      Flag.withDescription(`Length of the plan; some checks need a week (default ${usualDuration})`),
      Flag.withDefault(usualDuration)
    ),
    use: Flag.String("use").pipe(
      Flag.withDescription(`Use of a recorded log's buildings: ${buildingUses.join(", ")}`),
      Flag.optional
    ),
    size: Flag.String("size").pipe(
      Flag.withDescription(
        "Number of flats, employees or rooms of each of a recorded log's buildings, for the number of events"
      ),
      Flag.optional
    ),
    file: Argument.String("file").pipe(
      Argument.withDescription(
        "A recorded log instead of a plan: events as NDJSON, - for standard input, or an access log as FILE.csv. With --preset or --scenario, the log is compared with that scenario"
      ),
      Argument.optional
    )
  },
  Effect.fnUntraced(function* ({ events, file, ...texts }) {
    if (Option.isSome(events) && Option.isSome(file))
      return yield* CommandFailure.usage(`--events ${events.value} and ${file.value} are two logs; expected one`)
    const log = Option.orElse(events, () => file)
    if (Option.isSome(log)) return yield* ofFile(log.value, texts)
    yield* checkSource(texts, null, [])
    const alone = givenOf(texts, ["use", "size"])
    if (alone !== null) return yield* CommandFailure.usage(`${alone} applies to a recorded log: a scenario has its own`)
    const { options, scenario } = yield* readPlan(texts)
    const subject = `${scenario.name}: ${texts.duration} from ${texts.start}, seed ${texts.seed}`
    yield* report(subject, yield* judgePlan(scenario, options))
  })
).pipe(
  Command.withDescription(
    "Check whether the traffic of a scenario or a recorded log is realistic for the use of its buildings; exit 1 when a check fails"
  ),
  Command.withExamples([
    { command: "doorhook simulate validate --preset office-1000", description: "Four weeks of a preset" },
    {
      command: "doorhook simulate validate log.csv --use office --time-zone Europe/Berlin",
      description: "An access log of an office building"
    },
    { command: "doorhook simulate validate events.ndjson --preset quiet", description: "A log against a preset" }
  ])
)
