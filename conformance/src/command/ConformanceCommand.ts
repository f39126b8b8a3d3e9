/**
 * The `conformance` command. What it does is loaded when it is called, so that it costs other commands nothing.
 */
import { Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { program } from "../Program.ts"
import { badge, mutants, sender } from "./FurtherCommands.ts"
import { runFlags, targetFlags } from "./Flags.ts"

const exits =
  "Exits with 0 when it passes, 1 when it fails, 2 when that could not be decided, 3 when called wrongly, 4 when the receiver or the probe can't be used."

const run = Command.make(
  "run",
  runFlags,
  Effect.fnUntraced(function* (flags) {
    if (flags.dryRun) {
      const plan = yield* Effect.promise(() => import("./DryRun.ts"))
      return yield* plan.dryRun(flags)
    }
    const { runConformance } = yield* Effect.promise(() => import("./RunCommand.ts"))
    yield* runConformance(flags)
  })
).pipe(
  Command.withDescription(`Sends events to a receiver and reports whether it handles them as it must. ${exits}`),
  Command.withExamples([
    {
      command: `${program.called} run --url http://127.0.0.1:9000/hook`,
      description: "Test what a receiver answers"
    },
    {
      command: `${program.called} run --url http://127.0.0.1:9000/hook --level 2 --probe http://127.0.0.1:9000/probe`,
      description: "Test what it does, too: its probe counts effects"
    },
    {
      command: `${program.called} run --url http://127.0.0.1:9000/hook --level 3 --probe http://127.0.0.1:9000/probe --spawn 'node server.js' --port-env PORT`,
      description: "Test what outlives a crash: the suite starts the receiver itself"
    }
  ])
)

const doctor = Command.make(
  "doctor",
  targetFlags,
  Effect.fnUntraced(function* (flags) {
    const { runDoctor } = yield* Effect.promise(() => import("./DoctorCommand.ts"))
    yield* runDoctor(flags)
  })
).pipe(
  Command.withDescription("Shows what the suite can see of a receiver, what is missing, and which level that leaves")
)

const replay = Command.make(
  "replay",
  {
    what: Argument.String("what").pipe(
      Argument.withDescription("A file, the name of a stored history, or a requirement like R-DUP-02")
    ),
    ...targetFlags,
    keep: Flag.Boolean("keep").pipe(
      Flag.withDescription("Keeps a stored history that fails no more"),
      Flag.withDefault(false)
    )
  },
  Effect.fnUntraced(function* (flags) {
    const { runReplay } = yield* Effect.promise(() => import("./ReplayCommand.ts"))
    yield* runReplay(flags)
  })
).pipe(Command.withDescription(`Does a failure again: a stored history, or all of one requirement. ${exits}`))

const check = Command.make(
  "check",
  {
    file: Argument.String("trace").pipe(Argument.withDescription("A file that `conformance run --trace FILE` wrote")),
    report: targetFlags.report
  },
  Effect.fnUntraced(function* (flags) {
    const { runCheck } = yield* Effect.promise(() => import("./CheckCommand.ts"))
    yield* runCheck(flags)
  })
).pipe(
  Command.withDescription(
    "Judges the evidence of a run again, by the rules of this version, and sends nothing. Exits as the run that wrote it would."
  )
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

/** The command: fails with a `CommandFailure` that carries the exit code. */
export const conformanceCommand = Command.make(program.name).pipe(
  Command.withDescription("Proves that a webhook receiver handles events as it must"),
  Command.withSubcommands([run, doctor, replay, check, list, explain, mutants, sender, badge])
)
