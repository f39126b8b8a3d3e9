/** The `simulate` command, to be mounted under `doorhook`, and its subcommand `run`. */
import { Effect } from "effect"
import { Command } from "effect/cli"
import { mergeCommand } from "./MergeCommand.ts"
import { planCommand } from "./PlanCommand.ts"
import { previewCommand } from "./PreviewCommand.ts"
import { realSession } from "./RealSession.ts"
import { readRun } from "./ReadRun.ts"
import { runFlags } from "./RunFlags.ts"
import { sizeCommand } from "./SizeCommand.ts"
import { validateCommand } from "./ValidateCommand.ts"
import { virtualSession } from "./VirtualSession.ts"

/**
 * Plays a scenario and reports how it went.
 *
 * Exit codes: 0 on success; 1 if an objective was missed, an event was not accepted or not accounted for, or a delivery
 * rule was broken; 3 for wrong usage; 130 after Ctrl-C. The report is written unless the code is 3.
 */
const runCommand = Command.make(
  "run",
  runFlags,
  Effect.fnUntraced(function* (texts) {
    const settings = yield* readRun(texts)
    return yield* settings.target.kind === "virtual" ? virtualSession(settings, texts) : realSession(settings, texts)
  })
).pipe(
  Command.withDescription(
    "Play a scenario, a file of events or a rate against a service, a receiver, or modelled receivers, and report how it went"
  ),
  Command.withExamples([
    {
      command:
        "doorhook simulate run --to http://127.0.0.1:4000 --preset residential-200 --start 2026-03-02T07:00 --speed 60x",
      description: "A morning in minutes, published to a service"
    },
    {
      command:
        "doorhook simulate run --to http://127.0.0.1:4000 --stages '10/s:1m,200/s:5m,10/s:1m' --slo 'intended_p99<500ms'",
      description: "Stages of load to a service, with an objective"
    },
    {
      command:
        "doorhook simulate run --to-receiver http://127.0.0.1:9000/hook --rate 50/s --buildings 50 --slo 'delivery_p99<5s,lost=0'",
      description: "Fifty events a second for a receiver, with objectives"
    },
    {
      command: "doorhook simulate run --virtual --duration 30d --receiver down:09:00-15:00 --report html=report.html",
      description: "A month with a daily outage, in moments"
    }
  ])
)

export const simulateCommand = Command.make("simulate").pipe(
  Command.withDescription("Door and call traffic that looks like days in real buildings"),
  Command.withSubcommands([planCommand, previewCommand, sizeCommand, runCommand, mergeCommand, validateCommand])
)
