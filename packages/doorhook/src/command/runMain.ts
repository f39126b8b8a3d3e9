/**
 * Runs a command as the whole of a process: its services, its voice, its exit code.
 */
import "./threads.ts"
import "./closedOutput.ts"
import "./lifeline.ts"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect, Layer, Stdio } from "effect"
import type { Command } from "effect/cli"
import * as Otlp from "../telemetry/Otlp.ts"
import { exitCodeOf, reported } from "./ending.ts"
import { runOn } from "./givenArguments.ts"
import type { Platform } from "./platform.ts"
import { platform } from "./platform.ts"

/** Runs a command. One that is `stoppable` runs until it is told to stop, and being told is then no failure. */
export const runMain = <Name extends string, Input, E, ContextInput>(
  command: Command.Command<Name, Input, ContextInput, E, Platform>,
  options: { readonly stoppable: boolean }
): void =>
  Stdio.Stdio.pipe(
    Effect.flatMap(({ args }) => args),
    Effect.flatMap((given) => runOn(command, given)),
    Effect.provide((options.stoppable ? Otlp.layer() : Layer.empty).pipe(Layer.provideMerge(platform))),
    reported,
    NodeRuntime.runMain({
      disableErrorReporting: true,
      teardown: (exit, onExit) => onExit(exitCodeOf(exit, options))
    })
  )
