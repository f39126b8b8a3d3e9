/**
 * `simulate run`: plays a scenario against a running service.
 */
import { CommandFailure } from "@doorhook/core"
import { Clock, Config, Console, Effect, FileSystem, Option, Redacted } from "effect"
import { Command, Flag } from "effect/cli"
import { beginningOf, plan } from "../plan/Plan.ts"
import type { Service } from "../run/OperatorApi.ts"
import { run } from "../run/Run.ts"
import { progressLine, summaryText } from "../run/RunText.ts"
import { Tally } from "../run/Tally.ts"
import { planFlags, positiveNumber, readOr, readPlan, wholeNumber } from "./Flags.ts"
import { showProgress } from "./Progress.ts"

const keyVariable = "DOORHOOK_OPERATOR_KEY"

const runFlags = {
  ...planFlags,
  to: Flag.String("to").pipe(Flag.withDescription("The base URL of the doorhook service to publish to"), Flag.optional),
  speed: Flag.String("speed").pipe(
    Flag.withDescription("How many times faster than the plan, like 60x (default 1x)"),
    Flag.optional
  ),
  asFastAsPossible: Flag.Boolean("as-fast-as-possible").pipe(
    Flag.withDescription("Keep no schedule: publish as fast as the service takes it"),
    Flag.withDefault(false)
  ),
  maxInFlight: Flag.String("max-inflight").pipe(
    Flag.withDescription("Requests open at once; with more than 1, batches may overtake each other"),
    Flag.withDefault("1")
  ),
  operatorKey: Flag.Redacted("operator-key").pipe(
    Flag.withDescription(`The service's operator key; also from ${keyVariable} or --operator-key-file`),
    Flag.optional
  ),
  operatorKeyFile: Flag.String("operator-key-file").pipe(
    Flag.withDescription("A file that holds the operator key"),
    Flag.optional
  )
}

const missing = (flag: string, expected: string) => CommandFailure.usage(`--${flag} is missing: give ${expected}`)

const readUrl = Effect.fnUntraced(function* (text: Option.Option<string>) {
  if (Option.isNone(text)) return yield* missing("to", "the base URL of a service, like http://127.0.0.1:4000")
  const url = URL.parse(text.value)
  const isHttp = url !== null && (url.protocol === "http:" || url.protocol === "https:")
  const isBase = isHttp && url.search === "" && url.hash === ""
  const base = isBase ? Option.some(url.href.replace(/\/+$/, "")) : Option.none()
  return yield* readOr(base, "to", text.value, "the base URL of a service, like http://127.0.0.1:4000")
})

/** The key from its flag, its file or the environment, in this order. */
const readKey = Effect.fnUntraced(function* (
  key: Option.Option<Redacted.Redacted<string>>,
  file: Option.Option<string>
) {
  if (Option.isSome(key)) return key.value
  if (Option.isSome(file)) {
    const files = yield* FileSystem.FileSystem
    const text = yield* Effect.mapError(files.readFileString(file.value), ({ message }) =>
      CommandFailure.usage(`--operator-key-file ${file.value}: expected a file that can be read (${message})`)
    )
    return Redacted.make(text.trim())
  }
  return yield* Effect.mapError(Config.Redacted(keyVariable), () =>
    missing("operator-key", `it, or --operator-key-file, or set ${keyVariable}`)
  )
})

/** Times faster than the plan; null for no schedule. */
const readSpeed = Effect.fnUntraced(function* (speed: Option.Option<string>, asFastAsPossible: boolean) {
  if (Option.isNone(speed)) return asFastAsPossible ? null : 1
  if (asFastAsPossible) return yield* CommandFailure.usage("--speed and --as-fast-as-possible exclude each other")
  const number = positiveNumber(speed.value.replace(/x$/, ""))
  return yield* readOr(number, "speed", speed.value, "a number of times above 0, like 60x or 0.5x")
})

export const runCommand = Command.make(
  "run",
  runFlags,
  Effect.fnUntraced(function* (flags) {
    const { scenario, options } = yield* readPlan(flags)
    const speed = yield* readSpeed(flags.speed, flags.asFastAsPossible)
    const maxInFlight = yield* readOr(
      Option.filter(wholeNumber(flags.maxInFlight), (count) => count >= 1 && count <= 1_000),
      "max-inflight",
      flags.maxInFlight,
      "a whole number from 1 to 1000"
    )
    const url = yield* readUrl(flags.to)
    const operatorKey = yield* readKey(flags.operatorKey, flags.operatorKeyFile)
    const service: Service = { url, operatorKey }
    const beginning = beginningOf(scenario, options.start)

    yield* Console.log(`${scenario.name} to ${url}, ${describe(flags, speed)}`)
    const tally = new Tally()
    const began = yield* Clock.currentTimeMillis
    const line = Effect.map(Clock.currentTimeMillis, (now) => progressLine(tally.summary, now - began, speed))
    const summarize = Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Console.log(summaryText(tally.summary, now - began))
    )
    // The summary is printed however the run ends: at its end, at a failure, at Ctrl-C.
    yield* run(plan(scenario, options), { service, beginning, speed, maxInFlight }, tally).pipe(
      Effect.raceFirst(showProgress(line)),
      Effect.ensuring(summarize),
      Effect.catchTag("RunStopped", ({ message }) => Effect.fail(new CommandFailure({ message, exitCode: 1 })))
    )
    const { failed, last_failure } = tally.summary
    if (failed > 0) {
      const message = `The service did not take ${failed} events; the last answer was: ${last_failure ?? "none"}`
      return yield* new CommandFailure({ message, exitCode: 1 })
    }
  })
).pipe(
  Command.withDescription("Publish the events of a scenario to a running service, each when its time has come"),
  Command.withExamples([
    {
      command:
        "doorhook simulate run --to http://127.0.0.1:4000 --preset residential-200 --start 2026-03-02T07:00 --speed 60x",
      description: "A morning in minutes"
    }
  ])
)

const describe = (
  texts: { readonly start: string; readonly duration: string; readonly seed: string },
  speed: number | null
) =>
  `${texts.duration} from ${texts.start}, seed ${texts.seed}, ${speed === null ? "as fast as possible" : `${speed}x`}`
