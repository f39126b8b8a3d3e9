/**
 * The `simulate` command, to be mounted under `doorhook`.
 */
import { Command } from "effect/cli"
import { mergeCommand } from "./MergeCommand.ts"
import { planCommand } from "./PlanCommand.ts"
import { previewCommand } from "./PreviewCommand.ts"
import { runCommand } from "./RunCommand.ts"
import { validateCommand } from "./ValidateCommand.ts"

export const simulateCommand = Command.make("simulate").pipe(
  Command.withDescription("Door and call traffic that looks like days in real buildings"),
  Command.withSubcommands([planCommand, previewCommand, runCommand, mergeCommand, validateCommand])
)
