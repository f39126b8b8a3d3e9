/**
 * The target or what observes it can't be used: how a command ends for that.
 */
import { CommandFailure } from "@doorhook/core"
import { exitCodes } from "../report/Conclusion.ts"

export const unusable = ({ message }: { readonly message: string }): CommandFailure =>
  new CommandFailure({ message, exitCode: exitCodes.unusable })
