/** `simulate validate`: checks whether the traffic of a scenario or of a recorded log is realistic. */
import { CommandFailure, fileTrouble } from "@doorhook/core"
import { Console, Effect, FileSystem, Option, Stdio, Stream } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { grouped } from "../results/Format.ts"
import { buildingUses } from "../world/Building.ts"
import { columnNames, dateOrders, readColumns, readLog } from "../plan/AccessLog.ts"
import type { Check } from "../validate/Realism.ts"
import { table } from "../validate/Realism.ts"
import { readUse } from "../validate/Realism.ts"
import type { Judgement } from "../validate/Validate.ts"
import { judgeLines, judgeLog, judgePlan } from "../validate/Validate.ts"
import { expectedZone, timeZone } from "../world/zones/TimeZone.ts"
import type { PlanTexts } from "./Flags.ts"
import { planFlags, readOr, readPlan, readRateScale, readScenarioFlags, readText, usualPlan } from "./Flags.ts"

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

/** Defaults: length of a plan, and time zone of a log. */
const usualDuration = "28d"
const usualZone = "UTC"

interface Texts extends PlanTexts {
  readonly use: Option.Option<string>
  readonly timeZone: Option.Option<string>
  readonly columns: string
  readonly dates: string
}

/** Describes a flag that has no effect on a log; null if there is none. */
const misplaced = (path: string, texts: Texts, isAgainst: boolean): string | null => {
  const { seed, start } = usualPlan
  const usual = { seed, start, duration: usualDuration } as const
  const wrong = (["seed", "start", "duration"] as const).find((name) => texts[name] !== usual[name])
  if (wrong !== undefined) return `--${wrong} applies to a plan, and ${path} has its own events: leave out one of them`
  return texts.rateScale === usualPlan.rateScale || isAgainst
    ? null
    : `--rate-scale needs --preset or --scenario with ${path}: it multiplies the people of the scenario`
}

const standardInput = "-"

/** Returns the bytes of a file, a pipe, or standard input. Reads pipes as a whole, because they have no offsets. */
const bytesOf = Effect.fnUntraced(function* (path: string) {
  if (path === standardInput) return (yield* Stdio.Stdio).stdin
  const files = yield* FileSystem.FileSystem
  const { type } = yield* files.stat(path)
  return type === "FIFO" || type === "Socket" ? Stream.fromEffect(files.readFile(path)) : files.stream(path)
})

const ofLines = Effect.fnUntraced(function* (path: string, judgement: Judgement) {
  const lines = Stream.unwrap(bytesOf(path)).pipe(Stream.decodeText, Stream.splitLines)
  return yield* judgeLines(lines, judgement).pipe(
    Effect.catchTags({
      PlatformError: (error) =>
        Effect.fail(CommandFailure.usage(`${path}: expected a file that can be read; ${fileTrouble(error)}`)),
      InvalidLine: ({ message }) => Effect.fail(CommandFailure.usage(`${path}, ${message}`))
    })
  )
})

const ofCsv = Effect.fnUntraced(function* (path: string, judgement: Judgement, texts: Texts) {
  const named = yield* readOr(
    Option.fromNullOr(readColumns(texts.columns)),
    "columns",
    texts.columns,
    `COLUMN=HEADING,... with columns ${columnNames.join(", ")}`
  )
  const known = Option.fromUndefinedOr(dateOrders.find((own) => own === texts.dates))
  const dates = yield* readOr(known, "dates", texts.dates, dateOrders.join(" or "))
  const text = yield* readText("LOG", path)
  const entries = yield* Effect.mapError(
    Effect.fromResult(readLog(text, { zone: judgement.zone, named, dates })),
    ({ message }) => CommandFailure.usage(`${path}: ${message}`)
  )
  return yield* Effect.mapError(judgeLog(entries, judgement), ({ message }) =>
    CommandFailure.usage(`${path}: ${message}`)
  )
})

const ofFile = Effect.fnUntraced(function* (path: string, texts: Texts) {
  const isGiven = Option.isSome(texts.preset) || Option.isSome(texts.scenario)
  const wrong = misplaced(path, texts, isGiven)
  if (wrong !== null) return yield* CommandFailure.usage(wrong)
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
  const own = scenario?.buildings[0]?.building.time_zone ?? usualZone
  const zoneName = Option.getOrElse(texts.timeZone, () => own)
  const isZone = Option.liftPredicate(zoneName, (name) => timeZone(name) !== null)
  const zone = yield* readOr(isZone, "time-zone", zoneName, expectedZone)
  const judgement: Judgement = { scenario, use, zone, rateScale }
  const isCsv = /\.(csv|tsv)$/i.test(path)
  const { checks, count } = yield* isCsv ? ofCsv(path, judgement, texts) : ofLines(path, judgement)
  if (count === 0) return yield* CommandFailure.usage(`${path}: expected events, one per line; the file has none`)
  const against = scenario === null ? "" : ` against ${scenario.name}`
  const by = scenario === null && use === null ? "; only checked for impossible traffic: --use adds checks" : ""
  yield* report(`${path}: ${grouped(count)} events${against}${by}`, checks)
})

export const validateCommand = Command.make(
  "validate",
  {
    ...planFlags,
    duration: Flag.String("duration").pipe(
      Flag.withDescription(`Length of the plan; some checks need a week (default ${usualDuration})`),
      Flag.withDefault(usualDuration)
    ),
    use: Flag.String("use").pipe(
      Flag.withDescription(`Use of a recorded log's buildings: ${buildingUses.join(", ")}`),
      Flag.optional
    ),
    timeZone: Flag.String("time-zone").pipe(
      Flag.withDescription(
        `IANA name of the time zone of a recorded log's buildings (default: the scenario's, else ${usualZone})`
      ),
      Flag.optional
    ),
    columns: Flag.String("columns").pipe(
      Flag.withDescription(`Headings of a CSV log, like time=Zeit,person=Karte; columns: ${columnNames.join(", ")}`),
      Flag.withDefault("")
    ),
    dates: Flag.String("dates").pipe(
      Flag.withDescription(`Order of dates like 03/02/2026 in a CSV log: ${dateOrders.join(" or ")}`),
      Flag.withDefault("month-first")
    ),
    file: Argument.String("file").pipe(
      Argument.withDescription(
        "A recorded log instead of a plan: events as NDJSON, - for standard input, or an access log as FILE.csv. With --preset or --scenario, the log is compared with that scenario"
      ),
      Argument.optional
    )
  },
  Effect.fnUntraced(function* ({ file, ...texts }) {
    if (Option.isSome(file)) return yield* ofFile(file.value, texts)
    const alone = (["use", "timeZone"] as const).find((name) => Option.isSome(texts[name]))
    if (alone !== undefined)
      return yield* CommandFailure.usage(
        `--${alone === "use" ? "use" : "time-zone"} applies to a recorded log: a scenario has its own`
      )
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
