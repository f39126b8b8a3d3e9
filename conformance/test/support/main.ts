/**
 * Entry point of a process that runs the command.
 */
import { conformanceCommand } from "@doorhook/conformance"
import { CommandFailure } from "@doorhook/core"
import * as NodeRuntime from "@effect/platform-node-shared/NodeRuntime"
import * as NodePlatform from "@doorhook/testkit/NodePlatform"
import { Console, Effect } from "effect"
import { Command } from "effect/cli"
import { exitCodeOfExit } from "./exitCode.ts"

Command.run(conformanceCommand, { version: "0.0.0" }).pipe(
  Effect.tapError((error) => (error instanceof CommandFailure ? Console.error(error.message) : Effect.void)),
  Effect.provide(NodePlatform.layer),
  NodeRuntime.runMain({
    disableErrorReporting: true,
    teardown: (exit, done) => done(exitCodeOfExit(exit))
  })
)
