/**
 * The `conformance` command. What it does is loaded when it is called, so that it costs other commands nothing.
 */
import { DurationText } from "@doorhook/core"
import { Config, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { secretVariable } from "../report/Rerun.ts"

const url = Flag.String("url").pipe(
  Flag.withDescription("The receiver's URL: events are posted to it"),
  Flag.withMetavar("URL")
)
const level = Flag.Int("level").pipe(
  Flag.withDescription("How much of the receiver the suite may see: 1 (the default) is its URL alone"),
  Flag.withDefault(1)
)
const secret = Flag.Redacted("secret").pipe(
  Flag.withDescription(`Signs what is sent: the receiver's whsec_ secret. Better in ${secretVariable}`),
  Flag.withFallbackConfig(Config.Redacted(secretVariable)),
  Flag.optional
)
const secretFile = Flag.FileText("secret-file").pipe(
  Flag.withDescription("The same, from a file"),
  Flag.withMetavar("FILE"),
  Flag.optional
)
const ack = Flag.Literals("ack", ["200", "2xx"]).pipe(
  Flag.withDescription("Which statuses acknowledge: 200 alone (the default), as the interface says, or any 2xx"),
  Flag.withDefault("200")
)
const deadline = Flag.String("deadline").pipe(
  Flag.withDescription("How long the receiver has to acknowledge; 5s by default, as the interface says"),
  Flag.withMetavar("DURATION"),
  Flag.withSchema(DurationText.DurationText),
  Flag.withDefault(5_000)
)
const seed = Flag.Int("seed").pipe(
  Flag.withDescription("What random histories are drawn from; the same seed gives the same histories"),
  Flag.optional
)
const maxTime = Flag.String("max-time").pipe(
  Flag.withDescription("How long the whole run may take; 2m by default"),
  Flag.withMetavar("DURATION"),
  Flag.withSchema(DurationText.DurationText),
  Flag.withDefault(120_000)
)
const only = Flag.String("only").pipe(
  Flag.withDescription("Tests these requirements: ids, or patterns like R-ACK-*, separated by commas"),
  Flag.withMetavar("IDS"),
  Flag.atLeast(0)
)
const skip = Flag.String("skip").pipe(
  Flag.withDescription("Leaves these requirements out"),
  Flag.withMetavar("IDS"),
  Flag.atLeast(0)
)
const report = Flag.String("report").pipe(
  Flag.withDescription("Writes a report to a file: json=FILE"),
  Flag.withMetavar("KIND=FILE"),
  Flag.atLeast(0)
)
const owned = Flag.Boolean("i-own-this-target").pipe(
  Flag.withDescription("Allows a receiver that is not on this machine or a private network: it is yours to test"),
  Flag.withDefault(false)
)

const run = Command.make(
  "run",
  { url, level, secret, secretFile, ack, deadline, seed, maxTime, only, skip, report, owned },
  Effect.fnUntraced(function* (flags) {
    const { runConformance } = yield* Effect.promise(() => import("./RunCommand.ts"))
    yield* runConformance(flags)
  })
).pipe(
  Command.withDescription(
    "Sends events to a receiver and tells whether it handles them as it must. Exits with 0 when it does, 1 when it does not, 2 when that could not be decided, 3 when called wrongly, 4 when the receiver can't be reached."
  ),
  Command.withExamples([
    { command: "doorhook conformance run --url http://127.0.0.1:9000/hook", description: "Test a receiver" },
    {
      command: "doorhook conformance run --url http://127.0.0.1:9000/hook --only 'R-DUP-*' --report json=report.json",
      description: "Test how it handles duplicates, and keep a report"
    }
  ])
)

const list = Command.make(
  "list",
  {},
  Effect.fnUntraced(function* () {
    const { listRequirements } = yield* Effect.promise(() => import("./ExplainCommand.ts"))
    yield* listRequirements
  })
).pipe(Command.withDescription("Lists the requirements"))

const explain = Command.make(
  "explain",
  { id: Argument.String("id").pipe(Argument.withDescription("A requirement, like R-DUP-01")) },
  Effect.fnUntraced(function* ({ id }) {
    const { explainRequirement } = yield* Effect.promise(() => import("./ExplainCommand.ts"))
    yield* explainRequirement(id)
  })
).pipe(Command.withDescription("Explains a requirement: what is asked for, why, and what is sent to find out"))

/** `doorhook conformance`: fails with a `CommandFailure` that carries the exit code. */
export const conformanceCommand = Command.make("conformance").pipe(
  Command.withDescription("Proves that a webhook receiver handles events as it must"),
  Command.withSubcommands([run, list, explain])
)
