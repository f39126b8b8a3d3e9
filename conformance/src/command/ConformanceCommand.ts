/**
 * The `conformance` command. Each subcommand's code is loaded only when it is called, so that the others start fast.
 */
import { FlagGroups } from "@doorhook/core"
import { Config, Effect, Option, Struct } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { program } from "../Program.ts"
import { secretVariable } from "../record/Options.ts"
import { flagGroups, runFlags, targetFlags } from "./Flags.ts"

/** Loads a module and runs one of its effects. */
const load = <Module, A, E, R>(
  loading: () => Promise<Module>,
  run: (module: Module) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => Effect.flatMap(Effect.promise(loading), run)

const exits = "Exit codes: 0 passed, 1 failed, 2 undecided, 3 wrong usage, 4 the receiver or the probe can't be used."

const run = Command.make("run", runFlags, (flags) =>
  load(
    () => import("./RunCommand.ts"),
    ({ dryRun, runConformance }) => (flags.dryRun ? dryRun(flags) : runConformance(flags))
  )
).pipe(
  Command.annotate(FlagGroups, flagGroups),
  Command.withDescription(`Sends events to a receiver and reports whether it handles them correctly. ${exits}`),
  Command.withExamples([
    {
      command: `${program.called} run --url http://127.0.0.1:9000/hook`,
      description: "Test a receiver's answers"
    },
    {
      command: `${program.called} run --url http://127.0.0.1:9000/hook --level 2 --probe http://127.0.0.1:9000/probe`,
      description: "Also test the receiver's effects, as counted by the probe"
    },
    {
      command: `${program.called} run --url http://127.0.0.1:9000/hook --level 3 --probe http://127.0.0.1:9000/probe --spawn 'node server.js' --port-env PORT`,
      description: "Test what survives a crash: the suite starts the receiver itself"
    }
  ])
)

const doctor = Command.make("doctor", targetFlags, (flags) =>
  load(
    () => import("./DoctorCommand.ts"),
    ({ runDoctor }) => runDoctor(flags)
  )
).pipe(
  Command.annotate(FlagGroups, flagGroups),
  Command.withDescription(
    "Shows what the suite can observe and control with these flags, what is missing, and the highest level that can be tested"
  )
)

const replay = Command.make(
  "replay",
  {
    what: Argument.String("what").pipe(
      Argument.withDescription(
        "A stored history or its name, a folder of them, a JSON report, or a requirement like R-DUP-02"
      )
    ),
    ...targetFlags,
    keep: Flag.Boolean("keep").pipe(
      Flag.withDescription("Keeps a stored history that no longer fails (by default it is deleted)"),
      Flag.withDefault(false)
    )
  },
  (flags) =>
    load(
      () => import("./ReplayCommand.ts"),
      ({ runReplay }) => runReplay(flags)
    )
).pipe(
  Command.annotate(FlagGroups, flagGroups),
  Command.withDescription(`Repeats failures: runs stored histories again, or all cases of one requirement. ${exits}`)
)

const send = Command.make(
  "send",
  {
    type: Argument.Literals("type", ["access_log", "call"]).pipe(
      Argument.withDescription("The type of the event; access_log by default"),
      Argument.withDefault("access_log" as const)
    ),
    url: Flag.map(Flag.optional(Flag.String("url").pipe(Flag.withDescription("The receiver's URL"))), Option.getOrNull),
    owned: runFlags.owned,
    signed: Flag.Redacted("signed").pipe(
      Flag.withDescription("Signs the event with this whsec_ secret; with --listen, verifies requests with it"),
      Flag.withFallbackConfig(Config.Redacted(secretVariable)),
      Flag.optional,
      Flag.map(Option.getOrNull)
    ),
    listen: Flag.Int("listen").pipe(
      Flag.withDescription(
        "Sends nothing, but listens at this port of 127.0.0.1 and shows each request; 0 is any free port"
      ),
      Flag.withMetavar("PORT"),
      Flag.optional,
      Flag.map(Option.getOrNull)
    )
  },
  (flags) =>
    load(
      () => import("./SendCommand.ts"),
      ({ runSend }) => runSend(flags)
    )
).pipe(
  Command.withDescription(
    "Sends one event as doorhook sends it, and shows the request and the answer. In a terminal, a key sends it again. Exit code 1 if the event was not acknowledged"
  )
)

const check = Command.make(
  "check",
  {
    file: Argument.String("trace").pipe(Argument.withDescription("A file that `conformance run --trace FILE` wrote")),
    ...Struct.pick(targetFlags, ["report"])
  },
  (flags) =>
    load(
      () => import("./OfflineCommands.ts"),
      ({ runCheck }) => runCheck(flags)
    )
).pipe(
  Command.withDescription(
    "Judges the evidence of an earlier run by the rules of this version. Sends nothing. The exit codes are those of `conformance run`."
  )
)

const list = Command.make("list", {}, () =>
  load(
    () => import("./OfflineCommands.ts"),
    ({ listRequirements }) => listRequirements
  )
).pipe(Command.withDescription("Lists the requirements"))

const explain = Command.make(
  "explain",
  { id: Argument.String("id").pipe(Argument.withDescription("A requirement, like R-DUP-01")) },
  ({ id }) =>
    load(
      () => import("./OfflineCommands.ts"),
      ({ explainRequirement }) => explainRequirement(id)
    )
).pipe(Command.withDescription("Explains a requirement: what it asks for, why, and what the suite sends to test it"))

/** The `conformance` command. Fails with a `CommandFailure` that carries the exit code. */
export const conformanceCommand = Command.make(program.name).pipe(
  Command.withDescription("Proves that a webhook receiver handles events correctly"),
  Command.withSubcommands([run, send, doctor, replay, check, list, explain])
)
